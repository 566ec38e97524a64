#!/bin/bash
# One guest: all puts go over RDMA, also those between ranks beside each other. Run by guest.sh.
. "$TOP/tests/rdma/lib.sh"

sweep=$programs/rdma/sweep
direct "one machine, 1 B to 4 MiB" 2 100 600 -np 2 "$sweep"
for algorithm in twoshot ring; do
    for flags in device host; do
        direct "one machine, 3 ranks, $algorithm, $flags flags" 3 100 600 -np 3 \
            --mca coll_gdr_algorithm $algorithm --mca coll_gdr_flags $flags "$sweep" -l 65536
    done
done
right "one machine, every operation and type" 600 -np 2 "$programs/mpi/matrix" 1025

# Without GPUDirect the result is right, but the tests and the user are told.
export UCX_IB_GPU_DIRECT_RDMA=no
label="one machine, GPUDirect off is noticed and said"
execute 400 -np 2 "$sweep" -l 65536
if [ $status -eq 0 ] && [ "$(sum g1 host_bytes)" -gt 0 ] && [ $device_regions -eq 0 ] &&
    says "passes through host memory.*UCX_IB_GPU_DIRECT_RDMA says no"; then
    pass "$label"
else
    fail "$label"
fi
unset UCX_IB_GPU_DIRECT_RDMA
peermem=
label="one machine, no driver for GPUDirect is noticed and said"
execute 400 -np 2 "$sweep" -l 4096
if [ $status -eq 0 ] && [ "$(sum g1 host_bytes)" -gt 0 ] &&
    says "passes through host memory.*load nvidia-peermem"; then
    pass "$label"
else
    fail "$label"
fi
exit $failed
