#!/bin/bash
# Kernels that read windows of their node's other ranks: several processes on one device and on
# several, in nodes of two; slow devices; and where windows cannot be mapped.
. "$(dirname "$0")/lib.sh"
gdr=(--mca coll gdr --mca coll_gdr_mapped on)
for algorithm in oneshot twoshot; do
    for n in 2 3 4 8; do
        run "np $n, $algorithm" 100 "$emu" --devices $((n % 3 + 1)) mpirun -np $n "${gdr[@]}" \
            --mca coll_gdr_algorithm $algorithm "$programs/cases" odd_counts same_bits
    done
    run "np 5, $algorithm, nodes of two" 100 "$emu" --devices 2 mpirun -np 5 "${gdr[@]}" \
        --mca coll_gdr_node_size 2 --mca coll_gdr_algorithm $algorithm "$programs/matrix" 7 1025
    for seed in 1 2 3; do
        for flags in device host; do
            run "seed $seed, $algorithm, slow devices, flags $flags" 100 "$emu" --devices 2 \
                --delay 2000 --seed $seed mpirun -np 3 "${gdr[@]}" --mca coll_gdr_flags $flags \
                --mca coll_gdr_algorithm $algorithm "$programs/cases" odd_counts
        done
    done
done
run "np 5, hierarchical, nodes of two" 100 "$emu" --devices 2 --delay 500 mpirun -np 5 "${gdr[@]}" \
    --mca coll_gdr_node_size 2 --mca coll_gdr_algorithm hierarchical "$programs/cases" odd_counts
run "np 8, hierarchical, nodes of four" 100 "$emu" --devices 2 mpirun -np 8 "${gdr[@]}" \
    --mca coll_gdr_node_size 4 --mca coll_gdr_algorithm hierarchical "$programs/cases" odd_counts \
    same_bits
run "calls at once" 100 "$emu" --delay 2000 --seed 5 mpirun -np 3 "${gdr[@]}" \
    --mca coll_gdr_algorithm twoshot "$programs/async" reverse
run "a reset behind a call" 100 "$emu" --delay 2000 mpirun -np 3 "${gdr[@]}" "$programs/cases" \
    device_reset
put=(env CUDA_EMU_PEERS=none "$emu" --devices 2 mpirun -np 3)
says "no peer access: put, and said" 60 "not all ranks can map the windows" "${put[@]}" \
    "${gdr[@]}" "$programs/cases" odd_counts
run "no peer access: put" 60 "${put[@]}" --mca coll gdr "$programs/path" -c 100000 gdr/
says "no CUDA IPC: put, and said" 60 "not all ranks can map the windows" "$emu" mpirun -np 2 \
    -x UCX_TLS=tcp,posix,cuda_copy "${gdr[@]}" "$programs/path" gdr/
finish
