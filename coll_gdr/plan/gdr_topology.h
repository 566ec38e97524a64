/* Which ranks share a node: equal on all ranks. Pure. */
#ifndef GDR_TOPOLOGY_H
#define GDR_TOPOLOGY_H

#include "base/gdr_status.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct gdr_topology {
    uint32_t nnodes;
    uint32_t least, most; /* ranks of the smallest and of the largest node */
    bool in_row;          /* a node's ranks follow each other */
    uint32_t *node;       /* [size]: of a rank */
    uint32_t *local;      /* [size]: the rank's number in its node, in the order of ranks */
    uint32_t *first;      /* [nnodes + 1]: a node's place in members[] */
    int32_t *members;     /* [size]: ranks, node by node, in the order of ranks */
    bool mapped; /* kernels of a rank can read the windows of all ranks of its node; as made: no */
} gdr_topology_t;

/*
 * node[rank] of `size` >= 1 ranks, any numbers below `size` of which none up to the greatest is
 * left out; copied. The caller owns *topology (gdr_topology_free).
 * GDR_ERR_INVALID: other numbers; GDR_ERR_NO_MEMORY.
 */
gdr_status_t gdr_topology_make(const uint32_t *node, int32_t size, gdr_topology_t **topology);
void gdr_topology_free(gdr_topology_t *topology); /* NULL: nothing */

/* Kernels of either rank can read the other's window; NULL: nothing is known, so they cannot. */
static inline bool gdr_topology_mapped(const gdr_topology_t *t, int32_t a, int32_t b)
{
    return t != NULL && t->mapped && a != b && t->node[a] == t->node[b];
}

/* Ranks of a node. */
static inline uint32_t gdr_topology_ranks(const gdr_topology_t *t, uint32_t node)
{
    return t->first[node + 1] - t->first[node];
}

/* NULL: no rank is known to share a node with another. */
static inline uint64_t gdr_topology_most(const gdr_topology_t *t)
{
    return t != NULL ? t->most : 1;
}

/* Ranks of every node that are neighbours: 1 where not all are in a row. */
static inline uint64_t gdr_topology_row(const gdr_topology_t *t)
{
    return t != NULL && t->in_row ? t->most : 1;
}

#endif
