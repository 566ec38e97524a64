/*
 * Proves schedules: builds all ranks' plans of a request and shows that together they compute an
 * allreduce, whatever the order in which concurrent steps happen to run. For tests and for people
 * who write an algorithm; not part of the plugin. Pure; any thread.
 *
 * What is proved, for runs of one context of up to three full segments and the last one (contexts
 * share nothing; longer calls follow by induction, because a rank's step comes after the same step
 * of its previous segment in that context):
 *   FORM        indices, kinds, owners and regions are what gdr_schedule.h allows, in the lane part
 *   MATCH       every write of a flag has exactly one WAIT for it, of the same size and place
 *   DEADLOCK    steps can be ordered, also with every rank's kernels and WAITs of a context in one
 *               stream in step order
 *   RACE        conflicting accesses to a slot, and reads of the input against writes of the output
 *               in the same place, are ordered by dependencies, flags, credits and context reuse
 *   VALUE       each byte of the output is written once, with every rank's input exactly once (in
 *               rank order where that is claimed), of its own place and segment
 *   CREDIT      credits wait for all readers, and only for them; a SIGNAL, which has none, comes
 *               after the peer has waited for the one before it
 *   COMPLETION  no rank completes before every rank has started (gdr_layout.h, "parts"), nor while
 *               another one reads its slots
 */
#ifndef GDR_CHECK_H
#define GDR_CHECK_H

#include "plan/gdr_plan.h"

typedef enum gdr_check_fault {
    GDR_CHECK_NONE,
    GDR_CHECK_FORM,
    GDR_CHECK_MATCH,
    GDR_CHECK_DEADLOCK,
    GDR_CHECK_RACE,
    GDR_CHECK_VALUE,
    GDR_CHECK_CREDIT,
    GDR_CHECK_COMPLETION
} gdr_check_fault_t;

typedef struct gdr_check_result {
    gdr_check_fault_t fault;
    char text[512]; /* names ranks, steps and regions; empty if proved */
} gdr_check_result_t;

/* All plans of a call. */
typedef struct gdr_check_subject {
    gdr_plan_t *const *plans; /* [size], by rank */
    int32_t size;
    uint64_t bytes;                 /* of the message */
    uint32_t type_bytes;            /* of one element */
    bool rank_order;                /* claimed: reduced in rank order */
    const gdr_topology_t *topology; /* NULL: no rank may read another's slots */
} gdr_check_subject_t;

/* GDR_OK: proved; GDR_ERR_INVALID: *result says what is wrong; GDR_ERR_NO_MEMORY. */
gdr_status_t gdr_check_plans(const gdr_check_subject_t *subject, gdr_check_result_t *result);

/* Builds the plans of all ranks (request->rank is ignored) and proves them; also returns what
 * gdr_plan_make returns. Rank order is claimed if the request is not commutative. */
gdr_status_t gdr_check_request(const gdr_plan_request_t *request, gdr_check_result_t *result);

#endif
