#!/bin/bash
# Runs in an unpacked tests/gpu/pack, on a machine with a card: is it right there, how fast are the
# kernels, and an allreduce of 2, 4 and 8 ranks that share the card, by algorithm, against staging
# by hand and NCCL. Ends within its budget; what did not fit in is named.
#   run.sh [--out DIRECTORY] [--budget SECONDS] [--quick] [--emulated]
#   run.sh [--emulated] --exec COMMAND...     runs a command in the tree's environment, no more
# Writes measured.md (tables for docs/measured.md), tuning.txt and logs.tar.gz into DIRECTORY,
# default ./gpu-results. --emulated: under `cuda-emu run.sh …`, to try it out: times mean nothing.
# Exit status: 0; 1: something failed or is wrong; 2: bad command line.
set -u

HERE=$(cd "$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")/../../.." && pwd)
OUT=$PWD/gpu-results
BUDGET=440
QUICK=
EMULATED=
FAILED=0
COMMAND=()

say() {
    printf '== %4d s  %s\n' $SECONDS "$*"
}

usage() {
    sed -n '2,/^set/s/^# \{0,1\}//p' "${BASH_SOURCE[0]}"
}

while [ $# -gt 0 ]; do
    case $1 in
    --out | --budget)
        [ $# -gt 1 ] || {
            echo "run.sh: $1: its value is missing" >&2
            exit 2
        }
        if [ "$1" = --out ]; then OUT=$2; else BUDGET=$2; fi
        shift ;;
    --quick) QUICK=1 ;;
    --emulated) EMULATED=1 ;;
    --exec)
        shift
        COMMAND=("$@")
        break ;;
    --help)
        usage
        exit ;;
    *)
        echo "run.sh: $1: unknown option; --help lists them" >&2
        exit 2 ;;
    esac
    shift
done
[[ $BUDGET =~ ^[1-9][0-9]{0,4}$ ]] || {
    echo "run.sh: --budget $BUDGET: not a number of seconds" >&2
    exit 2
}

# What makes the tree work where it lies: nothing of the machine's own Open MPI, UCX or hwloc.
set_environment() {
    local name dir

    for name in $(compgen -e | grep -E '^(OMPI|OPAL|ORTE|PMIX|PRTE|UCX)_'); do
        unset "$name"
    done
    export OPAL_PREFIX=$HERE/usr OPAL_SYSCONFDIR=$HERE/etc/openmpi
    export PMIX_PKGLIBDIR=$HERE/none HWLOC_PLUGINS_PATH=$HERE/none HWLOC_HIDE_ERRORS=2
    export OMPI_MCA_mca_base_component_path=$HERE/plugins:SYSTEM_DEFAULT
    export PMIX_MCA_mca_base_component_path=
    export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
    export OMPI_MCA_rmaps_base_oversubscribe=1 OMPI_MCA_plm=isolated OMPI_MCA_btl=self,vader
    export OMPI_MCA_orte_base_help_aggregate=0
    export OMPI_MCA_coll=gdr OMPI_MCA_coll_gdr_timeout=10 # says what it waits for
    export PATH=$HERE/usr/bin:$HERE/build:$PATH
    export LD_LIBRARY_PATH=$HERE/lib${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
    [ -z "$EMULATED" ] || return 0
    for dir in /usr/local/nvidia/lib64 /usr/local/nvidia/lib; do
        [ ! -e "$dir/libcuda.so.1" ] || LD_LIBRARY_PATH=$LD_LIBRARY_PATH:$dir
    done
}

# The runtime that the tests' programs were linked for; the component needs none.
find_cudart() {
    local name dir

    [ -z "$EMULATED" ] || return 0
    name=$(ldd "$HERE/build/tests/mpi/path" |
        sed -n 's/[[:blank:]]*\(libcudart[^ ]*\) => not.*/\1/p')
    [ -n "$name" ] || return 0
    dir=$(find /usr/local /opt -name "$name" 2>/dev/null | head -n 1)
    [ -n "$dir" ] || return 1
    LD_LIBRARY_PATH=$LD_LIBRARY_PATH:$(dirname "$dir")
}

# Everything below a process, itself first.
family() {
    local status

    echo "$1"
    for status in $(grep -ls "^PPid:[[:blank:]]*$1\$" /proc/[0-9]*/status); do
        status=${status#/proc/}
        family "${status%/status}"
    done
}

# Where the processes below PID are: by the kernel, and by a debugger if there is one, for 20 s.
where_they_are() {
    local pid debugger name begin=$SECONDS

    debugger=$(command -v gdb || command -v cuda-gdb || true)
    for pid in $(family "$1"); do
        name=$(cat "/proc/$pid/comm" 2>/dev/null) || continue
        case $name in
        bash | sh | run.sh | timeout | mpirun | orterun | env) continue ;;
        esac
        echo "-- process $pid, $name, rank $(tr '\0' '\n' <"/proc/$pid/environ" 2>/dev/null |
            sed -n 's/^OMPI_COMM_WORLD_RANK=//p'): $(sed -n 's/^State:[[:blank:]]*//p' \
            "/proc/$pid/status"), in the kernel at $(cat "/proc/$pid/wchan" 2>/dev/null)"
        [ -z "$debugger" ] || [ $((SECONDS - begin)) -ge 15 ] ||
            timeout -k 1 5 "$debugger" -batch -nx -ex 'thread apply all bt 12' -p "$pid" \
                2>/dev/null | grep -E '^(#|Thread)'
    done
}

# step NAME SECONDS COMMAND...: output in $LOGS/NAME.log; stopped after so many seconds, or with the
# budget, after it was seen where everybody is.
step() {
    local name=$1 seconds=$2 left=$((BUDGET - SECONDS)) pid status=0 begin=$SECONDS
    shift 2

    [ "$seconds" -le "$left" ] || seconds=$left
    if [ "$seconds" -lt 2 ]; then
        say "$name: left out, no time"
        return 1
    fi
    "$@" >"$LOGS/$name.log" 2>&1 </dev/null &
    pid=$!
    while kill -0 $pid 2>/dev/null && [ $((SECONDS - begin)) -lt "$seconds" ]; do
        sleep 0.2
    done
    if kill -0 $pid 2>/dev/null; then
        say "$name: not done after $seconds s: this is where it is"
        where_they_are $pid | tee -a "$LOGS/$name.log"
        # shellcheck disable=SC2046 # numbers
        kill -9 $(family $pid) 2>/dev/null
        FAILED=1
    fi
    wait $pid 2>/dev/null || status=$?
    [ $status = 0 ] || [ $status = 137 ] || {
        say "$name: exit status $status: $(tail -n 1 "$LOGS/$name.log")"
        FAILED=1
    }
    [ $status != 0 ] || say "$name: $((SECONDS - begin)) s"
    return $status
}

# shellcheck disable=SC2317 # step calls it
about() {
    cat "$HERE/VERSION"
    echo "glibc here: $(ldd --version | sed -n '1s/.* //p'); $(nproc) processors, $(uname -r)"
    if [ -n "$EMULATED" ]; then
        echo "emulated devices: no time means anything"
    else
        nvidia-smi --query-gpu=name,driver_version,memory.total --format=csv,noheader
    fi
    mpirun --version
}

# shellcheck disable=SC2317
# with NAME=VALUE COMMAND...: in the step's own process
with() {
    export "${1?}"
    "${@:2}"
}

# shellcheck disable=SC2317
bench() {
    mpirun -np "$1" gdr_bench allreduce --device --min 8 --max "$LARGEST" "${@:2}"
}

# Every element checked before anything is timed.
is_it_right() {
    local algorithm

    for algorithm in $ALGORITHMS; do
        step "right-$algorithm" 40 env "OMPI_MCA_coll_gdr_algorithm=$algorithm" mpirun -np 3 \
            gdr_bench allreduce --min 8 --max "$CHECKED" --iters 1 --warmup 1 --check
    done
}

# By algorithm, and with all data put, with streams that wait for peers, with lanes of 64 MiB.
measure() {
    local np algorithm

    for np in $RANKS; do
        step "bench-np$np-auto" 40 bench "$np" --compare staged
        for algorithm in $ALGORITHMS; do
            step "bench-np$np-$algorithm" 25 with "OMPI_MCA_coll_gdr_algorithm=$algorithm" \
                bench "$np"
        done
        [ -z "$QUICK" ] || continue
        step "bench-np$np-mapped_off" 25 with OMPI_MCA_coll_gdr_mapped=off bench "$np"
        step "bench-np$np-stream_waits" 25 with OMPI_MCA_coll_gdr_stream_waits=auto bench "$np"
        step "bench-np$np-lane_64m" 25 with OMPI_MCA_coll_gdr_lane_size=64m bench "$np"
    done
}

# The suites of the tree that ask for no emulator; as far as time goes.
tests() {
    local test

    find_cudart || {
        say "no CUDA runtime for the tests' programs: left out"
        return
    }
    for test in $TESTS; do
        step "test-$(basename "$test" .sh)" 90 env GDR_TEST_GPU=1 GDR_TEST_DRIVER=real \
            GDR_SRCDIR="$HERE/source" GDR_BUILDDIR="$HERE/build" GDR_UCX_LIBDIR="$HERE/lib" \
            OMPI_MCA_coll= bash "$HERE/source/$test"
    done
}

report() {
    local np logs=()

    for np in $RANKS; do
        mapfile -t -O ${#logs[@]} logs < <(ls -tr "$LOGS"/bench-np"$np"-*.log 2>/dev/null)
    done
    echo "## $(date -u +%Y-%m-%d): $(sed -n '4p' "$LOGS/about.log")"
    echo
    sed 's/^/    /' "$LOGS/about.log"
    [ ! -s "$LOGS/kernels.log" ] || cat <(echo) "$LOGS/kernels.log"
    awk -f "$HERE/source/tests/gpu/table.awk" "${logs[@]}" /dev/null
    for np in $RANKS; do
        [ ! -s "$LOGS/nccl-np$np.log" ] || sed "s/^/NCCL, $np ranks: /" "$LOGS/nccl-np$np.log"
    done
    [ ! -s "$OUT/tuning.txt" ] || sed 's/^/    /' "$OUT/tuning.txt"
}

RANKS="2 4 8" LARGEST=64M CHECKED=4M QUICKLY=()
ALGORITHMS="oneshot knomial twoshot circulant ring"
TESTS="tests/glue/device.sh tests/glue/pair.sh tests/mpi/counters.sh tests/mpi/cases.sh
       tests/mpi/memory.sh tests/mpi/mixed.sh"
if [ -n "$QUICK" ]; then
    RANKS=2 LARGEST=1K CHECKED=256 QUICKLY=(--quick) ALGORITHMS=ring TESTS=tests/glue/device.sh
fi
set_environment
[ ${#COMMAND[@]} = 0 ] || exec "${COMMAND[@]}"
mkdir -p "$OUT/logs" && OUT=$(cd "$OUT" && pwd) || exit 1
LOGS=$OUT/logs
trap 'tar -C "$OUT" -czf "$OUT/logs.tar.gz" logs && rm -r "$LOGS"' EXIT # few files to bring back
step about 20 about && cat "$LOGS/about.log"
is_it_right
step kernels 60 "$HERE/build/tests/gpu/kernel_rate" "${QUICKLY[@]}"
measure
step tune 40 mpirun -np "${RANKS%% *}" gdr_tune "${QUICKLY[@]}" --output "$OUT/tuning.txt"
for np in $RANKS; do
    [ -n "$EMULATED" ] || step "nccl-np$np" 30 python3 "$HERE/source/tests/gpu/nccl.py" "$np"
done
tests
report >"$OUT/measured.md"
cat "$OUT/measured.md"
say "done; everything is in $OUT"
exit $FAILED
