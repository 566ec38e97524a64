#include "plan/gdr_select.h"

#include "plan/gdr_blocks.h"
#include "plan/gdr_cost.h"

#include <string.h>

/*
 * A message is cut in `depth` segments, so that its steps overlap, as long as each chunk of a
 * segment keeps this many bytes. With less, the fixed cost of a step (launch, put and flag: about
 * 10 us) outweighs by far what overlapping saves (32 KiB take 1 us on a 400 Gbit/s rail).
 */
enum { PIPELINE_CHUNK_BYTES = 32 << 10 };

/* False if the chunks are too small for an element, or the message too long for any segment. */
static bool cut(const gdr_plan_request_t *r, gdr_candidate_t *c)
{
    uint64_t unit = gdr_blocks_unit(r->type_bytes), chunks = c->layout.shape.seg_chunks;
    uint64_t most, wanted, n;

    if (!gdr_mul_u64(gdr_align_down(c->layout.chunk_bytes / r->type_bytes, unit), chunks, &most) ||
        most == 0 || most > INT64_MAX)
        return false;
    wanted =
        gdr_min_u64(c->layout.depth, r->count * r->type_bytes / (PIPELINE_CHUNK_BYTES * chunks));
    n = gdr_max_u64(gdr_div_up(r->count, most), wanted);
    c->elements = gdr_align_up(gdr_div_up(r->count, n), unit * chunks);
    c->nsegments = gdr_div_up(r->count, c->elements);
    return true;
}

bool gdr_candidate_make(const gdr_plan_request_t *request, const gdr_algorithm_t *algorithm,
                        gdr_candidate_t *out)
{
    const gdr_plan_params_t *params = request->params;
    uint64_t unit = gdr_blocks_unit(request->type_bytes) * request->type_bytes;
    gdr_shape_t shape;

    out->algorithm = algorithm;
    return algorithm->shape(request, &shape) &&
           gdr_layout_make(&shape, params->lane_bytes / GDR_LANE_PARTS,
                           params->ctl_bytes / GDR_LANE_PARTS, params->depth,
                           gdr_max_u64(gdr_max_u64(params->min_chunk, shape.least_chunk), unit),
                           params->chunk_size, &out->layout) == GDR_OK &&
           cut(request, out);
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
        gdr_work_t work;
        uint64_t cost;

        if (!asked_for(request, *a) || !gdr_candidate_make(request, *a, &next))
            continue;
        cost = gdr_cost(request, &next, &work);
        if (cost >= least)
            continue;
        best = next;
        least = cost;
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
    o.ns = gdr_cost(request, &candidate, &o.work);
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
