#!/bin/bash
# Calls that went wrong elsewhere: first call, aliasing, odd counts, allocation, order, devices,
# communicators, what is staged.
. "$(dirname "$0")/lib.sh"
run "first call" 30 "$emu" mpirun -np 2 --mca coll gdr "$programs/path" gdr/
run "first call, nonblocking" 30 "$emu" mpirun -np 2 --mca coll gdr "$programs/path" -i gdr/
run "np 3" 100 "$emu" mpirun -np 3 --mca coll gdr "$programs/cases" min_in_place odd_counts \
    count_zero alloc_loop ordering other_device self communicators many_communicators managed \
    mixed_kinds
run "np 3, streams wait" 100 "$emu" mpirun -np 3 --mca coll gdr --mca coll_gdr_stream_waits auto \
    "$programs/cases" min_in_place odd_counts ordering communicators many_communicators
run "two devices, delays" 60 "$emu" --delay 300 mpirun -np 2 --mca coll gdr \
    "$programs/devices" recv_elsewhere
run "np 4" 100 "$emu" mpirun -np 4 --mca coll gdr "$programs/cases" same_bits one_nan
run "np 4, ring" 100 "$emu" mpirun -np 4 --mca coll gdr --mca coll_gdr_algorithm ring \
    "$programs/cases" same_bits one_nan communicators
run "staged" 60 "$emu" mpirun -np 3 --mca coll gdr --mca coll_gdr_staging allow \
    "$programs/cases" long_double user_ops intercommunicator
prints "device reset before MPI_Finalize" 60 "4 checks, 0 failed" "$emu" mpirun -np 4 \
    --mca coll gdr "$programs/cases" device_reset
says "a rank resets its device" 60 "a process cannot take the device path" "$emu" mpirun -np 3 \
    --mca coll gdr "$programs/devices" one_device_reset
run "the first of two devices is reset during a call on the other" 60 "$emu" --devices 2 mpirun \
    -np 2 --mca coll gdr --mca coll_gdr_staging allow "$programs/devices" first_device_reset
execute 30 "$emu" mpirun --enable-recovery -np 3 --mca coll gdr "$programs/devices" peer_dies
label="a rank dies, the others' calls end with an error"
survivors=$(grep -c "survives, with an error" "$work/out")
if [ "$survivors" = 2 ]; then pass "$label"; else fail "$label"; fi
run "devices that cannot reach each other" 60 env CUDA_EMU_PEERS=none "$emu" mpirun -np 3 \
    --mca coll gdr "$programs/cases" min_in_place other_device
run "a rank of these resets its device" 60 env CUDA_EMU_PEERS=none "$emu" --devices 3 mpirun -np 3 \
    --mca coll gdr --mca coll_gdr_staging allow "$programs/devices" one_device_reset
says "and that is said" 40 "passes through host memory" env CUDA_EMU_PEERS=none "$emu" \
    mpirun -np 2 --mca coll gdr "$programs/path" gdr/
run "spawn" 60 "$emu" mpirun -np 2 --mca coll gdr --mca coll_gdr_staging allow \
    "$programs/cases" spawn
finish
