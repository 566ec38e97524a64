#!/bin/sh
# A UCX whose module for the driver's hooks is missing takes device memory for host memory: it is
# refused, with the reason, before the CPU touches any; without UCX's cache of types it serves.
run=${GDR_SRCDIR:-.}/tests/glue/on_emulator
[ -e "$GDR_UCX_LIBDIR/ucx/libucm_cuda.so.0" ] || {
    echo "skipped: this UCX has no libucm_cuda"
    exit 77
}
work=$(mktemp -d) || exit 99
trap 'rm -rf "$work"' EXIT
mkdir "$work/ucx"
cp -L "$GDR_UCX_LIBDIR"/lib*.so.0 "$work/" || exit 99
cp -L "$GDR_UCX_LIBDIR"/ucx/libuct_*.so.0 "$work/ucx/" || exit 99
out=$(GDR_UCX_LIBDIR=$work sh "$run" glue_pair --rounds 2 device-flags 2>&1)
status=$?
if [ $status = 0 ] || ! echo "$out" | grep -q "does not see that the window is cuda memory" ||
    echo "$out" | grep -q "touched device memory"; then
    echo "status $status, expected that the window is refused:"
    echo "$out"
    exit 1
fi
echo "ok: refused"
UCX_MEMTYPE_CACHE=n GDR_UCX_LIBDIR=$work sh "$run" glue_pair --rounds 2 device-flags host-flags
