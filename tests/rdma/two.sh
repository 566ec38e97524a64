#!/bin/bash
# Two guests with two emulated devices each: cuda_ipc inside a guest, RDMA between. Run by guest.sh.
. "$TOP/tests/rdma/lib.sh"
for _ in $(seq 600); do
    [ -e $job/up2 ] && break
    sleep 0.2
done
export UCX_TLS=rc,self,sm,cuda_copy,cuda_ipc OMPI_MCA_btl_tcp_if_include=eth0
hosts=(--host "g1:2,g2:2")

sweep=$programs/rdma/sweep
# Each rank has one neighbour in its guest and two peers in the other.
direct "two machines, 1 B to 4 MiB" 4 60 600 -np 4 "$sweep"
direct "two machines, all is put" 4 60 600 -np 4 --mca coll_gdr_mapped off "$sweep"
if says "put of .* UCX: zero-copy.* cuda_ipc"; then
    pass "two machines, cuda_ipc inside"
else
    fail "two machines, cuda_ipc inside"
fi
for flags in device host; do
    direct "two machines, ring, $flags flags" 4 50 600 -np 4 --mca coll_gdr_algorithm ring \
        --mca coll_gdr_flags $flags "$sweep" -l 65536
done
right "two machines, every operation and type" 600 -np 4 "$programs/mpi/matrix" 1025

# The survivors' calls end with an error that gdr reports; nobody hangs.
label="two machines, a process dies, the others' calls end with an error"
execute_until 3 "survives, with" 400 -np 4 --enable-recovery "$programs/mpi/devices" peer_dies
if [ "$(grep -c "survives, with an error" "$work/out")" = 3 ] && says "coll/gdr .*error"; then
    pass "$label"
else
    fail "$label"
fi
exit $failed
