/* A segment cut in equal blocks, one per rank: the last ones may be shorter or empty. Pure. */
#ifndef GDR_BLOCKS_H
#define GDR_BLOCKS_H

#include "base/gdr_math.h"

#include <stdint.h>

/* Blocks start at multiples of this from the segment's start, so that kernels may use 16-byte
 * accesses wherever the user's buffer allows it. */
enum { GDR_BLOCK_ALIGN = 16 };

typedef struct gdr_blocks {
    uint64_t elements, block; /* of the segment; of one block but the last ones */
    uint64_t type_bytes;
} gdr_blocks_t;

/* The least number of elements (1 .. 16) whose size is a multiple of GDR_BLOCK_ALIGN. */
static inline uint64_t gdr_blocks_unit(uint64_t type_bytes)
{
    uint64_t unit = 1;

    while (unit * type_bytes % GDR_BLOCK_ALIGN != 0)
        unit *= 2;
    return unit;
}

static inline gdr_blocks_t gdr_blocks_make(uint64_t elements, uint64_t nblocks, uint64_t type_bytes)
{
    uint64_t block = gdr_align_up(gdr_div_up(elements, nblocks), gdr_blocks_unit(type_bytes));

    return (gdr_blocks_t){.elements = elements, .block = block, .type_bytes = type_bytes};
}

/* Bytes from the segment's start to block b; b == number of blocks: the segment's end. */
static inline uint64_t gdr_blocks_offset(const gdr_blocks_t *blocks, uint64_t b)
{
    return gdr_min_u64(b * blocks->block, blocks->elements) * blocks->type_bytes;
}

/* Bytes of blocks first .. end - 1. */
static inline uint64_t gdr_blocks_bytes(const gdr_blocks_t *blocks, uint64_t first, uint64_t end)
{
    return gdr_blocks_offset(blocks, end) - gdr_blocks_offset(blocks, first);
}

#endif
