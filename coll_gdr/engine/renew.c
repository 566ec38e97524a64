/*
 * New epochs of a team. A device reset takes the lane of one member with it, and the others cannot
 * know: they may have started calls that this member will never see in its old lane. None of these
 * can have reached a result that depends on all ranks, so their inputs are intact and they run
 * again. The member votes once more, rank 0 tells all, everybody ends the old epoch as far as that
 * member had come, waits for its own puts to land, and votes at its next device call, as for the
 * first epoch. Lanes whose device lives are kept. If two members begin the epoch at once, with
 * different calls, either will do: what one of them has passed as a host call is one on all.
 *
 * An epoch also begins when a message comes for which larger lanes pay, as far as all members can
 * have them. That is known to all from the same facts, so all begin it with the same call.
 */
#include "base/gdr_math.h"
#include "engine/gdr_engine_priv.h"
#include "engine/gdr_messages.h"

#include <string.h>

static void tell_members(gdr_team_t *team, uint64_t from)
{
    gdr_renew_body_t body = {from, team->lane_wish};
    int32_t rank;

    for (rank = 1; rank < team->size; rank++) {
        if (gdr_message_send(team->engine, team, team->procs[rank], GDR_MESSAGE_RENEW, &body,
                             sizeof(body)) != GDR_OK) {
            gdr_team_fail(team, GDR_ERR_NET);
            return;
        }
    }
}

static void forget_members(gdr_team_t *team)
{
    unsigned i;

    gdr_members_forget(team);
    for (i = 0; i < GDR_PLAN_CACHE; i++)
        team->plans[i].wired = false;
    if (team->rank == 0)
        memset(team->voted, 0, (size_t)team->size);
    team->votes = 0;
    team->nodes_told = 0;
    team->max_index = 0;
    team->verdict_given = false;
}

static void begin(gdr_team_t *team, uint32_t epoch, uint64_t from)
{
    gdr_debug(team->engine->ports.log, "communicator %llu: epoch %u begins with call %llu",
              (unsigned long long)team->id, epoch, (unsigned long long)from);
    team->epoch = epoch;
    team->renewing = true;
    team->unmapped = false;
    team->served = 0;
    team->from = from;
    forget_members(team);
    if (team->rank == 0)
        tell_members(team, from);
}

void gdr_renew_own(gdr_team_t *team, uint64_t from)
{
    begin(team, team->epoch + 1, from);
    if (team->state != GDR_TEAM_DEAD)
        gdr_renew_progress(team);
}

gdr_status_t gdr_renew_for(gdr_team_t *team, uint32_t epoch, uint64_t from, uint64_t lane_wish)
{
    unsigned i;

    /* The verdict of the epoch before may still be under way to us. */
    if ((team->state != GDR_TEAM_READY && team->state != GDR_TEAM_VOTED) || team->renewing ||
        epoch != team->epoch + 1)
        return GDR_ERR_INVALID;
    team->lane_wish = gdr_max_u64(team->lane_wish, lane_wish);
    begin(team, epoch, from);
    for (i = 0; i < GDR_LANE_CALLS; i++) {
        gdr_call_t *call = team->running[i];

        if (call != NULL && call->state == GDR_CALL_RUNNING && call->desc.index >= from)
            gdr_call_abandon(call, GDR_ERR_STALE, true);
    }
    return GDR_OK;
}

gdr_status_t gdr_renew_on_message(gdr_team_t *team, int32_t rank, uint32_t epoch,
                                  const void *payload, size_t bytes)
{
    gdr_renew_body_t body;

    if (bytes != sizeof(body) || rank != 0 || team->rank == 0)
        return GDR_ERR_INVALID;
    if (epoch <= team->epoch || team->state == GDR_TEAM_DEAD)
        return GDR_OK;
    memcpy(&body, payload, sizeof(body));
    return gdr_renew_for(team, epoch, body.from, body.lane_wish);
}

/* The lane's words hold numbers up to the last call that anybody started in it. */
void gdr_renew_lane_end(gdr_team_t *team)
{
    gdr_engine_t *engine = team->engine;
    gdr_lane_t *lane = team->lane;
    gdr_ctl_lane_t *ctl = &engine->ctl_lanes[lane->ctl_index];

    lane->last_call = gdr_max_u64(lane->last_call, team->last);
    ctl->last_call = gdr_max_u64(ctl->last_call, team->last);
    if (gdr_device_alive(team->device))
        return;
    lane->older = team->old_lanes;
    team->old_lanes = lane;
    team->lane = NULL;
}

void gdr_renew_progress(gdr_team_t *team)
{
    unsigned i;

    for (i = 0; i < GDR_LANE_CALLS; i++) {
        if (team->running[i] != NULL)
            return;
    }
    team->renewing = false;
    if (team->state != GDR_TEAM_READY && team->state != GDR_TEAM_VOTED) /* refused, dead */
        return;
    gdr_renew_lane_end(team);
    team->state = GDR_TEAM_NEW;
}
