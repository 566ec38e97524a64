#!/bin/bash
# Host and device buffers mixed across the ranks of one call: always right, never a hang.
. "$(dirname "$0")/lib.sh"
quiet=(--mca coll gdr --mca coll_gdr_staging allow)
for np in 2 3; do
    run "first calls, np $np" 60 "$emu" mpirun -np $np "${quiet[@]}" "$programs/across" small
done
for np in 2 3 4 5 8; do
    run "at random, np $np" 150 env GDR_TEST_CALLS=$((1000 / np)) "$emu" mpirun -np $np \
        "${quiet[@]}" "$programs/across" random
done
run "at random, ring" 150 "$emu" mpirun -np 3 "${quiet[@]}" --mca coll_gdr_algorithm ring \
    "$programs/across" random
run "at random, host flags" 150 "$emu" mpirun -np 3 "${quiet[@]}" --mca coll_gdr_flags host \
    "$programs/across" random
run "rank 0 always on the host" 60 "$emu" mpirun -np 3 "${quiet[@]}" "$programs/across" rank_0
run "a rank without CUDA" 60 env GDR_TEST_NO_CUDA=2 "$emu" mpirun -np 3 "${quiet[@]}" \
    "$programs/across" no_cuda
run "a rank with priority 0 at times" 100 "$emu" mpirun -np 3 "${quiet[@]}" "$programs/across" \
    priority
run "threads with a communicator each" 150 "$emu" mpirun -np 3 "${quiet[@]}" "$programs/across" \
    threads
finish
