#include "engine/gdr_engine_priv.h"
#include "engine/gdr_lock.h"
#include "engine/gdr_messages.h"

#include <stdlib.h>
#include <string.h>

static gdr_team_t **bucket_of(gdr_engine_t *engine, uint64_t id)
{
    return &engine->teams[(id ^ id >> 32) % GDR_TEAM_BUCKETS];
}

gdr_team_t *gdr_team_find(gdr_engine_t *engine, uint64_t id, uint64_t nonce)
{
    gdr_team_t *team = *bucket_of(engine, id);

    while (team != NULL && (team->id != id || team->nonce != nonce))
        team = team->next;
    return team;
}

bool gdr_team_is_gone(const gdr_engine_t *engine, uint64_t id, uint64_t nonce)
{
    uint32_t i, n = engine->ngone < GDR_GONE_TEAMS ? engine->ngone : GDR_GONE_TEAMS;

    for (i = 0; i < n; i++) {
        if (engine->gone[i].id == id && engine->gone[i].nonce == nonce)
            return true;
    }
    return false;
}

static gdr_status_t team_fill(gdr_team_t *team, const gdr_team_desc_t *desc)
{
    team->procs = malloc((size_t)desc->size * sizeof(*team->procs));
    team->voted = calloc(desc->rank == 0 ? (size_t)desc->size : 1, 1);
    team->vote = malloc(sizeof(gdr_vote_body_t));
    team->node_names = calloc(desc->rank == 0 ? (size_t)desc->size : 1, sizeof(*team->node_names));
    if (team->procs == NULL || team->voted == NULL || team->vote == NULL ||
        team->node_names == NULL)
        return GDR_ERR_NO_MEMORY;
    team->ways = desc->ways;
    memcpy(team->procs, desc->procs, (size_t)desc->size * sizeof(*team->procs));
    team->id = desc->id;
    team->nonce = desc->nonce;
    team->rank = desc->rank;
    team->size = desc->size;
    team->eligible = desc->eligible;
    team->plan = team->engine->config.plan;
    team->queue_end = &team->queue;
    return GDR_OK;
}

gdr_status_t gdr_team_create(gdr_engine_t *engine, const gdr_team_desc_t *desc, gdr_team_t **team)
{
    gdr_team_t *made;
    gdr_status_t status;

    if (desc->size < 1 || desc->rank < 0 || desc->rank >= desc->size || desc->procs == NULL)
        return GDR_ERR_INVALID;
    made = calloc(1, sizeof(*made));
    if (made == NULL)
        return GDR_ERR_NO_MEMORY;
    made->engine = engine;
    status = team_fill(made, desc);
    if (status != GDR_OK) {
        gdr_team_free(made);
        return status;
    }
    gdr_lock(&engine->queue_lock);
    made->next = engine->new_teams;
    engine->new_teams = made;
    gdr_unlock(&engine->queue_lock);
    __atomic_store_n(&engine->work, 1, __ATOMIC_RELEASE);
    *team = made;
    return GDR_OK;
}

void gdr_team_destroy(gdr_team_t *team)
{
    gdr_engine_t *engine = team->engine;

    team->begun = gdr_ways_begun(team->ways);
    gdr_lock(&engine->queue_lock);
    team->next_dying = engine->dying_teams;
    engine->dying_teams = team;
    gdr_unlock(&engine->queue_lock);
    __atomic_store_n(&engine->work, 1, __ATOMIC_RELEASE);
    gdr_engine_progress(engine);
}

void gdr_team_free(gdr_team_t *team)
{
    unsigned i;

    for (i = 0; i < GDR_PLAN_CACHE; i++)
        gdr_planned_clear(&team->plans[i]);
    gdr_topology_free(team->topology);
    free(team->nodes);
    free(team->node_names);
    free(team->vote);
    gdr_members_free(team);
    free(team->procs);
    free(team->voted);
    free(team);
}

static void unlink_from(gdr_team_t **link, gdr_team_t *team)
{
    while (*link != NULL && *link != team)
        link = &(*link)->next;
    if (*link != NULL)
        *link = team->next;
}

/*
 * All calls of the team are over, so every flag that they expected has come, and every credit:
 * each was needed by a later write of the same call. Others may have put into the lane in calls
 * that were host calls here. A lane that was announced but whose team died may still be written
 * to; before the first verdict nobody knows of it.
 */
static void lane_retire(gdr_engine_t *engine, gdr_team_t *team)
{
    bool ready = team->state == GDR_TEAM_READY && !team->renewing;
    bool unknown = team->state == GDR_TEAM_VOTED && team->epoch == 0;
    uint64_t last = 0;

    if (team->lane == NULL)
        return;
    if (ready && team->begun > team->first)
        last = team->base + (team->begun - team->first);
    gdr_lane_release(engine, team->lane, last, ready || unknown);
}

static void team_retire(gdr_engine_t *engine, gdr_team_t *team)
{
    gdr_team_t **link = &engine->active;

    while (*link != NULL && *link != team)
        link = &(*link)->next_active;
    if (*link != NULL)
        *link = team->next_active;
    unlink_from(bucket_of(engine, team->id), team);
    lane_retire(engine, team);
    engine->gone[engine->ngone % GDR_GONE_TEAMS].id = team->id;
    engine->gone[engine->ngone % GDR_GONE_TEAMS].nonce = team->nonce;
    if (++engine->ngone == 2 * GDR_GONE_TEAMS)
        engine->ngone = GDR_GONE_TEAMS;
    gdr_team_free(team);
}

void gdr_teams_update(gdr_engine_t *engine)
{
    gdr_team_t *fresh, *dying, *next;

    gdr_lock(&engine->queue_lock);
    fresh = engine->new_teams;
    dying = engine->dying_teams;
    engine->new_teams = engine->dying_teams = NULL;
    gdr_unlock(&engine->queue_lock);
    for (; fresh != NULL; fresh = next) {
        gdr_team_t **bucket = bucket_of(engine, fresh->id);

        next = fresh->next;
        fresh->next = *bucket;
        *bucket = fresh;
        gdr_orphans_adopt(engine, fresh);
    }
    for (; dying != NULL; dying = next) {
        next = dying->next_dying;
        team_retire(engine, dying);
    }
}
