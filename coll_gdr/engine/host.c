/*
 * Host-driven order: the CPU sees what is done and issues every step whose predecessors are, in any
 * order. A kernel behind kernels of the same stream does not wait for them. Nothing blocks a
 * stream, so a call may stand still as long as the application likes.
 *
 * Puts keep the CPU for microseconds and are posted one at a time: in between the network and the
 * other contexts have their turn. The flags of what has landed meanwhile would wait for all of
 * them.
 */
#include "engine/gdr_items.h"

#include <string.h>

/* The peer wants its flag in its window: our stream writes the source word first. */
static gdr_status_t put_through_stream(gdr_context_t *context, uint32_t item, bool *issued)
{
    gdr_status_t status;

    *issued = gdr_item_channel_free(context, item);
    if (!*issued)
        return GDR_OK;
    status = gdr_issue_source(context, item);
    if (status != GDR_OK)
        return status;
    gdr_item_expect(context, item, true, true);
    gdr_item_enqueued(context, item);
    return GDR_OK;
}

static void look(gdr_context_t *context, uint32_t item)
{
    gdr_polled_t polled = gdr_item_flag(context, item);

    if (gdr_word_load(polled.word) >= polled.value) {
        context->stream->device->flush_due = true;
        gdr_item_done(context, item);
        return;
    }
    context->state[item] = GDR_ITEM_POLLED;
    context->polled[context->npolled++] = polled;
}

static gdr_status_t issue(gdr_context_t *context, uint32_t item, bool *issued)
{
    uint8_t kind = context->items[item].kind;

    *issued = true;
    if (gdr_kind_is_kernel(kind))
        return gdr_issue_kernel(context, item);
    if (kind == GDR_STEP_WAIT) {
        look(context, item);
        return GDR_OK;
    }
    if (gdr_kind_is_put(kind) && gdr_item_to_window(context, item))
        return put_through_stream(context, item, issued);
    return gdr_issue_put(context, item);
}

gdr_status_t gdr_host_advance(gdr_context_t *context)
{
    gdr_index_list_t *ready = &context->ready;
    uint32_t i, kept = 0;

    context->cut_short = false;
    for (i = 0; i < ready->n && !context->cut_short; i++) {
        uint32_t item = ready->index[i];
        bool issued;
        gdr_status_t status = issue(context, item, &issued);

        if (status != GDR_OK)
            return status;
        if (!issued)
            ready->index[kept++] = item;
        context->cut_short = issued && i + 1 < ready->n &&
                             context->items[item].kind == GDR_STEP_PUT &&
                             context->steps[item].bytes > 0;
    }
    if (i < ready->n)
        memmove(&ready->index[kept], &ready->index[i], (ready->n - i) * sizeof(*ready->index));
    ready->n -= i - kept;
    context->call->events += context->cut_short;
    return GDR_OK;
}
