#include "plan/gdr_algorithms.h"

static const gdr_algorithm_t *const registry[] = {
    &gdr_algorithm_oneshot,
    &gdr_algorithm_knomial,
    &gdr_algorithm_twoshot,
    &gdr_algorithm_circulant,
    &gdr_algorithm_ring,
    &gdr_algorithm_hierarchical,
    NULL,
};

const gdr_algorithm_t *const *gdr_plan_algorithms(void)
{
    return registry;
}
