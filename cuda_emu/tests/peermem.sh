#!/bin/sh
# cuda-emu --peermem: device memory is registered with a NIC, without it is refused; host memory is
# registered as ever; the report counts. No RDMA device is needed.
set -u
EMU=${GDR_BUILDDIR:?}/cuda_emu/launcher/cuda-emu
SRC=${GDR_SRCDIR:?}/cuda_emu/tests
DIR=$(mktemp -d "${TMPDIR:-/tmp}/cuda_emu_peermem_XXXXXX") || exit 99
trap 'rm -rf "$DIR"' EXIT

if [ ! -e "$GDR_BUILDDIR/cuda_emu/.libs/libcuda_emu_peermem.so" ]; then
    "$EMU" --peermem true 2>"$DIR/err"
    status=$?
    if [ $status -ne 1 ] || ! grep -q "libibverbs-dev" "$DIR/err"; then
        echo "FAILED: --peermem without the library: exit status $status"
        exit 1
    fi
    echo "built without libibverbs' headers: --peermem says so"
    exit 77
fi
${EMU_CC:-cc} -D_GNU_SOURCE -shared -fPIC -Wl,-soname,libibverbs.so.1 -o "$DIR/libibverbs.so.1" \
    "$SRC/fake_verbs.c" &&
    ${EMU_CC:-cc} -I"${CUDA_HOME:?}/include" -o "$DIR/peermem" "$SRC/peermem.c" \
        "$DIR/libibverbs.so.1" "$GDR_BUILDDIR/cuda_emu/.libs/libcuda.so" || exit 1
LD_LIBRARY_PATH=$DIR
CUDA_EMU_REPORT=$DIR/report
export LD_LIBRARY_PATH CUDA_EMU_REPORT
failed=0
check() { # WHAT COMMAND...
    what=$1
    shift
    if "$@"; then echo "ok: $what"; else echo "FAILED: $what"; failed=1; fi
}
check "without" timeout 60 "$EMU" "$DIR/peermem" without
check "no report without" test -z "$(cat "$DIR"/report.peermem.* 2>/dev/null)"
check "with" timeout 60 "$EMU" --peermem "$DIR/peermem" with
check "the report counts" grep -q "device regions: 3" "$DIR"/report.peermem.*
check "the report counts host memory" grep -q "host regions: 1" "$DIR"/report.peermem.*
check "--print-x names the preload" sh -c "'$EMU' --peermem --print-x | grep -q -- '-x LD_PRELOAD'"
check "no emulated driver in the process" "$EMU" --peermem sh -c "exit 0"
exit $failed
