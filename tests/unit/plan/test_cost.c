/* Figures of a machine, predicted times, and that the least one is taken. */
#include "plan_test.h"

#include "plan/gdr_cost.h"

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

/* One segment, nothing overlaps: launches, kernels, latencies, puts and what they carry. */
static void times_of_one_segment(void **state)
{
    gdr_plan_params_t params = plan_test_params("auto");
    gdr_plan_request_t request = plan_test_request(&params, 4, 1000, 4);
    gdr_plan_option_t options[OPTIONS_MAX];
    uint32_t n;

    (void)state;
    params.depth = 1;
    params.machine =
        (gdr_machine_t){.launch_ns = 10,
                        .launch_cpu_ns = 4,
                        .flag_ns = 100,
                        .memory_mbs = GDR_FIGURE_MAX,
                        .kernel_mbs = GDR_FIGURE_MAX,
                        .net_ranks = 1,
                        .port_mbs = GDR_FIGURE_MAX,
                        .link = {{.latency_ns = 1000, .put_ns = 1, .mbs = 1000},
                                 {.latency_ns = 2000, .put_ns = 20000, .mbs = GDR_FIGURE_MAX}}};
    n = gdr_plan_options(&request, options, OPTIONS_MAX);
    assert_int_equal(find(options, n, "oneshot").ns, 2 * 4 + 2 * 106 + 1100 + 1 + 3 * 4000);
    assert_int_equal(find(options, n, "twoshot").ns, 4 * 4 + 3 * 106 + 2 * 1100 + 2 + 6 * 1000);
    assert_int_equal(find(options, n, "ring").ns, 5 * 4 + 5 * 106 + 6 * 1100 + 6 + 6 * 1000);
    assert_true(find(options, n, "twoshot").taken);
    params.machine.link[GDR_LINK_NET].put_ns = 10000; /* more than what it carries takes */
    n = gdr_plan_options(&request, options, OPTIONS_MAX);
    assert_int_equal(find(options, n, "oneshot").ns, 2 * 4 + 2 * 106 + 1100 + 3 * 10000 + 4000);
    params.machine.kernel_mbs = 1; /* a copy, 4 inputs, an output: 7 N */
    n = gdr_plan_options(&request, options, OPTIONS_MAX);
    assert_int_equal(find(options, n, "oneshot").ns,
                     2 * 4 + 2 * 106 + 1100 + 3 * 10000 + 4000 + 7 * UINT64_C(4000000));
}

/* Segments follow as fast as what is busy longest allows, and never faster than contexts. */
static void times_of_segments(void **state)
{
    gdr_machine_t machine;
    gdr_work_t work = {.link = {{.puts = 1, .sent = 8000000, .steps = 1, .passed = 8000000}},
                       .sent = 8000000,
                       .senders = 2,
                       .way = {1, 1, 0}};
    uint64_t first = 4000 + 1000 + 4000 + 1000 + 1000 + 20000, each = 20000, deep, shallow;

    (void)state;
    gdr_machine_init(&machine);
    deep = gdr_cost(&machine, &work, 8, 8);
    shallow = gdr_cost(&machine, &work, 8, 1);
    assert_true(deep >= first + 7 * each && deep <= first + 7 * each * 5 / 4);
    assert_true(shallow >= 8 * first && shallow <= 8 * first * 5 / 4);
    machine.net_ranks = 2; /* both ranks of a node through one way out */
    assert_true(gdr_cost(&machine, &work, 8, 8) >= first + 15 * each);
    machine.net_ranks = 1;
    machine.port_mbs = 25000; /* half of the link */
    assert_true(gdr_cost(&machine, &work, 8, 8) >= first + 14 * each);
    machine.port_mbs = 50000;
    work.kernels = 100; /* 200 us of launches */
    assert_true(gdr_cost(&machine, &work, 8, 8) >= first + 7 * UINT64_C(200000));
    work.kernels = 0;
    work.even = true;
    work.link[GDR_LINK_NET].steps = 20;
    deep = gdr_cost(&machine, &work, 8, 8);
    work.even = false;
    assert_true(deep < gdr_cost(&machine, &work, 8, 8));
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
    assert_int_equal(find(options, n, "oneshot").ns,
                     2 * 5000 + 5000 + 3 * 20000 + 13 + 17); /* 4000 bytes, and 7 times that */
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
        cmocka_unit_test(times_of_segments),  cmocka_unit_test(one_node),
        cmocka_unit_test(least_is_taken),     cmocka_unit_test(named_or_invalid),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
