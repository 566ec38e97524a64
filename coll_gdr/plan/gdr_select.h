/* Which algorithm of the registry serves a request. Pure; within this room. */
#ifndef GDR_SELECT_H
#define GDR_SELECT_H

#include "plan/gdr_plan.h"

typedef struct gdr_candidate {
    const gdr_algorithm_t *algorithm;
    gdr_layout_t layout;
} gdr_candidate_t;

/*
 * The cheapest algorithm that can serve the request, or the one that params->algorithm names.
 * GDR_ERR_UNSUPPORTED: none. The request must be valid.
 */
gdr_status_t gdr_select(const gdr_plan_request_t *request, gdr_candidate_t *chosen);

#endif
