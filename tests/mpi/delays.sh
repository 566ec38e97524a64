#!/bin/bash
# Device operations that take their time: a flag that overtook its data would be seen. All is put;
# mapped.sh has the same of windows that kernels read.
. "$(dirname "$0")/lib.sh"
for seed in $(seq 1 20); do
    algorithm=$([ $((seed % 2)) -eq 0 ] && echo ring || echo twoshot)
    waits=$([ $((seed % 4)) -lt 2 ] && echo off || echo auto)
    run "seed $seed, $algorithm, stream waits $waits" 60 "$emu" --delay 2000 --seed "$seed" mpirun \
        -np 3 --mca coll gdr --mca coll_gdr_mapped off --mca coll_gdr_algorithm $algorithm \
        --mca coll_gdr_stream_waits $waits "$programs/cases" odd_counts
done
for flags in device host; do
    run "weak fences asked for, flags $flags" 100 env UCX_FENCE_MODE=weak "$emu" --delay 2000 \
        mpirun -x UCX_FENCE_MODE -np 3 --mca coll gdr --mca coll_gdr_mapped off \
        --mca coll_gdr_flags $flags \
        "$programs/cases" \
        odd_counts large
    run "nonblocking, flags $flags" 100 "$emu" --delay 2000 --seed 5 mpirun -np 2 --mca coll gdr \
        --mca coll_gdr_mapped off --mca coll_gdr_flags $flags "$programs/async" reverse
done
finish
