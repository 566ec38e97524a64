/* gdr_sim's command line. */
#include "tests/unit/gsim/gsim_test.h"
#include "tools/sim/gsim_options.h"

static int parse(gsim_options_t *options, char error[400], const char *a, const char *b)
{
    char *argv[] = {(char *)(uintptr_t) "gdr_sim", (char *)(uintptr_t)a, (char *)(uintptr_t)b,
                    NULL};

    error[0] = '\0';
    return gsim_options_parse(a == NULL ? 1 : b == NULL ? 2 : 3, argv, options, error, 400);
}

static void values_are_read(void **state)
{
    gsim_options_t o;
    char error[400];

    (void)state;
    assert_int_equal(parse(&o, error, NULL, NULL), 0);
    assert_string_equal(o.cluster, "h200-8x400g");
    assert_int_equal(o.size_max, 1 << 30);
    assert_string_equal(o.plan.algorithm, "auto");
    assert_int_equal(parse(&o, error, "--nodes", "2:1024"), 0);
    assert_int_equal(o.nodes_min, 2);
    assert_int_equal(o.nodes_max, 1024);
    assert_int_equal(parse(&o, error, "--size", "64K"), 0);
    assert_int_equal(o.size_min, 65536);
    assert_int_equal(o.size_max, 65536);
    assert_int_equal(parse(&o, error, "--algorithm", "ring"), 0);
    assert_string_equal(o.plan.algorithm, "ring");
    assert_false(o.all);
    assert_int_equal(parse(&o, error, "--algorithm", "all"), 0);
    assert_true(o.all);
    assert_int_equal(parse(&o, error, "--mapped", "on"), 0);
    assert_true(o.mapped);
    assert_int_equal(parse(&o, error, "--mapped", "off"), 0);
    assert_false(o.mapped);
    assert_int_equal(parse(&o, error, "--waits", "stream"), 0);
    assert_true(o.ahead);
    assert_int_equal(parse(&o, error, "--lane", "64M"), 0);
    assert_int_equal(o.plan.lane_bytes, 64 << 20);
    assert_int_equal(parse(&o, error, "--depth", "8"), 0);
    assert_int_equal(o.plan.depth, 8);
    assert_true(o.tuned);
    assert_int_equal(parse(&o, error, "--figures", "default"), 0);
    assert_false(o.tuned);
    assert_int_equal(parse(&o, error, "--plot", "dir"), 0);
    assert_string_equal(o.plot, "dir");
    assert_int_equal(parse(&o, error, "--goal", "file"), 0);
    assert_string_equal(o.goal, "file");
    assert_int_equal(parse(&o, error, "--help", NULL), 0);
    assert_true(o.help);
}

static void wrong_values_are_named(void **state)
{
    static const char *const bad[][3] = {
        {"--nodes", "0", "--nodes 0: a number from 1"},
        {"--nodes", "4:2", "--nodes 4:2: a number"},
        {"--nodes", "1:2:3", "--nodes 1:2:3: a number"},
        {"--nodes", "99999999999999999999999999", "a number from 1"},
        {"--nodes", "-1", "a number from 1"},
        {"--nodes", "", "a number from 1"},
        {"--size", "2", "from 4 bytes"},
        {"--size", "1G:1M", "from 4 bytes"},
        {"--size", "2000G", "from 4 bytes"},
        {"--size", "1X", "from 4 bytes"},
        {"--gpus-per-node", "65", "--gpus-per-node 65: not a number from 1 to 64"},
        {"--waits", "never", "--waits never: host or stream"},
        {"--mapped", "auto", "--mapped auto: on or off"},
        {"--algorithm", "bubble", "no algorithm of that name"},
        {"--algorithm", "a-name-that-is-longer-than-any-can-be", "no algorithm of that name"},
        {"--lane", "1000", "the lane's size is not"},
        {"--chunk", "1", "the chunk size is below"},
        {"--depth", "0", "--depth 0: not a number from 1 to 1024"},
        {"--depth", "1025", "not a number from 1 to 1024"},
        {"--figures", "mine", "--figures mine: cluster or default"},
        {"--json", NULL, "--json: its value is missing"},
        {"--fast", NULL, "--fast: unknown option; --help lists them"},
        {"ring", NULL, "ring: unknown option"},
    };
    gsim_options_t o;
    char error[400];
    size_t i;

    (void)state;
    for (i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        assert_int_equal(parse(&o, error, bad[i][0], bad[i][1]), -1);
        if (strstr(error, bad[i][2]) == NULL)
            fail_msg("\"%s\" does not say \"%s\"", error, bad[i][2]);
    }
}

static void setup_fits_the_cluster(void **state)
{
    gsim_cluster_t cluster;
    gsim_options_t o;
    gsim_setup_t setup;
    char error[400];

    (void)state;
    gsim_test_cluster(&cluster);
    cluster.gpus = 8;
    cluster.nics = 4;
    cluster.nic.gbs = 50;
    cluster.launch_ns = 2000;
    assert_int_equal(parse(&o, error, "--nodes", "3:6"), 0);
    assert_int_equal(gsim_options_setup(&o, &cluster, &setup, error, sizeof(error)), 0);
    assert_int_equal(setup.nodes, 3);
    assert_int_equal(setup.gpus, 8);
    assert_int_equal(setup.plan.machine.launch_ns, 2000);
    assert_int_equal(setup.plan.machine.link[GDR_LINK_NET].mbs, 50000);
    assert_int_equal(setup.plan.machine.net_ranks, 2); /* two GPUs share one */
    assert_int_equal(setup.plan.machine.flag_ns, 1);   /* no figure is 0 */
    assert_null(gdr_plan_params_error(&setup.plan));
    assert_int_equal(parse(&o, error, "--gpus-per-node", "9"), 0);
    assert_int_equal(gsim_options_setup(&o, &cluster, &setup, error, sizeof(error)), -1);
    assert_string_equal(error, "--gpus-per-node 9: a node of test has 8");
    assert_int_equal(parse(&o, error, "--nodes", "65536"), 0);
    assert_int_equal(gsim_options_setup(&o, &cluster, &setup, error, sizeof(error)), -1);
    assert_non_null(strstr(error, "more than 65536 ranks"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(values_are_read),
        cmocka_unit_test(wrong_values_are_named),
        cmocka_unit_test(setup_fits_the_cluster),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
