/*
 * What all twins share: operands by the emulator's map, and how much of the grid is played.
 *
 * By default one thread does the whole grid's work in one pass, which the compiler vectorises.
 * With GDR_TWIN_GRID=1 in the environment every thread of every block is played, in order, with
 * its own share of the work: slow, and exactly what the card does.
 */
#ifndef GDR_TWIN_H
#define GDR_TWIN_H

#include <stdbool.h>
#include <stddef.h>

#include "cuda_emu/include/cuda_emu_twin.h"
#include "kernels/gdr_kernels.h"

#define GDR_TWIN_EXPORT __attribute__((visibility("default")))

/*
 * args[0] points to the kernel's gdr_kernel_args_t; *mapped gets a copy of it with host addresses
 * for exactly count * element_bytes bytes of each operand (of a gather's inputs: for what is read
 * of them). False, and nothing more to do, when the
 * launch is empty or when the emulator refused a range (it has recorded the error then).
 */
bool gdr_twin_map(gdr_kernel_args_t *mapped, const struct cuda_emu_launch *launch, void **args,
                  size_t element_bytes);

/* Whether GDR_TWIN_GRID asks for every thread. Read once, when the library is loaded. */
bool gdr_twin_whole_grid(void);

#endif
