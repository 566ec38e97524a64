#!/bin/bash
# Few hardware queues for the streams of gdr, UCX and the application: nothing stands still, also
# with several ranks on one device, with the streams of every copy in one queue.
. "$(dirname "$0")/lib.sh"
for streams in 1 3 4 6; do
    run "8 queues, $streams streams of the application" 60 "$emu" --devices 2 --queues 8 mpirun \
        -np 3 --mca coll gdr "$programs/queues" $streams
done
for queues in 1 2; do
    run "$queues queues, np 4 on 2 devices" 60 "$emu" --devices 2 --queues $queues mpirun -np 4 \
        --mca coll gdr "$programs/queues" 2
done
run "2 queues, np 5 on one device" 60 "$emu" --devices 1 --queues 2 mpirun -np 5 --mca coll gdr \
    "$programs/queues"
run "2 queues, staged and away calls" 100 env CUDA_EMU_PEERS=none "$emu" --devices 2 --queues 2 \
    mpirun -np 3 --mca coll gdr --mca coll_gdr_staging allow "$programs/mixed" staged away
run "2 queues, nonblocking calls" 60 "$emu" --queues 2 mpirun -np 3 --mca coll gdr \
    "$programs/async"
finish
