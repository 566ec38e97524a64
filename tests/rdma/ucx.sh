#!/bin/bash
# Lays out, in DIR, a UCX that has both its CUDA and its InfiniBand modules, from the libraries that
# the Python package nixl-cu13 bundles (unpacked in WHEEL). Their names carry hashes; Debian's
# libibverbs takes the place of the bundled one, which does not load the providers of this machine.
#   ucx.sh WHEEL DIR
set -euo pipefail

libraries=$1/nixl_cu13.libs
dir=$2
verbs=$(PATH=$PATH:/sbin:/usr/sbin ldconfig -p | awk '/libibverbs\.so\.1 /{ print $NF; exit }')
[ -n "$verbs" ] || { echo "libibverbs.so.1 is missing (Debian: libibverbs1)" >&2; exit 1; }

rm -rf "$dir"
mkdir -p "$dir/ucx"
cp "$libraries"/libuc[pstm]-*.so.0.0.0 "$dir/"
cp "$libraries"/ucx/libuct_{cuda,cma,ib}.so.0.0.0 "$libraries"/ucx/libucm_cuda.so.0.0.0 "$dir/ucx/"
cd "$dir"
for library in ucp uct ucs ucm; do
    ln -s lib$library-*.so.0.0.0 lib$library.so.0
done
# UCX asks for a module under one of these names, whichever its version prefers.
for module in ucx/*.so.0.0.0; do
    name=${module#ucx/}
    ln -s "$name" "ucx/${name%.0.0}"
    ln -s "$name" "ucx/${name%.0.0.0}"
done
bundled=$(objdump -p ucx/libuct_ib.so.0.0.0 | awk '/NEEDED.*ibverbs/{ print $2 }')
ln -s "$verbs" "$bundled"
