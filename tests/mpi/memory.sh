#!/bin/bash
# Memory of every kind, filled by work that is still waiting when the call is made.
. "$(dirname "$0")/lib.sh"
kinds=(pools default_pools vmm imported contexts reused)
run "every kind, np 2" 100 "$emu" --devices 2 --delay 1000 --seed 5 mpirun -np 2 --mca coll gdr \
    "$programs/memory" "${kinds[@]}"
run "odd addresses" 60 "$emu" --devices 2 mpirun -np 3 --mca coll gdr \
    "$programs/memory" odd
run "without peer access" 100 env CUDA_EMU_PEERS=none "$emu" --devices 2 --delay 1000 --seed 6 \
    mpirun -np 2 --mca coll gdr "$programs/memory" "${kinds[@]}"
for caller in first other none own destroyed threads; do
    run "the caller's context: $caller" 60 "$emu" --devices 2 mpirun -np 2 --mca coll gdr \
        --mca coll_gdr_window_size 4m "$programs/current" $caller
    run "the caller's context, all is put: $caller" 60 "$emu" --devices 2 mpirun -np 2 \
        --mca coll gdr --mca coll_gdr_mapped off --mca coll_gdr_window_size 4m \
        "$programs/current" $caller
    run "without peer access: $caller" 60 env CUDA_EMU_PEERS=none "$emu" --devices 2 mpirun -np 3 \
        --mca coll gdr --mca coll_gdr_window_size 4m "$programs/current" $caller
done
finish
