/*
 * What happens to the items of a context, several times for every step of every segment: inline,
 * because a call would cost more than they do (tests/sim/cost.sh).
 */
#ifndef GDR_ITEMS_H
#define GDR_ITEMS_H

#include "engine/gdr_engine_priv.h"

static inline const gdr_step_t *gdr_item_step(const gdr_context_t *context, uint32_t item)
{
    return &context->steps[item];
}

/* The member that a put, a wait or a credit is about. */
static inline const gdr_member_t *gdr_item_peer(const gdr_context_t *context, uint32_t item)
{
    return context->peers[context->items[item].peer];
}

/* The network operation of a put or a credit. */
static inline gdr_net_op_t *gdr_item_op(gdr_context_t *context, uint32_t item)
{
    return &context->ops[context->items[item].op];
}

/* Of the flag that a put writes or a wait awaits. */
static inline uint64_t gdr_item_value(const gdr_context_t *context, uint32_t item)
{
    return context->value + gdr_item_step(context, item)->round;
}

/* A WAIT's flag in the control page. */
static inline gdr_polled_t gdr_item_flag(const gdr_context_t *context, uint32_t item)
{
    return (gdr_polled_t){&context->flags[gdr_item_step(context, item)->flag],
                          gdr_item_value(context, item), item};
}

/* A put's flag goes to the peer's window: its source word is written by the stream. */
static inline bool gdr_item_to_window(const gdr_context_t *context, uint32_t item)
{
    return (gdr_item_peer(context, item)->modes & context->mode_bit) != 0;
}

/* The channel's write before this put is over: its source word may be written again. */
static inline bool gdr_item_channel_free(const gdr_context_t *context, uint32_t item)
{
    int64_t prior = context->items[item].prior;

    return prior < 0 || context->state[prior] == GDR_ITEM_DONE;
}

/* Successors of an item need one predecessor less. In a stream-ordered call the cursor decides
 * about steps: only credits come through the list. */
static inline void gdr_items_release(gdr_context_t *context, uint32_t first, uint32_t n)
{
    const uint32_t *successor = &context->program->successors[first], *end = successor + n;

    for (; successor < end; successor++) {
        if (--context->missing[*successor] > 0 || context->state[*successor] != GDR_ITEM_IDLE)
            continue;
        if (!context->ordered || context->items[*successor].kind == GDR_ITEM_CREDIT)
            context->ready.index[context->ready.n++] = *successor;
    }
}

/* The item is in the stream: what may follow it there is free to go. */
static inline void gdr_item_enqueued(gdr_context_t *context, uint32_t item)
{
    const gdr_item_t *fixed = &context->items[item];

    context->state[item] = GDR_ITEM_ENQUEUED;
    gdr_items_release(context, fixed->succ, fixed->norder);
}

static inline void gdr_item_done(gdr_context_t *context, uint32_t item)
{
    const gdr_item_t *fixed = &context->items[item];

    context->state[item] = GDR_ITEM_DONE;
    context->remaining--;
    context->moved = context->ordered;
    context->call->events++;
    gdr_items_release(context, fixed->succ + fixed->norder, fixed->ndone);
}

/* The stream has done what was enqueued for the item: a put may go now, all else is done. */
static inline void gdr_item_reached(gdr_context_t *context, uint32_t item)
{
    if (!gdr_kind_is_put(context->items[item].kind)) {
        gdr_item_done(context, item);
        return;
    }
    context->state[item] = GDR_ITEM_HELD;
    context->held.index[context->held.n++] = item;
    context->call->events++;
}

/* The item is reached when all that was enqueued so far is done. wanted: say so before the next
 * wait, or when there is nothing more to enqueue for now; urgent: before the next kernel, too. */
static inline void gdr_item_expect(gdr_context_t *context, uint32_t item, bool wanted, bool urgent)
{
    gdr_stream_t *stream = context->stream;
    gdr_token_t *token = &context->tokens[item];

    *token = (gdr_token_t){NULL, context, stream->written + 1, item};
    *stream->last = token;
    stream->last = &token->next;
    stream->wanted |= wanted;
    stream->urgent |= urgent;
}

#endif
