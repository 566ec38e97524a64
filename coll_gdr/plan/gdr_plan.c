#include "plan/gdr_plan.h"

#include "base/gdr_math.h"
#include "plan/gdr_builder.h"
#include "plan/gdr_select.h"

#include <stdlib.h>
#include <string.h>

enum {
    DEFAULT_LANE_BYTES = 4 << 20,
    DEFAULT_CTL_BYTES = 64 << 10,
    DEFAULT_MIN_CHUNK = 1 << 10,
    MAX_DEPTH = 1024,
    CTL_UNIT = GDR_LANE_PARTS * 4 * GDR_WORD_BYTES /* a part has four areas of words */
};

#define MAX_LANE_BYTES (UINT64_C(1) << 40)
#define MAX_INSTANCES  ((UINT64_C(1) << GDR_FLAG_INSTANCE_BITS) - 1)

void gdr_plan_params_init(gdr_plan_params_t *params)
{
    *params = (gdr_plan_params_t){.algorithm = "auto",
                                  .lane_bytes = DEFAULT_LANE_BYTES,
                                  .calls = GDR_LANE_CALLS,
                                  .ctl_bytes = DEFAULT_CTL_BYTES,
                                  .chunk_size = 0,
                                  .min_chunk = DEFAULT_MIN_CHUNK,
                                  .max_depth = GDR_DEPTH_MOST};
    gdr_machine_init(&params->machine);
}

static bool known_algorithm(const char *name)
{
    if (strcmp(name, "auto") == 0)
        return true;
    for (const gdr_algorithm_t *const *a = gdr_plan_algorithms(); *a != NULL; a++)
        if (strcmp(name, (*a)->name) == 0)
            return true;
    return false;
}

static bool machine_ok(const gdr_machine_t *machine)
{
    uint64_t value;

    for (uint32_t i = 0; gdr_machine_figure(machine, i, &value) != NULL; i++)
        if (value == 0 || value > GDR_FIGURE_MAX)
            return false;
    return true;
}

const char *gdr_plan_params_error(const gdr_plan_params_t *p)
{
    if (memchr(p->algorithm, '\0', sizeof(p->algorithm)) == NULL)
        return "the algorithm's name is longer than 31 characters";
    if (!known_algorithm(p->algorithm))
        return "no algorithm of that name";
    if (p->lane_bytes == 0 || p->lane_bytes % GDR_LANE_UNIT != 0)
        return "the lane's size is not a positive multiple of 1024 bytes";
    if (p->lane_bytes > MAX_LANE_BYTES)
        return "the lane is larger than 1 TiB";
    if (p->ctl_bytes == 0 || p->ctl_bytes % CTL_UNIT != 0)
        return "the size of the lane's control words is not a positive multiple of 128 bytes";
    /* Half as many bytes of words in the lane, and something must be left for slots. */
    if (p->ctl_bytes > p->lane_bytes)
        return "the lane's control words need more room than the lane has";
    if (p->chunk_size != 0 && p->chunk_size < GDR_SLOT_ALIGN)
        return "the chunk size is below 256 bytes";
    if (p->chunk_size != 0 && p->chunk_size < p->min_chunk)
        return "the chunk size is below the minimum chunk size";
    if (p->calls == 0 || p->calls > GDR_LANE_CALLS)
        return "a communicator runs no call, or more at once than the engine does";
    if (p->min_chunk > p->lane_bytes / GDR_LANE_PARTS)
        return "the minimum chunk size is larger than a quarter of the lane";
    if (p->depth > MAX_DEPTH || p->max_depth == 0 || p->max_depth > MAX_DEPTH)
        return "the depth is not in 1 to 1024";
    return machine_ok(&p->machine) ? NULL : "a figure of the machine is not in 1 to 10^9";
}

bool gdr_plan_request_ok(const gdr_plan_request_t *r)
{
    uint64_t bytes;

    return r->params != NULL && r->size >= 1 && r->rank >= 0 && r->rank < r->size &&
           r->count != 0 && r->type_bytes != 0 && gdr_mul_u64(r->count, r->type_bytes, &bytes) &&
           bytes <= INT64_MAX && gdr_plan_params_error(r->params) == NULL;
}

static gdr_status_t build_segment(const gdr_plan_request_t *request, const gdr_plan_t *plan,
                                  uint64_t elements, gdr_sched_t **sched)
{
    gdr_build_t build;

    gdr_build_init(&build, request->rank, request->size, elements * request->type_bytes);
    if (build.status == GDR_OK) {
        gdr_status_t status = plan->algorithm->build(request, &plan->layout, elements, &build);

        if (build.status == GDR_OK)
            build.status = status;
    }
    return gdr_build_finish(&build, plan->layout.chunk_bytes, sched);
}

/* Flag values count the writes of a flag through the call. */
static bool instances_fit(const gdr_plan_t *plan)
{
    uint64_t runs = gdr_div_up(plan->nsegments, plan->layout.depth);

    return runs <= MAX_INSTANCES / plan->last->rounds;
}

static gdr_status_t fill(const gdr_plan_request_t *request, gdr_plan_t *plan)
{
    gdr_candidate_t chosen;
    uint64_t elements;
    gdr_status_t status;

    status = gdr_select(request, &chosen);
    if (status != GDR_OK)
        return status;
    plan->algorithm = chosen.algorithm;
    plan->layout = chosen.layout;
    elements = chosen.elements;
    plan->nsegments = chosen.nsegments;
    plan->seg_bytes = gdr_min_u64(elements, request->count) * request->type_bytes;
    status = build_segment(request, plan, request->count - (plan->nsegments - 1) * elements,
                           &plan->last);
    if (status != GDR_OK)
        return status;
    if (!instances_fit(plan))
        return GDR_ERR_UNSUPPORTED;
    return plan->nsegments == 1 ? GDR_OK : build_segment(request, plan, elements, &plan->full);
}

gdr_status_t gdr_plan_make(const gdr_plan_request_t *request, gdr_plan_t **plan)
{
    gdr_status_t status;
    gdr_plan_t *made;

    if (!gdr_plan_request_ok(request))
        return GDR_ERR_INVALID;
    made = calloc(1, sizeof(*made));
    if (made == NULL)
        return GDR_ERR_NO_MEMORY;
    status = fill(request, made);
    if (status != GDR_OK) {
        gdr_plan_free(made);
        return status;
    }
    *plan = made;
    return GDR_OK;
}

uint64_t gdr_plan_predict(const gdr_plan_request_t *request)
{
    gdr_candidate_t chosen;

    if (!gdr_plan_request_ok(request) || gdr_select(request, &chosen) != GDR_OK)
        return UINT64_MAX;
    return chosen.ns;
}

void gdr_plan_free(gdr_plan_t *plan)
{
    if (plan == NULL)
        return;
    gdr_sched_free(plan->full);
    gdr_sched_free(plan->last);
    free(plan);
}
