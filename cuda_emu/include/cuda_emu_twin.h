/*
 * Kernel twins: the public, stable interface between an emulated CUDA driver and host-compiled
 * copies of kernels. Another emulator may use it to run the same component.
 *
 * Every shared object named in CUDA_EMU_TWINS (colon-separated) may export, for a kernel NAME:
 *
 *     extern const uint32_t cuda_emu_twin_NAME_args[];   sizes of the arguments in bytes, 0 ends
 *     void cuda_emu_twin_NAME(const struct cuda_emu_launch *launch, void **args);
 *
 * The driver copies the arguments at launch (as CUDA does) and calls the twin when the launch
 * reaches the head of its stream; the twin runs the whole grid. `args` is as in cuLaunchKernel:
 * args[i] points to the i-th argument.
 */
#ifndef CUDA_EMU_TWIN_H
#define CUDA_EMU_TWIN_H

#include <stddef.h>
#include <stdint.h>

#define CUDA_EMU_TWIN_ABI 1

struct cuda_emu_launch {
    uint32_t abi; /* CUDA_EMU_TWIN_ABI */
    uint32_t grid[3], block[3], shared_bytes;
    uint64_t stream;
    /*
     * Host address of [devptr, devptr + bytes) that the CPU may touch; `write`: 0 read, 1 write.
     * NULL when the range is not memory that this device may access: the driver has then recorded
     * CUDA_ERROR_ILLEGAL_ADDRESS (700) for the context, and the twin returns.
     */
    void *(*map)(uint64_t devptr, size_t bytes, int write);
};

#endif
