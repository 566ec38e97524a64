/* Parameters, selection, segmentation and what a plan costs. */
#include "plan_test.h"

#include <string.h>

static void defaults_are_usable(void **state)
{
    gdr_plan_params_t params;

    (void)state;
    gdr_plan_params_init(&params);
    assert_null(gdr_plan_params_error(&params));
    assert_string_equal(params.algorithm, "auto");
    assert_int_equal(params.lane_bytes, 4 << 20);
    assert_int_equal(params.depth, 0);
}

/* Each hostile value gets a text of its own, and no plan. */
static void assert_refused(const gdr_plan_params_t *params, const char *word)
{
    gdr_plan_request_t request = plan_test_request(params, 4, 100, 4);
    const char *error = gdr_plan_params_error(params);
    gdr_plan_t *plan = NULL;

    assert_non_null(error);
    if (strstr(error, word) == NULL)
        fail_msg("\"%s\" says nothing of \"%s\"", error, word);
    assert_int_equal(gdr_plan_make(&request, &plan), GDR_ERR_INVALID);
    assert_null(plan);
}

static void hostile_parameters_are_refused(void **state)
{
    gdr_plan_params_t good = plan_test_params("auto"), p;

    (void)state;
    p = good;
    memset(p.algorithm, 'a', sizeof(p.algorithm));
    assert_refused(&p, "longer");
    p = plan_test_params("");
    assert_refused(&p, "no algorithm");
    p = plan_test_params("twoshots");
    assert_refused(&p, "no algorithm");
    p = good, p.lane_bytes = 0;
    assert_refused(&p, "lane");
    p = good, p.lane_bytes = (4 << 20) + 8;
    assert_refused(&p, "multiple of 1024");
    p = good, p.lane_bytes = UINT64_MAX - 1023;
    assert_refused(&p, "larger than 1 TiB");
    p = good, p.ctl_bytes = 0;
    assert_refused(&p, "control words");
    p = good, p.ctl_bytes = 129;
    assert_refused(&p, "multiple of 128");
    p = good, p.ctl_bytes = 8 << 20;
    assert_refused(&p, "more room");
    p = good, p.chunk_size = 255;
    assert_refused(&p, "below 256");
    p = good, p.chunk_size = 512;
    assert_refused(&p, "minimum chunk");
    p = good, p.min_chunk = UINT64_MAX;
    assert_refused(&p, "quarter");
    p = good, p.depth = UINT32_MAX;
    assert_refused(&p, "depth");
}

static void hostile_requests_are_refused(void **state)
{
    gdr_plan_params_t params = plan_test_params("auto");
    const gdr_plan_request_t good = plan_test_request(&params, 4, 100, 4);
    gdr_plan_request_t bad[8];
    gdr_plan_t *plan = NULL;

    (void)state;
    for (size_t i = 0; i < 8; i++)
        bad[i] = good;
    bad[0].size = 0;
    bad[1].size = -1;
    bad[2].rank = 4;
    bad[3].rank = -1;
    bad[4].count = 0;
    bad[5].type_bytes = 0;
    bad[6].params = NULL;
    bad[7].count = UINT64_MAX;
    for (size_t i = 0; i < 8; i++)
        assert_int_equal(gdr_plan_make(&bad[i], &plan), GDR_ERR_INVALID);
    assert_null(plan);
}

static const char *chosen(const char *algorithm, int32_t size, uint64_t count, bool commutative,
                          gdr_status_t *status)
{
    gdr_plan_params_t params = plan_test_params(algorithm);
    gdr_plan_request_t request = plan_test_request(&params, size, count, 4);
    const char *name = "";
    gdr_plan_t *plan;

    request.commutative = commutative;
    *status = gdr_plan_make(&request, &plan);
    if (*status == GDR_OK) {
        name = plan->algorithm->name;
        gdr_plan_free(plan);
    }
    return name;
}

static void selection(void **state)
{
    gdr_status_t status;

    (void)state;
    assert_string_equal(chosen("auto", 1, 1, true, &status), "twoshot");
    assert_string_equal(chosen("auto", 2, 1, false, &status), "oneshot");
    assert_string_equal(chosen("auto", 8, 256, true, &status), "oneshot");
    assert_string_equal(chosen("auto", 4, 1 << 17, true, &status), "twoshot");
    assert_string_equal(chosen("auto", 64, 1 << 16, true, &status), "circulant");
    assert_string_equal(chosen("auto", 64, 1 << 24, true, &status), "ring");
    assert_string_equal(chosen("auto", 64, 2, true, &status), "knomial");
    assert_string_equal(chosen("auto", 4, 1 << 24, false, &status), "twoshot");
    assert_string_equal(chosen("auto", 1000, 100, false, &status), "knomial");
    assert_string_equal(chosen("auto", INT32_MAX, 100, false, &status), "knomial");
    assert_string_equal(chosen("ring", 2, 1, true, &status), "ring");
    assert_string_equal(chosen("twoshot", 64, 1 << 24, true, &status), "twoshot");
    chosen("ring", 2, 1, false, &status);
    assert_int_equal(status, GDR_ERR_UNSUPPORTED);
    chosen("ring", 1, 1, true, &status);
    assert_int_equal(status, GDR_ERR_UNSUPPORTED);
    chosen("twoshot", 1000, 100, true, &status);
    assert_int_equal(status, GDR_ERR_UNSUPPORTED);
    chosen("oneshot", 17, 100, true, &status);
    assert_int_equal(status, GDR_ERR_UNSUPPORTED);
    chosen("circulant", 4, 100, false, &status);
    assert_int_equal(status, GDR_ERR_UNSUPPORTED);
}

static void assert_segments(const gdr_plan_t *plan, uint64_t bytes, uint32_t type_bytes)
{
    uint64_t last = bytes - (plan->nsegments - 1) * plan->seg_bytes;

    assert_int_equal(plan->last->bytes, last);
    assert_true(last > 0 && last <= plan->seg_bytes);
    assert_true((plan->nsegments == 1) == (plan->full == NULL));
    if (plan->full == NULL)
        return;
    assert_int_equal(plan->full->bytes, plan->seg_bytes);
    assert_int_equal(plan->seg_bytes % type_bytes, 0);
    assert_int_equal(plan->seg_bytes % (16 * (uint64_t)plan->layout.shape.seg_chunks), 0);
    assert_true(plan->seg_bytes <=
                plan->layout.chunk_bytes * (uint64_t)plan->layout.shape.seg_chunks);
}

static void segments_cover_any_message(void **state)
{
    static const int32_t sizes[] = {1, 2, 3, 5, 7, 16, 33, 64};
    static const uint32_t types[] = {1, 2, 3, 4, 8, 12, 16, 24, 32};

    (void)state;
    for (size_t s = 0; s < 8; s++)
        for (size_t t = 0; t < 9; t++)
            for (uint64_t count = 1; count < UINT64_C(1) << 35; count = count * 7 + 3) {
                gdr_plan_params_t params = plan_test_params("auto");
                gdr_plan_request_t request = plan_test_request(&params, sizes[s], count, types[t]);
                gdr_plan_t *plan;

                request.rank = sizes[s] - 1;
                assert_int_equal(gdr_plan_make(&request, &plan), GDR_OK);
                assert_segments(plan, count * types[t], types[t]);
                gdr_plan_free(plan);
            }
}

/* From 2 GiB upwards nothing wraps: a right plan, or a clear no. */
static void huge_messages(void **state)
{
    static const char *const names[] = {"twoshot", "ring", "oneshot", "circulant", "knomial"};

    (void)state;
    for (uint32_t bits = 31; bits <= 63; bits++)
        for (int32_t variant = 0; variant < 60; variant++) {
            gdr_plan_params_t params = plan_test_params(names[variant % 5]);
            uint32_t type_bytes = 1u << (variant / 5 % 4);
            uint64_t count = ((UINT64_C(1) << bits) - 1 + (uint64_t)(variant / 20)) / type_bytes;
            gdr_plan_request_t request =
                plan_test_request(&params, 3 + variant % 5, count, type_bytes);
            gdr_status_t status;
            gdr_plan_t *plan;

            status = gdr_plan_make(&request, &plan);
            if (bits <= 40)
                assert_int_equal(status, GDR_OK);
            if (count * type_bytes > INT64_MAX)
                assert_int_equal(status, GDR_ERR_INVALID);
            if (status == GDR_OK) {
                assert_segments(plan, count * type_bytes, type_bytes);
                assert_true((plan->nsegments + plan->layout.depth - 1) / plan->layout.depth *
                                plan->last->rounds <
                            UINT64_C(1) << GDR_FLAG_INSTANCE_BITS);
                gdr_plan_free(plan);
            } else {
                assert_true(status == GDR_ERR_INVALID || status == GDR_ERR_UNSUPPORTED);
            }
        }
}

static void more_than_2_63_bytes(void **state)
{
    gdr_plan_params_t params = plan_test_params("auto");
    gdr_plan_request_t request = plan_test_request(&params, 4, UINT64_C(1) << 62, 16);
    gdr_plan_t *plan = NULL;

    (void)state;
    assert_int_equal(gdr_plan_make(&request, &plan), GDR_ERR_INVALID); /* wraps to 0 */
    request.count = (UINT64_C(1) << 60) + 1;
    assert_int_equal(gdr_plan_make(&request, &plan), GDR_ERR_INVALID); /* wraps to 16 */
    request.count = INT64_MAX;
    request.type_bytes = 1;
    assert_int_equal(gdr_plan_make(&request, &plan), GDR_ERR_UNSUPPORTED);
    request.type_bytes = UINT32_MAX;
    request.count = 3;
    assert_int_equal(gdr_plan_make(&request, &plan), GDR_ERR_UNSUPPORTED);
    assert_null(plan);
}

/* Middle sizes are cut so that segments overlap, small ones are not cut; a depth that is asked for
 * is kept. */
static void middle_sizes_overlap(void **state)
{
    gdr_plan_params_t params = plan_test_params("ring");
    gdr_plan_request_t request = plan_test_request(&params, 4, 4096, 4);
    gdr_plan_t *plan;

    (void)state;
    params.lane_bytes = 64 << 20;
    assert_int_equal(gdr_plan_make(&request, &plan), GDR_OK);
    assert_int_equal(plan->nsegments, 1);
    gdr_plan_free(plan);
    request.count = 2 << 20; /* one segment would do */
    assert_int_equal(gdr_plan_make(&request, &plan), GDR_OK);
    assert_true(plan->nsegments > 1 && plan->layout.depth > 1);
    gdr_plan_free(plan);
    params.depth = 5;
    assert_int_equal(gdr_plan_make(&request, &plan), GDR_OK);
    assert_int_equal(plan->layout.depth, 5);
    gdr_plan_free(plan);
}

typedef struct totals {
    uint64_t traffic, put_bytes, puts, kernels;
} totals_t;

static totals_t count_work(const gdr_sched_t *sched)
{
    totals_t t = {0};

    for (uint32_t i = 0; i < sched->nsteps; i++) {
        const gdr_step_t *s = &sched->steps[i];

        if (s->kind == GDR_STEP_PUT) {
            t.traffic += 2 * s->bytes; /* read here, written there: one rank's share of both */
            t.put_bytes += s->bytes;
            t.puts++;
        } else if (s->kind != GDR_STEP_WAIT) {
            t.traffic += s->bytes * ((uint64_t)s->nin + s->nout);
            t.kernels++;
        }
    }
    return t;
}

static void twoshot_costs_what_is_said(void **state)
{
    gdr_plan_params_t params = plan_test_params("twoshot");
    gdr_plan_request_t request = plan_test_request(&params, 4, 4096, 4);

    (void)state;
    for (request.rank = 0; request.rank < 4; request.rank++) {
        gdr_plan_t *plan;
        totals_t t;

        assert_int_equal(gdr_plan_make(&request, &plan), GDR_OK);
        t = count_work(plan->last);
        assert_int_equal(2 * t.traffic, 15 * plan->last->bytes);  /* 7.5 N */
        assert_int_equal(2 * t.put_bytes, 3 * plan->last->bytes); /* 2 (p - 1) / p N */
        assert_int_equal(t.puts, 6);
        assert_true(t.kernels <= 5);
        assert_int_equal(plan->layout.shape.nslots, 6); /* 2 (p - 1) */
        gdr_plan_free(plan);
    }
}

static void ring_needs_three_slots(void **state)
{
    gdr_plan_params_t params = plan_test_params("ring");

    (void)state;
    for (int32_t p = 2; p <= 1024; p *= 2) {
        gdr_plan_request_t request = plan_test_request(&params, p, 4096 * (uint64_t)p, 4);
        gdr_plan_t *plan;
        totals_t t;

        assert_int_equal(gdr_plan_make(&request, &plan), GDR_OK);
        t = count_work(plan->last);
        assert_int_equal(plan->layout.shape.nslots, 3);
        assert_int_equal(t.put_bytes * (uint64_t)p, 2 * (uint64_t)(p - 1) * plan->last->bytes);
        gdr_plan_free(plan);
    }
}

/* What selection believes of an algorithm is what its schedule does. */
static void assert_work(const gdr_algorithm_t *algorithm, int32_t p, uint64_t count)
{
    gdr_plan_params_t params = plan_test_params(algorithm->name);
    gdr_plan_request_t request = plan_test_request(&params, p, count, 4);
    totals_t most = {0}, t;
    gdr_work_t work;

    for (request.rank = 0; request.rank < p; request.rank++) {
        gdr_plan_t *plan;

        assert_int_equal(gdr_plan_make(&request, &plan), GDR_OK);
        assert_int_equal(plan->nsegments, 1);
        t = count_work(plan->last);
        most.traffic = t.traffic > most.traffic ? t.traffic : most.traffic;
        most.put_bytes = t.put_bytes > most.put_bytes ? t.put_bytes : most.put_bytes;
        most.puts = t.puts > most.puts ? t.puts : most.puts;
        gdr_plan_free(plan);
    }
    algorithm->work(&request, count * 4, &work);
    if (most.puts != work.link[GDR_LINK_NET].puts ||
        most.put_bytes != work.link[GDR_LINK_NET].sent || most.traffic > work.touched ||
        10 * most.traffic < 9 * work.touched)
        fail_msg("%s, %d ranks: %llu puts of %llu bytes, %llu touched; said: %llu, %llu, %llu",
                 algorithm->name, (int)p, (unsigned long long)most.puts,
                 (unsigned long long)most.put_bytes, (unsigned long long)most.traffic,
                 (unsigned long long)work.link[GDR_LINK_NET].puts,
                 (unsigned long long)work.link[GDR_LINK_NET].sent,
                 (unsigned long long)work.touched);
}

static void work_is_what_the_schedule_does(void **state)
{
    (void)state;
    for (const gdr_algorithm_t *const *a = gdr_plan_algorithms(); *a != NULL; a++)
        for (int32_t p = 2; p <= 48; p++) {
            gdr_plan_params_t params = plan_test_params((*a)->name);
            uint64_t count = (uint64_t)p * 8;
            gdr_plan_request_t request = plan_test_request(&params, p, count, 4);
            gdr_shape_t shape;

            if ((*a)->shape(&request, &shape))
                assert_work(*a, p, count);
        }
}

static void count_links(const gdr_sched_t *sched, const gdr_topology_t *topology,
                        gdr_flow_t most[GDR_LINKS])
{
    gdr_flow_t flow[GDR_LINKS] = {{0}};

    for (uint32_t i = 0; i < sched->nsteps; i++) {
        const gdr_step_t *s = &sched->steps[i];
        bool inside;

        if (s->kind != GDR_STEP_PUT)
            continue;
        inside = topology->node[s->peer] == topology->node[sched->rank];
        flow[inside ? GDR_LINK_NODE : GDR_LINK_NET].puts++;
        flow[inside ? GDR_LINK_NODE : GDR_LINK_NET].sent += s->bytes;
    }
    for (uint32_t i = 0; i < GDR_LINKS; i++) {
        most[i].puts = flow[i].puts > most[i].puts ? flow[i].puts : most[i].puts;
        most[i].sent = flow[i].sent > most[i].sent ? flow[i].sent : most[i].sent;
    }
}

/* What of it stays inside nodes: pairs of ranks. */
static void work_tells_links_apart(void **state)
{
    static const char *const names[] = {"oneshot", "twoshot", "ring"};

    (void)state;
    for (size_t a = 0; a < 3; a++)
        for (int32_t p = 2; p <= (a == 0 ? 16 : 24); p += 2) {
            gdr_plan_params_t params = plan_test_params(names[a]);
            gdr_plan_request_t request = plan_test_request(&params, p, (uint64_t)p * 8, 4);
            gdr_topology_t *topology = plan_test_pairs(p);
            gdr_flow_t most[GDR_LINKS] = {{0}};
            gdr_work_t work = {.sent = 0};

            request.topology = topology;
            for (request.rank = 0; request.rank < p; request.rank++) {
                gdr_plan_t *plan;

                assert_int_equal(gdr_plan_make(&request, &plan), GDR_OK);
                count_links(plan->last, topology, most);
                plan->algorithm->work(&request, request.count * 4, &work);
                gdr_plan_free(plan);
            }
            for (uint32_t i = 0; i < GDR_LINKS; i++)
                if (most[i].puts != work.link[i].puts || most[i].sent != work.link[i].sent)
                    fail_msg("%s, %d ranks, link %u: %u puts, said: %u", names[a], (int)p,
                             (unsigned)i, (unsigned)most[i].puts, (unsigned)work.link[i].puts);
            gdr_topology_free(topology);
        }
}

static void circulant_takes_logarithmic_steps(void **state)
{
    gdr_plan_params_t params = plan_test_params("circulant");
    uint64_t steps = 0;

    (void)state;
    for (int32_t p = 2; p <= 100; p++) {
        gdr_plan_request_t request = plan_test_request(&params, p, (uint64_t)p * 4, 4);
        gdr_plan_t *plan;
        gdr_work_t work;
        totals_t t;

        if (p > 1 << steps / 2)
            steps += 2; /* 2 ceil(log2 p) */
        assert_int_equal(gdr_plan_make(&request, &plan), GDR_OK);
        t = count_work(plan->last);
        plan->algorithm->work(&request, plan->last->bytes, &work);
        assert_int_equal(t.puts, steps);
        assert_int_equal(work.link[GDR_LINK_NET].steps, steps);
        assert_int_equal(t.put_bytes * (uint64_t)p, 2 * (uint64_t)(p - 1) * plan->last->bytes);
        gdr_plan_free(plan);
    }
}

/* Few steps for any number of ranks; a step there and one back if it has a large prime factor. */
static void knomial_takes_few_steps(void **state)
{
    static const struct {
        int32_t p;
        uint32_t steps, puts;
    } cases[] = {{2, 1, 1},   {3, 1, 2},     {4, 1, 3},     {7, 1, 6},
                 {8, 2, 4},   {9, 2, 4},     {11, 4, 5},    {12, 2, 5},
                 {13, 4, 5},  {63, 3, 10},   {64, 3, 9},    {67, 5, 10},
                 {97, 5, 10}, {8191, 8, 19}, {8192, 7, 19}, {INT32_MAX, 17, 46}};

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        gdr_plan_params_t params = plan_test_params("knomial");
        gdr_plan_request_t request = plan_test_request(&params, cases[i].p, 64, 4);
        gdr_plan_t *plan;
        gdr_work_t work;

        assert_int_equal(gdr_plan_make(&request, &plan), GDR_OK);
        plan->algorithm->work(&request, 256, &work);
        gdr_plan_free(plan);
        if (work.link[GDR_LINK_NET].steps != cases[i].steps ||
            work.link[GDR_LINK_NET].puts != cases[i].puts)
            fail_msg("%d ranks: %u steps, %u puts", (int)cases[i].p,
                     (unsigned)work.link[GDR_LINK_NET].steps,
                     (unsigned)work.link[GDR_LINK_NET].puts);
    }
}

static void printing(void **state)
{
    gdr_plan_params_t params = plan_test_params("ring");
    gdr_plan_request_t request = plan_test_request(&params, 3, 100, 4);
    char text[8192] = "";
    FILE *file = fmemopen(text, sizeof(text), "w");
    gdr_plan_t *plan;

    (void)state;
    assert_non_null(file);
    assert_int_equal(gdr_plan_make(&request, &plan), GDR_OK);
    gdr_sched_print(plan->last, file);
    fclose(file);
    assert_non_null(strstr(text, "rank 0 of 3, segment of 400 bytes"));
    assert_non_null(strstr(text, "reduce"));
    assert_non_null(strstr(text, "credit of wait 2 after 3 4"));
    gdr_plan_free(plan);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(defaults_are_usable),
        cmocka_unit_test(hostile_parameters_are_refused),
        cmocka_unit_test(hostile_requests_are_refused),
        cmocka_unit_test(selection),
        cmocka_unit_test(segments_cover_any_message),
        cmocka_unit_test(huge_messages),
        cmocka_unit_test(more_than_2_63_bytes),
        cmocka_unit_test(middle_sizes_overlap),
        cmocka_unit_test(twoshot_costs_what_is_said),
        cmocka_unit_test(ring_needs_three_slots),
        cmocka_unit_test(work_is_what_the_schedule_does),
        cmocka_unit_test(work_tells_links_apart),
        cmocka_unit_test(circulant_takes_logarithmic_steps),
        cmocka_unit_test(knomial_takes_few_steps),
        cmocka_unit_test(printing),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
