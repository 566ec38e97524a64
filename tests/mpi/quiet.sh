#!/bin/bash
# A program that knows nothing of CUDA runs silently and unchanged, whatever the machine has.
. "$(dirname "$0")/lib.sh"
prints "no libcuda" 40 "host ok" mpirun -np 3 --mca coll gdr "$programs/host"
prints "no libcuda, no flag" 40 "host ok" mpirun -np 3 "$programs/host"
prints "a libcuda without a device" 40 "host ok" "$emu" --devices 0 mpirun -np 3 --mca coll gdr \
    "$programs/host"
prints "devices" 40 "host ok" "$emu" mpirun -np 3 --mca coll gdr "$programs/host"
prints "singleton" 40 "host ok" "$programs/host"
prints "no libcuda but the CUDA runtime" 40 \
    "$(printf 'path "host"\n6 checks, 0 failed')" \
    env LD_LIBRARY_PATH="$GDR_BUILDDIR/cuda_emu:$LD_LIBRARY_PATH" \
    mpirun -np 2 --mca coll gdr "$programs/path" -h host
prints "libcuda comes late" 60 "late driver ok" "$emu" mpirun -np 2 --mca coll gdr \
    "$programs/late_driver"
prints "libcuda comes late, with threads" 60 "late driver ok" "$emu" mpirun -np 2 --mca coll gdr \
    "$programs/late_driver" -t
finish
