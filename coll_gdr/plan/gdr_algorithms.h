/* What the algorithms of the registry share: a new one adds its line here and in algorithms.c. */
#ifndef GDR_ALGORITHMS_H
#define GDR_ALGORITHMS_H

#include "plan/gdr_builder.h"

extern const gdr_algorithm_t gdr_algorithm_oneshot, gdr_algorithm_knomial, gdr_algorithm_twoshot,
    gdr_algorithm_circulant, gdr_algorithm_ring, gdr_algorithm_hierarchical;

/* Into *work: `steps` times everybody sends `bytes` to everybody. */
void gdr_work_to_all(const gdr_plan_request_t *request, uint64_t steps, uint64_t bytes,
                     gdr_work_t *work);

/* The number of `peer` among the peers of `rank`, 0 .. p - 2 in the order of ranks. */
static inline uint32_t gdr_peer_place(uint32_t rank, uint32_t peer)
{
    return peer < rank ? peer : peer - 1;
}

/* Ranks of a node read each other's windows. */
static inline bool gdr_has_mapped(const gdr_plan_request_t *request)
{
    return request->topology != NULL && request->topology->mapped;
}

/* Peers of a rank whose window is not mapped here: those of the rank that has most. */
static inline uint32_t gdr_peers_put_to(const gdr_plan_request_t *request)
{
    return (uint32_t)request->size - (gdr_has_mapped(request) ? request->topology->least : 1);
}

/* Into *work, which is that of puts: kernels read the results of so many peers, and of this rank,
 * instead of `copies` of what was put. */
void gdr_work_mapped(uint64_t peers, uint64_t copies, gdr_work_t *work);

/* The number of `peer`, which is not mapped, among those peers of `rank`. */
static inline uint32_t gdr_put_place(const gdr_topology_t *t, uint32_t rank, uint32_t peer)
{
    uint32_t place = gdr_peer_place(rank, peer), node;

    if (t == NULL || !t->mapped)
        return place;
    node = t->node[rank];
    for (uint32_t i = t->first[node]; i < t->first[node + 1]; i++)
        if ((uint32_t)t->members[i] < peer && (uint32_t)t->members[i] != rank)
            place--;
    return place;
}

#endif
