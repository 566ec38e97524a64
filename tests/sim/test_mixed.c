/*
 * Host and device buffers mixed across the ranks of one call, as the seed says: blocking and
 * nonblocking, several outstanding, with communicators made before and after, device resets,
 * faults, a member that is late at every possible moment. Every call ends with the right result, by
 * the device if all ranks had device buffers; a call that was given up has touched nothing.
 */
#include "tests/sim/harness.h"

enum { CALLS = 40, OUTSTANDING = 6 };

typedef enum pattern { COIN, RARE, RANK_0, FIRST, LAST_RANK, PATTERNS, ALIKE } pattern_t;

static uint64_t draw_hosts(sim_world_t *world, pattern_t pattern, int k)
{
    uint64_t all = (1ull << world->options.nprocs) - 1, hosts = 0;
    int p;

    switch (pattern) {
    case COIN:
        hosts = sim_random(world, 2) == 0 ? sim_random(world, all + 1) : 0;
        break;
    case RARE:
        for (p = 0; p < world->options.nprocs; p++)
            hosts |= sim_random(world, 10) == 0 ? 1ull << p : 0;
        break;
    case RANK_0:
        hosts = sim_random(world, 4) != 0;
        break;
    case FIRST:
        hosts = k < 5 ? sim_random(world, all + 1) : 0;
        break;
    case ALIKE:
        hosts = sim_random(world, 2) == 0 ? all : 0;
        break;
    default:
        hosts = sim_random(world, 3) == 0 ? 1ull << (world->options.nprocs - 1) : 0;
        break;
    }
    return hosts;
}

/* What every rank does: posts calls in order, waits for nonblocking ones now and then. */
typedef struct writer {
    sim_case_t *c;
    int proc;
    int open[OUTSTANDING], nopen;
} writer_t;

static void write_wait(writer_t *w)
{
    int i = (int)sim_random(w->c->world, (uint64_t)w->nopen);

    sim_script_do(w->c->script, w->proc, SIM_WAIT, w->open[i]);
    w->open[i] = w->open[--w->nopen];
}

static void write_call(writer_t *w, int call)
{
    sim_world_t *world = w->c->world;

    if (sim_random(world, 8) == 0)
        sim_script_do(w->c->script, w->proc, SIM_PAUSE, (int)sim_random(world, 400));
    sim_script_do(w->c->script, w->proc, SIM_POST, call);
    if (w->c->script->calls[call].blocking) {
        sim_script_do(w->c->script, w->proc, SIM_WAIT, call);
        return;
    }
    w->open[w->nopen++] = call;
    while (w->nopen == OUTSTANDING || (w->nopen > 0 && sim_random(world, 3) == 0))
        write_wait(w);
}

static void write_rank(sim_case_t *c, int proc, int team, bool resets)
{
    writer_t w = {.c = c, .proc = proc};
    int k;

    sim_script_do(c->script, proc, SIM_CREATE, team);
    for (k = 0; k < c->script->ncalls; k++) {
        if (resets && w.nopen == 0 && sim_random(c->world, 12) == 0)
            sim_script_do(c->script, proc, SIM_RESET, 0);
        write_call(&w, k);
    }
    while (w.nopen > 0)
        write_wait(&w);
    sim_script_do(c->script, proc, SIM_FREE, team);
}

/* All ranks do so on the only communicator. */
static void start_ranks(sim_case_t *c, bool resets)
{
    int p;

    sim_start(c->world);
    for (p = 0; p < c->world->options.nprocs; p++)
        write_rank(c, p, 0, resets);
}

static sim_case_t mixed_case(int nprocs, uint64_t seed, pattern_t pattern, bool blocking)
{
    sim_options_t options = sim_options(nprocs, seed);
    const sim_mode_t *mode = &sim_modes[seed % SIM_MODES];
    sim_case_t c;
    int team, k;

    options.maps = seed / 2 % 2 == 0;
    options.emulates = seed / 5 % 3 == 0;
    options.large_lane = seed / 3 % 2 == 0 ? 1 << 20 : 0;
    options.reenter = true;
    options.late_words = (unsigned)(seed % 3) * 5;
    options.flush_rdma = seed % 2 == 0;
    c = sim_case(&options, seed / 4 % 2 ? "ring" : "twoshot", mode);
    team = sim_script_team(c.script);
    for (k = 0; k < CALLS; k++) {
        int call = sim_add_call(&c, team, 1 + sim_random(c.world, 5) * 1500, blocking);
        sim_call_t *made = &c.script->calls[call];

        made->in_place = sim_random(c.world, 2) == 0;
        made->blocking = blocking || sim_random(c.world, 3) == 0;
        made->host = draw_hosts(c.world, pattern, k);
        made->expect = made->host == 0 ? SIM_EXPECT_OK : SIM_EXPECT_HOST;
    }
    return c;
}

/* Streams know nothing of each other: what one still has to do for a call is not met by the next.
 */
static void test_slow_streams(void **state)
{
    uint64_t seed;

    (void)state;
    for (seed = 0; seed < 200; seed++) {
        int nprocs = 2 + (int)(seed % 5);
        sim_case_t c =
            mixed_case(nprocs, 300 + seed, (pattern_t)(seed / 5 % PATTERNS), seed / 25 % 3 == 0);

        c.world->options.slow_streams = 6;
        start_ranks(&c, false);
        assert_true(sim_case_end(&c, "mixed calls and slow streams"));
    }
}

/* Questions come late: votes and verdicts are ahead of the news, and say which calls are over. */
static void test_slow_questions(void **state)
{
    uint64_t seed;

    (void)state;
    for (seed = 0; seed < 100; seed++) {
        int nprocs = 2 + (int)(seed % 4), p;
        sim_case_t c =
            mixed_case(nprocs, 400 + seed, (pattern_t)(seed / 4 % PATTERNS), seed / 20 % 2 == 0);

        for (p = 0; p < nprocs; p++)
            c.world->procs[p].config.ask_ns = 3000000;
        start_ranks(&c, seed % 2 == 0);
        for (p = 0; p < CALLS && seed % 2 == 0; p++)
            c.script->calls[p].expect = SIM_EXPECT_RIGHT;
        assert_true(sim_case_end(&c, "mixed calls and slow questions"));
    }
}

static void run_random(int nprocs, uint64_t seed, pattern_t pattern, bool blocking)
{
    sim_case_t c = mixed_case(nprocs, seed, pattern, blocking);
    char what[80];
    int p;

    for (p = 0; p < nprocs; p++)
        c.world->procs[p].config.mixed = pattern != ALIKE || seed % 2 == 0;

    start_ranks(&c, false);
    snprintf(what, sizeof(what), "%d ranks, pattern %d%s", nprocs, (int)pattern,
             blocking ? ", blocking" : "");
    assert_true(sim_case_end(&c, what));
}

static void test_random(void **state)
{
    static const int sizes[] = {2, 3, 4, 5, 8};
    uint64_t seed;

    (void)state;
    for (seed = 0; seed < 200; seed++)
        run_random(sizes[seed % 5], 100 + seed, (pattern_t)(seed / 5 % PATTERNS),
                   seed / 25 % 3 == 0);
}

/* Host calls and device calls, each alike on all ranks: also without any question. */
static void test_alike(void **state)
{
    uint64_t seed;

    (void)state;
    for (seed = 0; seed < 100; seed++)
        run_random(2 + (int)(seed % 4), 2000 + seed, ALIKE, seed % 7 == 0);
}

/* Lanes are made anew meanwhile, for a call that some ranks have passed in host memory. */
static bool run_reset(uint64_t seed)
{
    int nprocs = 2 + (int)(seed % 4), k;
    sim_case_t c = mixed_case(nprocs, 9000 + seed, (pattern_t)(seed % PATTERNS), seed % 3 == 0);

    c.world->options.keeps_mappings = seed % 5 == 4;
    for (k = 0; k < CALLS; k++)
        c.script->calls[k].expect = SIM_EXPECT_RIGHT;
    start_ranks(&c, true);
    return sim_case_end(&c, "mixed calls and device resets");
}

static void test_resets(void **state)
{
    /* A device that is reset between two epochs: rare among the others. */
    static const uint64_t rare[] = {750, 1542, 1557, 1890};
    uint64_t seed;

    (void)state;
    for (seed = 0; seed < 400; seed++)
        assert_true(run_reset(seed));
    for (seed = 0; seed < sizeof(rare) / sizeof(rare[0]); seed++)
        assert_true(run_reset(rare[seed]));
}

/* One rank is a host rank, and comes late: by then the others are anywhere in their schedules. */
static bool run_late(const char *algorithm, const sim_mode_t *mode, int nprocs, int host, int late)
{
    enum { MIXED = 2 }; /* those before it begin together: engine/begin.c */
    sim_options_t options = sim_options(nprocs, 7 + (uint64_t)late);
    sim_case_t c = sim_case(&options, algorithm, mode);
    int team = sim_script_team(c.script), k, p;
    bool ok;

    sim_start(c.world);
    for (k = 0; k < 5; k++) {
        sim_add_call(&c, team, 20000, mode->blocking);
        c.script->calls[k].in_place = (late + k) % 2 == 0;
        c.script->calls[k].host = k == MIXED ? 1ull << host : 0;
        c.script->calls[k].expect = k == MIXED ? SIM_EXPECT_HOST : SIM_EXPECT_OK;
    }
    for (p = 0; p < nprocs; p++) {
        sim_script_do(c.script, p, SIM_CREATE, team);
        for (k = 0; k < 5; k++) {
            if (k == MIXED && p == host)
                sim_script_do(c.script, p, SIM_PAUSE, late);
            sim_script_do(c.script, p, SIM_POST, k);
            if (mode->blocking)
                sim_script_do(c.script, p, SIM_WAIT, k);
        }
        for (k = 0; k < 5 && !mode->blocking; k++)
            sim_script_do(c.script, p, SIM_WAIT, k);
        sim_script_do(c.script, p, SIM_FREE, team);
    }
    ok = sim_case_end(&c, "a late host rank");
    if (!ok)
        print_message("%s, %s, rank %d of %d is %d turns late\n", algorithm, mode->name, host,
                      nprocs, late);
    return ok;
}

static void test_every_moment(void **state)
{
    unsigned m;
    int late, nprocs;

    (void)state;
    for (m = 0; m < SIM_MODES; m++) {
        for (nprocs = 2; nprocs <= 4; nprocs++) {
            for (late = 0; late < 900; late += late < 300 ? 13 : 61) {
                assert_true(run_late("twoshot", &sim_modes[m], nprocs, late % nprocs, late));
                assert_true(run_late("ring", &sim_modes[m], nprocs, late % nprocs, late));
            }
        }
    }
}

/* A process that uses no device for this communicator says so when asked, whatever its rank. */
static void test_absent(void **state)
{
    uint64_t seed;

    (void)state;
    for (seed = 0; seed < 40; seed++) {
        int nprocs = 2 + (int)(seed % 4), absent = (int)(seed / 4) % nprocs, k;
        sim_case_t c = mixed_case(nprocs, 500 + seed, COIN, seed % 2 == 0);

        c.script->teams[0].absent = absent;
        for (k = 0; k < CALLS; k++) {
            c.script->calls[k].host |= 1ull << absent;
            c.script->calls[k].expect = SIM_EXPECT_HOST;
        }
        start_ranks(&c, false);
        assert_true(sim_case_end(&c, "a process without a module"));
    }
}

/* Whatever port fails in one process meanwhile: every call ends. */
static void test_faults(void **state)
{
    uint64_t n;

    (void)state;
    for (n = 1; n < 1500; n += n < 100 ? 1 : 13) {
        sim_case_t c = mixed_case(3, n, (pattern_t)(n % PATTERNS), n % 2 == 0);
        int k;

        for (k = 0; k < CALLS; k++)
            c.script->calls[k].expect = SIM_EXPECT_END;
        c.world->procs[n % 3].fail_port_call = n;
        start_ranks(&c, false);
        assert_true(sim_case_end(&c, "mixed calls and a port that fails"));
    }
}

/* Votes that get lost, because a process has no engine yet, are asked for. */
static void test_lost_votes(void **state)
{
    uint64_t seed;

    (void)state;
    for (seed = 0; seed < 60; seed++) {
        int nprocs = 2 + (int)(seed % 4);
        sim_case_t c = mixed_case(nprocs, 700 + seed, RANK_0, seed % 2 == 0);

        c.world->deaf = true;
        start_ranks(&c, false);
        assert_true(sim_case_end(&c, "lost votes"));
    }
}

/* A mixed call takes no longer than questions and answers do; after the first one no wait at all.
 */
static void test_hurry(void **state)
{
    const gdr_engine_config_t *config;
    gdr_engine_stats_t stats;
    uint64_t seed;

    (void)state;
    for (seed = 0; seed < 20; seed++) {
        sim_case_t c = mixed_case(2, seed, LAST_RANK, true);
        int p;

        sim_start(c.world);
        config = &c.world->procs[0].config;
        assert_int_equal(config->ask_ns, 20000);
        for (p = 0; p < 2; p++)
            write_rank(&c, p, 0, false);
        assert_true(sim_script_run(c.script));
        gdr_engine_stats(c.world->procs[0].engine, &stats);
        assert_true(stats.turned > 0 && stats.questions >= stats.turned);
        assert_true(sim_case_end(&c, "questions"));
    }
}

static void turns_are_long(sim_script_t *script)
{
    script->world->now += 5000;
}

/*
 * Questions become rarer: a rank that is late by much, to many calls, must not find so many of them
 * that it does not get through.
 */
static void test_patience(void **state)
{
    enum { TURNS = 6000, LONG = 50000000, FEW = 30 };
    sim_options_t options = sim_options(2, 5);
    sim_case_t c = sim_case(&options, "oneshot", &sim_modes[0]);
    int team = sim_script_team(c.script), p, k;
    gdr_engine_stats_t stats;

    (void)state;
    for (k = 0; k < 2; k++) {
        sim_add_call(&c, team, 1000, true);
        c.script->calls[k].host = k == 1 ? 1ull << 1 : 0;
        c.script->calls[k].expect = k == 1 ? SIM_EXPECT_HOST : SIM_EXPECT_OK;
    }
    c.script->hook = turns_are_long;
    sim_start(c.world);
    for (p = 0; p < 2; p++) {
        sim_script_do(c.script, p, SIM_CREATE, team);
        for (k = 0; k < 2; k++) {
            if (k == 1 && p == 1)
                sim_script_do(c.script, p, SIM_PAUSE, TURNS);
            sim_script_do(c.script, p, SIM_POST, k);
            sim_script_do(c.script, p, SIM_WAIT, k);
        }
        sim_script_do(c.script, p, SIM_FREE, team);
    }
    assert_true(sim_script_run(c.script));
    gdr_engine_stats(c.world->procs[0].engine, &stats);
    assert_true(c.world->now > LONG);
    assert_in_range(stats.questions, 1, FEW);
    assert_true(sim_case_end(&c, "a rank that is late by much"));
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_random),         cmocka_unit_test(test_slow_streams),
        cmocka_unit_test(test_slow_questions), cmocka_unit_test(test_alike),
        cmocka_unit_test(test_every_moment),   cmocka_unit_test(test_absent),
        cmocka_unit_test(test_lost_votes),     cmocka_unit_test(test_resets),
        cmocka_unit_test(test_faults),         cmocka_unit_test(test_hurry),
        cmocka_unit_test(test_patience),
    };

    if (argc == 3) /* one seed of test_resets */
        return !run_reset(strtoull(argv[2], NULL, 0));
    if (argc == 2) /* these alone */
        cmocka_set_test_filter(argv[1]);
    if (argc == 4) { /* ranks, seed, pattern: one run again */
        run_random(atoi(argv[1]), strtoull(argv[2], NULL, 0), (pattern_t)atoi(argv[3]), false);
        return 0;
    }
    return cmocka_run_group_tests(tests, NULL, NULL);
}
