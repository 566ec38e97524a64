#!/bin/bash
# Collectives on device buffers: every call, form, memory, type; on intra- and inter-communicators.
. "$(dirname "$0")/lib.sh"
staged=(--mca coll gdr --mca coll_gdr_staging allow)
for n in 1 2 3 5; do
    run "all collectives, $n ranks" 300 "$emu" mpirun -np $n "${staged[@]}" "$programs/collectives"
done
cases=(outstanding freed bottom bottom_sum columns far_apart short_lists reduce_local)
for n in 1 3; do
    run "staged calls, $n ranks" 60 "$emu" mpirun -np $n "${staged[@]}" "$programs/staged" \
        "${cases[@]}"
done
run "staged calls behind the NULL stream" 60 "$emu" --delay 2000 --seed 3 mpirun -np 2 \
    "${staged[@]}" "$programs/staged" ordering
run "staged calls from threads" 100 "$emu" mpirun -np 3 "${staged[@]}" "$programs/staged" threads
cases=(device orders mixed freed behind counts)
for n in 1 2 4; do
    run "persistent calls, $n ranks" 60 "$emu" mpirun -np $n "${staged[@]}" "$programs/persistent" \
        "${cases[@]}"
done
run "more persistent calls than lanes" 60 "$emu" mpirun -np 3 "${staged[@]}" \
    --mca coll_gdr_window_size 4m "$programs/persistent" orders freed
run "persistent calls behind the NULL stream of another device" 60 "$emu" --devices 2 --delay 2000 \
    --seed 3 mpirun -np 2 "${staged[@]}" "$programs/persistent" elsewhere
run "persistent calls on managed memory of another device" 60 env CUDA_EMU_PEERS=none "$emu" \
    --devices 2 mpirun -np 2 "${staged[@]}" "$programs/persistent" managed
run "persistent calls that one rank cannot begin" 60 env CUDA_EMU_PEERS=none "$emu" --devices 2 \
    --mem 1G mpirun -np 3 "${staged[@]}" "$programs/persistent" no_room
says "one line for the staged ones" 60 'other than allreduce .* copied through host memory' \
    "$emu" mpirun -np 2 --mca coll gdr "$programs/staged" columns
run "left to Open MPI" 60 "$emu" mpirun -np 2 "${staged[@]}" --mca coll_gdr_collectives pass \
    "$programs/staged" passed
finish
