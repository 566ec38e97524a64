#include "plan/gdr_select.h"

#include "plan/gdr_algorithms.h"
#include "plan/gdr_blocks.h"

#include <string.h>

/* Up to this many ranks everybody puts to everybody at any size: the chunks are still large enough
 * to keep a link busy, and two steps beat 2(p - 1). */
enum { DIRECT_RANKS = 16 };

/*
 * Relative cost, less is better; candidates of equal cost are taken in the registry's order. A rule
 * of thumb that only needs (ranks, bytes); a model of measured parameters can take its place.
 */
static uint64_t cost(const gdr_candidate_t *c, const gdr_plan_request_t *request)
{
    uint64_t in_flight = c->layout.chunk_bytes * c->layout.depth; /* of one rank's block */
    uint64_t block = request->count * request->type_bytes / (uint64_t)request->size;

    if (c->algorithm != &gdr_algorithm_twoshot)
        return 1;
    return request->size <= DIRECT_RANKS || block <= in_flight ? 0 : 2;
}

static bool candidate(const gdr_plan_request_t *request, const gdr_algorithm_t *algorithm,
                      gdr_candidate_t *out)
{
    const gdr_plan_params_t *params = request->params;
    uint64_t unit = gdr_blocks_unit(request->type_bytes) * request->type_bytes;
    gdr_shape_t shape;

    out->algorithm = algorithm;
    return algorithm->shape(request, &shape) &&
           gdr_layout_make(&shape, params->lane_bytes / GDR_LANE_PARTS,
                           params->ctl_bytes / GDR_LANE_PARTS, params->depth,
                           gdr_max_u64(params->min_chunk, unit), params->chunk_size,
                           &out->layout) == GDR_OK;
}

gdr_status_t gdr_select(const gdr_plan_request_t *request, gdr_candidate_t *chosen)
{
    const char *name = request->params->algorithm;
    bool automatic = strcmp(name, "auto") == 0;
    gdr_candidate_t next, best = {0};
    uint64_t least = UINT64_MAX; /* more than any cost */

    for (const gdr_algorithm_t *const *a = gdr_plan_algorithms(); *a != NULL; a++) {
        if (!automatic && strcmp(name, (*a)->name) != 0)
            continue;
        if (!candidate(request, *a, &next) || cost(&next, request) >= least)
            continue;
        best = next;
        least = cost(&next, request);
    }
    if (best.algorithm == NULL)
        return GDR_ERR_UNSUPPORTED;
    *chosen = best;
    return GDR_OK;
}
