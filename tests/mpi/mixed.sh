#!/bin/bash
# Calls of all ways at once; types with holes; other nonblocking collectives behind late verdicts.
. "$(dirname "$0")/lib.sh"
staged=(--mca coll gdr --mca coll_gdr_staging allow)
run "staged among device calls" 60 "$emu" mpirun -np 3 "${staged[@]}" "$programs/mixed" staged
run "staged among device calls whose streams wait" 60 "$emu" mpirun -np 3 "${staged[@]}" \
    --mca coll_gdr_stream_waits auto "$programs/mixed" staged
run "copies in device memory among such" 60 env CUDA_EMU_PEERS=none "$emu" --devices 2 \
    mpirun -np 3 "${staged[@]}" --mca coll_gdr_stream_waits auto "$programs/mixed" away
run "copies in device memory among device calls" 60 env CUDA_EMU_PEERS=none "$emu" --devices 2 \
    mpirun -np 3 "${staged[@]}" "$programs/mixed" away
run "no memory for such copies on one rank" 40 env CUDA_EMU_PEERS=none "$emu" --devices 2 \
    --mem 1G mpirun -np 3 "${staged[@]}" "$programs/mixed" no_room
run "another device is current when the call is copied" 60 "$emu" --devices 2 --delay 20000 \
    mpirun -np 3 "${staged[@]}" "$programs/devices" current_device_changes
run "types with holes, of no bytes" 60 "$emu" mpirun -np 3 "${staged[@]}" "$programs/mixed" \
    columns records below no_bytes
run "nonblocking collectives behind a late verdict" 60 "$emu" mpirun -np 3 "${staged[@]}" \
    --mca coll_gdr_window_size 4m "$programs/queued"
finish
