#include "engine/gdr_ways.h"
#include "engine/gdr_lock.h"
#include "engine/gdr_engine_priv.h"
#include "engine/gdr_messages.h"

#include <stdlib.h>
#include <string.h>

typedef enum open_state { OPEN_DEVICE, OPEN_HOST, OPEN_OVER } open_state_t;

void gdr_ways_init(gdr_ways_t *ways, int32_t size)
{
    memset(ways, 0, sizeof(*ways));
    ways->size = size;
}

void gdr_ways_clear(gdr_ways_t *ways)
{
    free(ways->open);
    free(ways->questions);
    ways->open = NULL;
    ways->questions = NULL;
}

static gdr_open_call_t *at(const gdr_ways_t *ways, uint32_t i)
{
    return &ways->open[(ways->first + i) & (ways->room - 1)];
}

/* Indexes in the ring ascend. */
static gdr_open_call_t *find(const gdr_ways_t *ways, uint64_t index)
{
    uint32_t low = 0, high = ways->n;

    while (low < high) {
        uint32_t middle = low + (high - low) / 2;

        if (at(ways, middle)->index < index)
            low = middle + 1;
        else
            high = middle;
    }
    return low < ways->n && at(ways, low)->index == index ? at(ways, low) : NULL;
}

static bool fit(gdr_ways_t *ways)
{
    uint32_t room = ways->room == 0 ? 8 : 2 * ways->room, i; /* a power of two */
    gdr_open_call_t *open;

    if (ways->n < ways->room)
        return true;
    open = malloc(room * sizeof(*open));
    if (open == NULL)
        return false;
    for (i = 0; i < ways->n; i++)
        open[i] = *at(ways, i);
    free(ways->open);
    ways->open = open;
    ways->room = room;
    ways->first = 0;
    return true;
}

/* Under the lock, as what follows. */
static void set_pending(gdr_ways_t *ways, uint64_t pending)
{
    __atomic_store_n(&ways->pending, pending, __ATOMIC_RELAXED);
}

static void set_asked(gdr_ways_t *ways, bool asked)
{
    set_pending(ways, (ways->pending & ~UINT64_C(1)) | asked);
}

bool gdr_ways_open(gdr_ways_t *ways, bool device, uint64_t *index)
{
    bool fits;

    gdr_lock(&ways->lock);
    fits = fit(ways);
    if (fits) {
        *index = gdr_ways_begun(ways);
        if (device)
            set_pending(ways, ways->pending + 2);
        ways->n++;
        *at(ways, ways->n - 1) = (gdr_open_call_t){*index, device ? OPEN_DEVICE : OPEN_HOST};
        /* Behind the entry: whoever sees the call begun finds its way. */
        __atomic_store_n(&ways->begun, ways->begun + 1, __ATOMIC_RELEASE);
    }
    gdr_unlock(&ways->lock);
    return fits;
}

static void set_state(gdr_ways_t *ways, uint64_t index, open_state_t state)
{
    gdr_open_call_t *call = find(ways, index);

    if (call != NULL && call->state == OPEN_DEVICE && state != OPEN_DEVICE)
        set_pending(ways, ways->pending - 2);
    if (call != NULL)
        call->state = state;
    while (ways->n > 0 && at(ways, 0)->state == OPEN_OVER) {
        ways->first = (ways->first + 1) & (ways->room - 1);
        ways->n--;
    }
}

void gdr_ways_serve(gdr_ways_t *ways, uint64_t index)
{
    gdr_lock(&ways->lock);
    ways->served[ways->nserved++ % GDR_WAYS_SERVED] = index;
    set_state(ways, index, OPEN_OVER);
    gdr_unlock(&ways->lock);
}

void gdr_ways_fail(gdr_ways_t *ways, uint64_t index)
{
    gdr_lock(&ways->lock);
    ways->failed = true;
    set_state(ways, index, OPEN_OVER);
    gdr_unlock(&ways->lock);
}

void gdr_ways_turn(gdr_ways_t *ways, uint64_t index)
{
    gdr_lock(&ways->lock);
    set_state(ways, index, OPEN_HOST);
    gdr_unlock(&ways->lock);
}

void gdr_ways_close(gdr_ways_t *ways, uint64_t index)
{
    gdr_lock(&ways->lock);
    set_state(ways, index, OPEN_OVER);
    gdr_unlock(&ways->lock);
}

bool gdr_ways_may_start(gdr_ways_t *ways, uint64_t index, uint32_t calls)
{
    bool may;

    gdr_lock(&ways->lock);
    may = ways->n == 0 || at(ways, 0)->index + calls > index; /* the first is never over */
    gdr_unlock(&ways->lock);
    return may;
}

bool gdr_ways_may_pass(gdr_ways_t *ways, uint64_t index)
{
    bool may = true;
    uint32_t i;

    gdr_lock(&ways->lock);
    for (i = 0; i < ways->n && at(ways, i)->index < index; i++)
        may = may && at(ways, i)->state != OPEN_DEVICE;
    gdr_unlock(&ways->lock);
    return may;
}

/* ---- questions ------------------------------------------------------------------------------ */

bool gdr_ask_read(const void *message, size_t bytes, gdr_ask_t *ask)
{
    gdr_message_head_t head;
    gdr_ask_body_t body;

    if (bytes != sizeof(head) + sizeof(body))
        return false;
    memcpy(&head, message, sizeof(head));
    memcpy(&body, (const uint8_t *)message + sizeof(head), sizeof(body));
    if (head.magic != GDR_MESSAGE_MAGIC || head.type != GDR_MESSAGE_ASK)
        return false;
    *ask = (gdr_ask_t){head.team, head.nonce, body.index, head.rank};
    return true;
}

size_t gdr_ask_answer(uint64_t team, uint64_t nonce, int32_t rank, uint64_t index,
                      unsigned char message[GDR_CTL_MAX])
{
    gdr_ask_body_t body = {index};
    gdr_message_head_t head = {.magic = GDR_MESSAGE_MAGIC,
                               .type = GDR_MESSAGE_HOST,
                               .bytes = sizeof(body),
                               .total = sizeof(body),
                               .team = team,
                               .nonce = nonce,
                               .rank = rank};

    memcpy(message, &head, sizeof(head));
    memcpy(message + sizeof(head), &body, sizeof(body));
    return sizeof(head) + sizeof(body);
}

static bool was_served(const gdr_ways_t *ways, uint64_t index)
{
    uint64_t n = ways->nserved < GDR_WAYS_SERVED ? ways->nserved : GDR_WAYS_SERVED, i;

    for (i = 0; i < n; i++) {
        if (ways->served[i] == index)
            return true;
    }
    return false;
}

/*
 * GDR_OK: a host call. GDR_INPROGRESS: it may still become one. Else it never does: it was served,
 * and what the asker waits for is on its way. A call that was served longer ago counts as a host
 * call: then the question is so old that the asker has completed the call and does not listen.
 */
static gdr_status_t way_of(const gdr_ways_t *ways, uint64_t index)
{
    const gdr_open_call_t *call;

    if (ways->failed)
        return GDR_ERR_ABORTED;
    if (index >= gdr_ways_begun(ways))
        return GDR_INPROGRESS;
    call = find(ways, index);
    if (call != NULL && call->state == OPEN_DEVICE)
        return GDR_INPROGRESS;
    if (was_served(ways, index))
        return GDR_ERR_DECLINED;
    return GDR_OK;
}

static void remember(gdr_ways_t *ways, int32_t rank, int proc, uint64_t index)
{
    if (ways->questions == NULL)
        ways->questions = calloc(2 * (size_t)ways->size, sizeof(*ways->questions));
    if (ways->questions == NULL) /* it is asked again */
        return;
    ways->questions[2 * (size_t)rank + index % 2] = (gdr_question_t){index, proc, true};
    if (index >= gdr_ways_begun(ways))
        set_asked(ways, true);
}

bool gdr_ways_ask(gdr_ways_t *ways, int32_t rank, int proc, uint64_t index)
{
    gdr_status_t way;

    if (rank < 0 || rank >= ways->size)
        return false;
    gdr_lock(&ways->lock);
    way = way_of(ways, index);
    if (way == GDR_INPROGRESS)
        remember(ways, rank, proc, index);
    if (way == GDR_INPROGRESS && index >= gdr_ways_begun(ways)) {
        /* The call may begin just now and not see the question. */
        __atomic_thread_fence(__ATOMIC_SEQ_CST);
        way = way_of(ways, index);
    }
    gdr_unlock(&ways->lock);
    return way == GDR_OK;
}

bool gdr_ways_due(gdr_ways_t *ways, gdr_question_t *question)
{
    bool found = false, early = false;
    size_t i, n = 2 * (size_t)ways->size;

    gdr_lock(&ways->lock);
    for (i = 0; ways->questions != NULL && i < n && !found; i++) {
        gdr_question_t *q = &ways->questions[i];
        gdr_status_t way = q->there ? way_of(ways, q->index) : GDR_INPROGRESS;

        early = early || (q->there && q->index >= gdr_ways_begun(ways));
        if (way == GDR_INPROGRESS)
            continue;
        q->there = false;
        found = way == GDR_OK;
        *question = *q;
    }
    if (!found)
        set_asked(ways, early);
    gdr_unlock(&ways->lock);
    return found;
}
