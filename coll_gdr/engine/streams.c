#include "engine/gdr_items.h"

#include <stdlib.h>

static bool slot_take(gdr_device_t *device, uint32_t *slot)
{
    uint32_t i;

    for (i = 0; i < GDR_STREAMS_MAX; i++) {
        uint64_t bit = 1ull << i % 64;

        if ((device->word_slots[i / 64] & bit) == 0) {
            device->word_slots[i / 64] |= bit;
            *slot = i;
            return true;
        }
    }
    return false;
}

static gdr_status_t stream_make(gdr_device_t *device, gdr_stream_t **stream)
{
    gdr_stream_t *made = calloc(1, sizeof(*made));
    uint64_t offset;
    gdr_status_t status;

    if (made == NULL)
        return GDR_ERR_NO_MEMORY;
    if (!slot_take(device, &made->slot)) {
        free(made);
        return GDR_ERR_NO_RESOURCE;
    }
    status = device->ops->stream_create(device->dev, &made->handle);
    if (status != GDR_OK) {
        device->word_slots[made->slot / 64] &= ~(1ull << made->slot % 64);
        free(made);
        return status;
    }
    offset = (uint64_t)made->slot * GDR_STREAM_WORD_BYTES;
    made->device = device;
    made->word = (const uint64_t *)(device->words + offset);
    made->word_address = device->words_address + offset;
    /* A former owner of the word may have left a value in it. */
    made->written = gdr_word_load(made->word);
    made->last = &made->first;
    made->next = device->streams;
    device->streams = made;
    *stream = made;
    return GDR_OK;
}

/*
 * A stream that never waits may serve several contexts: they only queue behind each other. Few are
 * enough, and many would do harm: a GPU has 8 queues unless the application asks for more, and
 * what shares a queue with a stream that waits for a peer waits with it.
 */
static gdr_stream_t *stream_share(const gdr_device_t *device)
{
    gdr_stream_t *stream, *best = NULL;
    unsigned n = 0;

    for (stream = device->streams; stream != NULL; stream = stream->next) {
        if (stream->ordered)
            continue;
        n++;
        if (best == NULL || stream->users < best->users)
            best = stream;
    }
    return n >= GDR_STREAMS_HOST ? best : NULL;
}

gdr_status_t gdr_stream_acquire(gdr_device_t *device, bool ordered, gdr_stream_t **stream)
{
    gdr_stream_t *found = device->streams;
    gdr_status_t status;

    while (found != NULL && found->users != 0)
        found = found->next;
    if (found == NULL && !ordered)
        found = stream_share(device);
    if (found == NULL) {
        status = stream_make(device, &found);
        if (status != GDR_OK)
            return status;
    }
    found->users++;
    found->ordered = ordered;
    *stream = found;
    return GDR_OK;
}

gdr_status_t gdr_side_word(gdr_device_t *device, uint64_t address, uint64_t value)
{
    device->side->wanted = true;
    return device->ops->write_word(device->side->handle, address, value);
}

void gdr_stream_release(gdr_stream_t *stream)
{
    if (--stream->users == 0)
        stream->ordered = false;
}

gdr_status_t gdr_stream_mark(gdr_stream_t *stream, bool urgent)
{
    if (!(urgent ? stream->urgent : stream->wanted))
        return GDR_OK;
    stream->wanted = stream->urgent = false;
    stream->written++;
    return stream->device->ops->write_word(stream->handle, stream->word_address, stream->written);
}

unsigned gdr_stream_poll(gdr_stream_t *stream)
{
    uint64_t reached;
    unsigned events = 0;

    if (stream->first == NULL)
        return 0;
    reached = gdr_word_load(stream->word);
    while (stream->first != NULL && stream->first->sequence <= reached) {
        gdr_token_t *token = stream->first;

        stream->first = token->next;
        if (stream->first == NULL)
            stream->last = &stream->first;
        events++;
        if (token->context != NULL)
            gdr_item_reached(token->context, token->item);
    }
    return events;
}

void gdr_stream_forget(gdr_stream_t *stream, const gdr_context_t *context)
{
    gdr_token_t **link = &stream->first;

    while (*link != NULL) {
        if ((*link)->context == context)
            *link = (*link)->next;
        else
            link = &(*link)->next;
    }
    stream->last = link;
}
