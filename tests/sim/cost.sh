#!/bin/bash
# What the engine and its plans cost the CPU: instructions per schedule step, on all ranks together,
# counted by valgrind's callgrind, which gives the same number every time. Ports (UCX, Open MPI, the
# driver) are fakes and not counted; the first calls, which make plans and connections, neither.
set -u
: "${GDR_BUILDDIR:?run it with make check}"
MOST=650 # no timing: a figure that only a change of the code can pass

command -v valgrind >/dev/null || {
    echo "skipped: there is no valgrind (Debian: apt-get install valgrind)"
    exit 77
}
work=$(mktemp -d) || exit 99
trap 'rm -rf "$work"' EXIT

# STEPS INSTRUCTIONS of so many calls: count CALLS ALGORITHM RANKS ELEMENTS MODE
count() {
    local calls=$1 steps

    shift
    steps=$(valgrind -q --tool=callgrind --callgrind-out-file="$work/out" \
        "$GDR_BUILDDIR/tests/sim/cost" "$@" "$calls") || return
    callgrind_annotate --threshold=100 --auto=no --show-percs=no "$work/out" |
        awk -v steps="${steps% steps}" '
            /coll_gdr\/(engine|plan)\// { gsub(",", "", $1); total += $1 }
            END { print steps, total }'
}

status=0
for mode in "0 host-driven" "2 stream-ordered"; do
    for case in "oneshot 4 200" "twoshot 8 2000" "circulant 8 2000" "ring 8 2000"; do
        # shellcheck disable=SC2086 # words
        few=$(count 10 $case ${mode%% *}) && many=$(count 30 $case ${mode%% *}) || exit 1
        cost=$(echo "$few $many" | awk '{ printf "%d", ($4 - $2) / ($3 - $1) }')
        printf '%-20s %-16s %5d instructions per step\n' "$case" "${mode#* }" "$cost"
        [ "$cost" -gt 0 ] && [ "$cost" -le $MOST ] || status=1
    done
done
[ $status = 0 ] || echo "FAIL: more than $MOST"
exit $status
