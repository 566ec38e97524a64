/* The simulator agrees with closed formulas where there are some, and with itself. */
#include "tests/unit/gsim/gsim_test.h"
#include "tools/sim/gsim_world.h"

enum { TYPE_BYTES = 4 };

typedef struct point {
    gsim_cluster_t cluster;
    gsim_setup_t setup;
} point_t;

/* A cluster on which nothing costs anything, yet; one segment as long as the lane allows. */
static void point_init(point_t *point, const char *algorithm, uint32_t nodes, uint32_t gpus,
                       uint64_t bytes)
{
    gsim_test_cluster(&point->cluster);
    point->cluster.gpus = point->cluster.nics = gpus;
    point->setup = (gsim_setup_t){
        .cluster = &point->cluster, .nodes = nodes, .gpus = gpus, .count = bytes / TYPE_BYTES};
    gdr_plan_params_init(&point->setup.plan);
    snprintf(point->setup.plan.algorithm, sizeof(point->setup.plan.algorithm), "%s", algorithm);
    point->setup.plan.lane_bytes = 64 << 20;
    point->setup.plan.depth = 1;
}

static void run(const point_t *point, gsim_result_t *result)
{
    char error[400] = "";

    if (gsim_run(&point->setup, result, error, sizeof(error)) != 0)
        fail_msg("%s", error);
}

/* Within 2 %. */
static void expect_ns(const point_t *point, double expected)
{
    gsim_result_t result;

    run(point, &result);
    assert_string_equal(result.algorithm, point->setup.plan.algorithm);
    if (result.ns < 0.98 * expected || result.ns > 1.02 * expected)
        fail_msg("%s, %u x %u ranks, %llu bytes: %.1f ns instead of %.1f",
                 point->setup.plan.algorithm, point->setup.nodes, point->setup.gpus,
                 (unsigned long long)point->setup.count * TYPE_BYTES, result.ns, expected);
}

/* Each of 2(p - 1) steps: latency, a block, its completion, the word. (A credit's post may or may
 * not lie in the way: words take no CPU time here.) */
static void ring_is_alpha_beta(void **state)
{
    static const uint32_t ranks[] = {2, 3, 8, 31, 64};
    point_t point;
    size_t i;

    (void)state;
    for (i = 0; i < sizeof(ranks) / sizeof(ranks[0]); i++) {
        double p = ranks[i], bytes = 1 << 20;

        point_init(&point, "ring", ranks[i], 1, (uint64_t)bytes);
        point.cluster.nic = (gsim_link_t){
            .gbs = 10, .put_ns = 1000, .done_ns = 700, .word_ns = 900, .put_cpu = 200};
        expect_ns(&point, 2 * (p - 1) * (2800 + bytes / p / 10));
    }
}

/* Without latency a ring in segments keeps its link busy all the time. */
static void ring_reaches_its_bandwidth(void **state)
{
    point_t point;
    double bytes = 64 << 20;

    (void)state;
    point_init(&point, "ring", 16, 1, (uint64_t)bytes);
    point.setup.plan.lane_bytes = 4 << 20;
    point.setup.plan.depth = 4;
    point.cluster.nic.gbs = 10;
    expect_ns(&point, 2 * 15.0 / 16 * bytes / 10);
}

/* Two exchanges of p - 1 blocks each through one port, in and out. */
static void twoshot_is_two_exchanges(void **state)
{
    point_t point;
    double bytes = 8 << 20, exchange = 1500 + 500 + 300 + 7.0 / 8 * bytes / 100;

    (void)state;
    point_init(&point, "twoshot", 1, 8, (uint64_t)bytes);
    point.cluster.gpu = (gsim_link_t){.gbs = 100, .put_ns = 1500, .done_ns = 500, .word_ns = 300};
    expect_ns(&point, 2 * exchange);
}

/* A word that tells; 7 blocks, which the REDUCE reads; a word; 7 blocks, which a GATHER reads; a
 * word that says so. What is read begins to come a word's time after the kernel has begun. */
static void twoshot_reads_mapped_windows(void **state)
{
    double bytes = 8 << 20, word = 300, exchange = 7.0 / 8 * bytes / 100;
    gsim_result_t result;
    point_t point;

    (void)state;
    point_init(&point, "twoshot", 1, 8, (uint64_t)bytes);
    point.cluster.gpu = (gsim_link_t){.gbs = 100, .put_ns = 1500, .done_ns = 500, .word_ns = word};
    point.setup.mapped = true;
    expect_ns(&point, word + word + exchange + word + word + exchange + word);
    run(&point, &result);
    assert_int_equal(result.stats.puts, 0);
    assert_int_equal(result.stats.pull_bytes, (uint64_t)(8 * 2 * 7.0 / 8 * bytes));
    point.setup.nodes = 2; /* and between nodes all is put */
    run(&point, &result);
    assert_int_equal(result.stats.puts, 16 * 2 * 8);
}

/* As recursive halving and doubling: log2 p exchanges each way, 2(p - 1)/p N in all. */
static void circulant_is_halving_and_doubling(void **state)
{
    static const uint32_t logs[] = {1, 2, 3, 5};
    double bytes = 1 << 20;
    point_t point;
    size_t i;

    (void)state;
    for (i = 0; i < sizeof(logs) / sizeof(logs[0]); i++) {
        double p = 1u << logs[i];

        point_init(&point, "circulant", 1u << logs[i], 1, (uint64_t)bytes);
        point.cluster.nic =
            (gsim_link_t){.gbs = 10, .put_ns = 1000, .done_ns = 700, .word_ns = 900};
        expect_ns(&point, 2 * logs[i] * 2600.0 + 2 * (p - 1) / p * bytes / 10);
    }
}

/* Copy to the window, put, reduce: what the engine's CPU, stream and network do one by one. */
static void small_call_is_the_sum_of_its_parts(void **state)
{
    gsim_cluster_t *c;
    point_t point;

    (void)state;
    point_init(&point, "oneshot", 1, 2, 8);
    c = &point.cluster;
    c->gpu = (gsim_link_t){.gbs = 100,
                           .put_ns = 1500,
                           .put_cpu = 4000,
                           .done_ns = 500,
                           .word_ns = 300,
                           .word_cpu = 200};
    c->launch_cpu = 2200;
    c->launch_ns = 2000;
    c->kernel_ns = 1500;
    c->mark_cpu = 800;
    c->mark_ns = 1000;
    expect_ns(&point, 800 + 2200 + 2000 + 1500 + 1000     /* after the NULL stream: copy, mark */
                          + 4000 + 1500 + 500 + 200 + 300 /* put, its completion, word */
                          + 2200 + 2000 + 1500 + 1000);   /* reduce, mark */
}

/* A ring of two: a copy of half (2 operands), a reduction (4), a copy (2), one after the other. */
static void kernels_take_their_bytes(void **state)
{
    double bytes = 1 << 20;
    point_t point;

    (void)state;
    point_init(&point, "ring", 1, 2, (uint64_t)bytes);
    point.cluster.kernel_gbs = 10;
    point.cluster.memory_gbs = 10;
    expect_ns(&point, 8 * bytes / 2 / 10);
}

/* Segments' kernels run at once: as fast as the memory allows, and none faster than one can. */
static void kernels_share_memory(void **state)
{
    double bytes = 1 << 20;
    point_t point;

    (void)state;
    point_init(&point, "ring", 1, 2, (uint64_t)bytes);
    point.setup.plan.depth = 4;
    point.setup.plan.chunk_size = 128 << 10; /* four segments */
    point.cluster.kernel_gbs = 10;
    point.cluster.memory_gbs = 1000;
    expect_ns(&point, 8 * bytes / 2 / 10 / 4);
    point.cluster.memory_gbs = 20;
    expect_ns(&point, 8 * bytes / 2 / 20);
}

/* The word of a put that has landed does not wait until all puts of a row are posted: between two
 * rows of three puts inside the nodes there is one put to the other node, and its word. */
static void words_go_between_puts(void **state)
{
    point_t point;

    (void)state;
    point_init(&point, "hierarchical", 2, 4, 64 << 10);
    point.cluster.gpu.put_cpu = 1000;
    expect_ns(&point, 2 * 3 * 1000);
}

/* Two ranks send two blocks each to the other node, in each of two exchanges. */
static void ranks_share_a_nic(void **state)
{
    double bytes = 16 << 20;
    gsim_result_t own;
    point_t point;

    (void)state;
    point_init(&point, "twoshot", 2, 2, (uint64_t)bytes);
    point.cluster.nic.gbs = 1;
    run(&point, &own);
    assert_int_equal(own.nic_bytes, 16 * (uint64_t)bytes / 4); /* 4 ranks, 2 peers, both ways */
    assert_true(own.ns < 0.6 * 2 * 4 * bytes / 4);
    point.cluster.nics = 1;
    expect_ns(&point, 2 * 4 * bytes / 4);
}

/* Over PCIe what goes to peers and to the NIC passes one port. */
static void pcie_port_is_shared(void **state)
{
    double bytes = 16 << 20;
    point_t point;

    (void)state;
    point_init(&point, "twoshot", 2, 2, (uint64_t)bytes);
    point.cluster.gpu.gbs = 1;
    expect_ns(&point, 2 * bytes / 4 / 1); /* one peer in the node */
    point.cluster.fabric = GSIM_PCIE;
    expect_ns(&point, 2 * 3 * bytes / 4 / 1); /* three */
}

static void costly(point_t *point, const char *algorithm, uint64_t bytes)
{
    gsim_cluster_t *c = &point->cluster;

    point_init(point, algorithm, 2, 4, bytes);
    point->setup.plan.lane_bytes = 4 << 20;
    point->setup.plan.depth = 4;
    c->gpu = (gsim_link_t){370, 1500, 4000, 1000, 500, 200};
    c->nic = (gsim_link_t){48.8, 2500, 300, 1500, 2000, 250};
    c->launch_cpu = 2200;
    c->launch_ns = 2000;
    c->kernel_ns = 1500;
    c->kernel_gbs = 3400;
    c->memory_gbs = 4300;
    c->mark_cpu = 800;
    c->mark_ns = 1000;
    c->poll_cpu = 150;
}

/* Both ways of waiting. Whether a call is served may depend on its size. */
static void expect_repeats(const char *algorithm, uint64_t bytes, bool served)
{
    gsim_result_t first, second;
    point_t point;
    int ahead;

    for (ahead = 0; ahead < 2; ahead++) {
        memset(&first, 0, sizeof(first));
        memset(&second, 0, sizeof(second));
        costly(&point, algorithm, bytes);
        point.setup.ahead = ahead != 0;
        run(&point, &first);
        run(&point, &second);
        assert_memory_equal(&first, &second, sizeof(first));
        if (served)
            assert_string_equal(first.algorithm, algorithm);
        assert_true(first.algorithm[0] == '\0' ||
                    first.ns >= gsim_cluster_bound(&point.cluster, 2, 4, bytes));
    }
}

static void runs_repeat(void **state)
{
    const gdr_algorithm_t *const *algorithm;

    (void)state;
    for (algorithm = gdr_plan_algorithms(); *algorithm != NULL; algorithm++) {
        expect_repeats((*algorithm)->name, 32 << 10, true);
        expect_repeats((*algorithm)->name, 3 << 20, false);
    }
}

/* NCCL's ring on 8 H100 or H200: 369 GB/s; 365 to 370 with 2 to 8 GPUs (NVIDIA/nccl issue 1455).
 * The window is large enough not to hold it up. */
static void ring_is_as_published(void **state)
{
    static const char *const names[] = {"h200-8x400g", "h100-8x400g"};
    static const uint32_t gpus[] = {2, 8};
    char directory[600], error[600] = "";
    gsim_result_t result;
    point_t point;
    size_t i;

    (void)state;
    snprintf(directory, sizeof(directory), "%s/tools/sim/clusters", getenv("GDR_SRCDIR"));
    for (i = 0; i < 4; i++) {
        uint32_t ranks = gpus[i / 2];
        double p = ranks, bytes = UINT64_C(1) << 32, busbw;

        point_init(&point, "ring", 1, ranks, (uint64_t)bytes);
        point.setup.plan.lane_bytes = 256 << 20;
        point.setup.plan.depth = 4;
        if (gsim_cluster_read(names[i % 2], directory, &point.cluster, error, sizeof(error)) != 0)
            fail_msg("%s", error);
        run(&point, &result);
        busbw = 2 * (p - 1) / p * bytes / result.ns;
        if (busbw < 0.9 * 369 || busbw > 1.1 * 369)
            fail_msg("%s, %u GPUs: %.1f GB/s", names[i % 2], ranks, busbw);
    }
}

static void unserved_calls_are_told(void **state)
{
    gsim_result_t result;
    point_t point;
    char error[400] = "";

    (void)state;
    point_init(&point, "ring", 1, 1, 8); /* a ring of one */
    if (gsim_run(&point.setup, &result, error, sizeof(error)) != 0)
        fail_msg("%s", error);
    assert_string_equal(result.algorithm, "");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ring_is_alpha_beta),
        cmocka_unit_test(ring_reaches_its_bandwidth),
        cmocka_unit_test(twoshot_is_two_exchanges),
        cmocka_unit_test(twoshot_reads_mapped_windows),
        cmocka_unit_test(circulant_is_halving_and_doubling),
        cmocka_unit_test(small_call_is_the_sum_of_its_parts),
        cmocka_unit_test(kernels_take_their_bytes),
        cmocka_unit_test(kernels_share_memory),
        cmocka_unit_test(words_go_between_puts),
        cmocka_unit_test(ranks_share_a_nic),
        cmocka_unit_test(pcie_port_is_shared),
        cmocka_unit_test(runs_repeat),
        cmocka_unit_test(ring_is_as_published),
        cmocka_unit_test(unserved_calls_are_told),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
