#!/bin/bash
# The core of tests/mpi on a UCX that delays and reorders puts until a flush; and this UCX without
# flushes is noticed.
. "$(dirname "$0")/../mpi/lib.sh"
late=$GDR_BUILDDIR/tests/late/.libs/late_puts.so

# late SEED COMMAND...: the ranks' UCX is late, mpirun's own is not looked at
late() {
    local seed=$1

    shift
    "$emu" --sync mpirun -x LD_PRELOAD="$late" -x LATE_PUTS_SEED="$seed" --mca coll gdr \
        --mca coll_gdr_mapped off "$@"
}
export -f late
export late emu

seed=${GDR_SEED:-1}
for algorithm in twoshot ring; do
    for flags in device host; do
        seed=$((seed + 1))
        run "np 3, $algorithm, flags $flags, seed $seed" 200 bash -c 'late "$@"' - $seed -np 3 \
            --mca coll_gdr_algorithm $algorithm --mca coll_gdr_flags $flags \
            "$programs/matrix" 1025
        run "np 4, $algorithm, flags $flags, seed $seed" 200 bash -c 'late "$@"' - $seed -np 4 \
            --mca coll_gdr_algorithm $algorithm --mca coll_gdr_flags $flags \
            "$programs/cases" odd_counts large
    done
    run "np 3, $algorithm, nonblocking, seed $seed" 200 bash -c 'late "$@"' - $seed -np 3 \
        --mca coll_gdr_staging allow --mca coll_gdr_algorithm $algorithm "$programs/async"
done
execute 100 env LATE_PUTS_NO_FLUSH=1 LATE_PUTS_US=20000 bash -c 'late "$@"' - 1 -np 2 \
    -x LATE_PUTS_NO_FLUSH -x LATE_PUTS_US "$programs/path" -c 100000 gdr/
if [ $status -ne 0 ] && grep -q "other bytes come back\|are not those" "$work/out"; then
    pass "a flush that delivers nothing is noticed"
else
    fail "a flush that delivers nothing is not noticed"
fi
finish
