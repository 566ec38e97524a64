# What gdr_bench printed, as tables for docs/measured.md: a file for each number of ranks and way,
# bench-npN-WAY.log; a run that was stopped has as many sizes as it came to.
function bytes(text) {
    if (text ~ /K$/) return text * 1024
    if (text ~ /M$/) return text * 1048576
    if (text ~ /G$/) return text * 1073741824
    return text + 0
}

FNR == 1 {
    name = FILENAME
    sub(/.*bench-np/, "", name)
    sub(/\.log$/, "", name)
    np = name
    sub(/-.*/, "", np)
    way = substr(name, length(np) + 2)
    if (!(np in ranks)) {
        ranks[np] = 1
        order[++nnp] = np
    }
    if (!((np, way) in ways)) {
        ways[np, way] = 1
        column[np, ++columns[np]] = way
    }
}

$1 ~ /^[0-9]+[KMG]?$/ && NF >= 10 {
    at = bytes($1)
    if (!(at in text)) {
        text[at] = $1
        sizes[++nsizes] = at
    }
    cell[np, at, way] = $3
    if (way == "auto") {
        path[np, at] = $7
        busbw[np, at] = $6
        if (NF >= 12) {
            staged[np, at] = $11
            ratio[np, at] = $12
        }
    }
}

# In the order of bytes: files may have come to different ends.
function sort_sizes(   i, j, x) {
    for (i = 2; i <= nsizes; i++) {
        x = sizes[i]
        for (j = i - 1; j > 0 && sizes[j] > x; j--)
            sizes[j + 1] = sizes[j]
        sizes[j + 1] = x
    }
}

END {
    sort_sizes()
    for (p = 1; p <= nnp; p++) {
        np = order[p]
        printf "\n%d ranks, mean time of a call in us:\n\n| bytes |", np
        for (c = 1; c <= columns[np]; c++)
            printf " %s |", column[np, c]
        printf " auto took | busbw GB/s | hand-staged | / auto |\n|---|"
        for (c = 1; c <= columns[np]; c++)
            printf "---|"
        printf "---|---|---|---|\n"
        for (s = 1; s <= nsizes; s++) {
            at = sizes[s]
            line = ""
            for (c = 1; c <= columns[np]; c++) {
                value = cell[np, at, column[np, c]]
                line = line " " (value == "" ? "–" : value) " |"
            }
            if (line ~ /[0-9]/)
                printf "| %s |%s %s | %s | %s | %s |\n", text[at], line, path[np, at],
                    busbw[np, at], staged[np, at], ratio[np, at]
        }
    }
}
