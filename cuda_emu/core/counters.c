/* Payload that passed through memory the CPU can see, and a few events. */
#include "cuda_emu/core/emu.h"

#include <string.h>

static _Atomic(uint64_t) counters[EMU_COUNTERS];

void emu_count(enum emu_counter which, uint64_t add)
{
    atomic_fetch_add_explicit(&counters[which], add, memory_order_relaxed);
}

uint64_t emu_counted(enum emu_counter which)
{
    return atomic_load_explicit(&counters[which], memory_order_relaxed);
}

__attribute__((visibility("default"))) uint32_t cuda_emu_counters(struct cuda_emu_counters *out,
                                                                  size_t size)
{
    const struct cuda_emu_counters now = {
        .htod_bytes = emu_counted(EMU_COUNT_HTOD),
        .dtoh_bytes = emu_counted(EMU_COUNT_DTOH),
        .htoh_bytes = emu_counted(EMU_COUNT_HTOH),
        .managed_bytes = emu_counted(EMU_COUNT_MANAGED),
        .kernel_host_bytes = emu_counted(EMU_COUNT_KERNEL_HOST),
        .dtod_bytes = emu_counted(EMU_COUNT_DTOD),
        .kernels = emu_counted(EMU_COUNT_LAUNCHES),
        .copies = emu_counted(EMU_COUNT_COPIES),
        .stream_waits = emu_counted(EMU_COUNT_WAITS),
        .stream_writes = emu_counted(EMU_COUNT_WRITES),
    };

    memset(out, 0, size);
    memcpy(out, &now, size < sizeof(now) ? size : sizeof(now));
    return CUDA_EMU_COUNTERS_ABI;
}
