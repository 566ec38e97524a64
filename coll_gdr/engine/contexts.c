#include "engine/gdr_engine_priv.h"

#include <stdlib.h>
#include <string.h>

static gdr_status_t grow(gdr_context_t *context, uint32_t nitems, uint32_t nops)
{
    uint8_t *memory;
    size_t items = nitems * sizeof(gdr_item_run_t), ops = nops * sizeof(gdr_net_op_t);
    uint32_t *lists;

    if (context->capacity >= nitems && context->op_capacity >= nops)
        return GDR_OK;
    memory = calloc(1, items + ops + 4 * (size_t)nitems * sizeof(*lists));
    if (memory == NULL)
        return GDR_ERR_NO_MEMORY;
    free(context->memory);
    context->memory = memory;
    context->items = (gdr_item_run_t *)memory;
    context->ops = (gdr_net_op_t *)(memory + items);
    lists = (uint32_t *)(memory + items + ops);
    context->ready.index = lists;
    context->polled.index = lists + nitems;
    context->held.index = lists + 2 * (size_t)nitems;
    context->posted.index = lists + 3 * (size_t)nitems;
    context->capacity = nitems;
    context->op_capacity = nops;
    return GDR_OK;
}

static gdr_status_t fit(gdr_context_t *context, const gdr_planned_t *planned)
{
    uint32_t nitems = planned->last->nitems;
    uint32_t nops = planned->last->nchannels + planned->last->nflags;
    gdr_status_t status;

    if (planned->full != NULL && planned->full->nitems > nitems)
        nitems = planned->full->nitems;
    status = grow(context, nitems, nops);
    if (status == GDR_OK && nops > 0)
        memset(context->ops, 0, nops * sizeof(*context->ops));
    return status;
}

gdr_status_t gdr_context_take(gdr_call_t *call, uint32_t index, gdr_context_t **context)
{
    gdr_engine_t *engine = call->team->engine;
    const gdr_layout_t *layout = &call->planned->plan->layout;
    const gdr_lane_t *lane = call->team->lane;
    gdr_context_t *taken = engine->free_contexts;
    gdr_status_t status;

    if (taken != NULL)
        engine->free_contexts = taken->next;
    else if ((taken = calloc(1, sizeof(*taken))) == NULL)
        return GDR_ERR_NO_MEMORY;
    taken->call = call;
    taken->index = index;
    taken->followed = false;
    taken->window_offset = lane->offset + call->part * layout->part_bytes;
    taken->ctl_offset =
        lane->ctl_index * engine->config.plan.ctl_bytes + call->part * layout->ctl_part_bytes;
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

/* In a stream-ordered call the cursor decides about steps: only credits come through the list. */
static void make_ready(gdr_context_t *context, uint32_t item)
{
    if (context->items[item].state != GDR_ITEM_IDLE ||
        (context->call->device_flags && context->program->items[item].kind != GDR_ITEM_CREDIT))
        return;
    context->ready.index[context->ready.n++] = item;
}

static void release(gdr_context_t *context, uint32_t first, uint32_t n)
{
    const uint32_t *successor = &context->program->successors[first];
    uint32_t i;

    for (i = 0; i < n; i++) {
        if (--context->items[successor[i]].missing == 0)
            make_ready(context, successor[i]);
    }
}

void gdr_item_enqueued(gdr_context_t *context, uint32_t item)
{
    const gdr_item_t *fixed = &context->program->items[item];

    context->items[item].state = GDR_ITEM_ENQUEUED;
    release(context, fixed->succ, fixed->norder);
}

void gdr_item_done(gdr_context_t *context, uint32_t item)
{
    const gdr_item_t *fixed = &context->program->items[item];

    context->items[item].state = GDR_ITEM_DONE;
    context->remaining--;
    context->call->events++;
    release(context, fixed->succ + fixed->norder, fixed->ndone);
}

void gdr_item_reached(gdr_context_t *context, uint32_t item)
{
    if (!gdr_kind_is_put(context->program->items[item].kind)) {
        gdr_item_done(context, item);
        return;
    }
    context->items[item].state = GDR_ITEM_HELD;
    context->held.index[context->held.n++] = item;
    context->call->events++;
}

/* A credit is owed only if the flag is written once more in this call. */
static bool credit_is_owed(const gdr_context_t *context, uint32_t item)
{
    const gdr_planned_t *planned = context->call->planned;
    uint32_t wait = context->program->items[item].wait;
    uint64_t next = context->segment + planned->plan->layout.depth;

    if (!context->program->items[wait].last_round)
        return true;
    if (next >= planned->plan->nsegments)
        return false;
    return (next + 1 == planned->plan->nsegments ? planned->last : planned->full)
        ->waited[context->program->sched->steps[wait].flag];
}

void gdr_context_begin(gdr_context_t *context, uint64_t segment)
{
    const gdr_call_t *call = context->call;
    const gdr_plan_t *plan = call->planned->plan;
    uint32_t i;

    context->segment = segment;
    context->program = segment + 1 == plan->nsegments ? call->planned->last : call->planned->full;
    context->remaining = context->program->nitems;
    context->cursor = 0;
    context->send = call->desc.send + segment * plan->seg_bytes;
    context->recv = call->desc.recv + segment * plan->seg_bytes;
    context->instance = plan->full != NULL ? segment / plan->layout.depth * plan->full->rounds : 0;
    context->ready.n = context->polled.n = context->held.n = context->posted.n = 0;
    for (i = 0; i < context->program->nitems; i++) {
        context->items[i].missing = context->program->items[i].missing;
        context->items[i].state = GDR_ITEM_IDLE;
        if (context->program->items[i].kind == GDR_ITEM_CREDIT && !credit_is_owed(context, i)) {
            context->items[i].state = GDR_ITEM_DONE;
            context->remaining--;
        } else if (context->items[i].missing == 0) {
            make_ready(context, i);
        }
    }
}

static gdr_status_t check_posted(gdr_context_t *context)
{
    gdr_index_list_t *posted = &context->posted;
    uint32_t i = 0;

    while (i < posted->n) {
        uint32_t item = posted->index[i];
        const gdr_net_op_t *op = gdr_issue_op(context, item);

        if (op->status == GDR_INPROGRESS) {
            i++;
            continue;
        }
        if (op->status != GDR_OK)
            return op->status;
        posted->index[i] = posted->index[--posted->n];
        gdr_item_done(context, item);
    }
    return GDR_OK;
}

static void check_polled(gdr_context_t *context)
{
    gdr_index_list_t *polled = &context->polled;
    uint32_t i = 0;

    while (i < polled->n) {
        uint32_t item = polled->index[i];

        if (!gdr_flag_arrived(context, item)) {
            i++;
            continue;
        }
        polled->index[i] = polled->index[--polled->n];
        gdr_item_done(context, item);
    }
}

static gdr_status_t advance(gdr_context_t *context)
{
    gdr_status_t status = check_posted(context);

    if (status != GDR_OK)
        return status;
    gdr_stream_poll(context->stream);
    check_polled(context);
    status = gdr_issue_held(context);
    if (status == GDR_OK)
        status = gdr_host_advance(context);
    if (status == GDR_OK && context->call->device_flags)
        status = gdr_ordered_advance(context);
    return status == GDR_OK ? gdr_stream_mark(context->stream, false) : status;
}

gdr_status_t gdr_context_progress(gdr_context_t *context, bool *finished)
{
    const gdr_plan_t *plan = context->call->planned->plan;

    *finished = false;
    for (;;) {
        gdr_status_t status = advance(context);

        if (status != GDR_OK || context->remaining > 0)
            return status;
        if (context->segment + plan->layout.depth >= plan->nsegments)
            break;
        gdr_context_begin(context, context->segment + plan->layout.depth);
    }
    *finished = true;
    return GDR_OK;
}
