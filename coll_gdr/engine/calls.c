#include "engine/gdr_engine_priv.h"
#include "engine/gdr_lock.h"
#include "base/gdr_math.h"

#include <stdlib.h>
#include <string.h>

/* A call that one member does not count would put the numbers of all later ones out of step: where
 * there is no memory the team's spare call takes the place, and is failed when its turn comes. */
static gdr_call_t *call_new(gdr_team_t *team)
{
    gdr_engine_t *engine = team->engine;
    gdr_call_t *call;

    gdr_lock(&engine->queue_lock);
    call = engine->free_calls;
    if (call != NULL)
        engine->free_calls = call->next;
    gdr_unlock(&engine->queue_lock);
    if (call != NULL || (call = calloc(1, sizeof(*call))) != NULL)
        return call;
    gdr_lock(&engine->queue_lock);
    call = team->spare;
    team->spare = NULL;
    gdr_unlock(&engine->queue_lock);
    return call;
}

gdr_status_t gdr_call_post(gdr_team_t *team, const gdr_call_desc_t *desc, gdr_call_t **call)
{
    gdr_engine_t *engine = team->engine;
    gdr_call_t *posted;
    uint64_t bytes;

    if (desc->count == 0 || !gdr_optype_supported(desc->op, desc->type) ||
        !gdr_mul_u64(desc->count, gdr_type_bytes(desc->type), &bytes))
        return GDR_ERR_INVALID;
    posted = call_new(team);
    if (posted == NULL) /* the spare is in use: the team is dead, or dies before this call's turn */
        return GDR_ERR_NO_MEMORY;
    posted->engine = engine;
    posted->team = team;
    posted->desc = *desc;
    posted->state = GDR_CALL_QUEUED;
    posted->next = NULL;
    posted->events = posted->events_seen = 0;
    posted->warned = false;
    posted->since = 0;
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
    if (call->is_spare) {
        call->team->spare = call;
    } else {
        call->next = engine->free_calls;
        engine->free_calls = call;
    }
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
        call->order = team->taken++;
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

/* The status is the last thing that is written: the owner may release the call at once. */
void gdr_call_finish(gdr_call_t *call, gdr_status_t status)
{
    gdr_engine_t *engine = call->team->engine;

    if (call->state != GDR_CALL_QUEUED) {
        call->planned->users--;
        call->team->running[call->number % GDR_LANE_CALLS] = NULL;
    }
    call->state = GDR_CALL_OVER;
    if (status == GDR_OK)
        gdr_stat_add(&engine->stats.calls, 1);
    else if (status == GDR_ERR_DECLINED)
        gdr_stat_add(&engine->stats.declined, 1);
    __atomic_store_n(&call->status, (int)status, __ATOMIC_RELEASE);
}

void gdr_call_requeue(gdr_call_t *call)
{
    gdr_team_t *team = call->team;
    gdr_call_t **link = &team->queue;

    if (gdr_device_alive(team->device))
        team->device->ops->set_word(team->device->dev, call->abort_address, 0);
    call->planned->users--;
    team->running[call->number % GDR_LANE_CALLS] = NULL;
    call->state = GDR_CALL_QUEUED;
    while (*link != NULL && (*link)->order < call->order)
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

/* From here on the call has a number: whatever goes wrong kills the team. */
static gdr_status_t run(gdr_call_t *call)
{
    gdr_team_t *team = call->team;
    const gdr_plan_t *plan = call->planned->plan;
    const gdr_window_t *window = team->lane->window;
    uint32_t n = (uint32_t)gdr_min_u64(plan->layout.depth, plan->nsegments), i;
    uint64_t lane = team->lane->offset / team->engine->config.plan.lane_bytes;
    gdr_status_t status;

    call->part = (uint32_t)(call->number % GDR_LANE_PARTS);
    call->abort_address = window->address + window->abort_offset +
                          (lane * GDR_LANE_PARTS + call->part) * GDR_WORD_BYTES;
    set_modes(call);
    call->ncontexts = call->active = 0;
    status = contexts_fit(call, n);
    for (i = 0; i < n && status == GDR_OK; i++) {
        status = gdr_context_take(call, i, &call->contexts[i]);
        if (status != GDR_OK)
            break;
        call->ncontexts++;
        call->active++;
        gdr_context_begin(call->contexts[i], i);
    }
    return status;
}

/* What this process had is gone, or a member is out of its reach: all members vote again, once the
 * calls before are over. Those that others have begun cannot end without this one. */
static gdr_status_t renew(gdr_team_t *team)
{
    gdr_status_t status = gdr_lost_members(team);

    if (status != GDR_OK)
        return status;
    if (team->running[0] != NULL || team->running[1] != NULL)
        return team->device->generation == 0 ? GDR_ERR_STALE : GDR_INPROGRESS;
    gdr_renew_own(team);
    return GDR_INPROGRESS;
}

/* GDR_INPROGRESS: not yet. A call that no algorithm serves is declined by all alike. */
static gdr_status_t start(gdr_team_t *team, gdr_call_t *call)
{
    gdr_planned_t *planned;
    gdr_status_t status;

    if (call->is_spare)
        return GDR_ERR_NO_MEMORY;
    if (call->desc.failed != GDR_OK)
        return call->desc.failed;
    status = gdr_planned_get(team, call->desc.count, (uint32_t)gdr_type_bytes(call->desc.type),
                             true, &planned);
    if (status != GDR_OK)
        return status;
    if (planned->plan == NULL) {
        gdr_call_finish(queue_pop(team), GDR_ERR_DECLINED);
        return GDR_OK;
    }
    gdr_devices_check(team->engine);
    if (team->device->generation == 0 || team->engine->unfit != NULL || team->unreached != GDR_OK)
        return renew(team);
    status = gdr_device_prepare(team->device, call->desc.op, call->desc.type);
    if (status == GDR_OK)
        status = gdr_peers_wire(team, planned);
    if (team->unreached != GDR_OK)
        return renew(team);
    if (status != GDR_OK)
        return status;
    queue_pop(team);
    planned->users++;
    call->planned = planned;
    call->number = team->base + ++team->started;
    call->state = GDR_CALL_RUNNING;
    team->running[call->number % GDR_LANE_CALLS] = call;
    __atomic_store_n(&call->path, planned->plan->algorithm->name, __ATOMIC_RELEASE);
    return run(call);
}

static unsigned start_calls(gdr_team_t *team)
{
    unsigned events = 0;

    while (team->state == GDR_TEAM_READY && !team->renewing && team->queue != NULL &&
           team->running[(team->base + team->started + 1) % GDR_LANE_CALLS] == NULL) {
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
    uint64_t before = call->events;
    uint32_t i;

    for (i = 0; i < call->ncontexts; i++) {
        bool finished;
        gdr_status_t status;

        if (call->contexts[i] == NULL)
            continue;
        status = gdr_context_progress(call->contexts[i], &finished);
        if (status != GDR_OK) {
            gdr_team_fail(call->team, status);
            return 1;
        }
        if (!finished)
            continue;
        gdr_context_give(call->contexts[i]);
        call->contexts[i] = NULL;
        call->active--;
    }
    before = call->events - before;
    if (call->active == 0 && !call->engine->lost) /* else it fails in a moment */
        gdr_call_finish(call, GDR_OK);
    return (unsigned)before;
}

unsigned gdr_calls_progress(gdr_team_t *team)
{
    unsigned events = 0, i;

    if (team->renewing)
        gdr_renew_progress(team);
    if (team->state == GDR_TEAM_NEW && team->queue != NULL)
        gdr_vote_start(team, &team->queue->desc);
    if (team->state == GDR_TEAM_DECLINED || team->state == GDR_TEAM_DEAD)
        gdr_calls_refuse(team, team->status);
    events += start_calls(team);
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
