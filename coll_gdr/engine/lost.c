/*
 * A peer is gone. The transport goes on to close what it has mapped of the peer's window, and the
 * driver then waits for all streams of the context: for those, too, whose waits need this very
 * thread to post a put. So every call with stream waits ends, of whatever communicator, the network
 * gets its next turn when their streams have come to rest, and no new call begins.
 */
#include "engine/gdr_engine_priv.h"

gdr_status_t gdr_lost_members(const gdr_team_t *team)
{
    gdr_engine_t *engine = team->engine;
    int32_t rank;

    for (rank = 0; rank < team->size; rank++) {
        const gdr_proc_t *proc = gdr_proc_find(engine, team->procs[rank]);
        gdr_status_t status = GDR_OK;

        if (proc != NULL && proc->peer != NULL)
            status = engine->net_ops->peer_status(proc->peer);
        if (status != GDR_OK)
            return status;
    }
    return GDR_OK;
}

static bool has_waits(const gdr_team_t *team)
{
    unsigned i;

    for (i = 0; i < GDR_LANE_CALLS; i++) {
        if (team->running[i] != NULL && team->running[i]->device_flags)
            return true;
    }
    return false;
}

static void let_go(const gdr_call_t *call)
{
    uint32_t i;

    for (i = 0; i < call->ncontexts; i++) {
        if (call->contexts[i] != NULL)
            gdr_context_let_go(call->contexts[i]);
    }
}

void gdr_lost_hear(void *ctx)
{
    gdr_engine_t *engine = ctx;
    const gdr_team_t *team;
    unsigned i;

    engine->lost = true;
    if (engine->unfit == NULL)
        engine->unfit = "a process that this one was connected to is gone";
    for (team = engine->active; team != NULL; team = team->next_active) {
        for (i = 0; i < GDR_LANE_CALLS; i++) {
            const gdr_call_t *call = team->running[i];

            if (call != NULL && call->device_flags && gdr_device_alive(team->device))
                let_go(call);
        }
    }
}

void gdr_lost_end_calls(gdr_engine_t *engine)
{
    gdr_team_t *team;

    engine->lost = false;
    for (team = engine->active; team != NULL; team = team->next_active) {
        if (has_waits(team) || gdr_lost_members(team) != GDR_OK)
            gdr_team_fail(team, GDR_ERR_NET);
    }
}

static bool call_holds(const gdr_call_t *call)
{
    uint32_t i;

    if (call->state != GDR_CALL_ABANDONED || !call->device_flags)
        return false;
    for (i = 0; i < call->ncontexts; i++) {
        if (call->contexts[i] != NULL && !gdr_context_stream_rests(call->contexts[i]))
            return true;
    }
    return false;
}

bool gdr_lost_holds(const gdr_engine_t *engine)
{
    const gdr_team_t *team;
    unsigned i;

    for (team = engine->active; team != NULL; team = team->next_active) {
        for (i = 0; i < GDR_LANE_CALLS; i++) {
            if (team->running[i] != NULL && call_holds(team->running[i]))
                return true;
        }
    }
    return false;
}
