#include "kernels/gdr_twin.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool whole_grid;

__attribute__((constructor)) static void read_environment()
{
    const char *value = getenv("GDR_TWIN_GRID");

    whole_grid = value != NULL && strcmp(value, "0") != 0 && value[0] != '\0';
}

bool gdr_twin_whole_grid()
{
    return whole_grid;
}

/* Replaces *address by its host address. */
static bool map_operand(uint64_t *address, const struct cuda_emu_launch *launch, size_t bytes,
                        int write)
{
    void *host = launch->map(*address, bytes, write);

    *address = (uint64_t)(uintptr_t)host;
    return host != NULL;
}

/* Of input k, where `bytes` are the output's. */
static size_t input_bytes(const gdr_kernel_args_t *args, uint32_t k, size_t bytes)
{
    size_t at = k * args->block;

    if (args->block == 0)
        return bytes;
    return bytes - at < args->block ? bytes - at : args->block;
}

bool gdr_twin_map(gdr_kernel_args_t *mapped, const struct cuda_emu_launch *launch, void **args,
                  size_t element_bytes)
{
    memcpy(mapped, args[0], sizeof(*mapped));
    if (mapped->abort != 0 && !map_operand(&mapped->abort, launch, sizeof(uint64_t), 0))
        return false;
    if (mapped->count == 0)
        return false;
    size_t bytes = mapped->count * element_bytes;
    for (uint32_t k = 0; k < mapped->nin; k++) {
        if (!map_operand(&mapped->in[k], launch, input_bytes(mapped, k, bytes), 0))
            return false;
    }
    for (uint32_t o = 0; o < mapped->nout; o++) {
        if (!map_operand(&mapped->out[o], launch, bytes, 1))
            return false;
    }
    return true;
}

/* The card would report CUDA_ERROR_MISALIGNED_ADDRESS (716), for which a twin has no way to tell:
 * it is a fault of this component, never of the application. */
extern "C" void gdr_twin_misaligned(uint64_t address, unsigned bytes)
{
    fprintf(stderr,
            "coll/gdr twin: a %u-byte access at 0x%" PRIx64 " is not aligned: the card "
            "would stop with error 716\n",
            bytes, address);
    abort();
}
