/* Figures of a machine, predicted times, and that the least one is taken. */
#include "plan_test.h"

#include <string.h>

enum { OPTIONS_MAX = 16 };

static void figures_have_names(void **state)
{
    gdr_machine_t machine;
    const char *name;
    uint64_t value, again;
    uint32_t n;

    (void)state;
    gdr_machine_init(&machine);
    for (n = 0; (name = gdr_machine_figure(&machine, n, &value)) != NULL; n++) {
        assert_true(value > 0 && value <= GDR_FIGURE_MAX);
        assert_true(gdr_machine_set(&machine, name, value + 1));
        assert_string_equal(gdr_machine_figure(&machine, n, &again), name);
        assert_int_equal(again, value + 1);
        assert_false(gdr_machine_set(&machine, name, 0));
        assert_false(gdr_machine_set(&machine, name, GDR_FIGURE_MAX + 1));
    }
    assert_int_equal(n, sizeof(machine) / sizeof(uint64_t)); /* none without a name */
    assert_false(gdr_machine_set(&machine, "net", 5));
}

static gdr_plan_option_t find(const gdr_plan_option_t *options, uint32_t n, const char *name)
{
    for (uint32_t i = 0; i < n; i++)
        if (strcmp(options[i].name, name) == 0)
            return options[i];
    fail_msg("%s is no option", name);
    return options[0];
}

/* One segment, nothing overlaps: launches, latencies, flags, and the slowest of the rest. */
static void times_of_one_segment(void **state)
{
    gdr_plan_params_t params = plan_test_params("auto");
    gdr_plan_request_t request = plan_test_request(&params, 4, 1000, 4);
    gdr_plan_option_t options[OPTIONS_MAX];
    uint32_t n;

    (void)state;
    params.machine =
        (gdr_machine_t){.launch_ns = 10,
                        .flag_ns = 100,
                        .memory_mbs = GDR_FIGURE_MAX,
                        .link = {{.latency_ns = 1000, .put_ns = 1, .mbs = 1000},
                                 {.latency_ns = 2000, .put_ns = 20000, .mbs = GDR_FIGURE_MAX}}};
    n = gdr_plan_options(&request, options, OPTIONS_MAX);
    assert_int_equal(find(options, n, "oneshot").ns, 10 + 1110 + 3 * 4000);
    assert_int_equal(find(options, n, "twoshot").ns, 10 + 2 * 1110 + 2 * 3000);
    assert_int_equal(find(options, n, "ring").ns, 10 + 6 * 1110 + 2 * 3000);
    assert_true(find(options, n, "twoshot").taken);
    params.machine.memory_mbs = 1; /* 5 inputs, 3 puts, 2 outputs: 13 N */
    n = gdr_plan_options(&request, options, OPTIONS_MAX);
    assert_int_equal(find(options, n, "oneshot").ns, 10 + 1110 + 13 * UINT64_C(4000000));
}

/* On one node the puts of all algorithms go through it. */
static void one_node(void **state)
{
    static const uint32_t node[4] = {0, 0, 0, 0};
    gdr_plan_params_t params = plan_test_params("auto");
    gdr_plan_request_t request = plan_test_request(&params, 4, 1000, 4);
    gdr_plan_option_t options[OPTIONS_MAX];
    gdr_topology_t *topology;
    uint32_t n;

    (void)state;
    assert_int_equal(gdr_topology_make(node, 4, &topology), GDR_OK);
    request.topology = topology;
    params.machine.link[GDR_LINK_NODE].put_ns = 20000;
    n = gdr_plan_options(&request, options, OPTIONS_MAX);
    assert_int_equal(find(options, n, "oneshot").ns, 4000 + 9000 + 3 * 20000);
    assert_false(find(options, n, "hierarchical").serves);
    gdr_topology_free(topology);
}

/* The table says what gdr_plan_make does, and the least time is taken. */
static void least_is_taken(void **state)
{
    gdr_plan_option_t options[OPTIONS_MAX];

    (void)state;
    for (int32_t p = 1; p <= 64; p = p * 2 + p % 3)
        for (uint64_t count = 1; count < UINT64_C(1) << 32; count *= 13) {
            gdr_plan_params_t params = plan_test_params("auto");
            gdr_plan_request_t request = plan_test_request(&params, p, count, 4);
            gdr_topology_t *topology = plan_test_pairs(p);
            uint64_t least = UINT64_MAX, taken = 0;
            gdr_plan_t *plan;
            uint32_t n;

            request.topology = topology;
            assert_int_equal(gdr_plan_make(&request, &plan), GDR_OK);
            n = gdr_plan_options(&request, options, OPTIONS_MAX);
            for (uint32_t i = 0; i < n; i++) {
                if (options[i].serves && options[i].ns < least)
                    least = options[i].ns;
                if (!options[i].taken)
                    continue;
                taken = options[i].ns;
                assert_string_equal(options[i].name, plan->algorithm->name);
                assert_int_equal(options[i].nsegments, plan->nsegments);
                assert_int_equal(options[i].chunk_bytes, plan->layout.chunk_bytes);
            }
            assert_int_equal(taken, least);
            gdr_plan_free(plan);
            gdr_topology_free(topology);
        }
}

static void named_or_invalid(void **state)
{
    gdr_plan_params_t params = plan_test_params("oneshot");
    gdr_plan_request_t request = plan_test_request(&params, 17, 100, 4);
    gdr_plan_option_t options[OPTIONS_MAX];
    gdr_plan_t *plan = NULL;

    (void)state;
    assert_int_equal(gdr_plan_options(&request, options, OPTIONS_MAX), 1);
    assert_false(options[0].serves || options[0].taken);
    request.count = 0;
    assert_int_equal(gdr_plan_options(&request, options, OPTIONS_MAX), 0);
    params = plan_test_params("auto");
    request.count = 100;
    assert_int_equal(gdr_plan_options(&request, options, 2), 2);
    params.machine.flag_ns = 0;
    assert_int_equal(gdr_plan_make(&request, &plan), GDR_ERR_INVALID);
    assert_null(plan);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(figures_have_names), cmocka_unit_test(times_of_one_segment),
        cmocka_unit_test(one_node),           cmocka_unit_test(least_is_taken),
        cmocka_unit_test(named_or_invalid),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
