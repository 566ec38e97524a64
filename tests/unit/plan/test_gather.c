/* The step that puts blocks of several inputs side by side: what the builder takes, and that the
 * checker follows each input for its own length. */
#include "broken_call.h"

#include "plan/gdr_builder.h"

#include <string.h>

enum { RANKS = 4 };

static gdr_topology_t *one_node(int32_t size)
{
    uint32_t node[MAX_RANKS] = {0};
    gdr_topology_t *topology = NULL;

    assert_int_equal(gdr_topology_make(node, size, &topology), GDR_OK);
    topology->mapped = true;
    return topology;
}

/* Two-shot on one node, whose results one kernel gathers: five full segments and a short one. */
static gdr_sched_t *make(call_t *call, const gdr_topology_t *topology, bool full)
{
    gdr_plan_request_t request;

    call->params = plan_test_small_chunks("twoshot", 2);
    request = plan_test_request(&call->params, RANKS, RANKS * 5 * 64 + 140, 4);
    request.topology = topology;
    for (request.rank = 0; request.rank < RANKS; request.rank++)
        assert_int_equal(gdr_plan_make(&request, &call->plans[request.rank]), GDR_OK);
    call->subject = (gdr_check_subject_t){.plans = call->plans,
                                          .size = RANKS,
                                          .bytes = request.count * 4,
                                          .type_bytes = 4,
                                          .rank_order = true,
                                          .topology = topology};
    assert_int_equal(call_verdict(call), GDR_CHECK_NONE);
    return full ? call->plans[1]->full : call->plans[1]->last;
}

/* The last input of the last segment is the short one. */
static void lengths_of_inputs(void **state)
{
    gdr_topology_t *topology = one_node(RANKS);
    const gdr_step_t *step;
    gdr_sched_t *sched;
    call_t call;

    (void)state;
    sched = make(&call, topology, false);
    step = sched_step(sched, GDR_STEP_GATHER, 0);
    assert_int_equal(step->nin, RANKS);
    assert_int_equal(step->bytes, sched->bytes);
    for (uint32_t i = 0; i + 1 < RANKS; i++)
        assert_int_equal(gdr_step_input_bytes(step, i), step->block);
    assert_true(gdr_step_input_bytes(step, RANKS - 1) < step->block);
    assert_int_equal(gdr_step_input_bytes(step, RANKS - 1), step->bytes - 3 * step->block);
    assert_int_equal(gdr_step_reads(step), sched->bytes);
    call_drop(&call);
    gdr_topology_free(topology);
}

/* The steps of rank 1 that read another one's slots to RECV, where nodes are of `width` ranks. */
static uint32_t count_gathers(const char *algorithm, int32_t size, uint32_t width)
{
    gdr_plan_params_t params = plan_test_params(algorithm);
    gdr_plan_request_t request = plan_test_request(&params, size, 1 << 14, 4);
    uint32_t node[64], gathers = 0, inputs = 0;
    gdr_topology_t *topology;
    gdr_plan_t *plan;

    for (uint32_t r = 0; r < (uint32_t)size; r++)
        node[r] = r / width;
    assert_int_equal(gdr_topology_make(node, size, &topology), GDR_OK);
    topology->mapped = true;
    request.topology = topology;
    request.rank = 1;
    assert_int_equal(gdr_plan_make(&request, &plan), GDR_OK);
    assert_int_equal(plan->nsegments, 1);
    for (uint32_t i = 0; i < plan->last->nsteps; i++)
        if (plan->last->steps[i].kind == GDR_STEP_GATHER) {
            gathers++;
            inputs += plan->last->steps[i].nin;
        }
    assert_int_equal(inputs, width); /* all results of the node, the own one too */
    gdr_plan_free(plan);
    gdr_topology_free(topology);
    return gathers;
}

/* As few kernels as can be. */
static void one_for_eight_results(void **state)
{
    (void)state;
    assert_int_equal(count_gathers("twoshot", 2, 2), 1);
    assert_int_equal(count_gathers("twoshot", 8, 8), 1);
    assert_int_equal(count_gathers("twoshot", 10, 10), 2);
    assert_int_equal(count_gathers("twoshot", 16, 8), 1);
    assert_int_equal(count_gathers("hierarchical", 4, 2), 1);
    assert_int_equal(count_gathers("hierarchical", 16, 8), 1);
    assert_int_equal(count_gathers("hierarchical", 32, 16), 2);
}

static void one_block_too_few(void **state)
{
    gdr_topology_t *topology = one_node(RANKS);
    gdr_sched_t *sched;
    gdr_step_t *step;
    call_t call;

    (void)state;
    sched = make(&call, topology, true);
    step = sched_step(sched, GDR_STEP_GATHER, 0);
    *sched_operand(sched, step, RANKS - 1) = *sched_output(sched, step, 0);
    step->nin--;
    step->bytes -= step->block;
    call_expect(&call, GDR_CHECK_VALUE, "never written");
    sched = make(&call, topology, false);
    sched_step(sched, GDR_STEP_GATHER, 0)->bytes -= 4; /* of the last one */
    call_expect(&call, GDR_CHECK_VALUE, "never written");
    gdr_topology_free(topology);
}

static void blocks_exchanged(void **state)
{
    gdr_topology_t *topology = one_node(RANKS);
    gdr_operand_t *a, *b, swap;
    gdr_sched_t *sched;
    call_t call;

    (void)state;
    sched = make(&call, topology, true);
    a = sched_operand(sched, sched_step(sched, GDR_STEP_GATHER, 0), 2);
    b = sched_operand(sched, sched_step(sched, GDR_STEP_GATHER, 0), 3);
    swap = *a, *a = *b, *b = swap;
    call_expect(&call, GDR_CHECK_VALUE, "another place");
    sched = make(&call, topology, false);
    sched_operand(sched, sched_step(sched, GDR_STEP_GATHER, 0), 1)->offset += 16;
    call_expect(&call, GDR_CHECK_VALUE, ""); /* the end of that block was not written */
    gdr_topology_free(topology);
}

/* Not the word of the last owner, then not that of each. */
static void one_word_not_awaited(void **state)
{
    gdr_topology_t *topology = one_node(RANKS);

    (void)state;
    for (uint32_t i = 0; i < RANKS; i++) {
        call_t call;
        gdr_sched_t *sched = make(&call, topology, true);
        gdr_step_t *step = sched_step(sched, GDR_STEP_GATHER, 0);

        assert_int_equal(step->ndep, RANKS);
        sched_remove_dep(step, sched, RANKS - 1 - i);
        call_expect(&call, GDR_CHECK_RACE, "gather");
    }
    gdr_topology_free(topology);
}

/* The readers' word comes before the gather. */
static void read_not_awaited(void **state)
{
    gdr_topology_t *topology = one_node(RANKS);
    gdr_sched_t *sched;
    uint32_t gather;
    call_t call;

    (void)state;
    sched = make(&call, topology, true);
    gather = sched_nth(sched, GDR_STEP_GATHER, 0);
    assert_int_equal(sched->steps[gather + 1].kind, GDR_STEP_SIGNAL);
    sched->deps[sched->steps[gather + 1].dep] = sched_nth(sched, GDR_STEP_REDUCE, 0);
    call_expect(&call, GDR_CHECK_COMPLETION, "(gather) reads its slots");
    gdr_topology_free(topology);
}

static void forms(void **state)
{
    gdr_topology_t *topology = one_node(RANKS);
    gdr_operand_t *last;
    gdr_sched_t *sched;
    gdr_step_t *step;
    uint64_t slots, rest;
    call_t call;

    (void)state;
    sched = make(&call, topology, true);
    sched_step(sched, GDR_STEP_GATHER, 0)->nin--; /* which leaves more than its blocks */
    call_expect(&call, GDR_CHECK_FORM, "do not go together");
    sched = make(&call, topology, true);
    sched_step(sched, GDR_STEP_GATHER, 0)->block *= 2; /* nothing is left for the last ones */
    call_expect(&call, GDR_CHECK_FORM, "do not go together");
    sched = make(&call, topology, true);
    sched_step(sched, GDR_STEP_GATHER, 0)->block = 0;
    call_expect(&call, GDR_CHECK_FORM, "do not go together");
    sched = make(&call, topology, true);
    step = sched_step(sched, GDR_STEP_GATHER, 0);
    *sched_operand(sched, step, 1) = (gdr_operand_t){
        .rank = 1, .buffer = GDR_BUFFER_SEND, .offset = step->block}; /* where its block goes */
    call_expect(&call, GDR_CHECK_FORM, "overlaps");
    sched = make(&call, topology, false);
    step = sched_step(sched, GDR_STEP_GATHER, 0);
    last = sched_operand(sched, step, RANKS - 1);
    rest = gdr_step_input_bytes(step, RANKS - 1);
    slots = call.plans[0]->layout.shape.nslots * call.plans[0]->layout.chunk_bytes;
    *last = (gdr_operand_t){.rank = 3, .buffer = GDR_BUFFER_SLOT, .offset = slots - rest};
    assert_int_equal(call_verdict(&call), GDR_CHECK_VALUE); /* it ends with the slots */
    last->offset += 4;
    call_expect(&call, GDR_CHECK_FORM, "leaves its buffer");
    gdr_topology_free(topology);
}

/* Of two blocks, 64 bytes of slot 1 and 16 of slot 2: what is put behind these nobody reads. */
static void credits_of_what_is_read(void **state)
{
    gdr_operand_t in[2] = {gdr_operand_slot(0, 1, 0), gdr_operand_slot(0, 2, 0)};
    gdr_edge_t edge = {.peer = 1};
    gdr_build_t build;
    gdr_sched_t *sched;

    (void)state;
    gdr_build_init(&build, 0, 2, 80);
    gdr_build_wait(&build, edge, gdr_operand_slot(0, 2, 16), 48);
    edge.flag = edge.channel = 1;
    gdr_build_wait(&build, edge, gdr_operand_slot(0, 2, 12), 48);
    edge.flag = edge.channel = 2;
    gdr_build_wait(&build, edge, gdr_operand_slot(0, 1, 60), 4);
    gdr_build_gather(&build, in, 2, gdr_operand_recv(&build, 0), 64, 80);
    assert_int_equal(gdr_build_finish(&build, 64, &sched), GDR_OK);
    assert_int_equal(sched->ncredits, 3);
    assert_int_equal(sched->credits[0].n, 0);
    assert_int_equal(sched->credits[1].n, 1);
    assert_int_equal(sched->credits[2].n, 1);
    gdr_sched_free(sched);
}

static gdr_status_t built(uint32_t nin, uint64_t block, uint64_t bytes, gdr_step_kind_t kind)
{
    gdr_operand_t in[GDR_STEP_MAX_IN] = {{0}};
    gdr_build_t build;
    gdr_sched_t *sched;
    gdr_status_t status;

    gdr_build_init(&build, 0, 1, 80);
    gdr_build_gather(&build, in, nin, gdr_operand_recv(&build, 0), block, bytes);
    status = gdr_build_finish(&build, 64, &sched);
    if (status == GDR_OK) {
        assert_int_equal(sched->steps[0].kind, kind);
        gdr_sched_free(sched);
    }
    return status;
}

static void the_builder_refuses(void **state)
{
    (void)state;
    assert_int_equal(built(2, 16, 32, GDR_STEP_GATHER), GDR_OK);
    assert_int_equal(built(2, 16, 17, GDR_STEP_GATHER), GDR_OK);
    assert_int_equal(built(1, 16, 7, GDR_STEP_COPY), GDR_OK);
    assert_int_equal(built(2, 16, 33, GDR_STEP_GATHER), GDR_ERR_INVALID);
    assert_int_equal(built(2, 16, 16, GDR_STEP_GATHER), GDR_ERR_INVALID);
    assert_int_equal(built(0, 16, 16, GDR_STEP_GATHER), GDR_ERR_INVALID);
    assert_int_equal(built(GDR_STEP_MAX_IN, 1, 8, GDR_STEP_GATHER), GDR_OK);
    assert_int_equal(built(GDR_STEP_MAX_IN + 1, 1, 9, GDR_STEP_GATHER), GDR_ERR_INVALID);
}

static void printing(void **state)
{
    gdr_topology_t *topology = one_node(RANKS);
    char text[8192] = "";
    FILE *file = fmemopen(text, sizeof(text), "w");
    call_t call;

    (void)state;
    assert_non_null(file);
    gdr_sched_print(make(&call, topology, false), file);
    fclose(file);
    assert_non_null(strstr(text, " gather "));
    assert_non_null(strstr(text, " B of "));
    call_drop(&call);
    gdr_topology_free(topology);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lengths_of_inputs),
        cmocka_unit_test(one_for_eight_results),
        cmocka_unit_test(one_block_too_few),
        cmocka_unit_test(blocks_exchanged),
        cmocka_unit_test(one_word_not_awaited),
        cmocka_unit_test(read_not_awaited),
        cmocka_unit_test(forms),
        cmocka_unit_test(credits_of_what_is_read),
        cmocka_unit_test(the_builder_refuses),
        cmocka_unit_test(printing),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
