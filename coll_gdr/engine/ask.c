/*
 * Host and device buffers mixed across the members of one call. A device call that waits for
 * members asks them after a while which way they went, and again after twice as long, and so on:
 * a member may not have come to the call yet, or not have made the communicator. One that serves
 * the call in host memory answers "host"; one that waits on the device itself answers when it has
 * heard so, and so the news comes along a ring, too. What is heard is final: nobody can get a
 * result on the device without the data of all. Questions become the rarer the longer a call
 * waits: those of hundreds of calls must not arrive faster than a process without a core of its own
 * takes them in, or what the calls wait for never comes up behind them.
 */
#include "base/gdr_math.h"
#include "engine/gdr_engine_priv.h"
#include "engine/gdr_messages.h"

#include <string.h>

enum {
    ASK_STEP_DOUBLES = 1000000, /* nanoseconds between two questions, up to which they double, */
    ASK_STEP_GROWS = 4,         /* and from then on grow by this part */
    ASK_STEP_MAX = 1000000000,
    EAGER_CALLS = 32 /* after a mixed call so many ask without having waited */
};

static void ask(gdr_team_t *team, int32_t rank, uint64_t index)
{
    gdr_ask_body_t body = {index};

    if (rank == team->rank)
        return;
    gdr_stat_add(&team->engine->stats.questions, 1);
    gdr_message_send(team->engine, team, team->procs[rank], GDR_MESSAGE_ASK, &body, sizeof(body));
}

static void ask_once(gdr_team_t *team, gdr_member_t *member, uint64_t index)
{
    if (member->asked == team->ask_round)
        return;
    member->asked = team->ask_round;
    ask(team, member->rank, index);
}

static void ask_context(gdr_team_t *team, const gdr_context_t *context)
{
    const gdr_item_t *items = context->items;
    gdr_member_t *const *peers = context->peers;
    uint64_t index = context->call->desc.index;
    uint32_t i;

    for (i = 0; i < context->program->nitems; i++) {
        if (items[i].kind == GDR_STEP_WAIT && context->state[i] != GDR_ITEM_DONE)
            ask_once(team, peers[items[i].peer], index);
    }
    for (i = 0; i < context->held.n; i++) {
        const gdr_item_t *item = &items[context->held.index[i]];

        if (item->kind != GDR_ITEM_CREDIT)
            ask_once(team, peers[item->peer], index);
    }
}

static void ask_voters(gdr_team_t *team, uint64_t index)
{
    int32_t rank;

    if (team->rank != 0) {
        ask(team, 0, index);
        return;
    }
    for (rank = 1; rank < team->size; rank++) {
        if (team->voted[rank])
            continue;
        ask(team, rank, index);
        gdr_message_send(team->engine, team, team->procs[rank], GDR_MESSAGE_WANTED, NULL, 0);
    }
}

static void ask_unwired(gdr_team_t *team, uint64_t index)
{
    uint32_t i;

    for (i = 0; i < team->wiring->npeers; i++) {
        if (!team->wiring->peers[i]->ready)
            ask(team, team->wiring->peers[i]->rank, index);
    }
}

static void ask_missing(gdr_team_t *team, uint64_t index)
{
    int32_t rank = gdr_begin_missing(team, index, -1);

    for (; rank >= 0; rank = gdr_begin_missing(team, index, rank))
        ask(team, rank, index);
}

static uint64_t next_step(uint64_t step)
{
    uint64_t more = step < ASK_STEP_DOUBLES ? step : step / ASK_STEP_GROWS;

    return gdr_min_u64(step + more, ASK_STEP_MAX);
}

/* Whether it is time to ask for the call, which nothing has happened to since the last look. */
static bool due(gdr_team_t *team, gdr_call_t *call)
{
    const gdr_engine_t *engine = team->engine;
    uint64_t now;

    if (!engine->config.mixed || team->size == 1)
        return false;
    now = engine->ports.clock.now(engine->ports.clock.ctx);
    if (call->ask_step == 0) {
        call->ask_step = engine->config.ask_ns;
        call->ask_at = now + (team->eager > 0 ? 0 : call->ask_step);
    } else if (!call->ask_quiet) {
        call->ask_at = gdr_max_u64(call->ask_at, now + call->ask_step);
    }
    call->ask_quiet = true;
    if (now < call->ask_at)
        return false;
    call->ask_at = now + call->ask_step;
    call->ask_step = next_step(call->ask_step);
    team->ask_round++;
    return true;
}

void gdr_ask_running(gdr_call_t *call)
{
    uint32_t i;

    if (!due(call->team, call))
        return;
    for (i = 0; i < call->ncontexts; i++) {
        if (call->contexts[i] != NULL)
            ask_context(call->team, call->contexts[i]);
    }
}

/* Behind running calls the queue waits for nothing but them, or for host calls of this process. */
void gdr_ask_queued(gdr_team_t *team)
{
    gdr_call_t *call = team->queue;

    if (team->state == GDR_TEAM_VOTED && due(team, call))
        ask_voters(team, call->desc.index);
    else if (team->wiring != NULL && due(team, call))
        ask_unwired(team, call->desc.index);
    else if (team->gathering && due(team, call))
        ask_missing(team, call->desc.index);
}

void gdr_ask_answer_due(gdr_team_t *team)
{
    gdr_engine_t *engine = team->engine;
    unsigned char message[GDR_CTL_MAX];
    gdr_question_t question;

    while (gdr_ways_due(team->ways, &question)) {
        size_t bytes = gdr_ask_answer(team->id, team->nonce, team->rank, question.index, message);

        /* An answer that is lost is asked for again. */
        engine->ports.ctl.send(engine->ports.ctl.ctx, question.proc, message, bytes);
    }
}

gdr_status_t gdr_ask_on_host(gdr_team_t *team, int32_t rank, const void *payload, size_t bytes)
{
    gdr_ask_body_t body;

    if (bytes != sizeof(body))
        return GDR_ERR_INVALID;
    memcpy(&body, payload, sizeof(body));
    team->eager = EAGER_CALLS;
    if (body.index == GDR_WAY_ALWAYS)
        gdr_vote_without(team, rank);
    else
        gdr_calls_turn(team, body.index);
    return GDR_OK;
}
