/* Host versions of the kernels that the emulator's own tests launch. */
#include "cuda_emu/include/cuda_emu_twin.h"

#define TWIN __attribute__((visibility("default")))

TWIN extern const uint32_t cuda_emu_twin_emu_test_add_args[];
TWIN void cuda_emu_twin_emu_test_add(const struct cuda_emu_launch *launch, void **args);
TWIN extern const uint32_t cuda_emu_twin_emu_test_blocks_args[];
TWIN void cuda_emu_twin_emu_test_blocks(const struct cuda_emu_launch *launch, void **args);
/* What nvcc calls `__global__ void emu_test_scale(int *p, int n, int factor)`. */
TWIN extern const uint32_t cuda_emu_twin__Z14emu_test_scalePiii_args[];
TWIN void cuda_emu_twin__Z14emu_test_scalePiii(const struct cuda_emu_launch *launch, void **args);

/* emu_test_add(p, n, value): p[i] += value for n ints */
const uint32_t cuda_emu_twin_emu_test_add_args[] = {8, 4, 4, 0};

void cuda_emu_twin_emu_test_add(const struct cuda_emu_launch *launch, void **args)
{
    uint64_t address = *(uint64_t *)args[0];
    int n = *(int *)args[1], value = *(int *)args[2];
    int *p = launch->map(address, (size_t)n * sizeof(*p), 1);

    if (p == NULL)
        return;
    for (int i = 0; i < n; i++)
        p[i] += value;
}

/* emu_test_blocks(out): what the launch was, into 8 ints */
const uint32_t cuda_emu_twin_emu_test_blocks_args[] = {8, 0};

void cuda_emu_twin_emu_test_blocks(const struct cuda_emu_launch *launch, void **args)
{
    uint32_t *out = launch->map(*(uint64_t *)args[0], 8 * sizeof(*out), 1);

    if (out == NULL)
        return;
    out[0] = launch->abi;
    for (int i = 0; i < 3; i++) {
        out[1 + i] = launch->grid[i];
        out[4 + i] = launch->block[i];
    }
    out[7] = launch->shared_bytes;
}

const uint32_t cuda_emu_twin__Z14emu_test_scalePiii_args[] = {8, 4, 4, 0};

void cuda_emu_twin__Z14emu_test_scalePiii(const struct cuda_emu_launch *launch, void **args)
{
    int n = *(int *)args[1], factor = *(int *)args[2];
    int *p = launch->map(*(uint64_t *)args[0], (size_t)n * sizeof(*p), 1);

    if (p == NULL)
        return;
    for (int i = 0; i < n; i++)
        p[i] *= factor;
}
