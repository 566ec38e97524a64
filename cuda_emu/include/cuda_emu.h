/*
 * What the emulated libcuda.so.1 exports beyond CUDA. Find it with dlsym: a real driver has none
 * of it, and that is how a program tells the two apart.
 */
#ifndef CUDA_EMU_H
#define CUDA_EMU_H

#include <stddef.h>
#include <stdint.h>
#include "cuda_emu_twin.h"

#define CUDA_EMU_COUNTERS_ABI 1

/*
 * Since the process began. Bytes are counted when an operation runs, not when it is enqueued. A
 * copy between devices without peer access is staged through the host by the driver: it counts
 * twice, as device to host and as host to device.
 */
struct cuda_emu_counters {
    uint64_t htod_bytes;        /* host memory to device memory */
    uint64_t dtoh_bytes;        /* device memory to host memory */
    uint64_t htoh_bytes;        /* host to host, by a CUDA call */
    uint64_t managed_bytes;     /* copies with a managed operand, read or written */
    uint64_t kernel_host_bytes; /* host or managed operands of kernels */
    uint64_t dtod_bytes;        /* device to device, imported memory included */
    uint64_t kernels;           /* kernels run */
    uint64_t copies;            /* copies and memsets run */
    uint64_t stream_waits;      /* stream waits for a value that are over */
    uint64_t stream_writes;     /* values written by streams */
};

/*
 * Fills the first `size` bytes of *counters (so that later fields can be added at the end).
 * Returns CUDA_EMU_COUNTERS_ABI. Safe from any thread.
 */
uint32_t cuda_emu_counters(struct cuda_emu_counters *counters, size_t size);
typedef uint32_t (*cuda_emu_counters_fn)(struct cuda_emu_counters *counters, size_t size);

/*
 * Where the emulator itself reads and writes [address, address + bytes) of device memory; NULL if
 * that is not device memory. For stand-ins of drivers that reach device memory without the CPU,
 * as nvidia-peermem does for a NIC: a program that copies through it defeats the emulator's
 * purpose.
 */
void *cuda_emu_alias(uint64_t address, size_t bytes);

/* Payload bytes that passed through memory the CPU can see. */
static inline uint64_t cuda_emu_host_bytes(const struct cuda_emu_counters *c)
{
    return c->htod_bytes + c->dtoh_bytes + c->htoh_bytes + c->managed_bytes + c->kernel_host_bytes;
}

#endif
