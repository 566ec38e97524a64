# What the tests of this folder share; they source it. Needs GDR_BUILDDIR and GDR_UCX_LIBDIR, which
# `make check` sets. With GDR_TEST_GPU=1 no emulator is put in front: the card is used.
set -u
: "${GDR_BUILDDIR:?run it with make check}" "${GDR_UCX_LIBDIR:?run it with make check}"

work=$(mktemp -d) || exit 99
trap 'rm -rf "$work"' EXIT
passed=0 failed=0
programs=$GDR_BUILDDIR/tests/mpi

# Open MPI looks at every file of a component directory: this one holds the plugin alone.
mkdir "$work/plugins"
ln -s "$GDR_BUILDDIR/.libs/mca_coll_gdr.so" "$work/plugins/"
system_default=SYSTEM_DEFAULT
ompi=$(mpirun --version | sed -n 's/.*(Open MPI) //p')
if [ "${ompi%%.*}" -ge 5 ]; then
    # PMIx is given the path, too, unless it has its own; it does not know that word.
    system_default=$(ompi_info --path pkglibdir --parsable | cut -d: -f3)
    export PMIX_MCA_mca_base_component_path=
    # Its tcp finds no way between the interfaces of some machines, and jobs that were spawned talk
    # by tcp alone.
    export OMPI_MCA_btl_tcp_if_include=lo
fi
export OMPI_MCA_mca_base_component_path="$work/plugins:$system_default"
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMPI_MCA_rmaps_base_oversubscribe=1
export OMPI_MCA_orte_base_help_aggregate=0
export PRTE_ALLOW_RUN_AS_ROOT=1 PRTE_ALLOW_RUN_AS_ROOT_CONFIRM=1
export PRTE_MCA_rmaps_default_mapping_policy=:oversubscribe
export LD_LIBRARY_PATH="$GDR_UCX_LIBDIR${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}"
unset UCX_TLS UCX_FENCE_MODE

emu=$GDR_BUILDDIR/cuda_emu/launcher/cuda-emu
[ -z "${GDR_TEST_GPU:-}" ] || emu=env

# execute SECONDS COMMAND...: output in $work/out, exit status in $status. The program itself says
# where each rank is when it hangs, a little before it is killed. Open MPI 5.0's launcher sometimes
# loses the connection to a process that ends, on a busy machine: that is tried again.
execute() {
    local seconds=$1 try
    shift
    for try in 1 2 3; do
        GDR_TEST_ALARM=$seconds timeout -k 10 $((seconds + 10)) "$@" >"$work/out" 2>&1 </dev/null
        status=$?
        [ $status -ne 0 ] && grep -q "PMIX ERROR: PMIX_ERR_UNREACH" "$work/out" || return 0
        echo "try $try: the launcher lost a process"
    done
}

pass() {
    passed=$((passed + 1))
    echo "ok: $1"
}

fail() {
    failed=$((failed + 1))
    echo "FAIL: $1 (exit status $status)"
    sed 's/^/    /' "$work/out" | tail -400
}

# run LABEL SECONDS COMMAND...: must succeed
run() {
    local label=$1
    shift
    execute "$@"
    if [ $status -eq 0 ]; then pass "$label: $(tail -1 "$work/out")"; else fail "$label"; fi
}

# prints LABEL SECONDS TEXT COMMAND...: must succeed and print nothing but TEXT, on both streams
prints() {
    local label=$1 seconds=$2 text=$3
    shift 3
    execute "$seconds" "$@"
    if [ $status -eq 0 ] && [ "$(cat "$work/out")" = "$text" ]; then
        pass "$label: nothing but \"$text\""
    else
        fail "$label: wanted nothing but \"$text\""
    fi
}

# says LABEL SECONDS PATTERN COMMAND...: must succeed, with a line that matches
says() {
    local label=$1 seconds=$2 pattern=$3
    shift 3
    execute "$seconds" "$@"
    if [ $status -eq 0 ] && grep -q -- "$pattern" "$work/out"; then
        pass "$label"
    else
        fail "$label: wanted a line like \"$pattern\""
    fi
}

# refuses LABEL SECONDS PATTERN COMMAND...: must fail with an MPI error (no crash), and say why
refuses() {
    local label=$1 seconds=$2 pattern=$3
    shift 3
    execute "$seconds" "$@"
    if [ $status -ne 0 ] && grep -q -- "$pattern" "$work/out" &&
        ! grep -q "Segmentation\|signal 11\|HANG" "$work/out"; then
        pass "$label"
    else
        fail "$label: wanted an error like \"$pattern\""
    fi
}

# A command line in front of a program that gives rank 1 other settings: only_rank_1 NAME=VALUE
only_rank_1() {
    cat >"$work/only_rank_1" <<END
#!/bin/sh
if [ "\$OMPI_COMM_WORLD_RANK" = 1 ]; then export "$1"; fi
exec "\$@"
END
    chmod +x "$work/only_rank_1"
}

# skip WHY: nothing of this script can be run here
skip() {
    echo "skipped: $1"
    exit 77
}

finish() {
    echo "$passed passed, $failed failed"
    [ $failed -eq 0 ]
    exit
}
