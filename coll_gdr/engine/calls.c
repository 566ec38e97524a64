#include "engine/gdr_engine_priv.h"
#include "engine/gdr_lock.h"
#include "base/gdr_math.h"

#include <stdlib.h>
#include <string.h>

static gdr_call_t *call_new(gdr_engine_t *engine)
{
    gdr_call_t *call;

    gdr_lock(&engine->queue_lock);
    call = engine->free_calls;
    if (call != NULL)
        engine->free_calls = call->next;
    gdr_unlock(&engine->queue_lock);
    return call != NULL ? call : calloc(1, sizeof(*call));
}

gdr_status_t gdr_call_post(gdr_team_t *team, const gdr_call_desc_t *desc, gdr_call_t **call)
{
    gdr_engine_t *engine = team->engine;
    gdr_call_t *posted;
    uint64_t bytes;

    if (desc->count == 0 || !gdr_optype_supported(desc->op, desc->type) ||
        !gdr_mul_u64(desc->count, gdr_type_bytes(desc->type), &bytes))
        return GDR_ERR_INVALID;
    posted = call_new(engine);
    if (posted == NULL)
        return GDR_ERR_NO_MEMORY;
    posted->engine = engine;
    posted->team = team;
    posted->desc = *desc;
    posted->state = GDR_CALL_QUEUED;
    posted->next = NULL;
    posted->events = posted->events_seen = 0;
    posted->warned = false;
    posted->since = 0;
    posted->events_counted = posted->ask_at = posted->ask_step = 0;
    posted->ask_quiet = false;
    posted->announced = 0;
    __atomic_store_n(&posted->path, "", __ATOMIC_RELAXED);
    __atomic_store_n(&posted->status, GDR_INPROGRESS, __ATOMIC_RELAXED);
    gdr_lock(&engine->queue_lock);
    *engine->posted_end = posted;
    engine->posted_end = &posted->next;
    gdr_unlock(&engine->queue_lock);
    __atomic_store_n(&engine->work, 1, __ATOMIC_RELEASE);
    *call = posted;
    gdr_engine_progress(engine);
    return GDR_OK;
}

gdr_status_t gdr_call_status(const gdr_call_t *call)
{
    return (gdr_status_t)__atomic_load_n(&call->status, __ATOMIC_ACQUIRE);
}

const char *gdr_call_path(const gdr_call_t *call)
{
    return __atomic_load_n(&call->path, __ATOMIC_ACQUIRE);
}

void gdr_call_release(gdr_call_t *call)
{
    gdr_engine_t *engine = call->engine;

    gdr_lock(&engine->queue_lock);
    call->next = engine->free_calls;
    engine->free_calls = call;
    gdr_unlock(&engine->queue_lock);
}

void gdr_call_free(gdr_call_t *call)
{
    free(call->contexts);
    free(call->flushes);
    free(call);
}

unsigned gdr_calls_take(gdr_engine_t *engine)
{
    gdr_call_t *call, *next;
    unsigned events = 0;

    gdr_lock(&engine->queue_lock);
    call = engine->posted;
    engine->posted = NULL;
    engine->posted_end = &engine->posted;
    gdr_unlock(&engine->queue_lock);
    for (; call != NULL; call = next) {
        gdr_team_t *team = call->team;

        next = call->next;
        call->next = NULL;
        *team->queue_end = call;
        team->queue_end = &call->next;
        events++;
        if (team->active)
            continue;
        team->active = true;
        team->next_active = engine->active;
        engine->active = team;
    }
    return events;
}

static void leave_lane(gdr_call_t *call)
{
    call->planned->users--;
    call->team->running[call->number % GDR_LANE_CALLS] = NULL;
}

static void tell_way(const gdr_call_t *call, gdr_status_t status)
{
    gdr_team_t *team = call->team;
    gdr_engine_stats_t *stats = &team->engine->stats;
    uint64_t index = call->desc.index;

    if (status == GDR_OK) {
        gdr_stat_add(&stats->calls, 1);
        team->eager -= team->eager > 0;
        if (!team->renewing && (team->served == 0 || index < team->served))
            team->served = index + 1; /* the second one may end first */
        gdr_ways_serve(team->ways, index);
    } else if (status == GDR_ERR_DECLINED || status == GDR_ERR_MIXED) {
        gdr_stat_add(status == GDR_ERR_MIXED ? &stats->turned : &stats->declined, 1);
        gdr_ways_turn(team->ways, index);
        gdr_ask_answer_due(team);
    } else {
        gdr_ways_fail(team->ways, index);
    }
}

/* The status is the last thing that is written: the owner may release the call at once. */
void gdr_call_finish(gdr_call_t *call, gdr_status_t status)
{
    if (call->state != GDR_CALL_QUEUED)
        leave_lane(call);
    call->state = GDR_CALL_OVER;
    tell_way(call, status);
    __atomic_store_n(&call->status, (int)status, __ATOMIC_RELEASE);
}

void gdr_call_requeue(gdr_call_t *call)
{
    gdr_team_t *team = call->team;
    gdr_call_t **link = &team->queue;

    leave_lane(call);
    call->state = GDR_CALL_QUEUED;
    while (*link != NULL && (*link)->desc.index < call->desc.index)
        link = &(*link)->next;
    call->next = *link;
    *link = call;
    if (call->next == NULL)
        team->queue_end = &call->next;
}

static gdr_call_t *queue_pop(gdr_team_t *team)
{
    gdr_call_t *call = team->queue;

    team->queue = call->next;
    if (team->queue == NULL)
        team->queue_end = &team->queue;
    return call;
}

void gdr_calls_refuse(gdr_team_t *team, gdr_status_t status)
{
    while (team->queue != NULL)
        gdr_call_finish(queue_pop(team), status);
}

static void turn_queued(gdr_team_t *team, uint64_t index)
{
    gdr_call_t **link = &team->queue, *call;

    while (*link != NULL && (*link)->desc.index < index)
        link = &(*link)->next;
    call = *link;
    if (call == NULL || call->desc.index != index)
        return;
    *link = call->next;
    if (call->next == NULL)
        team->queue_end = link;
    gdr_call_finish(call, GDR_ERR_MIXED);
}

void gdr_calls_turn(gdr_team_t *team, uint64_t index)
{
    unsigned i;

    for (i = 0; i < GDR_LANE_CALLS; i++) {
        gdr_call_t *call = team->running[i];

        if (call == NULL || call->desc.index != index)
            continue;
        if (call->state == GDR_CALL_RUNNING) {
            gdr_call_abandon(call, GDR_ERR_MIXED, false);
        } else if (call->again) {
            call->again = false;
            call->failure = GDR_ERR_MIXED;
        }
        return;
    }
    turn_queued(team, index);
}

/* So that a call that is abandoned needs no memory: its puts must have landed before it ends. */
static gdr_status_t flushes_fit(gdr_call_t *call, uint32_t n)
{
    gdr_net_op_t *flushes;

    if (call->flush_capacity >= n)
        return GDR_OK;
    flushes = realloc(call->flushes, n * sizeof(*flushes));
    if (flushes == NULL)
        return GDR_ERR_NO_MEMORY;
    call->flushes = flushes;
    call->flush_capacity = n;
    return GDR_OK;
}

static gdr_status_t contexts_fit(gdr_call_t *call, uint32_t n)
{
    gdr_context_t **contexts;

    if (call->context_capacity >= n)
        return GDR_OK;
    contexts = realloc(call->contexts, n * sizeof(gdr_context_t *));
    if (contexts == NULL)
        return GDR_ERR_NO_MEMORY;
    call->contexts = contexts;
    call->context_capacity = n;
    return GDR_OK;
}

static void set_modes(gdr_call_t *call)
{
    const gdr_engine_config_t *config = &call->team->engine->config;
    uint32_t modes = gdr_peers_own_modes(call->team);

    call->device_flags =
        (modes & (call->desc.blocking ? GDR_MODE_BIT_BLOCKING : GDR_MODE_BIT_NONBLOCKING)) != 0;
    call->ahead = call->device_flags && (config->stream_waits == GDR_MODE_ON ||
                                         (config->stream_waits == GDR_MODE_AUTO &&
                                          call->desc.blocking && !config->thread_multiple));
}

/* Until the contexts move nobody can notice the call: what goes wrong here makes it a host call. */
static gdr_status_t run(gdr_call_t *call)
{
    gdr_team_t *team = call->team;
    const gdr_plan_t *plan = call->planned->plan;
    const gdr_window_t *window = team->lane->window;
    uint32_t n = (uint32_t)gdr_min_u64(plan->layout.depth, plan->nsegments), i;
    uint64_t lane = (uint64_t)(team->lane - window->lanes);
    gdr_status_t status;

    call->part = (uint32_t)(call->number % gdr_plan_parts(&team->plan));
    call->abort_address = window->address + window->abort_offset +
                          (lane * GDR_LANE_PARTS + call->part) * GDR_WORD_BYTES;
    set_modes(call);
    call->ncontexts = call->active = 0;
    call->nflushes = 0;
    call->flushing = call->told = false;
    status = contexts_fit(call, n);
    if (status == GDR_OK)
        status = flushes_fit(call, call->planned->npeers + 1);
    for (i = 0; i < n && status == GDR_OK; i++) {
        status = gdr_context_take(call, i, &call->contexts[i]);
        if (status != GDR_OK)
            break;
        call->ncontexts++;
        call->active++;
        gdr_context_begin(call->contexts[i], i);
    }
    while (status != GDR_OK && call->ncontexts > 0)
        gdr_context_give(call->contexts[--call->ncontexts]);
    return status;
}

/* What this process had is gone, or a member is out of its reach, or lanes are too small: all
 * members vote again, once the calls before are over. Those that others have begun cannot end
 * without this one. */
static gdr_status_t renew(gdr_team_t *team, const gdr_call_t *call)
{
    gdr_status_t status = gdr_lost_members(team);

    if (status != GDR_OK)
        return status;
    if (team->running[0] != NULL || team->running[1] != NULL)
        return team->device->generation == 0 ? GDR_ERR_STALE : GDR_INPROGRESS;
    gdr_renew_own(team, call->desc.index);
    return GDR_INPROGRESS;
}

/* The call at the head of the queue. Nobody has noticed it yet: one that cannot be begun here is a
 * host call, which the others learn when they ask. */
static gdr_status_t refuse_first(gdr_team_t *team, gdr_status_t status)
{
    gdr_info(team->engine->ports.log, "communicator %llu, rank %d of %d: a call goes otherwise: %s",
             (unsigned long long)team->id, team->rank, team->size, gdr_status_string(status));
    gdr_call_finish(queue_pop(team), GDR_ERR_MIXED);
    return GDR_OK;
}

static gdr_status_t begin(gdr_team_t *team, gdr_call_t *call, gdr_planned_t *planned)
{
    gdr_status_t status;

    queue_pop(team);
    planned->users++;
    call->planned = planned;
    call->number = team->base + 1 + (call->desc.index - team->first);
    call->state = GDR_CALL_RUNNING;
    team->running[call->number % GDR_LANE_CALLS] = call;
    status = run(call);
    if (status != GDR_OK) {
        gdr_call_finish(call, GDR_ERR_MIXED);
        return GDR_OK;
    }
    team->last = call->number;
    __atomic_store_n(&call->path, planned->plan->algorithm->name, __ATOMIC_RELEASE);
    return GDR_OK;
}

/* GDR_INPROGRESS: not yet. A call that no algorithm serves is declined by all alike. */
static gdr_status_t start(gdr_team_t *team, gdr_call_t *call)
{
    gdr_planned_t *planned;
    gdr_status_t status;

    status = gdr_planned_get(team, call->desc.count, (uint32_t)gdr_type_bytes(call->desc.type),
                             true, &planned);
    if (status != GDR_OK)
        return refuse_first(team, status);
    if (planned->grows) {
        team->lane_wish = team->lane_most;
        return renew(team, call);
    }
    if (planned->plan == NULL) {
        gdr_call_finish(queue_pop(team), GDR_ERR_DECLINED);
        return GDR_OK;
    }
    gdr_devices_check(team->engine);
    if (team->device->generation == 0 || team->engine->unfit != NULL || team->unreached != GDR_OK ||
        team->unmapped)
        return renew(team, call);
    status = gdr_device_prepare(team->device, call->desc.op, call->desc.type);
    if (status != GDR_OK)
        return refuse_first(team, status);
    status = gdr_peers_wire(team, planned);
    if (team->unreached != GDR_OK || team->unmapped)
        return renew(team, call);
    if (status != GDR_OK) {
        team->wiring = status == GDR_INPROGRESS ? planned : NULL;
        return status;
    }
    if (!team->together && gdr_begin_due(team->engine))
        return renew(team, call);
    if (gdr_begin_is_common(team, call))
        status = gdr_begin_together(team, call);
    team->gathering = status == GDR_INPROGRESS;
    return status == GDR_OK ? begin(team, call, planned) : status;
}

/* The member that voted last has passed the calls before its vote as host calls. */
static void skip_first(gdr_team_t *team)
{
    while (team->queue != NULL && team->queue->desc.index < team->first)
        gdr_call_finish(queue_pop(team), GDR_ERR_MIXED);
}

static unsigned start_calls(gdr_team_t *team)
{
    unsigned events = 0;

    team->wiring = NULL;
    team->gathering = false;
    if (team->state == GDR_TEAM_READY && !team->renewing)
        skip_first(team);
    while (team->state == GDR_TEAM_READY && !team->renewing && team->queue != NULL &&
           gdr_ways_may_start(team->ways, team->queue->desc.index, team->plan.calls)) {
        gdr_status_t status = start(team, team->queue);

        if (status == GDR_INPROGRESS)
            break;
        if (status != GDR_OK)
            gdr_team_fail(team, status);
        events++;
    }
    return events;
}

static unsigned run_on(gdr_call_t *call)
{
    uint64_t happened;
    uint32_t i;

    for (i = 0; i < call->ncontexts; i++) {
        gdr_context_t *context = call->contexts[i];
        gdr_status_t status;

        if (context == NULL)
            continue;
        status = gdr_context_progress(context);
        if (status == GDR_INPROGRESS)
            continue;
        if (status != GDR_OK) {
            gdr_team_fail(call->team, status);
            return 1;
        }
        gdr_context_give(context);
        call->contexts[i] = NULL;
        call->active--;
    }
    happened = call->events - call->events_counted;
    call->events_counted = call->events;
    if (call->active == 0 && !call->engine->lost) { /* else it fails in a moment */
        gdr_call_finish(call, GDR_OK);
        return (unsigned)happened;
    }
    if (happened == 0)
        gdr_ask_running(call);
    else /* no hurry */
        call->ask_quiet = false;
    return (unsigned)happened;
}

/* All that is not on its way as it should be, and what waits. */
static unsigned prepare(gdr_team_t *team)
{
    unsigned events;

    if (team->renewing)
        gdr_renew_progress(team);
    if (team->state == GDR_TEAM_NEW && team->queue != NULL)
        gdr_vote_start(team, &team->queue->desc);
    if (team->state == GDR_TEAM_DECLINED || team->state == GDR_TEAM_DEAD)
        gdr_calls_refuse(team, team->status);
    events = start_calls(team);
    if (team->queue != NULL)
        gdr_ask_queued(team);
    return events;
}

unsigned gdr_calls_progress(gdr_team_t *team)
{
    unsigned events = 0, i;

    if (team->renewing || team->queue != NULL || team->state != GDR_TEAM_READY)
        events = prepare(team);
    for (i = 0; i < GDR_LANE_CALLS; i++) {
        gdr_call_t *call = team->running[i];

        if (call == NULL)
            continue;
        if (call->state == GDR_CALL_RUNNING)
            events += run_on(call);
        else if (!gdr_abandoned_rests(call))
            continue;
        else if (call->again)
            gdr_call_requeue(call);
        else
            gdr_call_finish(call, call->failure);
    }
    return events;
}
