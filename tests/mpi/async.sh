#!/bin/bash
# MPI_Iallreduce: outstanding calls, blocking CUDA calls before the wait, order, mixed ways.
. "$(dirname "$0")/lib.sh"
for n in 1 2 3 4; do
    run "np $n" 100 "$emu" mpirun -np $n --mca coll gdr --mca coll_gdr_staging allow \
        "$programs/async"
done
run "np 3, streams wait in blocking calls" 100 "$emu" mpirun -np 3 --mca coll gdr \
    --mca coll_gdr_staging allow --mca coll_gdr_stream_waits auto "$programs/async"
run "np 3, ring" 100 "$emu" mpirun -np 3 --mca coll gdr --mca coll_gdr_staging allow \
    --mca coll_gdr_algorithm ring "$programs/async"
finish
