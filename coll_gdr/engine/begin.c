/*
 * Calls that all members begin together. Where the target's CPU carries out puts, as a transport
 * does that has no way from device to device, none may come to a member whose device was reset: it
 * writes to memory that is gone. So before anything is put all have come to the call; then nobody
 * ends it, or turns to the host algorithm, while others put. Up the tree that the verdict goes down
 * a member says that it and those below have come; what comes down says that all have.
 *
 * Whether it is so is known of a connection, or only of the first put. So the first calls that the
 * device serves in an epoch are begun together on any transport: until one of them is over on this
 * rank, and hence of those that may overlap it (gdr_layout.h). Who has found out then begins an
 * epoch in which all calls are.
 */
#include "engine/gdr_engine_priv.h"
#include "engine/gdr_messages.h"

#include <string.h>

bool gdr_begin_due(const gdr_engine_t *engine)
{
    return engine->net_ops->emulates != NULL && engine->net_ops->emulates(engine->net);
}

/* Calls up to GDR_LANE_CALLS before this one are over here, and were served by all or by none. */
bool gdr_begin_is_common(const gdr_team_t *team, const gdr_call_t *call)
{
    return team->together || team->served == 0 ||
           call->desc.index < team->served - 1 + GDR_LANE_CALLS;
}

static int32_t parent_of(int32_t rank)
{
    return rank & (rank - 1);
}

static bool has_come(const gdr_team_t *team, int32_t rank, uint64_t index)
{
    return gdr_member_look(team, rank)->begun > index;
}

/* The next child after `child` (0: the first) in the tree; -1: there is none. */
static int32_t next_child(const gdr_team_t *team, int32_t child)
{
    int64_t step = child == 0 ? 1 : 2 * ((int64_t)child - team->rank);

    if ((team->rank & step) != 0 || team->rank + step >= team->size)
        return -1;
    return (int32_t)(team->rank + step);
}

/* Whom this member waits for, after `last` (-1: from the start): children, and when these have
 * come its parent. -1: nobody more. */
int32_t gdr_begin_missing(const gdr_team_t *team, uint64_t index, int32_t last)
{
    int32_t child = next_child(team, last < 0 || last < team->rank ? 0 : last);
    bool below = last > team->rank;

    if (last >= 0 && last < team->rank) /* it was the parent */
        return -1;
    for (; child >= 0; child = next_child(team, child)) {
        if (!has_come(team, child, index))
            return child;
    }
    if (below || team->rank == 0 || has_come(team, parent_of(team->rank), index))
        return -1;
    return parent_of(team->rank);
}

gdr_status_t gdr_begin_together(gdr_team_t *team, gdr_call_t *call)
{
    gdr_begin_body_t body = {call->desc.index};
    int32_t missing = gdr_begin_missing(team, body.index, -1);
    gdr_status_t status = GDR_OK;

    if (missing > team->rank)
        return GDR_INPROGRESS;
    if (team->rank != 0 && call->announced != team->epoch + 1)
        status = gdr_message_send(team->engine, team, team->procs[parent_of(team->rank)],
                                  GDR_MESSAGE_BEGIN, &body, sizeof(body));
    call->announced = team->epoch + 1;
    if (status != GDR_OK || missing >= 0)
        return status != GDR_OK ? status : GDR_INPROGRESS;
    gdr_vote_send_down(team, GDR_MESSAGE_BEGIN, &body, sizeof(body));
    return team->state == GDR_TEAM_DEAD ? GDR_ERR_NET : GDR_OK; /* then the call is over */
}

gdr_status_t gdr_begin_on_message(gdr_team_t *team, int32_t rank, uint32_t epoch,
                                  const void *payload, size_t bytes)
{
    bool child = rank > 0 && parent_of(rank) == team->rank;
    bool parent = team->rank > 0 && parent_of(team->rank) == rank;
    gdr_member_t *member;
    gdr_begin_body_t body;

    /* As lanes: when all have voted, also we. */
    if (bytes != sizeof(body) || !(child || parent) || epoch > team->epoch)
        return GDR_ERR_INVALID;
    if (epoch < team->epoch)
        return GDR_OK;
    memcpy(&body, payload, sizeof(body));
    member = gdr_member_get(team, rank);
    if (member == NULL)
        return GDR_ERR_NO_MEMORY;
    if (member->begun <= body.index)
        member->begun = body.index + 1;
    return GDR_OK;
}
