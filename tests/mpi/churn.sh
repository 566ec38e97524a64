#!/bin/bash
# Communicators by the thousand: device memory, file descriptors and resident memory stay flat.
. "$(dirname "$0")/lib.sh"
churn=(--mca coll gdr --mca coll_gdr_staging allow "$programs/churn")
# So many that 100 bytes a round are more than what a busy machine makes Open MPI's lists grow by.
run "6,000 x dup, allreduce, free, np 2" 300 "$emu" --sync mpirun -np 2 "${churn[@]}" -n 6000 \
    dup_free
run "6,000 x dup, allreduce, free, np 3" 400 "$emu" --sync mpirun -np 3 "${churn[@]}" -n 6000 \
    dup_free
run "split, free; freed while pending; disconnect; staged" 300 "$emu" --sync mpirun -np 3 \
    "${churn[@]}" -n 400 split_free pending_free disconnect staged
finish
