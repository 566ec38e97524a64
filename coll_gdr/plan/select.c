#include "plan/gdr_select.h"

#include "plan/gdr_blocks.h"
#include "plan/gdr_cost.h"

#include <string.h>

enum { MAX_CUTS = 64 }; /* times as many segments as the message needs */

/* Segments: at least as many as the chunks want, and from there on in steps of a quarter. */
static uint64_t next_cut(uint64_t nsegments)
{
    return nsegments + gdr_max_u64(1, nsegments / 4);
}

static uint32_t next_depth(uint32_t depth)
{
    return depth + (depth < 4 ? 1 : depth < 8 ? 2 : 4);
}

/* Elements of n segments' equal ones, as many as whole blocks need. */
static uint64_t elements_of(const gdr_plan_request_t *r, const gdr_shape_t *shape, uint64_t n)
{
    return gdr_align_up(gdr_div_up(r->count, n),
                        gdr_blocks_unit(r->type_bytes) * shape->seg_chunks);
}

/* The elements of the longest segment; 0 if chunks are too small, or none is long enough. */
static uint64_t longest(const gdr_plan_request_t *r, const gdr_layout_t *layout)
{
    uint64_t unit = gdr_blocks_unit(r->type_bytes), most;

    if (!gdr_mul_u64(gdr_align_down(layout->chunk_bytes / r->type_bytes, unit),
                     layout->shape.seg_chunks, &most) ||
        most > INT64_MAX)
        return 0;
    return most;
}

/* With this layout the cheapest number of segments; *best is replaced by what is cheaper. */
static void cut(const gdr_plan_request_t *r, gdr_candidate_t *next, gdr_candidate_t *best)
{
    uint64_t most = longest(r, &next->layout), least, n, limit;

    if (most == 0)
        return;
    least = gdr_max_u64(r->params->min_chunk, next->layout.shape.least_chunk);
    least = gdr_max_u64(least / r->type_bytes, 1) * next->layout.shape.seg_chunks;
    n = gdr_div_up(r->count, most);
    limit = gdr_max_u64(n, gdr_min_u64(r->count / least, MAX_CUTS * n));
    for (; n <= limit; n = next_cut(n)) {
        next->elements = elements_of(r, &next->layout.shape, n);
        next->nsegments = gdr_div_up(r->count, next->elements);
        next->ns = gdr_cost(&r->params->machine, &next->work, next->nsegments, next->layout.depth);
        if (next->ns < best->ns)
            *best = *next;
    }
}

bool gdr_candidate_make(const gdr_plan_request_t *request, const gdr_algorithm_t *algorithm,
                        gdr_candidate_t *out)
{
    const gdr_plan_params_t *params = request->params;
    uint64_t unit = gdr_blocks_unit(request->type_bytes) * request->type_bytes;
    uint64_t bytes = gdr_min_u64(GDR_COST_MAX_BYTES, request->count * request->type_bytes);
    uint32_t first = params->depth != 0 ? params->depth : 1;
    uint32_t parts = gdr_plan_parts(params);
    uint32_t last = params->depth != 0 ? params->depth : params->max_depth;
    gdr_candidate_t next = {.algorithm = algorithm}, best = {.ns = UINT64_MAX};
    gdr_shape_t shape;

    if (!algorithm->shape(request, &shape))
        return false;
    algorithm->work(request, bytes, &next.work);
    for (uint32_t depth = first; depth <= last; depth = next_depth(depth)) {
        if (gdr_layout_make(&shape, params->lane_bytes / parts, params->ctl_bytes / parts, depth,
                            gdr_max_u64(gdr_max_u64(params->min_chunk, shape.least_chunk), unit),
                            params->chunk_size, &next.layout) == GDR_OK &&
            (depth == first || next.layout.depth == depth))
            cut(request, &next, &best);
    }
    if (best.algorithm == NULL)
        return false;
    *out = best;
    return true;
}

static bool asked_for(const gdr_plan_request_t *request, const gdr_algorithm_t *algorithm)
{
    const char *name = request->params->algorithm;

    return strcmp(name, "auto") == 0 || strcmp(name, algorithm->name) == 0;
}

gdr_status_t gdr_select(const gdr_plan_request_t *request, gdr_candidate_t *chosen)
{
    gdr_candidate_t next, best = {0};
    uint64_t least = UINT64_MAX; /* more than any cost */

    for (const gdr_algorithm_t *const *a = gdr_plan_algorithms(); *a != NULL; a++) {
        if (!asked_for(request, *a) || !gdr_candidate_make(request, *a, &next) || next.ns >= least)
            continue;
        best = next;
        least = next.ns;
    }
    if (best.algorithm == NULL)
        return GDR_ERR_UNSUPPORTED;
    *chosen = best;
    return GDR_OK;
}

static gdr_plan_option_t option(const gdr_plan_request_t *request, const gdr_algorithm_t *algorithm,
                                const gdr_candidate_t *chosen)
{
    gdr_plan_option_t o = {.name = algorithm->name};
    gdr_candidate_t candidate;

    o.serves = gdr_candidate_make(request, algorithm, &candidate);
    if (!o.serves)
        return o;
    o.taken = algorithm == chosen->algorithm;
    o.ns = candidate.ns;
    o.work = candidate.work;
    o.chunk_bytes = candidate.layout.chunk_bytes;
    o.nsegments = candidate.nsegments;
    o.depth = candidate.layout.depth;
    return o;
}

uint32_t gdr_plan_options(const gdr_plan_request_t *request, gdr_plan_option_t *options,
                          uint32_t max)
{
    gdr_candidate_t chosen = {0};
    uint32_t n = 0;

    if (!gdr_plan_request_ok(request))
        return 0;
    if (gdr_select(request, &chosen) != GDR_OK)
        chosen.algorithm = NULL;
    for (const gdr_algorithm_t *const *a = gdr_plan_algorithms(); *a != NULL && n < max; a++)
        if (asked_for(request, *a))
            options[n++] = option(request, *a, &chosen);
    return n;
}
