#include "tools/sim/gsim_goal.h"

#include "base/gdr_math.h"
#include "plan/gdr_topology.h"

#include <inttypes.h>
#include <stdlib.h>

enum { WORD_BYTES = 8, TYPE_BYTES = 4 };

/* One rank's schedule on its way to the file. Labels are numbers: l1, l2, ... */
typedef struct goal {
    FILE *file;
    const gsim_cluster_t *cluster;
    const gdr_plan_t *plan;
    uint64_t instances; /* writes of a flag in the call, at most */
    uint64_t label;     /* the last one */
    uint64_t *ends;     /* [depth]: that of a context's segment before, or 0 */
    uint64_t *labels;   /* [steps of a segment] */
} goal_t;

static uint64_t op(goal_t *goal)
{
    fprintf(goal->file, "l%" PRIu64 ": ", ++goal->label);
    return goal->label;
}

static void after(const goal_t *goal, uint64_t label, uint64_t before)
{
    if (before != 0)
        fprintf(goal->file, "l%" PRIu64 " requires l%" PRIu64 "\n", label, before);
}

static uint64_t instance(const goal_t *goal, uint64_t segment, uint32_t round)
{
    const gdr_plan_t *plan = goal->plan;

    return (plan->full != NULL ? segment / plan->layout.depth * plan->full->rounds : 0) + round;
}

/* Of a flag's write, and of its credit: the receiver's flag and the instance are its identity. */
static uint64_t tag(const goal_t *goal, uint64_t segment, uint32_t flag, uint64_t at, bool credit)
{
    const gdr_layout_t *layout = &goal->plan->layout;
    uint64_t channel = segment % layout->depth * layout->shape.nflags + flag;

    return 2 * (channel * goal->instances + at) + credit;
}

static uint64_t message(goal_t *goal, const char *what, uint64_t bytes, const char *way,
                        int32_t peer, uint64_t number)
{
    uint64_t label = op(goal);

    fprintf(goal->file, "%s %" PRIu64 "b %s %" PRId32 " tag %" PRIu64 "\n", what,
            bytes > 0 ? bytes : WORD_BYTES, way, peer, number);
    return label;
}

static uint64_t kernel(goal_t *goal, const gdr_step_t *step)
{
    const gsim_cluster_t *c = goal->cluster;
    uint64_t label = op(goal), bytes = gdr_step_reads(step) + step->bytes * step->nout;
    double ns = c->launch_cpu + c->launch_ns + c->kernel_ns + c->mark_ns;

    fprintf(goal->file, "calc %.0f\n", ns + (double)bytes / c->kernel_gbs);
    return label;
}

static uint64_t step_op(goal_t *goal, uint64_t segment, const gdr_step_t *step)
{
    uint64_t at = instance(goal, segment, step->round), label, credit = 0;

    switch (step->kind) {
    case GDR_STEP_WAIT:
        return message(goal, "recv", step->bytes, "from", step->peer,
                       tag(goal, segment, step->flag, at, false));
    case GDR_STEP_PUT:
    case GDR_STEP_SIGNAL:
        if (at > 0)
            credit = message(goal, "recv", 0, "from", step->peer,
                             tag(goal, segment, step->flag, at - 1, true));
        label = message(goal, "send", step->kind == GDR_STEP_PUT ? step->bytes : 0, "to",
                        step->peer, tag(goal, segment, step->flag, at, false));
        after(goal, label, credit);
        return label;
    default:
        return kernel(goal, step);
    }
}

static void credits(goal_t *goal, uint64_t segment, const gdr_sched_t *sched)
{
    uint32_t i, k;

    for (i = 0; i < sched->ncredits; i++) {
        const gdr_credit_t *credit = &sched->credits[i];
        const gdr_step_t *wait = &sched->steps[credit->wait];
        uint64_t label;

        if (wait->round + 1 == sched->rounds &&
            segment + goal->plan->layout.depth >= goal->plan->nsegments)
            continue; /* nobody waits for it */
        label = message(goal, "send", 0, "to", wait->peer,
                        tag(goal, segment, wait->flag, instance(goal, segment, wait->round), true));
        after(goal, label, goal->labels[credit->wait]);
        for (k = 0; k < credit->n; k++)
            after(goal, label, goal->labels[sched->readers[credit->first + k]]);
    }
}

static void segment_ops(goal_t *goal, uint64_t segment)
{
    const gdr_plan_t *plan = goal->plan;
    const gdr_sched_t *sched = segment + 1 < plan->nsegments ? plan->full : plan->last;
    uint64_t *end = &goal->ends[segment % plan->layout.depth], label;
    uint32_t i, k;

    if (sched == NULL)
        return;
    for (i = 0; i < sched->nsteps; i++) {
        const gdr_step_t *step = &sched->steps[i];

        goal->labels[i] = label = step_op(goal, segment, step);
        for (k = 0; k < step->ndep; k++)
            after(goal, label, goal->labels[sched->deps[step->dep + k]]);
        if (step->ndep == 0)
            after(goal, label, *end);
    }
    credits(goal, segment, sched);
    if (segment + plan->layout.depth >= plan->nsegments)
        return;
    label = op(goal);
    fputs("calc 0\n", goal->file);
    for (i = 0; i < sched->nsteps; i++)
        after(goal, label, goal->labels[i]);
    *end = label;
}

static gdr_status_t rank_ops(goal_t *goal)
{
    const gdr_plan_t *plan = goal->plan;
    uint64_t steps = plan->last->nsteps, s, tags;

    if (plan->full != NULL)
        steps = gdr_max_u64(steps, plan->full->nsteps);
    goal->instances = gdr_div_up(plan->nsegments, plan->layout.depth) * plan->last->rounds;
    if (!gdr_mul_u64(goal->instances, 2 * (uint64_t)plan->layout.depth, &tags) ||
        !gdr_mul_u64(tags, plan->layout.shape.nflags, &tags) || tags > UINT32_MAX)
        return GDR_ERR_UNSUPPORTED;
    goal->label = 0;
    goal->ends = calloc(plan->layout.depth, sizeof(*goal->ends));
    goal->labels = calloc(steps + 1, sizeof(*goal->labels));
    if (goal->ends == NULL || goal->labels == NULL) {
        free(goal->ends);
        free(goal->labels);
        return GDR_ERR_NO_MEMORY;
    }
    for (s = 0; s < plan->nsegments; s++)
        segment_ops(goal, s);
    free(goal->ends);
    free(goal->labels);
    return GDR_OK;
}

/* As the engine has it: NULL where it is of no use. */
static gdr_status_t topology_of(const gsim_setup_t *setup, gdr_topology_t **topology)
{
    uint32_t ranks = setup->nodes * setup->gpus, *node, r;
    gdr_status_t status;

    *topology = NULL;
    if (setup->gpus == 1)
        return GDR_OK;
    node = calloc(ranks, sizeof(*node));
    if (node == NULL)
        return GDR_ERR_NO_MEMORY;
    for (r = 0; r < ranks; r++)
        node[r] = r / setup->gpus;
    status = gdr_topology_make(node, (int32_t)ranks, topology);
    free(node);
    return status;
}

static gdr_status_t write_rank(const gsim_setup_t *setup, const gdr_topology_t *topology,
                               int32_t rank, FILE *file)
{
    uint64_t most = gdr_plan_lane_most(&setup->plan, setup->large_lane,
                                       (uint64_t)(setup->cluster->memory_gb * 1e9));
    gdr_plan_params_t params = setup->plan;
    gdr_plan_request_t request = {.rank = rank,
                                  .size = (int32_t)(setup->nodes * setup->gpus),
                                  .count = setup->count,
                                  .type_bytes = TYPE_BYTES,
                                  .commutative = true,
                                  .params = &params,
                                  .topology = topology};
    goal_t goal = {.file = file, .cluster = setup->cluster};
    gdr_plan_t *plan;
    gdr_status_t status;

    if (gdr_plan_grows(&request, most))
        gdr_plan_grow(&params, most);
    status = gdr_plan_make(&request, &plan);
    if (status != GDR_OK)
        return status;
    goal.plan = plan;
    fprintf(file, "\nrank %" PRId32 " {\n", rank);
    status = rank_ops(&goal);
    fputs("}\n", file);
    gdr_plan_free(plan);
    return status;
}

int gsim_goal_write(const gsim_setup_t *setup, FILE *file, char *error, size_t error_size)
{
    int32_t ranks = (int32_t)(setup->nodes * setup->gpus), rank;
    gdr_topology_t *topology = NULL;
    gdr_status_t status = topology_of(setup, &topology);

    fprintf(file, "num_ranks %" PRId32 "\n", ranks);
    for (rank = 0; rank < ranks && status == GDR_OK; rank++)
        status = write_rank(setup, topology, rank, file);
    gdr_topology_free(topology);
    if (status == GDR_OK)
        return 0;
    snprintf(error, error_size, "no GOAL schedule: %s",
             status == GDR_ERR_UNSUPPORTED
                 ? "no algorithm serves the call, or it has more messages than there are tags"
                 : gdr_status_string(status));
    return -1;
}
