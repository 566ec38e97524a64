/*
 * Which members share a node. Everybody votes with the name of its node; when all have voted, rank
 * 0 numbers the names and tells them to all, ahead of the verdict, so that all plan alike. Where a
 * plan has no use for it (one member on each node, or a name is missing) nothing is told.
 */
#include "base/gdr_math.h"
#include "engine/gdr_engine_priv.h"
#include "engine/gdr_messages.h"

#include <stdlib.h>
#include <string.h>

enum { NODES_PER_MESSAGE = (GDR_MESSAGE_PIECE - sizeof(gdr_nodes_body_t)) / sizeof(uint32_t) };

/* Only a vote needs it: a plan has the topology. */
static bool have_nodes(gdr_team_t *team)
{
    if (team->nodes == NULL)
        team->nodes = calloc((size_t)team->size, sizeof(*team->nodes));
    return team->nodes != NULL;
}

/* Numbers names in the order in which members have them; how many, or 0: one is missing. */
static uint32_t number_names(gdr_team_t *team)
{
    uint32_t n = 0;
    int32_t rank;

    for (rank = 0; rank < team->size; rank++) {
        uint64_t name = team->node_names[rank];
        int32_t same = rank;

        if (name == 0)
            return 0;
        while (same > 0 && team->node_names[same - 1] != name)
            same--;
        team->nodes[rank] = same > 0 ? team->nodes[same - 1] : n++;
    }
    return n;
}

void gdr_nodes_tell(gdr_team_t *team)
{
    uint32_t n, size = (uint32_t)team->size, first;
    struct {
        gdr_nodes_body_t head;
        uint32_t node[NODES_PER_MESSAGE];
    } body;

    if (!have_nodes(team)) {
        gdr_team_fail(team, GDR_ERR_NO_MEMORY);
        return;
    }
    n = number_names(team);
    if (n == 0 || n == size)
        return;
    for (first = 0; first < size && team->state != GDR_TEAM_DEAD; first += body.head.n) {
        body.head.first = first;
        body.head.n = (uint32_t)gdr_min_u64(NODES_PER_MESSAGE, size - first);
        memcpy(body.node, team->nodes + first, body.head.n * sizeof(*body.node));
        gdr_vote_send_down(team, GDR_MESSAGE_NODES, &body,
                           sizeof(body.head) + body.head.n * sizeof(*body.node));
    }
    team->nodes_told = team->size;
}

gdr_status_t gdr_nodes_on_message(gdr_team_t *team, int32_t rank, uint32_t epoch,
                                  const void *payload, size_t bytes)
{
    gdr_nodes_body_t head;

    if (bytes < sizeof(head) || team->rank == 0 || rank != (team->rank & (team->rank - 1)))
        return GDR_ERR_INVALID;
    memcpy(&head, payload, sizeof(head));
    if (team->state == GDR_TEAM_DEAD || team->state == GDR_TEAM_DECLINED || epoch < team->epoch)
        return GDR_OK;
    if (team->state != GDR_TEAM_VOTED || epoch != team->epoch ||
        head.first != (uint32_t)team->nodes_told || head.n == 0 ||
        head.n > (uint32_t)team->size - head.first ||
        bytes != sizeof(head) + head.n * sizeof(*team->nodes))
        return GDR_ERR_INVALID;
    if (!have_nodes(team)) /* it would plan otherwise than the others */
        return GDR_ERR_NO_MEMORY;
    memcpy(team->nodes + head.first, (const uint8_t *)payload + sizeof(head),
           head.n * sizeof(*team->nodes));
    team->nodes_told += (int32_t)head.n;
    gdr_vote_send_down(team, GDR_MESSAGE_NODES, payload, bytes);
    return GDR_OK;
}

/* Plans of an epoch before were made without it, or with it. No call uses one any more. */
static void settle_mapping(gdr_team_t *team, bool mapped)
{
    gdr_engine_t *engine = team->engine;
    unsigned i;

    if (team->topology == NULL)
        return;
    if (!mapped && engine->config.mapped == GDR_MODE_ON && !engine->unmapped_said) {
        engine->unmapped_said = true;
        gdr_warn(engine->ports.log,
                 "communicator %llu: not all ranks can map the windows of their node, so data "
                 "inside it is put",
                 (unsigned long long)team->id);
    }
    if (team->topology->mapped == mapped)
        return;
    team->topology->mapped = mapped;
    for (i = 0; i < GDR_PLAN_CACHE; i++)
        gdr_planned_clear(&team->plans[i]);
}

gdr_status_t gdr_nodes_settle(gdr_team_t *team, bool mapped)
{
    gdr_status_t status = GDR_OK;

    /* Members stay where they are: what plans were made with in an epoch before is still true. */
    if (team->topology == NULL && team->nodes_told != 0)
        status = team->nodes_told < team->size
                     ? GDR_ERR_INVALID
                     : gdr_topology_make(team->nodes, team->size, &team->topology);
    free(team->nodes);
    team->nodes = NULL;
    if (status == GDR_OK)
        settle_mapping(team, mapped);
    return status;
}
