#!/bin/bash
# Collectives on device buffers: every call, form, memory, type; on intra- and inter-communicators.
. "$(dirname "$0")/lib.sh"
staged=(--mca coll gdr --mca coll_gdr_staging allow)
for n in 1 2 3 5; do
    run "all collectives, $n ranks" 300 "$emu" mpirun -np $n "${staged[@]}" "$programs/collectives"
done
finish
