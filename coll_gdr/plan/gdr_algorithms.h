/* What the algorithms of the registry share: a new one adds its line here and in algorithms.c. */
#ifndef GDR_ALGORITHMS_H
#define GDR_ALGORITHMS_H

#include "plan/gdr_builder.h"

extern const gdr_algorithm_t gdr_algorithm_oneshot, gdr_algorithm_knomial, gdr_algorithm_twoshot,
    gdr_algorithm_circulant, gdr_algorithm_ring, gdr_algorithm_hierarchical;

#endif
