/* Which algorithm of the registry serves a request. Pure; within this room. */
#ifndef GDR_SELECT_H
#define GDR_SELECT_H

#include "plan/gdr_plan.h"

/* A way to serve the request: layout and segmentation, equal on all ranks. */
typedef struct gdr_candidate {
    const gdr_algorithm_t *algorithm;
    gdr_layout_t layout;
    uint64_t elements;  /* of every segment but the last */
    uint64_t nsegments; /* >= 1 */
    gdr_work_t work;
    uint64_t ns; /* predicted: gdr_cost.h */
} gdr_candidate_t;

/* What gdr_plan_make() refuses with GDR_ERR_INVALID otherwise; in gdr_plan.c. */
bool gdr_plan_request_ok(const gdr_plan_request_t *request);

/* The cheapest cut and depth. False: the algorithm cannot serve the (valid) request. */
bool gdr_candidate_make(const gdr_plan_request_t *request, const gdr_algorithm_t *algorithm,
                        gdr_candidate_t *candidate);

/*
 * The cheapest algorithm that can serve the request, or the one that params->algorithm names.
 * GDR_ERR_UNSUPPORTED: none. The request must be valid.
 */
gdr_status_t gdr_select(const gdr_plan_request_t *request, gdr_candidate_t *chosen);

#endif
