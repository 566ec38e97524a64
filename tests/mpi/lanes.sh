#!/bin/bash
# Lanes that grow with the messages, between processes: on several devices, as large as the one with
# least memory can have it, among calls that are under way, behind a reset.
. "$(dirname "$0")/lib.sh"
gdr=(--mca coll gdr --mca coll_gdr_large_lane_size 32m)
says "a lane grows" 60 "epoch 1 begins" "$emu" --devices 2 mpirun -np 3 "${gdr[@]}" \
    --mca coll_gdr_verbose 2 "$programs/path" -c 3000000 gdr/
for mapped in auto off; do
    for n in 2 3 4 5; do
        run "np $n, mapped $mapped" 100 "$emu" --devices $((n % 3 + 1)) --delay 300 mpirun -np $n \
            "${gdr[@]}" --mca coll_gdr_mapped $mapped "$programs/matrix" 1025 262147
    done
    run "np 5, nodes of two, mapped $mapped" 100 "$emu" --devices 2 mpirun -np 5 "${gdr[@]}" \
        --mca coll_gdr_node_size 2 --mca coll_gdr_algorithm hierarchical \
        --mca coll_gdr_mapped $mapped "$programs/matrix" 7 1025 262147
done
run "calls at once" 100 "$emu" --delay 2000 --seed 5 mpirun -np 3 "${gdr[@]}" \
    "$programs/async" reverse
says "no memory for it: said to who asks, and served" 60 "a smaller one stays" "$emu" --mem 100M \
    mpirun -np 3 --mca coll gdr --mca coll_gdr_large_lane_size 64m --mca coll_gdr_verbose 1 \
    "$programs/path" -c 3000000 gdr/
run "a reset behind it" 100 "$emu" --delay 500 mpirun -np 3 "${gdr[@]}" "$programs/cases" \
    device_reset
finish
