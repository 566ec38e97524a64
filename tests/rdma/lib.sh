# What the scripts that run in guest 1 share; they source it. Each test prints one line "PASS: what"
# or "FAIL: what".
set -u
build=$TOP/build
programs=$build/tests
job=/run/job
work=$(mktemp -d)
failed=0
hosts=()
peermem=--peermem

# Only the plugin lies in this directory; it finds the glue beside the file that the link names.
mkdir -p $job/plugins
ln -s "$build/.libs/mca_coll_gdr.so" $job/plugins/
export OMPI_MCA_mca_base_component_path=$job/plugins:SYSTEM_DEFAULT
export OMPI_MCA_coll_gdr_verbose=1
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
export OMPI_MCA_rmaps_base_oversubscribe=1 OMPI_MCA_hwloc_base_binding_policy=none
export OMPI_MCA_mpi_yield_when_idle=1 OMPI_MCA_plm_rsh_agent=$job/rsh.sh
export OMPI_MCA_pml=ob1 OMPI_MCA_btl=self,vader,tcp OMPI_MCA_osc=pt2pt
export LD_LIBRARY_PATH=$build/rdma/ucx
export UCX_NET_DEVICES=rxe0:1 UCX_WARN_UNUSED_ENV_VARS=n
export UCX_TLS=rc,self,cuda_copy
emu=$build/cuda_emu/launcher/cuda-emu

# Environment for the other guest's ranks.
exported() {
    local name

    for name in $(compgen -e | grep -E '^(UCX_|CUDA_EMU_|OMPI_MCA_(coll|pml|btl|osc|mpi|mca))'); do
        echo "-x $name"
    done
}

packets() {
    rdma statistic show link rxe0/1 | sed -n 's/.*sent_pkts \([0-9]*\).*/\1/p'
}

# launch SECONDS COMMAND...: under the emulator, in the background as $launched; output in
# $work/out. A signal goes to mpirun alone: at a second one, sent to its group, it leaves its
# processes behind.
launch() {
    local seconds=$1

    shift
    rm -f $job/report.*
    before=$(packets)
    : >"$work/out"
    # shellcheck disable=SC2046,SC2086 # lists
    CUDA_EMU_REPORT=$job/report GDR_TEST_ALARM=$seconds \
        timeout --foreground -k 20 $((seconds + 10)) "$emu" --sync $peermem mpirun "${hosts[@]}" \
        ${peermem:+-x LD_PRELOAD} -x LD_LIBRARY_PATH \
        -x GDR_TEST_ALARM -x CUDA_EMU_REPORT -x CUDA_EMU_SYNC -x CUDA_EMU_TWINS $(exported) \
        --mca coll gdr "$@" >"$work/out" 2>&1 </dev/null &
    launched=$!
}

# Waits for it: exit status in $status, packets sent from here in $sent, regions of device memory
# that NICs registered in $device_regions
finish() {
    wait $launched
    status=$?
    sent=$(($(packets) - before))
    device_regions=$(cat $job/report.peermem.* 2>/dev/null |
        awk '/^device regions/ { n += $3 } END { print n + 0 }')
}

# execute SECONDS COMMAND...
execute() {
    launch "$@"
    finish
}

# execute_until LINES PATTERN SECONDS COMMAND...: ended as soon as so many lines match. (mpirun
# waits for ever for a process that has died on another machine.)
execute_until() {
    local lines=$1 pattern=$2

    shift 2
    launch "$@"
    while kill -0 $launched 2>/dev/null &&
        [ "$(grep -c -e "$pattern" "$work/out")" -lt "$lines" ]; do
        sleep 1
    done
    sleep 2 # the other stream may come a little later
    kill $launched 2>/dev/null
    finish
}

# sum NODE NAME: of the programs' last lines
sum() {
    awk -v node="$1:" -v name="$2" '$1 == "node" && $2 == node {
        for (i = 3; i < NF; i++) if ($i == name) n += $(i + 1) } END { print n + 0 }' "$work/out"
}

pass() {
    echo "PASS: $1"
}

fail() {
    failed=1
    echo "FAIL: $1"
    echo "    exit status $status, $sent packets, $device_regions regions of device memory"
    tail -n 40 "$work/out" | cut -c1-300 | sed 's/^/    /'
}

says() {
    grep -q -e "$1" "$work/out"
}

# direct LABEL RANKS PERCENT SECONDS COMMAND...: right, and PERCENT of what the ranks here put went
# over RDMA, from registered device memory, with no byte through the host
direct() {
    local label=$1 ranks=$2 percent=$3 least most

    shift 3
    execute "$@"
    least=$(($(sum g1 put_bytes) / 4096 * percent / 100))
    most=$((2 * least + 12 * $(sum g1 puts) + 1000))
    if [ $status -ne 0 ]; then
        fail "$label: wrong"
    elif [ "$(sum g1 host_bytes)" -ne 0 ]; then
        fail "$label: $(sum g1 host_bytes) bytes went through the host"
    elif [ $device_regions -lt "$ranks" ]; then
        fail "$label: device memory was not registered by all"
    elif [ $least -eq 0 ] || [ $sent -lt $least ] || [ $sent -gt $most ]; then
        fail "$label: not $least to $most packets"
    elif ! says "put of .* UCX: zero-copy.* rc_verbs/rxe0"; then
        fail "$label: gdr does not say how"
    else
        pass "$label: $sent packets ($least at least), $device_regions regions, 0 bytes by the host"
    fi
}

# right LABEL SECONDS COMMAND...: right, over RDMA
right() {
    local label=$1

    shift
    execute "$@"
    if [ $status -ne 0 ] || [ $sent -lt 100 ]; then fail "$label"; else pass "$label"; fi
}
