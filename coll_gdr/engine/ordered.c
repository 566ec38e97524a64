/*
 * Device flags: the stream waits for them. Steps enter the stream in the order of the schedule, so
 * that what a wait needs from this rank is always ahead of the wait. `ahead`: kernels are enqueued
 * behind waits that are still open, and the CPU only posts puts; otherwise the CPU learns of the
 * end of each wait first.
 */
#include "engine/gdr_items.h"

static gdr_status_t enqueue_wait(gdr_context_t *context, uint32_t item)
{
    bool ahead = context->call->ahead;
    gdr_status_t status;

    if (context->state[item] != GDR_ITEM_IDLE)
        return GDR_OK;
    /* A credit that depends on what is in the stream must not hang on this wait. */
    status = gdr_stream_mark(context->stream, false);
    if (status == GDR_OK)
        status = context->stream->device->ops->wait_word(context->stream->handle,
                                                         gdr_wait_address(context, item),
                                                         gdr_item_value(context, item));
    if (status != GDR_OK)
        return status;
    gdr_item_expect(context, item, !ahead || context->items[item].wanted, !ahead);
    gdr_item_enqueued(context, item);
    return GDR_OK;
}

/* Enqueues the waits that the step depends on. *go: it may follow; *pending: not all is done. */
static gdr_status_t enqueue_deps(gdr_context_t *context, uint32_t item, bool *go, bool *pending)
{
    const gdr_sched_t *sched = context->program->sched;
    const gdr_step_t *step = &sched->steps[item];
    uint32_t i;

    *go = true;
    *pending = false;
    for (i = 0; i < step->ndep; i++) {
        uint32_t dep = sched->deps[step->dep + i];
        uint8_t kind = sched->steps[dep].kind;
        gdr_status_t status = GDR_OK;

        if (kind == GDR_STEP_WAIT)
            status = enqueue_wait(context, dep);
        if (status != GDR_OK)
            return status;
        if (context->state[dep] == GDR_ITEM_DONE)
            continue;
        *pending = true;
        if (gdr_kind_is_put(kind) || (kind == GDR_STEP_WAIT && !context->call->ahead))
            *go = false;
    }
    return GDR_OK;
}

static gdr_status_t enqueue_put(gdr_context_t *context, uint32_t item, bool pending, bool *go)
{
    gdr_status_t status = GDR_OK;

    if (gdr_item_to_window(context, item)) {
        *go = gdr_item_channel_free(context, item);
        if (!*go)
            return GDR_OK;
        status = gdr_issue_source(context, item);
    } else if (!pending) {
        return gdr_issue_put(context, item);
    }
    if (status != GDR_OK)
        return status;
    gdr_item_expect(context, item, true, true);
    gdr_item_enqueued(context, item);
    return GDR_OK;
}

static gdr_status_t enqueue(gdr_context_t *context, uint32_t item, bool *go)
{
    const gdr_item_t *fixed = &context->items[item];
    bool pending;
    gdr_status_t status;

    *go = true;
    if (fixed->kind == GDR_STEP_WAIT) /* else it comes with the first step that needs it */
        return fixed->urgent ? GDR_OK : enqueue_wait(context, item);
    status = enqueue_deps(context, item, go, &pending);
    if (status != GDR_OK || !*go)
        return status;
    return gdr_kind_is_kernel(fixed->kind) ? gdr_issue_kernel(context, item)
                                           : enqueue_put(context, item, pending, go);
}

/* Only the end of an item, of whatever kind, lets the cursor go on. */
gdr_status_t gdr_ordered_advance(gdr_context_t *context)
{
    context->moved = false;
    while (context->cursor < context->program->sched->nsteps) {
        bool go;
        gdr_status_t status = enqueue(context, context->cursor, &go);

        if (status != GDR_OK || !go)
            return status;
        context->cursor++;
    }
    return GDR_OK;
}
