#include "engine/gdr_engine_priv.h"

#include <stdlib.h>
#include <string.h>

void gdr_planned_clear(gdr_planned_t *planned)
{
    gdr_program_free(planned->full);
    gdr_program_free(planned->last);
    gdr_plan_free(planned->plan);
    free(planned->peers);
    memset(planned, 0, sizeof(*planned));
}

static void mark_peers(const gdr_sched_t *sched, uint8_t *seen, uint32_t *n)
{
    uint32_t i;

    for (i = 0; sched != NULL && i < sched->nsteps; i++) {
        int32_t peer = sched->steps[i].peer;

        if (gdr_kind_is_kernel(sched->steps[i].kind) || seen[peer])
            continue;
        seen[peer] = 1;
        (*n)++;
    }
}

/* The schedules' peers, ascending; planned->npeers of them. NULL: no memory. */
static int32_t *list_ranks(const gdr_team_t *team, gdr_planned_t *planned)
{
    uint8_t *seen = calloc((size_t)team->size, 1);
    int32_t *ranks = NULL;
    uint32_t n = 0;
    int32_t rank;

    if (seen == NULL)
        return NULL;
    mark_peers(planned->plan->full, seen, &n);
    mark_peers(planned->plan->last, seen, &n);
    ranks = calloc((size_t)n + 1, sizeof(*ranks));
    for (rank = 0; rank < team->size && ranks != NULL; rank++) {
        if (seen[rank])
            ranks[planned->npeers++] = rank;
    }
    free(seen);
    return ranks;
}

static gdr_status_t find_members(gdr_team_t *team, gdr_planned_t *planned, const int32_t *ranks)
{
    uint32_t i;

    planned->peers = calloc((size_t)planned->npeers + 1, sizeof(gdr_member_t *));
    if (planned->peers == NULL)
        return GDR_ERR_NO_MEMORY;
    for (i = 0; i < planned->npeers; i++) {
        planned->peers[i] = gdr_member_get(team, ranks[i]);
        if (planned->peers[i] == NULL)
            return GDR_ERR_NO_MEMORY;
    }
    return GDR_OK;
}

/* Kernels write what is this rank's, and read besides what is mapped. *pulls: they do. */
static bool operands_are_reached(const gdr_team_t *team, const gdr_sched_t *sched, bool *pulls)
{
    uint32_t i, k;

    for (i = 0; i < sched->nsteps; i++) {
        const gdr_step_t *step = &sched->steps[i];

        for (k = 0; gdr_kind_is_kernel(step->kind) && k < step->nin + step->nout; k++) {
            int32_t rank = sched->operands[step->operand + k].rank;

            if (rank == sched->rank)
                continue;
            if (k >= step->nin || !gdr_topology_mapped(team->topology, sched->rank, rank))
                return false;
            *pulls = true;
        }
    }
    return true;
}

static gdr_status_t make_program(const gdr_team_t *team, gdr_planned_t *planned,
                                 const gdr_sched_t *sched, const int32_t *ranks,
                                 gdr_program_t **program)
{
    const gdr_shape_t *shape = &planned->plan->layout.shape;

    if (sched == NULL)
        return GDR_OK;
    if (!operands_are_reached(team, sched, &planned->pulls))
        return GDR_ERR_UNSUPPORTED;
    return gdr_program_make(sched, shape->nflags, shape->nchannels, ranks, planned->npeers,
                            program);
}

static gdr_status_t make_programs(gdr_team_t *team, gdr_planned_t *planned)
{
    int32_t *ranks = list_ranks(team, planned);
    gdr_status_t status;

    if (ranks == NULL)
        return GDR_ERR_NO_MEMORY;
    status = find_members(team, planned, ranks);
    if (status == GDR_OK)
        status = make_program(team, planned, planned->plan->full, ranks, &planned->full);
    if (status == GDR_OK)
        status = make_program(team, planned, planned->plan->last, ranks, &planned->last);
    free(ranks);
    return status;
}

static gdr_plan_request_t request_of(const gdr_team_t *team, uint64_t count, uint32_t type_bytes,
                                     bool commutative)
{
    return (gdr_plan_request_t){.rank = team->rank,
                                .size = team->size,
                                .count = count,
                                .type_bytes = type_bytes,
                                .commutative = commutative,
                                .params = &team->plan,
                                .topology = team->topology};
}

uint32_t gdr_team_options(const gdr_team_t *team, uint64_t count, gdr_type_t type,
                          gdr_plan_option_t *options, uint32_t max)
{
    gdr_plan_request_t request = request_of(team, count, (uint32_t)gdr_type_bytes(type), true);

    return gdr_plan_options(&request, options, max);
}

static gdr_status_t plan_call(gdr_team_t *team, gdr_planned_t *planned)
{
    gdr_plan_request_t request =
        request_of(team, planned->count, planned->type_bytes, planned->commutative);
    gdr_status_t status;

    planned->grows = gdr_plan_grows(&request, team->lane_most);
    if (planned->grows)
        return GDR_OK;
    status = gdr_plan_make(&request, &planned->plan);
    if (status == GDR_ERR_UNSUPPORTED) {
        planned->plan = NULL;
        return GDR_OK;
    }
    if (status == GDR_OK)
        status = make_programs(team, planned);
    if (status != GDR_OK)
        gdr_error(team->engine->ports.log, "no plan for %llu elements of %u bytes on %d ranks: %s",
                  (unsigned long long)planned->count, planned->type_bytes, team->size,
                  gdr_status_string(status));
    return status;
}

/* A free place, or the one that was used least recently; calls use at most GDR_LANE_CALLS. */
static gdr_planned_t *place_find(gdr_team_t *team)
{
    gdr_planned_t *best = &team->plans[0];
    unsigned i;

    for (i = 1; i < GDR_PLAN_CACHE; i++) {
        gdr_planned_t *place = &team->plans[i];

        if (place->users == 0 && (best->users != 0 || place->used < best->used))
            best = place;
    }
    gdr_planned_clear(best);
    return best;
}

gdr_status_t gdr_planned_get(gdr_team_t *team, uint64_t count, uint32_t type_bytes,
                             bool commutative, gdr_planned_t **planned)
{
    gdr_planned_t *place;
    gdr_status_t status;
    unsigned i;

    for (i = 0; i < GDR_PLAN_CACHE; i++) {
        place = &team->plans[i];
        if (place->count == count && place->type_bytes == type_bytes &&
            place->commutative == commutative) {
            place->used = ++team->plan_clock;
            *planned = place;
            return GDR_OK;
        }
    }
    place = place_find(team);
    place->count = count;
    place->type_bytes = type_bytes;
    place->commutative = commutative;
    place->used = ++team->plan_clock;
    status = plan_call(team, place);
    if (status != GDR_OK) {
        gdr_planned_clear(place);
        return status;
    }
    *planned = place;
    return GDR_OK;
}
