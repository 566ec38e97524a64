#!/bin/bash
# What may happen to communicators, requests and processes around device calls.
. "$(dirname "$0")/lib.sh"
gdr=(--mca coll gdr --mca coll_gdr_staging allow)
run "more communicators than lanes" 60 "$emu" mpirun -np 3 "${gdr[@]}" \
    --mca coll_gdr_window_size 4m "$programs/lifecycle" lanes
run "np 3" 60 "$emu" --devices 2 mpirun -np 3 "${gdr[@]}" "$programs/lifecycle" before_and_after \
    alternating_devices freed_while_pending freed_inter registered
run "managed memory that another device writes" 60 "$emu" --devices 2 --delay 1000 mpirun -np 2 \
    "${gdr[@]}" "$programs/lifecycle" managed_elsewhere
run "devices that alternate, without peer access" 60 env CUDA_EMU_PEERS=none "$emu" --devices 3 \
    mpirun -np 2 "${gdr[@]}" "$programs/lifecycle" alternating_devices
run "requests that may not be cancelled or freed" 60 "$emu" mpirun -np 3 "${gdr[@]}" \
    "$programs/lifecycle" forbidden
run "error handlers" 60 "$emu" mpirun -np 2 --mca coll gdr --mca coll_gdr_staging error \
    "$programs/lifecycle" error_handlers
execute 60 "$emu" mpirun -np 3 "${gdr[@]}" "$programs/lifecycle" aborted
label="one rank aborts, the job ends with its code"
if [ $status -eq 3 ] && ! grep -q "HANG\|FATAL\|signal 11" "$work/out"; then
    pass "$label"
else
    fail "$label"
fi
finish
