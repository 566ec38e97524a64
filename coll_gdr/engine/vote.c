/*
 * A communicator's one decision: whether all members can take the device path. Every member votes
 * to rank 0 at its first device call, whichever that is: the votes stand while calls are mixed and
 * go otherwise, until all members have voted. Then all calls before the last voter's are host
 * calls, and the verdict names the first one in the lanes; it goes down a binomial tree. One
 * "cannot" is enough, and is told at once, and to whoever votes later. A process without an engine,
 * because it has made no device call yet, loses votes: rank 0 asks for those that it misses.
 */
#include "base/gdr_math.h"
#include "engine/gdr_engine_priv.h"
#include "engine/gdr_messages.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static uint64_t hash_number(uint64_t hash, uint64_t number)
{
    unsigned i;

    for (i = 0; i < 64; i += 8)
        hash = (hash ^ (number >> i & 0xff)) * 0x100000001b3u;
    return hash;
}

uint64_t gdr_vote_hash(const gdr_engine_config_t *config)
{
    const gdr_plan_params_t *plan = &config->plan;
    uint64_t numbers[] = {GDR_MESSAGE_MAGIC, GDR_LANE_CALLS,  GDR_LANE_PARTS,
                          plan->lane_bytes,  plan->ctl_bytes, plan->chunk_size,
                          plan->min_chunk,   plan->depth,     config->mapped,
                          config->large_lane};
    uint64_t hash = 0xcbf29ce484222325u;
    uint64_t figure;
    size_t i;

    for (i = 0; gdr_machine_figure(&plan->machine, (uint32_t)i, &figure) != NULL; i++)
        hash = hash_number(hash, figure);
    for (i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++)
        hash = hash_number(hash, numbers[i]);
    for (i = 0; i < sizeof(plan->algorithm) && plan->algorithm[i] != 0; i++)
        hash = hash_number(hash, (unsigned char)plan->algorithm[i]);
    return hash;
}

static void send_to(gdr_team_t *team, int64_t rank, gdr_message_type_t type, const void *body,
                    size_t bytes)
{
    if (gdr_message_send(team->engine, team, team->procs[rank], type, body, bytes) != GDR_OK)
        gdr_team_fail(team, GDR_ERR_NET);
}

static void send_verdict(gdr_team_t *team, int32_t rank, const gdr_verdict_body_t *verdict)
{
    send_to(team, rank, GDR_MESSAGE_VERDICT, verdict, sizeof(*verdict));
}

void gdr_vote_send_down(gdr_team_t *team, gdr_message_type_t type, const void *body, size_t bytes)
{
    int64_t step = 1;

    /* Rank r's parent is r without its lowest set bit; rank 0 is the root. */
    while (step < team->size && (team->rank & step) == 0) {
        int64_t child = team->rank + step;

        if (child < team->size)
            send_to(team, child, type, body, bytes);
        step <<= 1;
    }
}

static void decline(gdr_team_t *team, int32_t decliner, const char *reason)
{
    gdr_info(team->engine->ports.log,
             "communicator %llu of %d ranks does not use the device path: rank %d: %s",
             (unsigned long long)team->id, team->size, decliner, reason);
    team->state = GDR_TEAM_DECLINED;
    team->status = GDR_ERR_DECLINED;
    /* Nobody was told of a first lane; one of a former epoch may still be written to. */
    if (team->lane != NULL && team->epoch == 0) {
        gdr_lane_release(team->engine, team->lane, 0, true);
        team->lane = NULL;
    }
    gdr_calls_refuse(team, GDR_ERR_DECLINED);
}

/* All have voted, hence put what they had under way there. Their words may hold the number of any
 * call that a member had begun. */
static void release_old_lanes(gdr_team_t *team, uint64_t greatest)
{
    while (team->old_lanes != NULL) {
        gdr_lane_t *lane = team->old_lanes;

        team->old_lanes = lane->older;
        gdr_lane_release(team->engine, lane, greatest, true);
    }
}

/* Plans of an epoch before were made for other lanes. No call uses one any more. */
static gdr_status_t settle_plans(gdr_team_t *team, const gdr_verdict_body_t *verdict)
{
    gdr_plan_params_t plan = team->engine->config.plan;
    unsigned i;

    if (verdict->lane_bytes < plan.lane_bytes || verdict->lane_most < verdict->lane_bytes ||
        verdict->lane_bytes > team->lane->window->lane_bytes)
        return GDR_ERR_INVALID;
    gdr_plan_grow(&plan, verdict->lane_bytes);
    if (verdict->waits != 0)
        plan.max_depth = GDR_DEPTH_WAITING;
    if (gdr_plan_params_error(&plan) != NULL)
        return GDR_ERR_INVALID;
    if (team->plan.lane_bytes != plan.lane_bytes || team->plan.max_depth != plan.max_depth ||
        team->lane_most != verdict->lane_most) {
        for (i = 0; i < GDR_PLAN_CACHE; i++)
            gdr_planned_clear(&team->plans[i]);
    }
    team->plan = plan;
    team->lane_most = verdict->lane_most;
    team->lane_wish = verdict->lane_bytes;
    return GDR_OK;
}

static void obey(gdr_team_t *team, const gdr_verdict_body_t *verdict)
{
    gdr_status_t status;

    if (!verdict->go) {
        decline(team, verdict->decliner, verdict->reason);
        return;
    }
    release_old_lanes(team, verdict->base);
    status = settle_plans(team, verdict);
    if (status == GDR_OK)
        status = gdr_nodes_settle(team, verdict->mapped != 0);
    if (status != GDR_OK) { /* others would have other plans */
        gdr_team_fail(team, status);
        return;
    }
    team->base = verdict->base;
    team->first = verdict->first;
    team->device_flags = verdict->stream_words != 0;
    team->together = verdict->emulates != 0;
    team->state = GDR_TEAM_READY;
    gdr_debug(team->engine->ports.log, "communicator %llu of %d ranks is ready, calls from %llu",
              (unsigned long long)team->id, team->size, (unsigned long long)team->base + 1);
}

static void tell_no(gdr_team_t *team, int32_t rank, int32_t decliner, const char *reason)
{
    gdr_verdict_body_t verdict;

    memset(&verdict, 0, sizeof(verdict));
    verdict.decliner = decliner;
    snprintf(verdict.reason, sizeof(verdict.reason), "%s", reason);
    send_verdict(team, rank, &verdict);
}

static void conclude(gdr_team_t *team, bool go, int32_t decliner, const char *reason)
{
    gdr_verdict_body_t verdict;
    int32_t rank;

    memset(&verdict, 0, sizeof(verdict));
    verdict.go = go;
    verdict.decliner = decliner;
    verdict.stream_words = team->words_all;
    verdict.mapped = team->maps_all;
    verdict.emulates = team->any_emulates;
    verdict.waits = team->any_waits;
    verdict.base = team->max_call;
    verdict.first = team->max_index;
    verdict.lane_bytes = team->least_lane;
    verdict.lane_most = team->least_most;
    snprintf(verdict.reason, sizeof(verdict.reason), "%s", reason);
    team->verdict_given = true;
    if (go)
        gdr_nodes_tell(team);
    if (go && team->state != GDR_TEAM_DEAD)
        gdr_vote_send_down(team, GDR_MESSAGE_VERDICT, &verdict, sizeof(verdict));
    for (rank = 1; rank < team->size && !go; rank++) {
        if (team->voted[rank])
            send_verdict(team, rank, &verdict);
    }
    if (team->state != GDR_TEAM_DEAD)
        obey(team, &verdict);
}

static const char *differs(const gdr_team_t *team, const gdr_vote_body_t *vote)
{
    if (vote->config_hash != team->config_hash)
        return "its parameters differ from those of the first rank that voted";
    if (vote->compute_capability != team->compute_capability)
        return "its compute capability differs: results might differ in bits";
    return NULL;
}

/* Rank 0 */
static gdr_status_t count_vote(gdr_team_t *team, int32_t rank, const gdr_vote_body_t *vote)
{
    const char *why;

    if (team->voted[rank]) /* asked for, but not lost */
        return GDR_OK;
    team->voted[rank] = 1;
    if (team->votes++ == 0) {
        team->config_hash = vote->config_hash;
        team->compute_capability = vote->compute_capability;
        team->words_all = team->maps_all = true;
        team->any_emulates = team->any_waits = false;
        team->least_lane = team->least_most = UINT64_MAX;
    }
    team->words_all = team->words_all && vote->stream_words != 0;
    team->maps_all = team->maps_all && vote->maps != 0;
    team->any_emulates = team->any_emulates || vote->emulates != 0;
    team->any_waits = team->any_waits || vote->waits != 0;
    team->max_call = gdr_max_u64(team->max_call, vote->last_call);
    team->max_index = gdr_max_u64(team->max_index, vote->index);
    team->least_lane = gdr_min_u64(team->least_lane, vote->lane_bytes);
    team->least_most = gdr_min_u64(team->least_most, vote->lane_most);
    team->node_names[rank] = vote->node;
    why = vote->can ? differs(team, vote) : vote->reason;
    if (why != NULL)
        conclude(team, false, rank, why);
    else if (team->votes == team->size)
        conclude(team, true, -1, "");
    return GDR_OK;
}

gdr_status_t gdr_vote_on_vote(gdr_team_t *team, int32_t rank, uint32_t epoch, const void *payload,
                              size_t bytes)
{
    gdr_vote_body_t vote;

    if (bytes != sizeof(vote) || team->rank != 0)
        return GDR_ERR_INVALID;
    memcpy(&vote, payload, sizeof(vote));
    if (memchr(vote.reason, 0, sizeof(vote.reason)) == NULL)
        return GDR_ERR_INVALID;
    if (team->state == GDR_TEAM_DEAD)
        gdr_fail_tell(team, rank);
    else if (team->state == GDR_TEAM_DECLINED)
        tell_no(team, rank, 0, "declined before");
    if (team->state == GDR_TEAM_DEAD || team->state == GDR_TEAM_DECLINED || epoch < team->epoch)
        return GDR_OK;
    if (epoch > team->epoch && gdr_renew_for(team, epoch, vote.from, vote.lane_wish) != GDR_OK)
        return GDR_ERR_INVALID;
    return team->verdict_given ? GDR_OK : count_vote(team, rank, &vote);
}

/* In this epoch: until the one before has ended here the state is that one's. */
static bool has_voted(const gdr_team_t *team)
{
    return team->state == GDR_TEAM_VOTED && !team->renewing;
}

gdr_status_t gdr_vote_on_wanted(gdr_team_t *team, int32_t rank, uint32_t epoch, size_t bytes)
{
    gdr_vote_body_t vote = {.can = 0, .reason = "declined before"};
    const void *body = team->state == GDR_TEAM_DECLINED ? &vote : team->vote;

    if (rank != 0 || team->rank == 0 || bytes != 0)
        return GDR_ERR_INVALID;
    if (team->state == GDR_TEAM_DEAD)
        gdr_fail_tell(team, rank);
    if ((!has_voted(team) || epoch != team->epoch) && team->state != GDR_TEAM_DECLINED)
        return GDR_OK;
    if (gdr_message_send(team->engine, team, team->procs[0], GDR_MESSAGE_VOTE, body,
                         sizeof(vote)) != GDR_OK)
        gdr_team_fail(team, GDR_ERR_NET);
    return GDR_OK;
}

void gdr_vote_without(gdr_team_t *team, int32_t rank)
{
    static const char why[] = "its process does not use coll/gdr for this communicator";

    if (team->state != GDR_TEAM_VOTED)
        return;
    if (team->rank != 0)
        decline(team, rank, why);
    else if (!team->verdict_given)
        conclude(team, false, rank, why);
}

gdr_status_t gdr_vote_on_verdict(gdr_team_t *team, int32_t rank, uint32_t epoch,
                                 const void *payload, size_t bytes)
{
    gdr_verdict_body_t verdict;

    if (bytes != sizeof(verdict) || team->rank == 0)
        return GDR_ERR_INVALID;
    memcpy(&verdict, payload, sizeof(verdict));
    if (memchr(verdict.reason, 0, sizeof(verdict.reason)) == NULL ||
        rank != (verdict.go ? team->rank & (team->rank - 1) : 0))
        return GDR_ERR_INVALID;
    if (team->state == GDR_TEAM_DEAD || epoch < team->epoch ||
        (team->state == GDR_TEAM_DECLINED && !verdict.go))
        return GDR_OK;
    if (!has_voted(team) || epoch != team->epoch)
        return GDR_ERR_INVALID;
    if (verdict.go)
        gdr_vote_send_down(team, GDR_MESSAGE_VERDICT, &verdict, sizeof(verdict));
    if (team->state != GDR_TEAM_DEAD)
        obey(team, &verdict);
    return GDR_OK;
}

static bool net_failed(const gdr_engine_t *engine)
{
    return engine->net_status != GDR_OK && engine->net_status != GDR_INPROGRESS;
}

static const char *prepare(gdr_team_t *team, const gdr_call_desc_t *first, gdr_status_t *status)
{
    gdr_engine_t *engine = team->engine;

    *status = GDR_ERR_UNSUPPORTED;
    if (!team->eligible)
        return "this process takes no part";
    gdr_devices_check(engine);
    if (team->lane != NULL && !gdr_device_alive(team->device)) /* reset since the old epoch ended */
        gdr_renew_lane_end(team);
    if (engine->unfit != NULL)
        return engine->unfit;
    *status = team->unreached;
    if (*status != GDR_OK)
        return "no connection to a member";
    if (net_failed(engine))
        *status = engine->net_status;
    else if (team->lane == NULL) /* opens the network, too */
        *status = gdr_device_get(engine, first->device, &team->device);
    if (*status != GDR_OK)
        return net_failed(engine) ? "no network for device memory" : "device cannot be used";
    *status = gdr_device_prepare(team->device, first->op, first->type);
    if (*status != GDR_OK)
        return "kernels cannot be loaded";
    if (team->lane == NULL)
        *status = gdr_lane_get(team);
    else /* it is kept from the epoch before */
        gdr_lane_grow(team);
    if (*status != GDR_OK)
        return "no lane";
    return NULL;
}

void gdr_vote_start(gdr_team_t *team, const gdr_call_desc_t *first)
{
    gdr_engine_t *engine = team->engine;
    gdr_vote_body_t vote;
    gdr_status_t status;
    const char *why = prepare(team, first, &status);

    if (engine->unfit != NULL && gdr_lost_members(team) != GDR_OK) {
        gdr_team_fail(team, GDR_ERR_NET); /* a vote might never be answered */
        return;
    }
    memset(&vote, 0, sizeof(vote));
    vote.can = why == NULL;
    vote.config_hash = engine->config_hash;
    vote.from = team->from;
    vote.node = engine->config.node;
    vote.index = first->index;
    vote.lane_wish = team->lane_wish;
    if (why == NULL) {
        vote.lane_bytes = team->lane->window->lane_bytes;
        vote.lane_most = team->lane_short ? vote.lane_bytes : gdr_lane_most(team->device);
        vote.lane_most = gdr_max_u64(vote.lane_most, vote.lane_bytes);
        vote.compute_capability = team->device->caps.compute_capability;
        vote.stream_words = team->device->caps.stream_words;
        vote.maps = gdr_peers_map(engine);
        vote.emulates = gdr_begin_due(engine);
        vote.waits = engine->config.flags == GDR_FLAGS_DEVICE ||
                     (engine->config.flags == GDR_FLAGS_AUTO &&
                      engine->config.stream_waits != GDR_MODE_OFF);
        /* Our words may be in the others' lanes up to the last call that we started, though our own
         * lane is a new one. */
        vote.last_call = gdr_max_u64(gdr_lane_last_call(engine, team->lane), team->last);
    } else {
        snprintf(vote.reason, sizeof(vote.reason), "%s (%s)", why, gdr_status_string(status));
    }
    memcpy(team->vote, &vote, sizeof(vote));
    team->state = GDR_TEAM_VOTED;
    if (team->rank == 0) {
        if (!team->verdict_given)
            count_vote(team, 0, &vote);
        return;
    }
    if (gdr_message_send(engine, team, team->procs[0], GDR_MESSAGE_VOTE, &vote, sizeof(vote)) !=
        GDR_OK)
        gdr_team_fail(team, GDR_ERR_NET);
}
