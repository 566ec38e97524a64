/*
 * How long a call takes: an estimate that only has to put candidates in the right order. Pure, in
 * integers: all ranks get the same number, whatever their processors.
 */
#ifndef GDR_COST_H
#define GDR_COST_H

#include "plan/gdr_plan.h"

/* Longer messages cost what this one costs: the order does not change any more. */
#define GDR_COST_MAX_BYTES (UINT64_C(1) << 40)

/* Nanoseconds, less than UINT64_MAX, of that work in so many segments, `depth` of them at once. */
uint64_t gdr_cost(const gdr_machine_t *machine, const gdr_work_t *work, uint64_t nsegments,
                  uint32_t depth);

#endif
