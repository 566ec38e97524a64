/* What the algorithms of the registry share: a new one adds its line here and in algorithms.c. */
#ifndef GDR_ALGORITHMS_H
#define GDR_ALGORITHMS_H

#include "plan/gdr_builder.h"

extern const gdr_algorithm_t gdr_algorithm_oneshot, gdr_algorithm_knomial, gdr_algorithm_twoshot,
    gdr_algorithm_circulant, gdr_algorithm_ring, gdr_algorithm_hierarchical;

/* The number of `peer` among the peers of `rank`, 0 .. p - 2 in the order of ranks. */
static inline uint32_t gdr_peer_place(uint32_t rank, uint32_t peer)
{
    return peer < rank ? peer : peer - 1;
}

#endif
