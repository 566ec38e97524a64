#include "engine/gdr_items.h"

#include <stdlib.h>
#include <string.h>

static gdr_status_t grow(gdr_context_t *context, uint32_t nitems, uint32_t nops)
{
    size_t n = nitems, tokens = n * sizeof(gdr_token_t), ops = nops * sizeof(gdr_net_op_t),
           polled = n * sizeof(gdr_polled_t), posted = n * sizeof(gdr_posted_t);
    uint8_t *memory;
    uint32_t *lists;

    if (context->capacity >= nitems && context->op_capacity >= nops)
        return GDR_OK;
    memory = calloc(1, tokens + ops + polled + posted +
                           n * (3 * sizeof(*lists) + sizeof(*context->state)));
    if (memory == NULL)
        return GDR_ERR_NO_MEMORY;
    free(context->memory);
    context->memory = memory;
    context->tokens = (gdr_token_t *)memory;
    context->ops = (gdr_net_op_t *)(memory + tokens);
    context->polled = (gdr_polled_t *)(memory + tokens + ops);
    context->posted = (gdr_posted_t *)(memory + tokens + ops + polled);
    lists = (uint32_t *)(memory + tokens + ops + polled + posted);
    context->missing = lists;
    context->ready.index = lists + n;
    context->held.index = lists + 2 * n;
    context->state = (uint8_t *)(lists + 3 * n);
    context->capacity = nitems;
    context->op_capacity = nops;
    return GDR_OK;
}

static gdr_status_t fit(gdr_context_t *context, const gdr_planned_t *planned)
{
    uint32_t nitems = planned->last->nitems;
    uint32_t nops = planned->last->nops;
    gdr_status_t status;

    if (planned->full != NULL && planned->full->nitems > nitems)
        nitems = planned->full->nitems;
    status = grow(context, nitems, nops);
    if (status == GDR_OK && nops > 0)
        memset(context->ops, 0, nops * sizeof(*context->ops));
    return status;
}

/* Where the context's words and slots lie, in this process and, from a lane's start, in others. */
static void place(gdr_context_t *context)
{
    const gdr_call_t *call = context->call;
    const gdr_engine_t *engine = call->team->engine;
    const gdr_layout_t *layout = &call->planned->plan->layout;
    const gdr_lane_t *lane = call->team->lane;
    uint32_t parts = gdr_plan_parts(&call->team->plan);
    const uint8_t *words;

    context->part_offset = gdr_layout_words(layout, call->part);
    context->ctl_part_offset = call->part * layout->ctl_part_bytes;
    context->window_offset = lane->offset + context->part_offset;
    context->ctl_offset =
        lane->ctl_index * engine->config.plan.ctl_bytes + context->ctl_part_offset;
    context->part_address = lane->window->address + context->window_offset;
    context->mem = lane->window->mem;
    context->chunk_bytes = layout->chunk_bytes;
    context->slot_offset = gdr_layout_slots(layout, parts, call->part) - context->part_offset +
                           gdr_layout_slot(layout, context->index, 0);
    words = engine->page + context->ctl_offset;
    context->flags = (const uint64_t *)(words + gdr_layout_ctl_flag(layout, context->index, 0));
    context->credits = (const uint64_t *)(words + gdr_layout_ctl_credit(layout, context->index, 0));
}

gdr_status_t gdr_context_take(gdr_call_t *call, uint32_t index, gdr_context_t **context)
{
    gdr_engine_t *engine = call->team->engine;
    gdr_context_t *taken = engine->free_contexts;
    gdr_status_t status;

    if (taken != NULL)
        engine->free_contexts = taken->next;
    else if ((taken = calloc(1, sizeof(*taken))) == NULL)
        return GDR_ERR_NO_MEMORY;
    taken->call = call;
    taken->rank = call->team->rank;
    taken->index = index;
    taken->mode_bit = call->desc.blocking ? GDR_MODE_BIT_BLOCKING : GDR_MODE_BIT_NONBLOCKING;
    taken->ordered = call->device_flags;
    taken->followed = false;
    place(taken);
    status = fit(taken, call->planned);
    if (status == GDR_OK)
        status = gdr_stream_acquire(call->team->device, call->device_flags, &taken->stream);
    if (status != GDR_OK) {
        taken->next = engine->free_contexts;
        engine->free_contexts = taken;
        return status;
    }
    *context = taken;
    return GDR_OK;
}

void gdr_context_give(gdr_context_t *context)
{
    gdr_engine_t *engine = gdr_context_engine(context);

    gdr_stream_release(context->stream);
    context->next = engine->free_contexts;
    engine->free_contexts = context;
}

void gdr_context_free(gdr_context_t *context)
{
    free(context->memory);
    free(context);
}

/* A credit is owed only if the flag is written once more in this call. */
static bool credit_is_owed(const gdr_context_t *context, uint32_t item)
{
    const gdr_planned_t *planned = context->call->planned;
    uint32_t wait = context->items[item].wait;
    uint64_t next = context->segment + planned->plan->layout.depth;

    if (!context->items[wait].last_round)
        return true;
    if (next >= planned->plan->nsegments)
        return false;
    return (next + 1 == planned->plan->nsegments ? planned->last : planned->full)
        ->waited[context->steps[wait].flag];
}

void gdr_context_begin(gdr_context_t *context, uint64_t segment)
{
    const gdr_call_t *call = context->call;
    const gdr_plan_t *plan = call->planned->plan;
    const gdr_program_t *program =
        segment + 1 == plan->nsegments ? call->planned->last : call->planned->full;
    uint64_t last_round =
        plan->nsegments > plan->layout.depth ? plan->nsegments - plan->layout.depth - 1 : 0;
    uint32_t i;

    context->segment = segment;
    context->program = program;
    context->items = program->items;
    context->steps = program->sched->steps;
    context->peers = call->planned->peers;
    context->remaining = program->nitems;
    context->cursor = 0;
    context->send = call->desc.send + segment * plan->seg_bytes;
    context->recv = call->desc.recv + segment * plan->seg_bytes;
    context->instance = plan->full != NULL ? segment / plan->layout.depth * plan->full->rounds : 0;
    context->value = gdr_flag_value(call->number, context->instance);
    context->ready.n = context->held.n = 0;
    context->cut_short = false;
    context->npolled = context->nposted = 0;
    memset(context->state, GDR_ITEM_IDLE, program->nitems);
    memcpy(context->missing, program->missing, program->nitems * sizeof(*program->missing));
    context->moved = context->ordered;
    if (!context->ordered) {
        memcpy(context->ready.index, program->first, program->nfirst * sizeof(*program->first));
        context->ready.n = program->nfirst;
    }
    /* Before the last round of segments each one is followed by another like it. */
    for (i = program->sched->nsteps; i < program->nitems && segment >= last_round; i++) {
        if (credit_is_owed(context, i))
            continue;
        context->state[i] = GDR_ITEM_DONE;
        context->remaining--;
    }
}

static gdr_status_t check_posted(gdr_context_t *context)
{
    gdr_posted_t *posted = context->posted, *end = posted + context->nposted;

    while (posted < end) {
        uint32_t item = posted->item;
        gdr_status_t status = posted->op->status;

        if (status == GDR_INPROGRESS) {
            posted++;
            continue;
        }
        if (status != GDR_OK)
            return status;
        *posted = *--end;
        context->nposted--;
        gdr_item_done(context, item);
    }
    return GDR_OK;
}

static void check_polled(gdr_context_t *context)
{
    gdr_polled_t *polled = context->polled, *end = polled + context->npolled;

    while (polled < end) {
        uint32_t item = polled->item;

        if (gdr_word_load(polled->word) < polled->value) {
            polled++;
            continue;
        }
        *polled = *--end;
        context->npolled--;
        context->stream->device->flush_due = true;
        gdr_item_done(context, item);
    }
}

/* Most looks find nothing: what has nothing to do is not called. */
static gdr_status_t advance(gdr_context_t *context)
{
    gdr_stream_t *stream = context->stream;
    gdr_status_t status = GDR_OK;

    if (context->nposted > 0)
        status = check_posted(context);
    if (status != GDR_OK)
        return status;
    if (stream->first != NULL)
        gdr_stream_poll(stream);
    check_polled(context);
    if (context->held.n > 0)
        status = gdr_issue_held(context);
    if (status == GDR_OK && context->ready.n > 0)
        status = gdr_host_advance(context);
    if (status == GDR_OK && context->moved)
        status = gdr_ordered_advance(context);
    if (status != GDR_OK || context->cut_short) /* one mark behind what is issued in a row */
        return status;
    return stream->wanted ? gdr_stream_mark(stream, false) : status;
}

gdr_status_t gdr_context_progress(gdr_context_t *context)
{
    for (;;) {
        const gdr_plan_t *plan;
        gdr_status_t status = advance(context);

        if (status != GDR_OK)
            return status;
        if (context->remaining > 0)
            return GDR_INPROGRESS;
        plan = context->call->planned->plan;
        if (context->segment + plan->layout.depth >= plan->nsegments)
            return GDR_OK;
        gdr_context_begin(context, context->segment + plan->layout.depth);
    }
}
