#include "plan/gdr_layout.h"

#include "base/gdr_math.h"

enum { WORD_AREAS = 4 }; /* of the control page: flags, credits, and the sources of both */

/* Contexts for which the words fit into their areas, and slots of `chunk` bytes into the rest. */
static uint64_t contexts_that_fit(const gdr_shape_t *shape, uint64_t area_bytes,
                                  uint64_t slots_bytes, uint64_t chunk)
{
    uint64_t words = gdr_max_u64(1, gdr_max_u64(shape->nflags, shape->nchannels));
    uint64_t bytes;

    if (!gdr_mul_u64(gdr_max_u64(shape->nslots, 1), chunk, &bytes))
        return 0;
    return gdr_min_u64(area_bytes / GDR_WORD_BYTES / words, slots_bytes / bytes);
}

gdr_status_t gdr_layout_make(const gdr_shape_t *shape, uint64_t part_bytes, uint64_t ctl_part_bytes,
                             uint32_t depth, uint64_t min_chunk, uint64_t max_chunk,
                             gdr_layout_t *layout)
{
    /* All areas are as large as a quarter of the control page's part: the same number of words
     * fits everywhere, and the place of an area depends on the sizes of the parts alone. */
    uint64_t area = gdr_align_down(ctl_part_bytes / WORD_AREAS, GDR_WORD_BYTES);
    uint64_t words_bytes = 2 * area, head, slots_bytes, least, chunk;

    if (depth == 0 || shape->seg_chunks == 0)
        return GDR_ERR_INVALID;
    if (area > part_bytes / 2 || part_bytes - 2 * area < GDR_SLOT_ALIGN || min_chunk > part_bytes)
        return GDR_ERR_UNSUPPORTED;
    head = words_bytes + (GDR_SLOT_ALIGN - words_bytes % GDR_SLOT_ALIGN) % GDR_SLOT_ALIGN;
    if (head > part_bytes)
        return GDR_ERR_UNSUPPORTED;
    slots_bytes = part_bytes - head;
    least = min_chunk / GDR_SLOT_ALIGN * GDR_SLOT_ALIGN;
    least = gdr_max_u64(least < min_chunk ? least + GDR_SLOT_ALIGN : least, GDR_SLOT_ALIGN);

    depth = (uint32_t)gdr_min_u64(depth, contexts_that_fit(shape, area, slots_bytes, least));
    if (depth == 0)
        return GDR_ERR_UNSUPPORTED;
    /* A shape without slots has chunks as large as a context. */
    chunk = slots_bytes / depth / gdr_max_u64(shape->nslots, 1);
    if (max_chunk != 0)
        chunk = gdr_min_u64(chunk, max_chunk);
    chunk = gdr_align_down(chunk, GDR_SLOT_ALIGN);
    if (chunk < least)
        return GDR_ERR_UNSUPPORTED;

    *layout = (gdr_layout_t){.shape = *shape,
                             .depth = depth,
                             .chunk_bytes = chunk,
                             .words_bytes = words_bytes,
                             .source_offset = area,
                             .slots_bytes = slots_bytes,
                             .ctl_part_bytes = ctl_part_bytes,
                             .ctl_credit_offset = area,
                             .ctl_flag_source_offset = 2 * area,
                             .ctl_credit_source_offset = 3 * area};
    return GDR_OK;
}
