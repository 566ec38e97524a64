/*
 * How long a call takes: an estimate that only has to put candidates in the right order. Pure, in
 * integers: all ranks get the same number, whatever their processors.
 */
#ifndef GDR_COST_H
#define GDR_COST_H

#include "plan/gdr_select.h"

/* Longer messages cost what this one costs: the order does not change any more. */
#define GDR_COST_MAX_BYTES (UINT64_C(1) << 40)

/* Nanoseconds, less than UINT64_MAX; what they were made of into *work. The machine is the
 * parameters'; ranks of one node put through it, all others through the network, unless the
 * algorithm tells both apart. */
uint64_t gdr_cost(const gdr_plan_request_t *request, const gdr_candidate_t *candidate,
                  gdr_work_t *work);

#endif
