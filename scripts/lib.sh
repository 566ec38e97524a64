# What every part of quickstart uses: messages, and stamps so that nothing is done twice.

say() {
    printf '== %s\n' "$*"
}

die() {
    printf 'quickstart: %s\n' "$*" >&2
    exit 1
}

# A hash of files and words: hash_of FILE... -- WORD...
hash_of() {
    local files=()

    while [ $# -gt 0 ] && [ "$1" != -- ]; do
        files+=("$1")
        shift
    done
    {
        [ ${#files[@]} -eq 0 ] || sha256sum "${files[@]}"
        printf '%s\n' "$@"
    } | sha256sum | cut -c1-64
}

stamp_file() {
    printf '%s/stamps/%s' "$BUILD" "$1"
}

# Whether step NAME was done with exactly these inputs: is_done NAME HASH
is_done() {
    [ "$(cat "$(stamp_file "$1")" 2>/dev/null)" = "$2" ]
}

mark_done() {
    mkdir -p "$BUILD/stamps"
    printf '%s\n' "$2" >"$(stamp_file "$1")"
}

# Runs a long command with its output in a log; on failure shows the end of it and stops.
logged() {
    local log=$BUILD/logs/$1.log

    shift
    mkdir -p "$BUILD/logs"
    if ! "$@" >"$log" 2>&1; then
        tail -n 40 "$log" >&2
        die "failed: $* (all of it in $log)"
    fi
}

# Autoconf and libtool cannot cope with such names; better said now than by a shell error later.
check_place() {
    case $TOP in
    *[[:space:]\"\'\\\$\`:]*)
        die "the Autotools cannot build in a path with blanks, quotes, colons or \$: $TOP" ;;
    esac
    [ "$(uname -m)" = x86_64 ] || [ -n "${GDR_UCX_DIR-}" ] ||
        die "the pinned UCX is for x86_64; name your own with GDR_UCX_DIR=DIR"
    mkdir -p "$BUILD"
}
