#!/bin/bash
# Really one-sided: puts and bytes as the schedule says, no payload byte in host memory; and what is
# said of the way that puts take.
. "$(dirname "$0")/lib.sh"
for n in 1 2 3 4; do
    for large in 4194304 33554432; do
        gdr=(--mca coll gdr --mca coll_gdr_large_lane_size $large)
        run "np $n, lane up to $large" 60 "$emu" mpirun -np $n "${gdr[@]}" "$programs/counters" \
            $large
        run "np $n, lane up to $large, put" 60 "$emu" mpirun -np $n "${gdr[@]}" \
            --mca coll_gdr_mapped off "$programs/counters" put $large
    done
done
for mapped in auto off; do
    run "np 3, streams wait, mapped $mapped" 60 "$emu" mpirun -np 3 --mca coll gdr \
        --mca coll_gdr_stream_waits auto --mca coll_gdr_large_lane_size 8m \
        --mca coll_gdr_mapped $mapped "$programs/counters" ${mapped/off/put} 8388608
done
for count in 100 100000; do
    says "puts of $count floats by cuda_ipc are said to be so" 60 \
        "a put of .* bytes of device memory to a peer: UCX: zero-copy.* cuda_ipc" \
        "$emu" mpirun -np 2 --mca coll gdr --mca coll_gdr_verbose 1 \
        --mca coll_gdr_mapped off "$programs/path" -c $count gdr/
done
says "puts through host memory are said to be so" 60 "device memory passes through host memory" \
    "$emu" mpirun -np 2 -x UCX_TLS=tcp,posix,cuda_copy --mca coll gdr "$programs/path" gdr/
finish
