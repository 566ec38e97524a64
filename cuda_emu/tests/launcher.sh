#!/bin/sh
# cuda-emu: options, environment, exit codes; programs compiled against a real toolkit run on the
# emulated libraries unchanged, alone and under mpirun.
set -u
EMU=${GDR_BUILDDIR:?}/cuda_emu/launcher/cuda-emu
SRC=${GDR_SRCDIR:?}/cuda_emu/tests
DIR=$(mktemp -d "${TMPDIR:-/tmp}/cuda_emu_launcher_XXXXXX") || exit 99
trap 'rm -rf "$DIR"' EXIT
failed=0
unset CUDA_EMU_QUEUES CUDA_EMU_DEVICES CUDA_EMU_TWINS CUDA_EMU_DELAY CUDA_EMU_SEED CUDA_EMU_SYNC
unset CUDA_EMU_MEM

check() { # WHAT CONDITION...
    what=$1
    shift
    if "$@"; then
        echo "ok: $what"
    else
        echo "FAILED: $what"
        sed 's/^/    /' "$DIR/out" "$DIR/err" 2>/dev/null
        failed=1
    fi
}

run() { # COMMAND...: leaves $rc, $DIR/out, $DIR/err
    timeout 60 "$@" >"$DIR/out" 2>"$DIR/err"
    rc=$?
}

lines() { wc -l <"$DIR/$1" | tr -d ' '; }
says() { grep -q -e "$2" "$DIR/$1"; }

refused() { # ARGUMENTS...: exit 2, one line on stderr, nothing on stdout
    run "$EMU" "$@"
    check "refused: $*" test "$rc:$(lines err):$(lines out)" = 2:1:0
}

refused
refused --devices many true
refused --devices 17 true
refused --devices -1 true
refused --mem 0 true
refused --mem 5X true
refused --mem 99999999999T true
refused --delay -1 true
refused --delay 1e3 true
refused --seed 99999999999 true
refused --queues 33 true
refused --no-such-option true
refused --sync=1 true
refused --trace
refused --devices

run "$EMU" --help
check "--help" test "$rc:$(lines err)" = 0:0
for option in devices mem delay seed queues sync trace verbose print-x; do
    check "--help tells --$option" says out "--$option"
done

run "$EMU" sh -c 'exit 7'
check "exit code of the command" test "$rc" = 7
run "$EMU" -- sh -c 'exit 6'
check "-- ends the options" test "$rc" = 6
run "$EMU" "$DIR/nothing"
check "no such command" test "$rc:$(lines err)" = 127:1
run "$EMU" "$DIR"
check "not a program" test "$rc:$(lines err)" = 126:1

# shellcheck disable=SC2016
run "$EMU" --devices 3 --mem=64M --delay 5 --seed 9 --sync --trace t --verbose sh -c \
    'echo "$CUDA_EMU_DEVICES $CUDA_EMU_MEM $CUDA_EMU_DELAY $CUDA_EMU_SEED $CUDA_EMU_SYNC" \
          "$CUDA_EMU_VERBOSE $CUDA_EMU_TRACE"'
check "variables" test "$(cat "$DIR/out")" = "3 64M 5 9 1 1 $PWD/t"
# shellcheck disable=SC2016
LD_LIBRARY_PATH=/some/where run "$EMU" sh -c 'echo $LD_LIBRARY_PATH'
check "in front of LD_LIBRARY_PATH" says out "^/.*:/some/where\$"
first=$(cat "$DIR/out")
# shellcheck disable=SC2016
LD_LIBRARY_PATH=/some/where run "$EMU" "$EMU" sh -c 'echo $LD_LIBRARY_PATH'
check "nested" test "$(cat "$DIR/out")" = "$first"
# shellcheck disable=SC2016
run "$EMU" --queues 8 sh -c 'echo "$CUDA_EMU_QUEUES"'
check "--queues" test "$rc:$(cat "$DIR/out")" = 0:8
run "$EMU" --devices 1 --queues=8 --print-x
check "--print-x" test "$rc:$(lines out)" = 0:1
check "--print-x names the search path" says out "-x LD_LIBRARY_PATH"
check "--print-x names what is set" says out "-x CUDA_EMU_DEVICES"
check "--print-x names the queues" says out "-x CUDA_EMU_QUEUES"
check "--print-x names no more" test -z "$(grep CUDA_EMU_DELAY "$DIR/out")"

# An installed copy somewhere else finds the libraries beside it.
mkdir -p "$DIR/prefix/bin" "$DIR/prefix/lib/cuda_emu"
cp "$EMU" "$DIR/prefix/bin/"
run "$DIR/prefix/bin/cuda-emu" true
check "no libraries: said" test "$rc:$(lines err)" = 1:1
touch "$DIR/prefix/lib/cuda_emu/libcuda.so.1"
# shellcheck disable=SC2016
run "$DIR/prefix/bin/cuda-emu" sh -c 'echo $LD_LIBRARY_PATH'
case ${EMU_LIBDIR_FROM_BINDIR:-} in
../lib/cuda_emu) check "relocated" says out "^$DIR/prefix/lib/cuda_emu" ;;
*) echo "skipped: this build installs its libraries elsewhere" ;;
esac

# Programs compiled by a user against the toolkit's own cudart.
toolkit=${CUDA_HOME:-/usr/local/cuda}
lib=
for candidate in "$toolkit/lib64" "$toolkit/lib"; do
    test -e "$candidate/libcudart.so" && lib=$candidate
done
if test -n "$lib" && ${EMU_CC:-cc} -I"$toolkit/include" "$SRC/sample.c" -o "$DIR/sample" \
        -L"$lib" -lcudart 2>"$DIR/err"; then
    run "$EMU" --devices 3 "$DIR/sample"
    check "gcc -lcudart" test "$rc:$(cat "$DIR/out")" = \
        "0:3 devices, Emulated GPU 9, through the device"
    run env CUDA_EMU_DELAY=2000 "$EMU" --devices 1 "$DIR/sample"
    check "gcc -lcudart, delayed" test "$rc:$(lines err)" = 0:0
    if command -v mpirun >/dev/null 2>&1; then
        OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 \
            OMPI_MCA_rmaps_base_oversubscribe=1 run "$EMU" --devices 2 mpirun -np 2 "$DIR/sample"
        check "under mpirun" test "$rc:$(grep -c '2 devices' "$DIR/out")" = 0:2
    fi
else
    echo "skipped: no toolkit with libcudart.so"
fi
if test -n "$lib" && ${NVCC:-nvcc} -cudart shared -Wno-deprecated-gpu-targets "$SRC/sample.cu" \
        -o "$DIR/kernels" 2>"$DIR/err"; then
    CUDA_EMU_TWINS=$GDR_BUILDDIR/cuda_emu/tests/.libs/emu_test_twins.so run "$EMU" "$DIR/kernels"
    check "nvcc -cudart shared: a kernel with a twin" says out "^5 10 15 20\$"
    check "nvcc -cudart shared: a kernel without" says out "cudaErrorNoKernelImageForDevice"
    check "its name is said" says err "_Z16emu_test_no_twinPi"
else
    echo "skipped: no nvcc"
fi
exit $failed
