/* What a call that stands still waits for: said once, in one line. */
#include "engine/gdr_engine_priv.h"

#include <stdarg.h>
#include <stdio.h>

typedef struct line {
    char text[600];
    size_t length;
} line_t;

static void add(line_t *line, const char *format, ...) __attribute__((format(printf, 2, 3)));

static void add(line_t *line, const char *format, ...)
{
    size_t room = sizeof(line->text) - line->length;
    va_list args;
    int n;

    va_start(args, format);
    n = vsnprintf(line->text + line->length, room, format, args);
    va_end(args);
    if (n > 0)
        line->length += (size_t)n < room ? (size_t)n : room - 1;
}

static void add_item(line_t *line, const gdr_context_t *context, uint32_t item)
{
    const gdr_item_t *fixed = &context->items[item];
    const gdr_step_t *step =
        &context->program->sched
             ->steps[item < context->program->sched->nsteps ? item : fixed->wait];
    gdr_item_state_t state = context->state[item];

    if (fixed->kind == GDR_STEP_WAIT)
        add(line, " rank %d's flag %u (segment %llu, step %u)", step->peer, step->flag,
            (unsigned long long)context->segment, item);
    else if (state == GDR_ITEM_HELD)
        add(line, " rank %d's credit for channel %u (segment %llu, step %u)", step->peer,
            step->channel, (unsigned long long)context->segment, item);
    else if (state == GDR_ITEM_POSTED)
        add(line, " the put to rank %d (segment %llu, step %u)", step->peer,
            (unsigned long long)context->segment, item);
    else
        add(line, " the device (segment %llu, step %u)", (unsigned long long)context->segment,
            item);
}

static void add_context(line_t *line, const gdr_context_t *context)
{
    uint32_t i;

    for (i = 0; i < context->program->nitems; i++) {
        gdr_item_state_t state = context->state[i];

        if (state == GDR_ITEM_ENQUEUED || state == GDR_ITEM_POLLED || state == GDR_ITEM_HELD ||
            state == GDR_ITEM_POSTED)
            add_item(line, context, i);
    }
}

static void add_running(line_t *line, const gdr_call_t *call)
{
    uint32_t i;

    add(line, "call %llu (%s, index %llu) waits for", (unsigned long long)call->number, call->path,
        (unsigned long long)call->desc.index);
    for (i = 0; i < call->ncontexts; i++) {
        if (call->contexts[i] != NULL)
            add_context(line, call->contexts[i]);
    }
}

static unsigned in_progress(const gdr_net_op_t *ops, uint32_t n)
{
    unsigned found = 0;
    uint32_t i;

    for (i = 0; i < n; i++)
        found += ops[i].status == GDR_INPROGRESS;
    return found;
}

/* No longer for members: what is left of it are its streams, its puts, and then their flushes. */
static void add_abandoned(line_t *line, const gdr_call_t *call)
{
    unsigned streams = 0, puts = 0;
    uint32_t i;

    for (i = 0; i < call->ncontexts; i++) {
        const gdr_context_t *context = call->contexts[i];

        if (context == NULL)
            continue;
        streams += !gdr_context_stream_rests(context);
        puts += in_progress(context->ops, context->program->nops);
    }
    add(line,
        "call %llu (%s, index %llu), given up (%s), waits for %u of its streams, %u puts, %u "
        "flushes",
        (unsigned long long)call->number, call->path, (unsigned long long)call->desc.index,
        gdr_status_string(call->failure), streams, puts,
        in_progress(call->flushes, call->nflushes));
}

static void add_voting(line_t *line, const gdr_team_t *team)
{
    int32_t rank;

    if (team->rank != 0) {
        add(line, "its first call waits for rank 0's verdict");
        return;
    }
    add(line, "its first call waits for the votes of ranks");
    for (rank = 0; rank < team->size; rank++) {
        if (team->voted == NULL || !team->voted[rank])
            add(line, " %d", rank);
    }
}

static void add_queued(line_t *line, const gdr_team_t *team)
{
    int32_t rank;

    if (team->state == GDR_TEAM_VOTED) {
        add_voting(line, team);
        return;
    }
    if (team->gathering) {
        add(line, "a call waits for ranks that have not come to it, or not heard from others:");
        rank = gdr_begin_missing(team, team->queue->desc.index, -1);
        for (; rank >= 0; rank = gdr_begin_missing(team, team->queue->desc.index, rank))
            add(line, " %d", rank);
        return;
    }
    add(line, "a call waits for the lanes of ranks");
    for (rank = 0; rank < team->size; rank++) {
        const gdr_member_t *member = gdr_member_look(team, rank);

        if (member->pushed && !member->ready)
            add(line, " %d", rank);
    }
}

static void check(const gdr_team_t *team, gdr_call_t *call, uint64_t now)
{
    const gdr_engine_t *engine = team->engine;
    line_t line = {"", 0};

    if (call->since == 0 || call->events != call->events_seen) {
        call->since = now;
        call->events_seen = call->events;
    }
    if (call->warned || now - call->since < engine->config.timeout_ns)
        return;
    call->warned = true;
    if (call->state == GDR_CALL_QUEUED)
        add_queued(&line, team);
    else if (call->state == GDR_CALL_ABANDONED)
        add_abandoned(&line, call);
    else
        add_running(&line, call);
    gdr_warn(engine->ports.log, "communicator %llu, rank %d of %d: no progress for %llu ms: %s",
             (unsigned long long)team->id, team->rank, team->size,
             (unsigned long long)(now - call->since) / 1000000, line.text);
}

void gdr_explain_check(gdr_team_t *team)
{
    const gdr_engine_t *engine = team->engine;
    uint64_t now;
    bool running = false;
    unsigned i;

    if (engine->config.timeout_ns == 0)
        return;
    now = engine->ports.clock.now(engine->ports.clock.ctx);
    for (i = 0; i < GDR_LANE_CALLS; i++) {
        if (team->running[i] == NULL)
            continue;
        running = true;
        check(team, team->running[i], now);
    }
    /* Behind running calls the queue waits for nothing but them. */
    if (!running && team->queue != NULL)
        check(team, team->queue, now);
}
