#include "engine/gdr_engine_priv.h"
#include "engine/gdr_lock.h"

#include <stdlib.h>
#include <string.h>

enum { CHECK_TICKS = 512 }; /* progress calls between looks at peers, streams and the clock */

void gdr_engine_config_init(gdr_engine_config_t *config)
{
    memset(config, 0, sizeof(*config));
    gdr_plan_params_init(&config->plan);
    config->window_bytes = 64ull << 20;
    config->ctl_bytes = 4ull << 20;
    config->flags = GDR_FLAGS_AUTO;
    config->stream_waits = GDR_MODE_AUTO;
    config->timeout_ns = 60000000000ull;
    config->mixed = true;
    config->ask_ns = 20000;
}

gdr_status_t gdr_engine_create(const gdr_engine_config_t *config, const gdr_ports_t *ports,
                               gdr_engine_t **engine)
{
    const char *error = gdr_plan_params_error(&config->plan);
    gdr_engine_t *made;

    if (error != NULL) {
        gdr_error(ports->log, "engine: %s", error);
        return GDR_ERR_INVALID;
    }
    made = calloc(1, sizeof(*made));
    if (made == NULL)
        return GDR_ERR_NO_MEMORY;
    made->config = *config;
    made->ports = *ports;
    made->config_hash = gdr_vote_hash(config);
    made->net_status = GDR_INPROGRESS;
    made->posted_end = &made->posted;
    made->inbox_end = &made->inbox;
    made->orphans_end = &made->orphans;
    *engine = made;
    return GDR_OK;
}

static void net_close(gdr_engine_t *engine)
{
    if (engine->page_mem != NULL)
        engine->net_ops->deregister(engine->net, engine->page_mem);
    if (engine->net != NULL)
        engine->net_ops->close(engine->net);
    free(engine->ctl_lanes);
}

void gdr_engine_destroy(gdr_engine_t *engine)
{
    gdr_teams_update(engine);
    gdr_procs_close(engine);
    gdr_devices_close(engine);
    net_close(engine);
    gdr_inbox_free(engine->inbox);
    gdr_inbox_free(engine->orphans);
    while (engine->free_contexts != NULL) {
        gdr_context_t *context = engine->free_contexts;

        engine->free_contexts = context->next;
        gdr_context_free(context);
    }
    while (engine->free_calls != NULL) {
        gdr_call_t *call = engine->free_calls;

        engine->free_calls = call->next;
        gdr_call_free(call);
    }
    free(engine);
}

/* Teams first: a call or a message may be for a new one. */
static unsigned take_work(gdr_engine_t *engine)
{
    unsigned events;

    if (__atomic_load_n(&engine->work, __ATOMIC_RELAXED) == 0)
        return 0;
    __atomic_exchange_n(&engine->work, 0, __ATOMIC_ACQ_REL);
    gdr_teams_update(engine);
    events = gdr_calls_take(engine);
    return events + gdr_inbox_drain(engine);
}

static unsigned progress_teams(gdr_engine_t *engine)
{
    gdr_team_t **link = &engine->active;
    bool look = ++engine->ticks % CHECK_TICKS == 0;
    unsigned events = 0, i;

    while (*link != NULL) {
        gdr_team_t *team = *link;
        bool idle;

        events += gdr_calls_progress(team);
        if (look && gdr_fail_check(team) == GDR_OK)
            gdr_explain_check(team);
        idle = team->queue == NULL;
        for (i = 0; i < GDR_LANE_CALLS; i++)
            idle = idle && team->running[i] == NULL;
        if (!idle) {
            link = &team->next_active;
            continue;
        }
        team->active = false;
        *link = team->next_active;
    }
    return events;
}

static unsigned progress_net(gdr_engine_t *engine)
{
    unsigned events = 0;

    if (engine->lost)
        gdr_lost_end_calls(engine);
    if (engine->net != NULL && (engine->unfit == NULL || !gdr_lost_holds(engine)))
        events = engine->net_ops->progress(engine->net);
    if (engine->lost)
        gdr_lost_end_calls(engine);
    return events;
}

int gdr_engine_progress(gdr_engine_t *engine)
{
    unsigned events;

    if (!gdr_lock_try(&engine->busy))
        return 0;
    events = take_work(engine);
    events += progress_net(engine);
    events += progress_teams(engine);
    gdr_unlock(&engine->busy);
    return (int)events;
}

void gdr_engine_stats(const gdr_engine_t *engine, gdr_engine_stats_t *stats)
{
    const gdr_engine_stats_t *from = &engine->stats;

    stats->calls = __atomic_load_n(&from->calls, __ATOMIC_RELAXED);
    stats->kernels = __atomic_load_n(&from->kernels, __ATOMIC_RELAXED);
    stats->puts = __atomic_load_n(&from->puts, __ATOMIC_RELAXED);
    stats->put_bytes = __atomic_load_n(&from->put_bytes, __ATOMIC_RELAXED);
    stats->pull_bytes = __atomic_load_n(&from->pull_bytes, __ATOMIC_RELAXED);
    stats->signals = __atomic_load_n(&from->signals, __ATOMIC_RELAXED);
    stats->declined = __atomic_load_n(&from->declined, __ATOMIC_RELAXED);
    stats->turned = __atomic_load_n(&from->turned, __ATOMIC_RELAXED);
    stats->questions = __atomic_load_n(&from->questions, __ATOMIC_RELAXED);
}
