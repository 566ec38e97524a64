#!/bin/sh
# The device room: at once, with delays, in the synchronous mode.
run=${GDR_SRCDIR:-.}/tests/glue/on_emulator
sh "$run" device_test || exit $?
CUDA_EMU_DELAY=500 CUDA_EMU_SEED=7 sh "$run" device_test || exit $?
CUDA_EMU_SYNC=1 sh "$run" device_test || exit $?
CUDA_EMU_PEERS=none sh "$run" device_test
