#!/bin/bash
# Really one-sided: puts and bytes as the schedule says, no payload byte in host memory.
. "$(dirname "$0")/lib.sh"
for n in 1 2 3 4; do
    run "np $n" 60 "$emu" mpirun -np $n --mca coll gdr "$programs/counters"
done
finish
