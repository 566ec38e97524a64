/* Right results: sizes, counts, algorithms, both flag modes, host-driven and stream-ordered. */
#include "tests/sim/harness.h"

/* Nodes of two and a single one behind them, of three and the rest, dealt out to two. */
static uint64_t node_of(int proc, int nprocs, uint64_t seed)
{
    switch (seed / 100 % 3) {
    case 0:
        return 1 + (uint64_t)proc / 2;
    case 1:
        return proc < 3 || proc == nprocs - 1 ? 7 : 5;
    default:
        return UINT64_MAX - (uint64_t)proc % 2;
    }
}

/* Posts all calls, then waits for them in reverse order (blocking ones one by one). */
static bool run_calls(int nprocs, uint64_t seed, const char *algorithm, const sim_mode_t *mode,
                      const sim_call_t *calls, int ncalls)
{
    sim_options_t options = sim_options(nprocs, seed);
    sim_case_t c;
    char what[100];
    int team, i;

    options.reenter = true;
    options.flush_rdma = seed % 2 == 0;
    options.maps = seed / 100 % 2 == 0;
    c = sim_case(&options, algorithm, mode);
    for (i = 0; i < nprocs; i++) {
        c.world->procs[i].config.node = node_of(i, nprocs, seed);
        if (nprocs > 16)
            c.world->procs[i].config.plan.lane_bytes = 256 << 10;
    }
    sim_start(c.world);
    team = sim_script_team(c.script);
    sim_script_all(c.script, SIM_CREATE, team);
    for (i = 0; i < ncalls; i++) {
        sim_call_t call = calls[i];

        call.team = team;
        call.blocking = mode->blocking;
        sim_script_call(c.script, &call);
        sim_script_all(c.script, SIM_POST, i);
        if (mode->blocking)
            sim_script_all(c.script, SIM_WAIT, i);
    }
    for (i = 0; i < ncalls && !mode->blocking; i++)
        sim_script_all(c.script, SIM_WAIT, ncalls - 1 - i);
    sim_script_all(c.script, SIM_FREE, team);
    snprintf(what, sizeof(what), "%d ranks, %s, %s", nprocs, algorithm, mode->name);
    return sim_case_end(&c, what);
}

/* Segments of one chunk, where others have one for each rank: as many segments for less. */
static bool is_for_small(const char *algorithm)
{
    return strcmp(algorithm, "oneshot") == 0 || strcmp(algorithm, "knomial") == 0;
}

static void run_sizes(int nprocs, const char *algorithm, uint64_t seed)
{
    uint64_t p = (uint64_t)nprocs, less = is_for_small(algorithm) ? 10 : 1;
    sim_call_t calls[] = {
        {.count = 1, .op = GDR_OP_SUM, .type = GDR_TYPE_FLOAT32},
        {.count = p > 1 ? p - 1 : 1, .op = GDR_OP_SUM, .type = GDR_TYPE_INT32, .in_place = true},
        {.count = p, .op = GDR_OP_PROD, .type = GDR_TYPE_INT64},
        {.count = 1023, .op = GDR_OP_MAX, .type = GDR_TYPE_FLOAT64, .in_place = true},
        {.count = 40000 / less, .op = GDR_OP_SUM, .type = GDR_TYPE_FLOAT32},
        {.count = 70001 / less, .op = GDR_OP_SUM, .type = GDR_TYPE_INT32, .in_place = true},
        {.count = 3, .op = GDR_OP_MIN, .type = GDR_TYPE_INT64},
    };
    unsigned m;

    for (m = 0; m < SIM_MODES; m++)
        assert_true(run_calls(nprocs, seed + m, algorithm, &sim_modes[m], calls,
                              sizeof(calls) / sizeof(calls[0])));
}

static void run_ranks(const char *algorithm, int first)
{
    int p;

    for (p = first; p <= 16; p++)
        run_sizes(p, algorithm, (uint64_t)p * 100);
}

static void test_oneshot(void **state)
{
    (void)state;
    run_ranks("oneshot", 2);
}

static void test_knomial(void **state)
{
    (void)state;
    run_ranks("knomial", 2);
}

static void test_twoshot(void **state)
{
    (void)state;
    run_ranks("twoshot", 1);
}

static void test_circulant(void **state)
{
    (void)state;
    run_ranks("circulant", 2);
}

static void test_ring(void **state)
{
    (void)state;
    run_ranks("ring", 2);
}

static void test_hierarchical(void **state)
{
    (void)state;
    run_ranks("hierarchical", 5);
}

static void test_large_teams(void **state)
{
    sim_call_t calls[] = {
        {.count = 70, .op = GDR_OP_SUM, .type = GDR_TYPE_FLOAT32},
        {.count = 20000, .op = GDR_OP_SUM, .type = GDR_TYPE_INT64, .in_place = true},
    };

    (void)state;
    assert_true(run_calls(33, 1, "twoshot", &sim_modes[0], calls, 2));
    assert_true(run_calls(33, 2, "twoshot", &sim_modes[2], calls, 2));
    assert_true(run_calls(33, 6, "circulant", &sim_modes[3], calls, 2));
    assert_true(run_calls(37, 7, "knomial", &sim_modes[2], calls, 2));
    assert_true(run_calls(41, 200, "hierarchical", &sim_modes[2], calls, 2));
    assert_true(run_calls(33, 3, "ring", &sim_modes[1], calls, 2));
    assert_true(run_calls(64, 4, "ring", &sim_modes[2], calls, 2));
    assert_true(run_calls(64, 5, "auto", &sim_modes[1], calls, 2));
}

static void test_seeds(void **state)
{
    static const char *const algorithms[] = {"ring", "twoshot", "oneshot", "circulant", "knomial"};
    sim_call_t calls[] = {
        {.count = 9, .op = GDR_OP_SUM, .type = GDR_TYPE_FLOAT32},
        {.count = 9000, .op = GDR_OP_SUM, .type = GDR_TYPE_INT32, .in_place = true},
        {.count = 30000, .op = GDR_OP_SUM, .type = GDR_TYPE_INT32},
    };
    uint64_t seed;

    (void)state;
    for (seed = 0; seed < 120; seed++)
        assert_true(run_calls(2 + (int)(seed % 4), 5000 + seed, algorithms[seed / 4 % 5],
                              &sim_modes[seed % SIM_MODES], calls, 3));
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_oneshot),
        cmocka_unit_test(test_knomial),
        cmocka_unit_test(test_twoshot),
        cmocka_unit_test(test_circulant),
        cmocka_unit_test(test_ring),
        cmocka_unit_test(test_hierarchical),
        cmocka_unit_test(test_large_teams),
        cmocka_unit_test(test_seeds),
    };

    if (argc == 4) { /* ranks, algorithm, seed: one run again */
        run_sizes(atoi(argv[1]), argv[2], strtoull(argv[3], NULL, 0));
        return 0;
    }
    return cmocka_run_group_tests(tests, NULL, NULL);
}
