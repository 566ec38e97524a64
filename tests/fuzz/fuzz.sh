#!/bin/bash
# Random collectives against a reference of their own, each launch with a fresh seed:
#   fuzz.sh                       3,000 calls (make check)
#   fuzz.sh all [CALLS]           100,000 calls (make fuzz)
#   fuzz.sh replay SEED NP N [OPTION...]   one launch again; options of tests/fuzz/fuzz
# The seed also chooses the devices, their delays, and gdr's parameters.
. "$(dirname "$0")/../mpi/lib.sh"

# GDR_FUZZ_KINDS: options of tests/fuzz/fuzz that leave kinds of calls out.
read -ra kinds <<<"${GDR_FUZZ_KINDS-}"

# Values that follow from a seed: pick SEED NAME WORD...
pick() {
    local seed=$1 name=$2 hash

    shift 2
    hash=$(printf '%s %s' "$seed" "$name" | cksum)
    shift $((${hash%% *} % $#))
    echo "$1"
}

# launch SEED NP CALLS [OPTION...]: output in $work/out
launch() {
    local seed=$1 np=$2 calls=$3 emulator=() parameters=(--mca coll gdr)
    local progress=$work/progress

    shift 3
    if [ "$emu" != env ]; then
        emulator=(--devices "$(pick "$seed" devices 1 2 2 4)" --mem 8G --seed $((seed % 2147483648))
            --delay "$(pick "$seed" delay 0 0 0 50 500)")
        # Operations in the calling thread: other orders, and several times as fast.
        [ "$(pick "$seed" sync yes no)" = no ] || emulator+=(--sync)
    fi
    # Open MPI 4.1's vector unit saturates small integers on the host; MPI does not.
    parameters+=(--mca coll_gdr_staging allow --mca op ^avx)
    parameters+=(--mca coll_gdr_algorithm
        "$(pick "$seed" algorithm auto auto oneshot knomial twoshot circulant ring hierarchical)")
    # As if each so many ranks were a node; else they are all on one.
    parameters+=(--mca coll_gdr_node_size "$(pick "$seed" nodes 0 2 2 3)")
    parameters+=(--mca coll_gdr_mapped "$(pick "$seed" mapped auto auto off)")
    # Device flags make streams wait during nonblocking calls, too: documented, and not for here.
    parameters+=(--mca coll_gdr_flags "$(pick "$seed" flags auto auto host)")
    parameters+=(--mca coll_gdr_chunk_size "$(pick "$seed" chunk 0 0 4k 64k)")
    parameters+=(--mca coll_gdr_window_size "$(pick "$seed" window 64m 64m 8m)")
    rm -rf "$progress"
    mkdir "$progress"
    export GDR_TEST_PROGRESS=$progress
    execute "${GDR_FUZZ_SECONDS:-3000}" "$emu" "${emulator[@]}" mpirun -np "$np" \
        "${parameters[@]}" "$GDR_BUILDDIR/tests/fuzz/fuzz" "$seed" "$calls" "$@"
}

# What went wrong, where each rank was, and how to see it again.
explain() {
    local seed=$1 np=$2 calls=$3 rank stopped

    stopped=$(sed -n 's/^stopped after call //p' "$work/out")
    for rank in $(seq 0 $((np - 1))); do
        [ ! -e "$work/progress/rank.$rank" ] ||
            echo "    rank $rank was at: $(tr '\0' '\n' <"$work/progress/rank.$rank" | head -1)"
    done
    echo "    again: make fuzz-replay SEED=$seed NP=$np N=${stopped:-$calls}"
}

one() {
    local seed=$1 np=$2 calls=$3 label="seed $1, np $2, $3 calls"

    launch "$@" "${kinds[@]}"
    if [ $status -eq 0 ]; then
        pass "$label ($((SECONDS / 60)) min)"
    else
        fail "$label"
        explain "$seed" "$np" "$calls"
    fi
}

fresh() {
    od -An -N4 -tu4 /dev/urandom | tr -d ' '
}

# so many calls in all, in launches of at most so many: spread CALLS EACH
spread() {
    local total=$1 each=$2 done=0 np

    while [ "$done" -lt "$total" ]; do
        for np in 1 2 3 4 5 6 7 8 9 16; do
            [ "$done" -lt "$total" ] || break
            one "$(fresh)" $np "$each"
            done=$((done + each))
        done
        [ $failed -lt 5 ] || break
    done
}

case ${1-check} in
check) spread 3000 300 ;;
all) spread "${2:-100000}" 500 ;;
replay)
    shift
    launch "$@" "${kinds[@]}"
    cat "$work/out"
    [ $status -eq 0 ] || explain "$@"
    exit $status ;;
*)
    echo "usage: fuzz.sh [all [CALLS] | replay SEED NP N [OPTION...]]" >&2
    exit 2 ;;
esac
finish
