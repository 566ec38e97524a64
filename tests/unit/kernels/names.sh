#!/bin/sh
# The fatbins, the twins and the table name the same kernels, and the twins export nothing else.
# cuobjdump reads the fatbins where it exists; otherwise the PTX of the same sources is made anew.
set -eu
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
status=0

cd "$GDR_BUILDDIR"
nvcc=$(echo '@NVCC@' | ./config.status -q --file=-)
gencode=$(echo '@NVCC_GENCODE@' | ./config.status -q --file=-)
ptx_arch=$(echo "$gencode" | sed 's/.*arch=\(compute_[0-9]*\).*/\1/')
cuobjdump=$(command -v cuobjdump || echo "$(dirname "$nvcc")/cuobjdump")

entries()
{
    sed -n 's/^.*\.entry \([A-Za-z0-9_]*\).*$/\1/p'
}

compare() # what file
{
    diff -u "$work/table" "$2" && return
    echo "kernels of the table (-) and of $1 (+) differ" >&2
    status=1
}

tests/unit/kernels_list | sort > "$work/table"
if [ "$(wc -l < "$work/table")" -lt 2 ]; then
    echo "the table is empty" >&2
    exit 1
fi

if [ -x "$cuobjdump" ]; then
    for fatbin in coll_gdr/kernels/*.fatbin; do
        "$cuobjdump" -ptx "$fatbin" | entries >> "$work/ptx"
        "$cuobjdump" -symbols "$fatbin" >> "$work/symbols"
    done
    for sass in $(echo "$gencode" | grep -o 'sm_[0-9]*'); do
        awk -v want="$sass" '$1 == "arch" { arch = $3 }
                             $1 == "FUNC" && arch == want { print $NF }' "$work/symbols" |
            sort > "$work/$sass"
        compare "the $sass code" "$work/$sass"
    done
else
    for source in "$GDR_SRCDIR"/coll_gdr/kernels/*.cu; do
        "$nvcc" -std=c++17 -Wno-deprecated-gpu-targets -arch="$ptx_arch" \
            -I"$GDR_SRCDIR/coll_gdr" -I"$GDR_SRCDIR" -ptx -o "$work/one.ptx" "$source"
        entries < "$work/one.ptx" >> "$work/ptx"
    done
fi
sort -o "$work/ptx" "$work/ptx"
compare "the PTX" "$work/ptx"

nm -D --defined-only .libs/libgdr_twins.so | awk '{ print $NF }' | sort > "$work/exports"
sed -n 's/^cuda_emu_twin_\(.*\)_args$/\1/p' "$work/exports" > "$work/twin_args"
grep -v '_args$' "$work/exports" | sed 's/^cuda_emu_twin_//' > "$work/twins"
compare "the twins' arguments" "$work/twin_args"
compare "the twins and whatever else they export" "$work/twins"
exit $status
