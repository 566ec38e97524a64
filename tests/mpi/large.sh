#!/bin/bash
# More bytes than an int counts. Needs 5 GiB of memory: without that it is skipped.
free_kib=$(awk '/^MemAvailable:/ { print $2 }' /proc/meminfo)
if [ "$free_kib" -lt $((6 << 20)) ]; then
    echo "skipped: 6 GiB of free memory are needed, $((free_kib >> 20)) GiB are there"
    exit 77
fi
. "$(dirname "$0")/lib.sh"
large=("$emu" --sync --mem 4G mpirun)
run "INT_MAX bytes" 400 "${large[@]}" -np 2 --mca coll gdr "$programs/large" bytes
run "2^31 + 24 bytes of doubles, ring" 400 "${large[@]}" -np 2 --mca coll gdr \
    --mca coll_gdr_algorithm ring "$programs/large" doubles
run "2.5 GB of extents, staged" 400 "${large[@]}" -np 1 --mca coll gdr \
    --mca coll_gdr_staging allow "$programs/large" strided
prints "the same without pinned memory" 400 "3 checks, 0 failed" env \
    CUDA_EMU_FAIL=cuMemHostAlloc:*:2 "${large[@]}" -np 1 --mca coll gdr \
    --mca coll_gdr_staging allow "$programs/large" strided
finish
