#!/bin/bash
# The part of scripts/debian13.sh that runs inside the Debian 13.
#   scripts/ompi5.sh build JOBS CUDA-DIR UCX-DIR | tests JOBS TEST...
set -euo pipefail

TOP=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
BUILD=$TOP/build/debian13/tree
. "$TOP/scripts/lib.sh"
. "$TOP/scripts/deps.sh"
. "$TOP/scripts/check.sh"
export HOME=/root LC_ALL=C PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin

build() {
    need_ompi_headers
    cd "$BUILD"
    if [ ! -f config.status ] || [ "$TOP/configure" -nt config.status ]; then
        "$TOP/configure" -q "--with-cuda=$2" "--with-ucx=$3" "${OMPI_FLAGS[@]}"
        touch coll_gdr/kernels/*.fatbin
    fi
    make -j"$1" all
    make -j"$1" check TESTS=
}

case $1 in
build)
    build "$2" "$3" "$4" ;;
tests)
    JOBS=$2
    shift 2
    make_check "$BUILD" "$@" ;;
esac
