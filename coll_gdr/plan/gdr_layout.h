/*
 * Where things lie in a lane part: a pure function of facts that are equal on all ranks.
 *
 * Parts. A communicator's lane is cut into 2 * GDR_LANE_CALLS equal parts; its call number k uses
 * part k % (2 * GDR_LANE_CALLS), and a rank starts call k only when its own call k - GDR_LANE_CALLS
 * is complete. Nobody completes an allreduce before everybody has started it; so when a rank starts
 * call k, everybody has started call k - W and hence completed call k - 2W, the part's last user.
 * No message is needed between calls, whatever algorithms they use (W = GDR_LANE_CALLS). A lane
 * that has grown is cut into 2: there W is 1, and a call has twice the room.
 *
 * Words (flags, credits, their sources) live in areas of fixed place and size, whatever the
 * layout: payload of one call must never be read as a flag by the next. Those of all parts come
 * first in the lane, as many bytes for 2 parts as for 2 * GDR_LANE_CALLS, and then all slots: a
 * communicator may use only the start of a lane of which another one has used all, in other parts.
 * They are zeroed once, when the window is made; a lane's call numbers go on when another
 * communicator gets it (the vote agrees on the first one), so nothing old is ever taken for new.
 */
#ifndef GDR_LAYOUT_H
#define GDR_LAYOUT_H

#include "base/gdr_math.h"
#include "base/gdr_status.h"

#include <stdint.h>

enum {
    GDR_LANE_CALLS = 2,                  /* W: calls of one communicator in flight */
    GDR_LANE_PARTS = 2 * GDR_LANE_CALLS, /* D */
    GDR_DEPTH_MOST = 16,                 /* contexts that are chosen; */
    GDR_DEPTH_WAITING = 4,               /* where they may wait in streams: a GPU has few queues */
    GDR_SLOT_ALIGN = 256,                /* bytes; slots and chunks are multiples of it */
    GDR_LANE_UNIT = GDR_LANE_PARTS * GDR_SLOT_ALIGN, /* bytes; lanes are multiples of it */
    GDR_WORD_BYTES = 8
};

/* How much an algorithm needs, for one context. */
typedef struct gdr_shape {
    uint32_t nslots;      /* chunk-sized */
    uint32_t nflags;      /* incoming, of the rank that has most */
    uint32_t nchannels;   /* outgoing, of the rank that has most */
    uint32_t seg_chunks;  /* a segment is this many chunks of the message */
    uint64_t least_chunk; /* bytes, 0: any; besides the parameters' minimum */
} gdr_shape_t;

typedef struct gdr_layout {
    gdr_shape_t shape;
    uint32_t depth;
    uint64_t chunk_bytes;
    uint64_t words_bytes; /* of a part in the window: [flags][sources], */
    uint64_t source_offset;
    uint64_t slots_bytes;    /* and of its slots */
    uint64_t ctl_part_bytes; /* in the page: [flags][credits][sources of flags][of credits] */
    uint64_t ctl_credit_offset, ctl_flag_source_offset, ctl_credit_source_offset;
} gdr_layout_t;

/*
 * part_bytes, ctl_part_bytes: size of one part in the window and in the control page.
 * depth: wanted contexts (>= 1), reduced if chunks would fall below min_chunk.
 * max_chunk: upper limit in bytes, 0 = none (coll_gdr_chunk_size).
 * GDR_ERR_UNSUPPORTED when even depth 1 falls below min_chunk or the words do not fit: take another
 * algorithm.
 */
gdr_status_t gdr_layout_make(const gdr_shape_t *shape, uint64_t part_bytes, uint64_t ctl_part_bytes,
                             uint32_t depth, uint64_t min_chunk, uint64_t max_chunk,
                             gdr_layout_t *layout);

/* Byte offsets from the lane's start: of a part's words, and of its slots. */
static inline uint64_t gdr_layout_words(const gdr_layout_t *l, uint32_t part)
{
    return part * l->words_bytes;
}

static inline uint64_t gdr_layout_slots(const gdr_layout_t *l, uint32_t parts, uint32_t part)
{
    return gdr_align_up(parts * l->words_bytes, GDR_SLOT_ALIGN) + part * l->slots_bytes;
}

/* From the start of the part's words in the window. */
static inline uint64_t gdr_layout_flag(const gdr_layout_t *l, uint32_t context, uint32_t flag)
{
    return ((uint64_t)context * l->shape.nflags + flag) * GDR_WORD_BYTES;
}

static inline uint64_t gdr_layout_source(const gdr_layout_t *l, uint32_t context, uint32_t channel)
{
    return l->source_offset + ((uint64_t)context * l->shape.nchannels + channel) * GDR_WORD_BYTES;
}

/* From the start of its slots. */
static inline uint64_t gdr_layout_slot(const gdr_layout_t *l, uint32_t context, uint32_t slot)
{
    return ((uint64_t)context * l->shape.nslots + slot) * l->chunk_bytes;
}

/* Byte offsets from the part's start in the control page. */
static inline uint64_t gdr_layout_ctl_flag(const gdr_layout_t *l, uint32_t context, uint32_t flag)
{
    return ((uint64_t)context * l->shape.nflags + flag) * GDR_WORD_BYTES;
}

static inline uint64_t gdr_layout_ctl_credit(const gdr_layout_t *l, uint32_t context,
                                             uint32_t channel)
{
    return l->ctl_credit_offset +
           ((uint64_t)context * l->shape.nchannels + channel) * GDR_WORD_BYTES;
}

static inline uint64_t gdr_layout_ctl_flag_source(const gdr_layout_t *l, uint32_t context,
                                                  uint32_t channel)
{
    return l->ctl_flag_source_offset +
           ((uint64_t)context * l->shape.nchannels + channel) * GDR_WORD_BYTES;
}

static inline uint64_t gdr_layout_ctl_credit_source(const gdr_layout_t *l, uint32_t context,
                                                    uint32_t flag)
{
    return l->ctl_credit_source_offset +
           ((uint64_t)context * l->shape.nflags + flag) * GDR_WORD_BYTES;
}

#endif
