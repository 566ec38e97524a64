/*
 * Errors that end a communicator. Its calls are abandoned: their kernels are told to write nothing
 * more, their stream waits are satisfied from outside, and when streams and puts have come to rest
 * the calls end with the error. The other members are told. The lane is never used again: late
 * writes of a peer may still hit it. A call that turns out to be a host call is abandoned alike,
 * and the lane lives on: each member lets its puts land before it joins the host algorithm.
 */
#include "engine/gdr_items.h"
#include "engine/gdr_messages.h"

#include <stdlib.h>
#include <string.h>

enum { RELEASE_TICKS = 32 }; /* progress calls between two attempts to release a stream */

/*
 * Kernels first: those behind the waits have nothing to read. Their word gets the number of the
 * call, which is that of no other one in this part of the lane: it may be written late, and stays.
 * Once is not enough: a flag that a peer had put before may still arrive and lower a word.
 */
void gdr_context_let_go(const gdr_context_t *context)
{
    gdr_call_t *call = context->call;
    gdr_device_t *device = call->team->device;
    uint32_t i;

    if (!call->told)
        call->told = gdr_side_word(device, call->abort_address, call->number) == GDR_OK;
    for (i = 0; call->told && i < context->program->sched->nsteps; i++) {
        if (context->items[i].kind == GDR_STEP_WAIT && context->state[i] == GDR_ITEM_ENQUEUED)
            gdr_side_word(device, gdr_wait_address(context, i), gdr_item_value(context, i));
    }
}

static void context_stop(gdr_context_t *context, bool alive)
{
    gdr_stream_t *stream = context->stream;

    context->stop = 0;
    if (alive) {
        gdr_context_let_go(context);
        stream->wanted = true;
        if (gdr_stream_mark(stream, false) == GDR_OK)
            context->stop = stream->written;
    }
    gdr_stream_forget(stream, context);
}

static void post_flushes(gdr_call_t *call)
{
    gdr_team_t *team = call->team;
    gdr_engine_t *engine = team->engine;
    const gdr_planned_t *planned = call->planned;
    uint32_t i;

    call->flushing = true;
    for (i = 0; i < planned->npeers; i++) {
        const gdr_member_t *member = planned->peers[i];
        gdr_net_op_t *op = &call->flushes[call->nflushes];

        if (member->proc == NULL || member->proc->peer == NULL ||
            engine->net_ops->peer_status(member->proc->peer) != GDR_OK)
            continue;
        memset(op, 0, sizeof(*op));
        call->nflushes++;
        engine->net_ops->flush(member->proc->peer, op);
    }
}

void gdr_call_abandon(gdr_call_t *call, gdr_status_t status, bool again)
{
    bool alive = gdr_device_alive(call->team->device);
    uint32_t i;

    call->state = GDR_CALL_ABANDONED;
    call->failure = status;
    call->again = again;
    call->warned = false; /* what it waits for now is something else */
    call->since = 0;
    for (i = 0; i < call->ncontexts; i++) {
        if (call->contexts[i] != NULL)
            context_stop(call->contexts[i], alive);
    }
}

static bool ops_rest(const gdr_net_op_t *ops, uint32_t n)
{
    uint32_t i;

    for (i = 0; i < n; i++) {
        if (ops[i].status == GDR_INPROGRESS)
            return false;
    }
    return true;
}

static bool stream_rests(const gdr_stream_t *stream, uint64_t stop)
{
    const gdr_device_t *device = stream->device;

    return stop == 0 || gdr_word_load(stream->word) >= stop || !gdr_device_alive(device) ||
           device->ops->stream_status(stream->handle) != GDR_OK;
}

bool gdr_context_stream_rests(const gdr_context_t *context)
{
    return stream_rests(context->stream, context->stop);
}

static bool context_rests(const gdr_context_t *context)
{
    if (!gdr_context_stream_rests(context)) {
        if (context->call->device_flags && gdr_context_engine(context)->ticks % RELEASE_TICKS == 0)
            gdr_context_let_go(context);
        return false;
    }
    return ops_rest(context->ops, context->program->nops);
}

/* A word that lets a stream go must not come behind the flag of the next call in it. */
static void mark_side(gdr_call_t *call)
{
    gdr_stream_t *side = call->team->device->side;

    call->side_stop = 0;
    if (call->device_flags && gdr_device_alive(side->device) &&
        gdr_stream_mark(side, false) == GDR_OK)
        call->side_stop = side->written;
}

bool gdr_abandoned_rests(gdr_call_t *call)
{
    bool rests = true;
    uint32_t i;

    /* All are looked at: the network may stand still until the streams of all have been let go. */
    for (i = 0; i < call->ncontexts; i++) {
        if (call->contexts[i] != NULL && !context_rests(call->contexts[i]))
            rests = false;
    }
    if (!rests)
        return false;
    /* A put may go in several steps: only behind the last one a flush covers it. */
    if (!call->flushing) {
        post_flushes(call);
        mark_side(call);
    }
    if (!ops_rest(call->flushes, call->nflushes))
        return false;
    if (!stream_rests(call->team->device->side, call->side_stop))
        return false;
    for (i = 0; i < call->ncontexts; i++) {
        if (call->contexts[i] != NULL)
            gdr_context_give(call->contexts[i]);
        call->contexts[i] = NULL;
    }
    return true;
}

void gdr_fail_tell(gdr_team_t *team, int32_t rank)
{
    gdr_abort_body_t body = {team->status, 0};

    gdr_message_send(team->engine, team, team->procs[rank], GDR_MESSAGE_ABORT, &body, sizeof(body));
}

static void tell_others(gdr_team_t *team)
{
    int32_t rank;

    for (rank = 0; rank < team->size; rank++) {
        if (rank != team->rank)
            gdr_fail_tell(team, rank);
    }
}

static void team_end(gdr_team_t *team, gdr_status_t status)
{
    unsigned i;

    team->state = GDR_TEAM_DEAD;
    team->status = status;
    for (i = 0; i < GDR_LANE_CALLS; i++) {
        gdr_call_t *call = team->running[i];

        if (call == NULL)
            continue;
        if (call->state == GDR_CALL_RUNNING)
            gdr_call_abandon(call, status, false);
        if (call->failure == GDR_ERR_MIXED) /* it needs the lane no more, and others wait for us */
            continue;
        call->failure = status;
        call->again = false;
    }
    gdr_calls_refuse(team, status);
}

void gdr_team_fail(gdr_team_t *team, gdr_status_t status)
{
    if (team->state == GDR_TEAM_DEAD || team->state == GDR_TEAM_DECLINED)
        return;
    gdr_error(team->engine->ports.log,
              "communicator %llu, rank %d of %d: %s: its device calls end with this error",
              (unsigned long long)team->id, team->rank, team->size, gdr_status_string(status));
    team_end(team, status);
    tell_others(team);
}

gdr_status_t gdr_fail_on_abort(gdr_team_t *team, int32_t rank, const void *payload, size_t bytes)
{
    gdr_abort_body_t body;

    if (bytes != sizeof(body))
        return GDR_ERR_INVALID;
    memcpy(&body, payload, sizeof(body));
    if (body.status >= 0 || body.status < GDR_ERR_ABORTED || body.status == GDR_ERR_DECLINED)
        return GDR_ERR_INVALID;
    if (team->state == GDR_TEAM_DEAD || team->state == GDR_TEAM_DECLINED)
        return GDR_OK;
    gdr_error(team->engine->ports.log, "communicator %llu, rank %d of %d: rank %d reports: %s",
              (unsigned long long)team->id, team->rank, team->size, rank,
              gdr_status_string((gdr_status_t)body.status));
    team_end(team, (gdr_status_t)body.status);
    return GDR_OK;
}

static gdr_status_t check_call(const gdr_call_t *call)
{
    gdr_team_t *team = call->team;
    const gdr_planned_t *planned = call->planned;
    gdr_status_t status;
    uint32_t i;

    for (i = 0; i < planned->npeers; i++) {
        const gdr_proc_t *proc = planned->peers[i]->proc;

        status = team->engine->net_ops->peer_status(proc->peer);
        if (status != GDR_OK)
            return status;
    }
    if (!gdr_device_alive(team->device))
        return GDR_ERR_STALE;
    for (i = 0; i < call->ncontexts; i++) {
        const gdr_stream_t *stream;

        if (call->contexts[i] == NULL)
            continue;
        stream = call->contexts[i]->stream;
        status = stream->device->ops->stream_status(stream->handle);
        if (status != GDR_OK)
            return status;
    }
    return GDR_OK;
}

gdr_status_t gdr_fail_check(gdr_team_t *team)
{
    gdr_status_t status = GDR_OK;
    unsigned i;

    if (team->state != GDR_TEAM_READY)
        return GDR_OK;
    for (i = 0; i < GDR_LANE_CALLS && status == GDR_OK; i++) {
        if (team->running[i] != NULL && team->running[i]->state == GDR_CALL_RUNNING)
            status = check_call(team->running[i]);
    }
    if (status != GDR_OK)
        gdr_team_fail(team, status);
    return status;
}
