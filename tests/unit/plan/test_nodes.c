/* Schedules that know about nodes, proved for even and uneven ones: see plan/gdr_check.h. */
#include "plan_test.h"

#include <stdlib.h>
#include <string.h>

enum { MAX_RANKS = 72, MAX_NODES = 16 };

typedef struct nodes {
    const char *name;
    uint32_t ranks[MAX_NODES]; /* of each; 0 ends */
} nodes_t;

static const nodes_t few[] = {
    {"two and two", {2, 2}},
    {"two alone and two", {1, 1, 2}},
    {"3 + 5", {3, 5}},
    {"8 + 1", {8, 1}},
    {"one alone first", {1, 8}},
    {"3 x 3", {3, 3, 3}},
    {"2 x 4", {4, 4}},
    {"5 x 2", {2, 2, 2, 2, 2}},
    {"10 + 9", {10, 9}},
    {"one alone among many", {4, 4, 1, 4}},
    {"all different", {1, 2, 3, 4, 5}},
};

static const nodes_t many[] = {
    {"8 x 8", {8, 8, 8, 8, 8, 8, 8, 8}},
    {"4 x 16", {16, 16, 16, 16}},
    {"16 x 4", {4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4}},
    {"7 x 8 + 7", {8, 8, 8, 8, 8, 8, 8, 7}},
    {"30 + 2 + 1", {30, 2, 1}},
};

enum { FEW = sizeof(few) / sizeof(few[0]), MANY = sizeof(many) / sizeof(many[0]) };

static int32_t size_of(const nodes_t *nodes)
{
    uint32_t size = 0;

    for (uint32_t i = 0; i < MAX_NODES; i++)
        size += nodes->ranks[i];
    return (int32_t)size;
}

/* Ranks one node after the other, or dealt out to nodes in turn. */
static gdr_topology_t *topology_of(const nodes_t *nodes, bool dealt)
{
    uint32_t node[MAX_RANKS], left[MAX_NODES], at = 0, n = 0;
    gdr_topology_t *topology;
    int32_t size = size_of(nodes);

    memcpy(left, nodes->ranks, sizeof(left));
    while (n < MAX_NODES && left[n] > 0)
        n++;
    for (int32_t r = 0; r < size; r++) {
        while (left[at] == 0)
            at = at + 1 < n ? at + 1 : 0;
        node[r] = at;
        left[at]--;
        at = !dealt ? at : at + 1 < n ? at + 1 : 0;
    }
    assert_int_equal(gdr_topology_make(node, size, &topology), GDR_OK);
    return topology;
}

static void prove_one(const nodes_t *nodes, bool dealt, uint64_t count, uint32_t type_bytes,
                      const gdr_plan_params_t *params, bool mapped)
{
    gdr_plan_request_t request = plan_test_request(params, size_of(nodes), count, type_bytes);
    gdr_topology_t *topology = topology_of(nodes, dealt);
    gdr_check_result_t result;
    gdr_status_t status;

    topology->mapped = mapped;
    request.topology = topology;
    status = gdr_check_request(&request, &result);
    if (status != GDR_OK)
        fail_msg("%s%s%s, %llu x %u bytes, depth %u, chunk %llu: status %d: %s", nodes->name,
                 dealt ? ", dealt" : "", mapped ? ", mapped" : "", (unsigned long long)count,
                 type_bytes, params->depth, (unsigned long long)params->chunk_size, (int)status,
                 result.text);
    gdr_topology_free(topology);
}

static void prove(const nodes_t *nodes, bool dealt, uint64_t count, uint32_t type_bytes,
                  const gdr_plan_params_t *params)
{
    prove_one(nodes, dealt, count, type_bytes, params, false);
    prove_one(nodes, dealt, count, type_bytes, params, true);
}

static void odd_counts(void **state)
{
    static const uint64_t counts[] = {1, 2, 3, 7, 8, 9, 63, 1023, 1025, 65537, 1048583};
    static const uint32_t types[] = {1, 4, 8, 12, 16};

    (void)state;
    for (uint32_t n = 0; n < FEW; n++)
        for (uint32_t c = 0; c < sizeof(counts) / sizeof(counts[0]); c++)
            for (uint32_t t = 0; t < 5; t++) {
                gdr_plan_params_t params = plan_test_params("hierarchical");

                prove(&few[n], c % 2 == 1, counts[c], types[t], &params);
            }
    for (uint32_t n = 0; n < MANY; n++)
        for (uint32_t c = n; c < sizeof(counts) / sizeof(counts[0]); c += 3) {
            gdr_plan_params_t params = plan_test_params("hierarchical");

            prove(&many[n], c % 2 == 1, counts[c], types[(c + n) % 5], &params);
        }
}

/* Every context is used several times, and the last segment is a short one. */
static void prove_long(const nodes_t *nodes, bool dealt, uint32_t depth, uint32_t tail)
{
    gdr_plan_params_t params = plan_test_small_chunks("hierarchical", depth);
    gdr_topology_t *topology = topology_of(nodes, dealt);
    uint64_t segment = (uint64_t)topology->most * 64; /* of 4 bytes */
    uint64_t count = (2 * (uint64_t)depth + 1) * segment + 1 + tail * segment / 4;
    gdr_plan_request_t request = plan_test_request(&params, size_of(nodes), count, 4);
    gdr_plan_t *plan;

    request.topology = topology;
    assert_int_equal(gdr_plan_make(&request, &plan), GDR_OK);
    assert_int_equal(plan->layout.depth, depth);
    assert_int_equal(plan->nsegments, 2 * depth + 2);
    gdr_plan_free(plan);
    gdr_topology_free(topology);
    prove(nodes, dealt, count, 4, &params);
}

static void long_messages(void **state)
{
    (void)state;
    for (uint32_t n = 0; n < FEW; n++)
        for (uint32_t depth = 1; depth <= 3; depth++)
            for (uint32_t tail = 0; tail < 4; tail++)
                prove_long(&few[n], tail % 2 == 1, depth, tail);
    for (uint32_t n = 0; n < MANY; n++)
        prove_long(&many[n], n % 2 == 1, 1 + n % 3, n % 4);
}

static gdr_status_t plan_on(const nodes_t *nodes, const char *algorithm, uint64_t count,
                            gdr_plan_t **plan)
{
    gdr_plan_params_t params = plan_test_params(algorithm);
    gdr_plan_request_t request = plan_test_request(&params, size_of(nodes), count, 4);
    gdr_topology_t *topology = topology_of(nodes, false);
    gdr_status_t status;

    params.lane_bytes = 64 << 20;
    request.topology = topology;
    status = gdr_plan_make(&request, plan);
    gdr_topology_free(topology);
    return status;
}

/* Nothing to gain with one node, or with one rank on each: refused, another one is taken. */
static void flat_topologies(void **state)
{
    static const nodes_t flat[] = {{"one node", {8}}, {"one rank each", {1, 1, 1, 1}}};
    gdr_plan_t *plan;

    (void)state;
    for (uint32_t i = 0; i < 2; i++) {
        assert_int_equal(plan_on(&flat[i], "hierarchical", 1 << 20, &plan), GDR_ERR_UNSUPPORTED);
        assert_int_equal(plan_on(&flat[i], "auto", 1 << 20, &plan), GDR_OK);
        gdr_plan_free(plan);
    }
}

/* Long messages of several nodes use all ways out of a node, short ones take few steps. */
static void selection(void **state)
{
    gdr_plan_t *plan;

    (void)state;
    assert_int_equal(plan_on(&many[0], "auto", 1 << 24, &plan), GDR_OK);
    assert_string_equal(plan->algorithm->name, "hierarchical");
    gdr_plan_free(plan);
    assert_int_equal(plan_on(&many[0], "auto", 16, &plan), GDR_OK);
    assert_string_equal(plan->algorithm->name, "knomial");
    gdr_plan_free(plan);
}

/* Bytes that leave each rank's node: 2 (M - 1) / M of a block. */
static void rails_carry_their_share(void **state)
{
    static const nodes_t nodes = {"4 x 4", {4, 4, 4, 4}};
    gdr_plan_params_t params = plan_test_params("hierarchical");
    gdr_plan_request_t request = plan_test_request(&params, 16, 1 << 14, 4);
    gdr_topology_t *topology = topology_of(&nodes, false);
    gdr_work_t work;

    (void)state;
    request.topology = topology;
    for (request.rank = 0; request.rank < 16; request.rank++) {
        uint64_t between = 0, inside = 0, puts = 0;
        gdr_plan_t *plan;

        assert_int_equal(gdr_plan_make(&request, &plan), GDR_OK);
        assert_int_equal(plan->nsegments, 1);
        for (uint32_t i = 0; i < plan->last->nsteps; i++) {
            const gdr_step_t *step = &plan->last->steps[i];

            if (step->kind != GDR_STEP_PUT)
                continue;
            puts++;
            if (topology->node[step->peer] == topology->node[request.rank])
                inside += step->bytes;
            else
                between += step->bytes;
        }
        plan->algorithm->work(&request, plan->last->bytes, &work);
        assert_int_equal(between, plan->last->bytes / 4 * 2 * 3 / 4);
        assert_int_equal(between, work.link[GDR_LINK_NET].sent);
        assert_int_equal(inside, work.link[GDR_LINK_NODE].sent);
        assert_int_equal(puts, work.link[GDR_LINK_NET].puts + work.link[GDR_LINK_NODE].puts);
        assert_int_equal(work.link[GDR_LINK_NET].steps, 4);
        assert_int_equal(work.link[GDR_LINK_NODE].steps, 2);
        gdr_plan_free(plan);
    }
    gdr_topology_free(topology);
}

static void hostile_topologies(void **state)
{
    static const uint32_t gap[] = {0, 2, 2}, large[] = {0, 1, 3}, good[] = {1, 0, 1};
    gdr_topology_t *topology = NULL;

    (void)state;
    assert_int_equal(gdr_topology_make(gap, 3, &topology), GDR_ERR_INVALID);
    assert_int_equal(gdr_topology_make(large, 3, &topology), GDR_ERR_INVALID);
    assert_int_equal(gdr_topology_make(good, 0, &topology), GDR_ERR_INVALID);
    assert_null(topology);
    assert_int_equal(gdr_topology_make(good, 3, &topology), GDR_OK);
    assert_int_equal(topology->nnodes, 2);
    assert_int_equal(topology->least, 1);
    assert_int_equal(topology->most, 2);
    assert_int_equal(topology->local[2], 1);
    assert_int_equal(topology->members[topology->first[1] + 1], 2);
    gdr_topology_free(topology);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(odd_counts),
        cmocka_unit_test(long_messages),
        cmocka_unit_test(flat_topologies),
        cmocka_unit_test(selection),
        cmocka_unit_test(rails_carry_their_share),
        cmocka_unit_test(hostile_topologies),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
