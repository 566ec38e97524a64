#include "tools/sim/gsim_events.h"

#include <stdlib.h>
#include <string.h>

enum { WAYS = 4, FIRST_CAPACITY = 1024 }; /* of the heap: four children share a few cache lines */

void gsim_events_init(gsim_events_t *events, void *ctx)
{
    memset(events, 0, sizeof(*events));
    events->ctx = ctx;
}

void gsim_events_clear(gsim_events_t *events)
{
    free(events->heap);
    events->heap = NULL;
    events->n = events->capacity = 0;
}

static bool before(const gsim_event_t *a, const gsim_event_t *b)
{
    return a->time != b->time ? a->time < b->time : a->sequence < b->sequence;
}

static bool fit(gsim_events_t *events)
{
    uint64_t capacity = events->capacity == 0 ? FIRST_CAPACITY : 2 * events->capacity;
    gsim_event_t *grown;

    if (events->n < events->capacity)
        return true;
    grown = realloc(events->heap, capacity * sizeof(*grown));
    if (grown == NULL)
        return false;
    events->heap = grown;
    events->capacity = capacity;
    return true;
}

void gsim_events_at(gsim_events_t *events, uint64_t time, gsim_event_fn fn, uint64_t a, uint64_t b)
{
    gsim_event_t event = {time > events->now ? time : events->now, events->sequence, fn, a, b};
    uint64_t i = events->n;

    if (!fit(events)) {
        events->failed = true;
        return;
    }
    events->sequence++;
    events->n++;
    while (i > 0 && before(&event, &events->heap[(i - 1) / WAYS])) {
        events->heap[i] = events->heap[(i - 1) / WAYS];
        i = (i - 1) / WAYS;
    }
    events->heap[i] = event;
}

static uint64_t least_child(const gsim_events_t *events, uint64_t i)
{
    uint64_t first = WAYS * i + 1, end = first + WAYS, best = first;

    if (end > events->n)
        end = events->n;
    for (uint64_t child = first + 1; child < end; child++) {
        if (before(&events->heap[child], &events->heap[best]))
            best = child;
    }
    return best;
}

static gsim_event_t pop(gsim_events_t *events)
{
    gsim_event_t first = events->heap[0], last = events->heap[--events->n];
    uint64_t i = 0, child;

    while (WAYS * i + 1 < events->n) {
        child = least_child(events, i);
        if (!before(&events->heap[child], &last))
            break;
        events->heap[i] = events->heap[child];
        i = child;
    }
    if (events->n > 0)
        events->heap[i] = last;
    return first;
}

bool gsim_events_run(gsim_events_t *events)
{
    gsim_event_t event;

    if (events->n == 0)
        return false;
    event = pop(events);
    events->now = event.time;
    event.fn(events->ctx, event.a, event.b);
    return true;
}
