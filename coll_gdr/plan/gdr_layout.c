#include "plan/gdr_layout.h"

#include "base/gdr_math.h"

#include <stdbool.h>

enum { WORD_AREAS = 4 }; /* of the control page: flags, credits, and the sources of both */

static bool words_fit(const gdr_shape_t *shape, uint64_t depth, uint64_t area)
{
    uint64_t most = gdr_max_u64(shape->nflags, shape->nchannels);

    return most * depth <= area / GDR_WORD_BYTES;
}

/* 0 when not even a slot of GDR_SLOT_ALIGN bytes fits. A shape without slots gets whole contexts.
 */
static uint64_t chunk_for(const gdr_shape_t *shape, uint64_t depth, uint64_t slots_bytes,
                          uint64_t max_chunk)
{
    uint64_t chunk = slots_bytes / depth / gdr_max_u64(shape->nslots, 1);

    if (max_chunk != 0)
        chunk = gdr_min_u64(chunk, max_chunk);
    return gdr_align_down(chunk, GDR_SLOT_ALIGN);
}

gdr_status_t gdr_layout_make(const gdr_shape_t *shape, uint64_t part_bytes, uint64_t ctl_part_bytes,
                             uint32_t depth, uint64_t min_chunk, uint64_t max_chunk,
                             gdr_layout_t *layout)
{
    /* All areas are as large as a quarter of the control page's part: the same number of words
     * fits everywhere, and the place of an area depends on the sizes of the parts alone. */
    uint64_t area = gdr_align_down(ctl_part_bytes / WORD_AREAS, GDR_WORD_BYTES);
    uint64_t least = gdr_max_u64(min_chunk, GDR_SLOT_ALIGN);
    uint64_t slot_offset, chunk = 0;

    if (depth == 0 || shape->seg_chunks == 0)
        return GDR_ERR_INVALID;
    if (area > part_bytes / 2 || part_bytes - 2 * area < GDR_SLOT_ALIGN)
        return GDR_ERR_UNSUPPORTED;
    slot_offset = 2 * area + (GDR_SLOT_ALIGN - 2 * area % GDR_SLOT_ALIGN) % GDR_SLOT_ALIGN;

    /* A start that is near: hostile depths must not make this loop long. */
    depth = (uint32_t)gdr_min_u64(depth, (part_bytes - slot_offset) / GDR_SLOT_ALIGN + 1);
    if (gdr_max_u64(shape->nflags, shape->nchannels) != 0)
        depth = (uint32_t)gdr_min_u64(depth, area / GDR_WORD_BYTES + 1);
    for (; depth > 0; depth--) {
        if (!words_fit(shape, depth, area))
            continue;
        chunk = chunk_for(shape, depth, part_bytes - slot_offset, max_chunk);
        if (chunk >= least)
            break;
    }
    if (depth == 0)
        return GDR_ERR_UNSUPPORTED;

    *layout = (gdr_layout_t){.shape = *shape,
                             .depth = depth,
                             .chunk_bytes = chunk,
                             .part_bytes = part_bytes,
                             .source_offset = area,
                             .slot_offset = slot_offset,
                             .ctl_part_bytes = ctl_part_bytes,
                             .ctl_credit_offset = area,
                             .ctl_flag_source_offset = 2 * area,
                             .ctl_credit_source_offset = 3 * area};
    return GDR_OK;
}
