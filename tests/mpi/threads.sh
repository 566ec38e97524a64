#!/bin/bash
# MPI_THREAD_MULTIPLE: communicators of threads, opposite orders, shared communicators.
. "$(dirname "$0")/lib.sh"
for n in 2 3; do
    run "np $n" 100 "$emu" mpirun -np $n --mca coll gdr "$programs/threads"
done
run "np 2, delays" 100 "$emu" --delay 300 mpirun -np 2 --mca coll gdr "$programs/threads"
finish
