#!/bin/sh
# ucx_glue and device between two processes: as it comes, with delays and an environment that would
# corrupt data, on one device, without error reports, and with host windows.
run=${GDR_SRCDIR:-.}/tests/glue/on_emulator
step() {
    echo "# $*"
    "$@" || exit $?
}
step sh "$run" glue_pair
step env CUDA_EMU_DELAY=2000 CUDA_EMU_SEED=11 UCX_FENCE_MODE=weak UCX_PROTO_ENABLE=n \
    sh "$run" glue_pair device-flags host-flags many map
step env CUDA_EMU_DEVICES=1 UCX_TLS=tcp,posix sh "$run" glue_pair device-flags host-flags
step sh "$run" glue_pair --no-peer-errors device-flags host-flags many
step sh "$run" glue_pair --host --rounds 2 host-flags many refused bad-input
