#!/bin/bash
# Really one-sided: puts and bytes as the schedule says, no payload byte in host memory.
. "$(dirname "$0")/lib.sh"
for n in 1 2 3 4; do
    run "np $n" 60 "$emu" mpirun -np $n --mca coll gdr "$programs/counters"
done
run "np 3, streams wait" 60 "$emu" mpirun -np 3 --mca coll gdr --mca coll_gdr_stream_waits auto \
    "$programs/counters"
finish
