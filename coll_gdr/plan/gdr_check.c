#include "plan/gdr_check.h"

#include "plan/gdr_check_parts.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

gdr_status_t gdr_check_fail(check_t *check, gdr_check_fault_t fault, const char *format, ...)
{
    va_list args;

    check->result->fault = fault;
    va_start(args, format);
    vsnprintf(check->result->text, sizeof(check->result->text), format, args);
    va_end(args);
    return GDR_ERR_INVALID;
}

static const char *step_kind(const gdr_sched_t *sched, uint32_t step)
{
    static const char *const names[] = {"put", "signal", "wait", "reduce", "copy", "gather"};
    uint8_t kind = step < sched->nsteps ? sched->steps[step].kind : UINT8_MAX;

    return kind <= GDR_STEP_GATHER ? names[kind] : "unknown";
}

check_name_t gdr_check_step_name(const gdr_sched_t *sched, const char *kind, uint32_t step)
{
    check_name_t name;

    snprintf(name.text, sizeof(name.text), "rank %" PRId32 " %s segment step %" PRIu32 " (%s)",
             sched->rank, kind, step, step_kind(sched, step));
    return name;
}

check_name_t gdr_check_name(const check_t *check, check_node_t node)
{
    check_name_t name;

    snprintf(name.text, sizeof(name.text),
             "rank %" PRId32 " segment %" PRIu32 " step %" PRIu32 " (%s)", node.rank, node.run,
             node.step, step_kind(check_sched(check, node.run, node.rank), node.step));
    return name;
}

static gdr_status_t make_side(check_t *check, uint32_t kind)
{
    check_side_t *side = &check->side[kind];
    int32_t size = check->subject->size;
    size_t writes = check_write(check, size, 0, 0);

    side->sched = calloc((size_t)size, sizeof(void *));
    side->first = calloc((size_t)size + 1, sizeof(*side->first));
    side->put = malloc((writes + 1) * sizeof(*side->put));
    side->wait = malloc((writes + 1) * sizeof(*side->wait));
    if (side->sched == NULL || side->first == NULL || side->put == NULL || side->wait == NULL)
        return GDR_ERR_NO_MEMORY;
    memset(side->put, 0xff, writes * sizeof(*side->put));
    memset(side->wait, 0xff, writes * sizeof(*side->wait));
    for (int32_t r = 0; r < size; r++) {
        const gdr_plan_t *plan = check->subject->plans[r];

        side->sched[r] = kind == CHECK_FULL ? plan->full : plan->last;
        side->first[r + 1] = side->first[r] + side->sched[r]->nsteps;
    }
    return GDR_OK;
}

static gdr_status_t make_tables(check_t *check)
{
    size_t flags = (size_t)check->subject->size * check->layout->shape.nflags;
    gdr_status_t status = GDR_OK;

    check->sender = malloc((flags + 1) * sizeof(*check->sender));
    check->channel = calloc(flags + 1, sizeof(*check->channel));
    if (check->sender == NULL || check->channel == NULL)
        return GDR_ERR_NO_MEMORY;
    memset(check->sender, 0xff, flags * sizeof(*check->sender));
    if (check->subject->plans[0]->full != NULL)
        status = make_side(check, CHECK_FULL);
    return status == GDR_OK ? make_side(check, CHECK_LAST) : status;
}

static void free_graph(check_graph_t *graph)
{
    free(graph->nodes);
    free(graph->edges);
    free(graph->first);
    free(graph->successor);
    free(graph->order);
    free(graph->position);
    memset(graph, 0, sizeof(*graph));
}

static void free_tables(check_t *check)
{
    for (uint32_t kind = 0; kind < CHECK_KINDS; kind++) {
        free(check->side[kind].sched);
        free(check->side[kind].first);
        free(check->side[kind].put);
        free(check->side[kind].wait);
    }
    free(check->sender);
    free(check->channel);
}

/* One context with `full` full segments and perhaps the last one. */
static gdr_status_t check_context(check_t *check, uint32_t full, bool last)
{
    gdr_status_t status;

    check->nruns = 0;
    while (check->nruns < full)
        check->kind[check->nruns++] = CHECK_FULL;
    if (last)
        check->kind[check->nruns++] = CHECK_LAST;
    status = gdr_check_graph(check);
    if (status == GDR_OK)
        status = gdr_check_races(check);
    if (status == GDR_OK)
        status = gdr_check_values(check);
    free_graph(&check->graph);
    return status;
}

static uint32_t most_full(uint64_t full)
{
    return full < CHECK_MAX_FULL ? (uint32_t)full : CHECK_MAX_FULL;
}

/* The context of the last segment, and one of those without it if that one is longer: what holds
 * for a row of segments holds for its beginning. */
static gdr_status_t check_contexts(check_t *check)
{
    uint64_t n = check->subject->plans[0]->nsegments, depth = check->layout->depth;
    uint32_t with_last = most_full((n - 1) / depth);
    uint32_t others = n > 1 && depth > 1 ? most_full((n - 2) / depth + 1) : 0;
    gdr_status_t status = check_context(check, with_last, true);

    if (status == GDR_OK && others > with_last)
        status = check_context(check, others, false);
    return status;
}

gdr_status_t gdr_check_plans(const gdr_check_subject_t *subject, gdr_check_result_t *result)
{
    check_t check = {.subject = subject, .result = result};
    gdr_status_t status;

    *result = (gdr_check_result_t){.fault = GDR_CHECK_NONE};
    if (subject->size < 1 || subject->plans[0] == NULL || subject->plans[0]->last == NULL)
        return gdr_check_fail(&check, GDR_CHECK_FORM, "no plan");
    check.layout = &subject->plans[0]->layout;
    check.rounds = subject->plans[0]->last->rounds;
    status = gdr_check_form(&check);
    if (status != GDR_OK)
        return status;
    status = make_tables(&check);
    if (status == GDR_OK)
        status = gdr_check_match(&check);
    if (status == GDR_OK)
        status = check_contexts(&check);
    if (status == GDR_OK)
        status = gdr_check_credits(&check);
    free_tables(&check);
    return status;
}

gdr_status_t gdr_check_request(const gdr_plan_request_t *request, gdr_check_result_t *result)
{
    gdr_plan_request_t each = *request;
    gdr_check_subject_t subject = {.size = request->size,
                                   .bytes = request->count * request->type_bytes,
                                   .type_bytes = request->type_bytes,
                                   .rank_order = !request->commutative,
                                   .topology = request->topology};
    gdr_plan_t **plans = calloc(request->size > 0 ? (size_t)request->size : 1, sizeof(void *));
    gdr_status_t status = plans == NULL ? GDR_ERR_NO_MEMORY : GDR_OK;

    *result = (gdr_check_result_t){.fault = GDR_CHECK_NONE};
    for (each.rank = 0; each.rank < each.size && status == GDR_OK; each.rank++)
        status = gdr_plan_make(&each, &plans[each.rank]);
    subject.plans = plans;
    if (status == GDR_OK)
        status = request->size > 0 ? gdr_check_plans(&subject, result) : GDR_ERR_INVALID;
    for (int32_t r = 0; plans != NULL && r < request->size; r++)
        gdr_plan_free(plans[r]);
    free(plans);
    return status;
}
