#!/bin/bash
# Every operation, type, count, in place and not, on 1 to 8 ranks; all algorithms, both kinds of
# flag, stream-ordered and host-driven. GDR_MATRIX_RANKS: fewer numbers of ranks.
. "$(dirname "$0")/lib.sh"
for n in ${GDR_MATRIX_RANKS:-1 2 3 4 5 8}; do
    run "np $n" 240 "$emu" mpirun -np $n --mca coll gdr "$programs/matrix"
done
for algorithm in oneshot knomial twoshot circulant ring; do
    for flags in device host; do
        for waits in on off; do
            run "np 3, $algorithm, flags $flags, stream waits $waits" 120 "$emu" mpirun -np 3 \
                --mca coll gdr --mca coll_gdr_mapped off --mca coll_gdr_algorithm $algorithm \
                --mca coll_gdr_flags $flags \
                --mca coll_gdr_stream_waits $waits "$programs/matrix" 7 1025
        done
    done
done
for flags in device host; do
    run "np 5, hierarchical on nodes of 2, 2 and 1, flags $flags" 120 "$emu" mpirun -np 5 \
        --mca coll gdr --mca coll_gdr_algorithm hierarchical --mca coll_gdr_node_size 2 \
        --mca coll_gdr_flags $flags "$programs/matrix" 7 1025
done
finish
