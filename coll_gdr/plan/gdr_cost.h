/*
 * How long a call takes: an estimate that only has to put candidates in the right order. Pure, in
 * integers: all ranks get the same number, whatever their processors.
 */
#ifndef GDR_COST_H
#define GDR_COST_H

#include "plan/gdr_select.h"

/* Longer messages cost what this one costs: the order does not change any more. */
#define GDR_COST_MAX_BYTES (UINT64_C(1) << 40)

/* Nanoseconds, at most UINT64_MAX - 1. */
uint64_t gdr_cost(const gdr_plan_request_t *request, const gdr_candidate_t *candidate);

#endif
