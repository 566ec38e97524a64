/*
 * Operands for kernels: each in a region of its own between two pages that nobody may touch, with
 * a pattern around it; and a launch whose map() accepts exactly the declared ranges.
 */
#ifndef KERNELS_ARENA_H
#define KERNELS_ARENA_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "kernels/gdr_kernels.h"

#define ARENA_REGIONS (GDR_KERNEL_MAX_INPUTS + GDR_KERNEL_MAX_OUTPUTS)
#define ARENA_BYTES   20480 /* of one region */

/* Where in its region an operand lies. */
typedef struct arena_place {
    bool at_end; /* the last byte is `shift` bytes before the forbidden page; else from the start */
    unsigned shift;
} arena_place_t;

/* Maps all regions once. Exits with a message when the system refuses. */
void arena_open(void);

/* Fills the pattern around `bytes` bytes at `place` in region `region`; returns their address. */
uint8_t *arena_put(unsigned region, arena_place_t place, size_t bytes);

/* Whether the pattern around the operand that arena_put() placed last is intact. */
bool arena_intact(unsigned region);

/*
 * Runs the twin of `kernel` on `blocks` blocks of `threads` threads, as the emulator would.
 * Returns false when the twin mapped anything but the operands (and the abort word) of args, each
 * with its exact length and the right write flag, once.
 */
bool arena_launch(const gdr_kernel_t *kernel, const gdr_kernel_args_t *args, uint32_t blocks,
                  uint32_t threads);

/* Makes the next launch's map() refuse its index-th call (from 0). */
void arena_refuse(unsigned index);

#endif
