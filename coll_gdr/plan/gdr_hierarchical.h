/* The rail-hierarchical algorithm's room in a lane: shared by its schedule and its estimate. Pure.
 */
#ifndef GDR_HIERARCHICAL_H
#define GDR_HIERARCHICAL_H

#include "plan/gdr_algorithms.h"
#include "plan/gdr_topology.h"

/* A block, and what rounding (M - 1) parts of it up takes. */
enum { GDR_HIER_ARRIVAL_SLOTS = 2 };

typedef struct gdr_hier_needs {
    uint32_t rails, nodes;
    uint32_t parts; /* incoming from a node's ranks, of the rank that has most */
    uint32_t turns; /* rails of the rank that owns most */
    uint32_t steps; /* of one half between nodes */
} gdr_hier_needs_t;

gdr_hier_needs_t gdr_hier_needs(const gdr_topology_t *topology);
/* The first of the flags behind all others: a rank of the node has read a result. */
uint32_t gdr_hier_first_read(const gdr_hier_needs_t *needs);
/* Slots of incoming parts, or, where windows are mapped, of partial results. */
uint32_t gdr_hier_part_slots(const gdr_hier_needs_t *needs, const gdr_topology_t *topology);

/* As in gdr_algorithm_t. */
bool gdr_hier_shape(const gdr_plan_request_t *request, gdr_shape_t *shape);
void gdr_hier_work(const gdr_plan_request_t *request, uint64_t bytes, gdr_work_t *work);

#endif
