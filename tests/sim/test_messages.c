/* Control messages that are early, late, garbled, hostile; counters; what a standing call says. */
#include "tests/sim/harness.h"

#include "engine/gdr_messages.h"
#include "engine/gdr_engine_priv.h"

static void deliver_noise(sim_script_t *script)
{
    sim_world_t *world = script->world;
    uint8_t noise[GDR_CTL_MAX];
    size_t i, bytes = sim_random(world, GDR_CTL_MAX + 1);
    int to = (int)sim_random(world, (uint64_t)world->options.nprocs);
    uint32_t magic = GDR_MESSAGE_MAGIC;

    for (i = 0; i < bytes; i++)
        noise[i] = (uint8_t)sim_random(world, 256);
    if (bytes >= sizeof(gdr_message_head_t) && sim_random(world, 2) == 0) {
        memcpy(noise, &magic, sizeof(magic)); /* a little further into the parser */
        noise[4] = (uint8_t)sim_random(world, 9);
        noise[5] = 0;
    }
    gdr_engine_deliver(world->procs[to].engine,
                       (int)sim_random(world, (uint64_t)world->options.nprocs), noise, bytes);
    script->hook_state++;
}

static int add_rounds(sim_case_t *c, int team, int n)
{
    int k, call = 0;

    for (k = 0; k < n; k++) {
        call = sim_add_call(c, team, 1 + 500 * (uint64_t)k, false);
        sim_script_all(c->script, SIM_POST, call);
        sim_script_all(c->script, SIM_WAIT, call);
    }
    return call;
}

static void test_noise(void **state)
{
    uint64_t seed;

    (void)state;
    for (seed = 1; seed <= 10; seed++) {
        sim_options_t options = sim_options(3, seed);
        sim_case_t c = sim_case(&options, "auto", &sim_modes[1]);
        int team = sim_script_team(c.script);

        sim_start(c.world);
        sim_script_all(c.script, SIM_CREATE, team);
        add_rounds(&c, team, 4);
        sim_script_all(c.script, SIM_FREE, team);
        c.script->hook = deliver_noise;
        sim_script_run(c.script);
        assert_true(c.script->hook_state > 100);
        assert_true(c.world->rejected > 100);
        assert_true(sim_case_end(&c, "noise"));
    }
}

/* Well-formed messages of members, but not what is due: once a team runs, all are refused. */
static void deliver_forged(sim_script_t *script)
{
    static const size_t sizes[] = {0, sizeof(gdr_vote_body_t), sizeof(gdr_verdict_body_t),
                                   sizeof(gdr_lane_body_t)};
    sim_world_t *world = script->world;
    struct {
        gdr_message_head_t head;
        uint8_t body[512];
    } m;
    int from = (int)sim_random(world, 3), to = (int)sim_random(world, 3);
    unsigned type = 1 + (unsigned)sim_random(world, 3);

    if (script->ranks[0].position < 6) /* CREATE, two calls of POST, WAIT: all are wired */
        return;
    memset(&m, 0, sizeof(m));
    m.head.magic = GDR_MESSAGE_MAGIC;
    m.head.type = (uint16_t)type;
    m.head.bytes = (uint16_t)sizes[type];
    m.head.total = m.head.bytes;
    m.head.team = script->teams[0].id;
    m.head.nonce = script->teams[0].nonce;
    m.head.rank = sim_random(world, 4) == 0 ? (int)sim_random(world, 1000) - 500 : from;
    gdr_engine_deliver(world->procs[to].engine, from, &m, sizeof(m.head) + m.head.bytes);
    /* Between processes: pieces that do not follow each other, a key a second time. */
    m.head.type = sim_random(world, 2) ? GDR_MESSAGE_PROC : GDR_MESSAGE_WINDOW;
    m.head.total = (uint32_t)sim_random(world, 2000);
    m.head.offset = (uint32_t)sim_random(world, 2000);
    m.head.bytes = (uint16_t)sim_random(world, 512);
    gdr_engine_deliver(world->procs[to].engine, from, &m, sizeof(m.head) + m.head.bytes);
    script->hook_state++;
}

static void test_forged(void **state)
{
    uint64_t seed;

    (void)state;
    for (seed = 1; seed <= 10; seed++) {
        sim_options_t options = sim_options(3, seed);
        sim_case_t c = sim_case(&options, "twoshot", &sim_modes[seed % SIM_MODES]);
        int team = sim_script_team(c.script);

        sim_start(c.world);
        sim_script_all(c.script, SIM_CREATE, team);
        add_rounds(&c, team, 12);
        sim_script_all(c.script, SIM_FREE, team);
        c.script->hook = deliver_forged;
        sim_script_run(c.script);
        assert_true(c.world->rejected > 20);
        assert_true(sim_case_end(&c, "forged messages"));
    }
}

/* Messages about communicators that never come to be do not crowd out those that do. */
static void test_flood(void **state)
{
    enum { FLOOD = 6000 };
    sim_options_t options = sim_options(2, 6);
    sim_case_t c = sim_case(&options, "auto", &sim_modes[1]);
    int team = sim_script_team(c.script), i;
    struct {
        gdr_message_head_t head;
        gdr_vote_body_t body;
    } m;

    (void)state;
    sim_start(c.world);
    memset(&m, 0, sizeof(m));
    m.head.magic = GDR_MESSAGE_MAGIC;
    m.head.type = GDR_MESSAGE_VOTE;
    m.head.bytes = sizeof(m.body);
    m.head.total = sizeof(m.body);
    for (i = 0; i < FLOOD; i++) {
        m.head.team = 1000 + (uint64_t)i;
        gdr_engine_deliver(c.world->procs[0].engine, 1, &m, sizeof(m));
    }
    sim_script_all(c.script, SIM_CREATE, team);
    add_rounds(&c, team, 2);
    sim_script_all(c.script, SIM_FREE, team);
    assert_true(sim_script_run(c.script));
    assert_true(c.world->rejected > 1000);
    assert_true(c.world->procs[0].engine->orphan_bytes <= GDR_ORPHAN_BYTES_MAX);
    assert_true(sim_case_end(&c, "a flood of messages"));
}

/* One process creates its communicators long after the others have used theirs. */
static void test_early(void **state)
{
    sim_options_t options = sim_options(3, 4);
    sim_case_t c = sim_case(&options, "auto", &sim_modes[1]);
    int pair[2] = {0, 2}, other, all, k;

    (void)state;
    sim_start(c.world);
    all = sim_script_team(c.script);
    other = sim_script_team_of(c.script, 2, pair);
    sim_script_all(c.script, SIM_CREATE, other);
    for (k = 0; k < 2; k++) {
        sim_script_do(c.script, k, SIM_CREATE, all);
        sim_add_call(&c, all, 300, false);
        sim_script_do(c.script, k, SIM_POST, 0);
    }
    c.script->ncalls = 1;
    for (k = 0; k < 20; k++) {
        int call = sim_add_call(&c, other, 2000, false);

        sim_script_all(c.script, SIM_POST, call);
        sim_script_all(c.script, SIM_WAIT, call);
    }
    sim_script_do(c.script, 2, SIM_CREATE, all);
    sim_script_do(c.script, 2, SIM_POST, 0);
    sim_script_all(c.script, SIM_WAIT, 0);
    sim_script_all(c.script, SIM_FREE, all);
    sim_script_all(c.script, SIM_FREE, other);
    assert_true(sim_script_run(c.script));
    for (k = 0; k < 3; k++)
        assert_null(c.world->procs[k].engine->orphans);
    assert_true(sim_case_end(&c, "early messages"));
}

static void count_schedule(const gdr_sched_t *sched, uint64_t times, gdr_engine_stats_t *stats,
                           uint64_t *waits)
{
    uint32_t i;

    for (i = 0; sched != NULL && i < sched->nsteps; i++) {
        const gdr_step_t *step = &sched->steps[i];

        if (step->kind == GDR_STEP_REDUCE || step->kind == GDR_STEP_COPY ||
            step->kind == GDR_STEP_GATHER) {
            stats->kernels += times;
        } else if (step->kind == GDR_STEP_WAIT) {
            waits[step->flag] += times;
        } else {
            stats->signals += times;
            if (step->kind == GDR_STEP_PUT && step->bytes > 0) {
                stats->puts += times;
                stats->put_bytes += times * step->bytes;
            }
        }
    }
}

/* What the plan says: every flag that comes more than once in a context costs a credit each time
 * but the last. */
static void expect_counts(const sim_world_t *world, int rank, uint64_t count,
                          gdr_engine_stats_t *stats)
{
    gdr_plan_request_t request = {.rank = rank,
                                  .size = world->options.nprocs,
                                  .count = count,
                                  .type_bytes = 4,
                                  .commutative = true,
                                  .params = &world->procs[rank].config.plan};
    gdr_plan_t *plan;
    uint32_t context, flag;

    assert_int_equal(gdr_plan_make(&request, &plan), GDR_OK);
    for (context = 0; context < plan->layout.depth && context < plan->nsegments; context++) {
        uint64_t waits[64] = {0};
        uint64_t n = (plan->nsegments - 1 - context) / plan->layout.depth + 1;
        bool last = (plan->nsegments - 1) % plan->layout.depth == context;

        count_schedule(plan->full, last ? n - 1 : n, stats, waits);
        count_schedule(plan->last, last ? 1 : 0, stats, waits);
        for (flag = 0; flag < plan->layout.shape.nflags; flag++)
            stats->signals += waits[flag] > 0 ? waits[flag] - 1 : 0;
    }
    stats->calls++;
    gdr_plan_free(plan);
}

static void test_counts(void **state)
{
    static const uint64_t counts[] = {1, 5, 1000, 30000, 100003};
    unsigned i, m;

    (void)state;
    for (m = 0; m < SIM_MODES; m++) {
        sim_options_t options = sim_options(5, m);
        sim_case_t c = sim_case(&options, m % 2 ? "ring" : "twoshot", &sim_modes[m]);
        gdr_engine_stats_t wanted, stats;
        int team = sim_script_team(c.script), r;

        sim_start(c.world);
        sim_script_all(c.script, SIM_CREATE, team);
        for (i = 0; i < 5; i++) {
            int call = sim_add_call(&c, team, counts[i], sim_modes[m].blocking);

            c.script->calls[call].type = GDR_TYPE_INT32;
            sim_script_all(c.script, SIM_POST, call);
            sim_script_all(c.script, SIM_WAIT, call);
        }
        sim_script_all(c.script, SIM_FREE, team);
        assert_true(sim_script_run(c.script));
        for (r = 0; r < 5; r++) {
            memset(&wanted, 0, sizeof(wanted));
            for (i = 0; i < 5; i++)
                expect_counts(c.world, r, counts[i], &wanted);
            gdr_engine_stats(c.world->procs[r].engine, &stats);
            wanted.questions = stats.questions; /* a matter of time */
            assert_memory_equal(&stats, &wanted, sizeof(stats));
            assert_int_equal(c.world->procs[r].puts, wanted.puts);
            assert_int_equal(c.world->procs[r].put_bytes, wanted.put_bytes);
            assert_int_equal(c.world->procs[r].words, wanted.signals);
            assert_int_equal(c.world->procs[r].kernels, wanted.kernels);
        }
        assert_true(sim_case_end(&c, "counts"));
    }
}

static void tick(sim_world_t *world, void *a, void *b)
{
    (void)world;
    (void)a;
    (void)b;
}

/* A network that takes an hour: each standing call says once what it waits for, and goes on. */
static void test_timeout(void **state)
{
    sim_options_t options = sim_options(2, 3);
    sim_case_t c;
    int team, i;

    (void)state;
    options.net_delay = 3600000000000u;
    options.log_level = GDR_LOG_WARN;
    c = sim_case(&options, "twoshot", &sim_modes[0]);
    c.world->procs[0].config.timeout_ns = c.world->procs[1].config.timeout_ns = 1000000000;
    sim_start(c.world);
    team = sim_script_team(c.script);
    sim_script_all(c.script, SIM_CREATE, team);
    sim_script_all(c.script, SIM_POST, sim_add_call(&c, team, 10, true));
    sim_script_all(c.script, SIM_WAIT, 0);
    sim_script_all(c.script, SIM_FREE, team);
    for (i = 0; i < 20000; i++)
        sim_at(c.world, (uint64_t)i * 1000000000, tick, NULL, NULL);
    assert_true(sim_script_run(c.script));
    assert_int_equal(c.world->warnings, 2);
    assert_non_null(strstr(c.world->last_log, "no progress for"));
    assert_non_null(strstr(c.world->last_log, "flag"));
    assert_true(sim_case_end(&c, "timeout"));
}

/* One that was given up, because a member is on the host, does not blame the members. */
static void test_given_up(void **state)
{
    sim_options_t options = sim_options(2, 3);
    sim_case_t c;
    int team, i, call = 0;

    (void)state;
    options.net_delay = 3600000000000u;
    options.log_level = GDR_LOG_WARN;
    c = sim_case(&options, "oneshot", &sim_modes[0]);
    c.world->procs[0].config.timeout_ns = 1000000000;
    sim_start(c.world);
    team = sim_script_team(c.script);
    sim_script_all(c.script, SIM_CREATE, team);
    for (i = 0; i < 3; i++) { /* the first ones are begun together */
        call = sim_add_call(&c, team, 10, true);
        c.script->calls[call].host = i == 2 ? 2 : 0;
        c.script->calls[call].expect = i == 2 ? SIM_EXPECT_HOST : SIM_EXPECT_OK;
        sim_script_all(c.script, SIM_POST, call);
        sim_script_all(c.script, SIM_WAIT, call);
    }
    sim_script_all(c.script, SIM_FREE, team);
    for (i = 0; i < 60000; i++)
        sim_at(c.world, (uint64_t)i * 1000000000, tick, NULL, NULL);
    assert_true(sim_script_run(c.script));
    assert_non_null(strstr(c.world->last_log, "given up"));
    assert_null(strstr(c.world->last_log, "flag "));
    assert_true(sim_case_end(&c, "given up"));
}

/* A member that never comes is named by rank 0. */
static void test_vote_timeout(void **state)
{
    sim_options_t options = sim_options(3, 3);
    sim_case_t c;
    int team, i;

    (void)state;
    options.log_level = GDR_LOG_WARN;
    c = sim_case(&options, "twoshot", &sim_modes[0]);
    sim_start(c.world);
    team = sim_script_team(c.script);
    sim_script_all(c.script, SIM_CREATE, team);
    sim_add_call(&c, team, 10, true);
    sim_script_do(c.script, 0, SIM_POST, 0);
    sim_script_do(c.script, 2, SIM_POST, 0);
    assert_true(sim_script_run(c.script));
    for (i = 0; i < 3000; i++) {
        c.world->now += 1000000000;
        sim_progress(c.world, 0);
    }
    assert_int_equal(c.world->warnings, 1);
    assert_non_null(strstr(c.world->last_log, "waits for the votes of ranks 1"));
    sim_script_do(c.script, 1, SIM_POST, 0);
    sim_script_all(c.script, SIM_WAIT, 0);
    sim_script_all(c.script, SIM_FREE, team);
    assert_true(sim_case_end(&c, "a late member"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_noise),    cmocka_unit_test(test_forged),
        cmocka_unit_test(test_early),    cmocka_unit_test(test_counts),
        cmocka_unit_test(test_timeout),  cmocka_unit_test(test_vote_timeout),
        cmocka_unit_test(test_given_up), cmocka_unit_test(test_flood),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
