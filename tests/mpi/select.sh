#!/bin/bash
# Who serves a call: lists of components, priorities, processes without the component, staging.
. "$(dirname "$0")/lib.sh"
path=$programs/path
run "--mca coll gdr alone" 30 "$emu" mpirun -np 2 --mca coll gdr "$path" gdr/
run "no flag" 30 "$emu" mpirun -np 2 "$path" gdr/
run "a list of providers" 30 "$emu" mpirun -np 2 --mca coll gdr,basic,self,libnbc,inter "$path" gdr/
run "gdr,tuned" 30 "$emu" mpirun -np 2 --mca coll gdr,tuned "$path" gdr/
run "priority 0" 30 "$emu" mpirun -np 2 --mca coll_gdr_priority 0 "$path" -h ""
run "host buffers" 30 "$emu" mpirun -np 2 --mca coll gdr "$path" -h host
run "host buffers, nonblocking" 30 "$emu" mpirun -np 2 --mca coll gdr "$path" -h -i host
says "verbose says that gdr serves it" 30 "info: .*gdr/oneshot" "$emu" mpirun -np 2 --mca coll gdr \
    --mca coll_gdr_verbose 1 "$path" gdr/
says "explain" 30 "coll/gdr: .*2 ranks, allreduce from 4096 bytes: gdr/" "$emu" mpirun -np 2 \
    --mca coll gdr --mca coll_gdr_explain 1 "$path" -c 1500 gdr/
says "explain shows what was expected" 30 'coll/gdr: \* oneshot .* us predicted' "$emu" \
    mpirun -np 2 --mca coll gdr --mca coll_gdr_explain 1 "$path" -c 1500 gdr/
run "algorithm ring" 30 "$emu" mpirun -np 3 --mca coll gdr --mca coll_gdr_algorithm ring "$path" \
    -c 5000 gdr/ring
run "algorithm hierarchical, two nodes" 30 "$emu" mpirun -np 3 --mca coll gdr \
    --mca coll_gdr_algorithm hierarchical --mca coll_gdr_node_size 2 "$path" -c 5000 \
    gdr/hierarchical
run "algorithm hierarchical, one node: staged" 30 "$emu" mpirun -np 2 --mca coll gdr \
    --mca coll_gdr_algorithm hierarchical "$path" -c 5000 staged
run "reproducible" 30 "$emu" mpirun -np 3 --mca coll gdr --mca coll_gdr_reproducible 1 "$path" \
    -c 5000000 gdr/twoshot

# A rank that has no gdr, or does not want it, can only have host buffers: the others stage.
# (One program for all: the mpirun of Open MPI 5.0.7 crashes on two with a colon between them.)
cat >"$work/host_on_rank_1" <<'END'
#!/bin/sh
if [ "$OMPI_COMM_WORLD_RANK" = 1 ]; then exec "$@" -h ""; fi
exec "$@" staged
END
chmod +x "$work/host_on_rank_1"
only_rank_1 OMPI_MCA_coll=^gdr
run "a rank without the component" 40 "$emu" mpirun -np 2 --mca coll gdr "$work/only_rank_1" \
    "$work/host_on_rank_1" "$path"
only_rank_1 OMPI_MCA_coll_gdr_priority=0
run "a rank with priority 0" 40 "$emu" mpirun -np 2 --mca coll gdr "$work/only_rank_1" \
    "$work/host_on_rank_1" "$path"
run "pml ucx" 40 "$emu" mpirun -np 2 --mca coll gdr --mca pml ucx "$path" gdr/

only_rank_1 OMPI_MCA_coll_gdr_chunk_size=4096
says "a rank with other parameters: staged" 30 "other coll_gdr parameters" "$emu" mpirun -np 2 \
    --mca coll gdr "$work/only_rank_1" "$path" staged
only_rank_1 "CUDA_EMU_FAIL=cuModuleLoadData:*"
run "a rank whose kernels do not load: staged" 30 "$emu" mpirun -np 2 --mca coll gdr \
    "$work/only_rank_1" "$path" staged
run "the same, nonblocking" 30 "$emu" mpirun -np 2 --mca coll gdr "$work/only_rank_1" "$path" -i \
    staged
only_rank_1 "CUDA_EMU_FAIL=cuCtxGetId:*"
run "a rank whose contexts have no number: staged" 30 "$emu" mpirun -np 2 --mca coll gdr \
    "$work/only_rank_1" "$path" staged
says "a transport list that reaches nobody: staged, and named" 30 "with UCX_TLS=self,cuda" \
    env UCX_TLS=self,cuda "$emu" mpirun -np 2 --mca coll gdr "$path" staged
only_rank_1 UCX_TLS=self,cuda
run "the same, nonblocking, on one rank only" 30 "$emu" mpirun -np 3 --mca coll gdr \
    "$work/only_rank_1" "$path" -i staged
says "staging is said, once" 30 "copied through host memory (said once)" "$emu" mpirun -np 2 \
    --mca coll gdr "$programs/cases" long_double
prints "staging=allow is silent" 30 "4 checks, 0 failed" "$emu" mpirun -np 2 --mca coll gdr \
    --mca coll_gdr_staging allow "$programs/cases" long_double
only_rank_1 OMPI_MCA_coll_gdr_staging=error
run "staging=error on one rank: staged" 30 "$emu" mpirun -np 2 --mca coll gdr \
    "$work/only_rank_1" "$programs/cases" long_double
refuses "staging=error" 30 "coll_gdr_staging=error" "$emu" mpirun -np 2 --mca coll gdr \
    --mca coll_gdr_staging error "$programs/cases" long_double
finish
