/*
 * Which algorithm a call takes, and the schedules that carry it out. Pure: every rank that passes
 * the same request (but for `rank`) gets a plan of the same algorithm, layout and segmentation.
 */
#ifndef GDR_PLAN_H
#define GDR_PLAN_H

#include "base/gdr_status.h"
#include "plan/gdr_layout.h"
#include "plan/gdr_machine.h"
#include "plan/gdr_schedule.h"
#include "plan/gdr_topology.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Parameters that all ranks share (their hash is compared at wire-up). */
typedef struct gdr_plan_params {
    char algorithm[32];  /* "auto" or a name of the registry */
    uint64_t lane_bytes; /* one communicator's part of a window */
    uint32_t calls;      /* of it at once, 1 to GDR_LANE_CALLS */
    uint64_t ctl_bytes;  /* one communicator's part of a control page */
    uint64_t chunk_size; /* upper limit of a chunk in bytes; 0 = chosen */
    uint64_t min_chunk;  /* below this an algorithm refuses */
    uint32_t depth;      /* contexts wanted; 0 = chosen, */
    uint32_t max_depth;  /* up to so many */
    gdr_machine_t machine;
} gdr_plan_params_t;

/* Of a lane: call number k uses part k modulo this (gdr_layout.h). */
static inline uint32_t gdr_plan_parts(const gdr_plan_params_t *params)
{
    return 2 * params->calls;
}

/* Defaults: "auto", 4 MiB, 2 calls, 64 KiB, 0, 1 KiB, 0, the machine of gdr_machine_init() */
void gdr_plan_params_init(gdr_plan_params_t *params);

/* NULL if usable, else a static text that says what is wrong (bad name, sizes that do not fit). */
const char *gdr_plan_params_error(const gdr_plan_params_t *params);

typedef struct gdr_plan_request {
    int32_t rank, size;
    uint64_t count;      /* elements, >= 1 */
    uint32_t type_bytes; /* of one element */
    bool commutative;    /* false: reduce in rank order only */
    const gdr_plan_params_t *params;
    const gdr_topology_t *topology; /* of the `size` ranks; NULL: nothing is known */
} gdr_plan_request_t;

typedef struct gdr_build gdr_build_t; /* a schedule under construction: gdr_builder.h */

typedef struct gdr_flow {
    uint64_t puts;   /* in a segment */
    uint64_t sent;   /* bytes in the call */
    uint64_t steps;  /* exchanges that follow each other in a segment, */
    uint64_t passed; /* and bytes that pass the link after each other in these, in the call */
} gdr_flow_t;

/*
 * What an algorithm makes a rank do, of the rank that has most of each: counts alone, times are for
 * gdr_cost.h. Kernels are counted in a segment, bytes in the call.
 */
typedef struct gdr_work {
    gdr_flow_t link[GDR_LINKS];
    uint64_t sent;    /* over both links */
    uint64_t senders; /* ranks of a node that send to others at once */
    bool even;        /* all steps send as much */
    uint64_t kernels;
    uint64_t touched; /* device memory that kernels and puts read and write */
    struct {
        uint64_t kernels;  /* that follow each other, */
        uint64_t launches; /* what the CPU launches for these to come to their end, */
        uint64_t touched;  /* and what they read and write */
    } way;
} gdr_work_t;

typedef struct gdr_algorithm {
    const char *name;
    /* Whether it can serve `size` ranks; its needs into *shape. */
    bool (*shape)(const gdr_plan_request_t *request, gdr_shape_t *shape);
    /* What a call of `bytes` (at most GDR_COST_MAX_BYTES) takes; asked only if it can serve. */
    void (*work)(const gdr_plan_request_t *request, uint64_t bytes, gdr_work_t *work);
    /* Appends the steps of one segment of `elements` elements. */
    gdr_status_t (*build)(const gdr_plan_request_t *request, const gdr_layout_t *layout,
                          uint64_t elements, gdr_build_t *build);
} gdr_algorithm_t;

/* The registry, in order of preference; NULL-terminated, static. */
const gdr_algorithm_t *const *gdr_plan_algorithms(void);

typedef struct gdr_plan {
    const gdr_algorithm_t *algorithm;
    gdr_layout_t layout;
    uint64_t seg_bytes; /* of every segment but the last */
    uint64_t nsegments; /* >= 1 */
    gdr_sched_t *full;  /* segments 0 .. nsegments - 2; NULL if there is only one */
    gdr_sched_t *last;  /* the last segment */
} gdr_plan_t;

/*
 * Chooses and builds. The caller owns *plan (gdr_plan_free).
 * GDR_ERR_UNSUPPORTED: no algorithm serves this size, or the named one refuses; GDR_ERR_NO_MEMORY.
 */
gdr_status_t gdr_plan_make(const gdr_plan_request_t *request, gdr_plan_t **plan);
void gdr_plan_free(gdr_plan_t *plan);

/* Nanoseconds that the plan is expected to take (gdr_cost.h); UINT64_MAX: there is none. */
uint64_t gdr_plan_predict(const gdr_plan_request_t *request);

/* Bytes of the largest lane on a device of so much memory (0: not known): large_lane, or if that is
 * 0 a share of the memory; at least params->lane_bytes. A multiple of GDR_LANE_UNIT. */
uint64_t gdr_plan_lane_most(const gdr_plan_params_t *params, uint64_t large_lane,
                            uint64_t memory_bytes);
/* The lane as grown: one call at a time has half of it, rather than one of two a quarter. */
void gdr_plan_grow(gdr_plan_params_t *params, uint64_t lane_bytes);
/* Whether a lane of lane_bytes makes the call so much faster that it is worth the memory. */
bool gdr_plan_grows(const gdr_plan_request_t *request, uint64_t lane_bytes);

/* How an algorithm would serve a request. */
typedef struct gdr_plan_option {
    const char *name;
    uint64_t ns; /* predicted, see gdr_cost.h; this and the rest are not set if it cannot serve */
    gdr_work_t work;
    uint64_t chunk_bytes, nsegments;
    uint32_t depth;
    bool serves;
    bool taken; /* by gdr_plan_make() */
} gdr_plan_option_t;

/*
 * Every algorithm of the registry, in its order, or the one that the parameters name, into
 * options[], at most `max`; their number. 0 also if the request is not valid.
 */
uint32_t gdr_plan_options(const gdr_plan_request_t *request, gdr_plan_option_t *options,
                          uint32_t max);

#endif
