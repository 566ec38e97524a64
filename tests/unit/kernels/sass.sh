#!/bin/bash
# The kernels as they were compiled move 16 bytes per access, with enough loads under way at once to
# hide the latency of memory, and spill no register. Reads the machine code in the fatbins (sm_90;
# of floating point every architecture) where cuobjdump and nvdisasm are (PATH, CUDA_HOME/bin, or
# what ./quickstart check downloads), else the PTX that nvcc makes. Environment: as make check sets
# it.
set -u
: "${GDR_SRCDIR:?run it with make check}" "${GDR_BUILDDIR:?run it with make check}"
kernels=$GDR_SRCDIR/coll_gdr/kernels
work=$(mktemp -d) || exit 99
trap 'rm -rf "$work"' EXIT
PATH=$PATH:${CUDA_HOME:-/nonexistent}/bin:$GDR_BUILDDIR/deps/cuasm/nvidia/cu13/bin

disassemble() {
    local fatbin name arch

    for fatbin in "$GDR_BUILDDIR"/coll_gdr/kernels/*.fatbin; do
        name=$(basename "$fatbin" .fatbin)
        arch=(-arch sm_90)
        [ "$name" != float ] || arch=()
        cuobjdump -sass "${arch[@]}" "$fatbin" >"$work/$name.asm" || return
    done
}

make_ptx() {
    local source

    for source in "$kernels"/*.cu; do
        "$NVCC" -std=c++14 -ptx -arch=compute_80 -I"$GDR_SRCDIR/coll_gdr" -I"$GDR_SRCDIR" \
            -o "$work/$(basename "$source" .cu).asm" "$source" 2>"$work/log" ||
            { cat "$work/log"; return 1; }
    done
}

if command -v cuobjdump >/dev/null && command -v nvdisasm >/dev/null; then
    kind=SASS
    disassemble || exit 1
elif [ -n "${NVCC-}" ] && command -v "$NVCC" >/dev/null; then
    kind=PTX
    make_ptx || exit 1
else
    echo "skipped: neither cuobjdump with nvdisasm nor nvcc is here"
    exit 77
fi
python3 "$kernels/../../tests/unit/kernels/sass.py" "$work"/*.asm >"$work/found" || exit 1

# Four units of two operands; fewer where arithmetic on small elements takes the registers, where
# there is one operand (also of a gather, at a time), and in PTX, which is not yet scheduled.
awk -v kind=$kind '
    function least(name) {
        if (kind == "PTX" || name ~ /copy|gather/) return name ~ /int8$|bool|char/ ? 2 : 4
        if (name ~ /8$/ && name !~ /complex128$/) return 2
        if (name ~ /16$/ || name ~ /_l(and|or|xor)_/) return 4
        return 8
    }
    {
        n++
        if ($3 < least($1) || $4 == 0 || $5 > 0) {
            bad++
            printf "%s %s: %d loads of 16 bytes at once (wanted: %d), %d stores, %d local\n",
                $1, $2, $3, least($1), $4, $5
        }
    }
    END { printf "%s of %d kernels: %d bad\n", kind, n, bad; exit bad > 0 || n < 50 }
' "$work/found"
