#!/bin/bash
# gdr_bench host-tax runs for every call it knows, and really compares with gdr to without. What it
# measures is not judged here.
. "$(dirname "$0")/lib.sh"
bench=$GDR_BUILDDIR/gdr_bench
for call in allreduce iallreduce barrier ibarrier bcast reduce allgather alltoall; do
    says "$call" 120 '^  mapped ' mpirun -np 2 --mca coll gdr "$bench" host-tax --call $call \
        --rounds 5 --calls 10 --json "$work/json"
    [ "$(grep -c '"ratio"' "$work/json")" = 4 ] || fail "$call: no figures in the JSON file"
done
says "a process that uses CUDA" 120 '^  mapped ' "$emu" mpirun -np 2 --mca coll gdr "$bench" \
    host-tax --cuda --rounds 5 --calls 10
refuses "without gdr" 60 "coll/gdr is not in every process" mpirun -np 2 --mca coll ^gdr "$bench" \
    host-tax --rounds 5
finish
