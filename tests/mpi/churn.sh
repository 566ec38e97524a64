#!/bin/bash
# Communicators by the thousand: device memory, file descriptors and resident memory stay flat.
. "$(dirname "$0")/lib.sh"
churn=(--mca coll gdr --mca coll_gdr_staging allow "$programs/churn")
run "2,000 x dup, allreduce, free, np 2" 200 "$emu" --sync mpirun -np 2 "${churn[@]}" dup_free
run "2,000 x dup, allreduce, free, np 3" 300 "$emu" --sync mpirun -np 3 "${churn[@]}" dup_free
run "split, free; freed while pending; disconnect; staged" 300 "$emu" --sync mpirun -np 3 \
    "${churn[@]}" -n 400 split_free pending_free disconnect staged
finish
