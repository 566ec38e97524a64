/* Communicators: more than lanes, in any order, by the thousand; and those that are declined. */
#include "tests/sim/harness.h"

/* Every rank uses the teams in an order of its own, nonblocking, several calls in each. */
static void run_orders(int nprocs, int nteams, uint64_t seed, const sim_mode_t *mode)
{
    enum { CALLS = 3 };
    sim_options_t options = sim_options(nprocs, seed);
    sim_case_t c = sim_case(&options, "auto", mode);
    int t, k, p;

    options.maps = seed / 2 % 2 == 0;
    for (p = 0; p < nprocs; p++)
        c.world->procs[p].config.ctl_bytes = 64 * c.world->procs[p].config.plan.ctl_bytes;
    sim_start(c.world);
    for (t = 0; t < nteams; t++)
        sim_script_team(c.script);
    for (t = 0; t < nteams; t++) {
        for (k = 0; k < CALLS; k++)
            sim_add_call(&c, t, (uint64_t)t * 700 + (uint64_t)k * 5000 + 1, mode->blocking);
    }
    for (p = 0; p < nprocs; p++) {
        for (t = 0; t < nteams; t++)
            sim_script_do(c.script, p, SIM_CREATE, (t * 5 + p) % nteams);
        for (k = 0; k < CALLS; k++) {
            for (t = 0; t < nteams; t++)
                sim_script_do(c.script, p, SIM_POST, (p % 2 ? nteams - 1 - t : t) * CALLS + k);
        }
        for (t = CALLS * nteams - 1; t >= 0; t--)
            sim_script_do(c.script, p, SIM_WAIT, t);
        for (t = 0; t < nteams; t++)
            sim_script_do(c.script, p, SIM_FREE, t);
    }
    assert_true(sim_case_end(&c, "teams in different orders"));
}

static void test_orders(void **state)
{
    uint64_t seed;

    (void)state;
    for (seed = 1; seed <= 12; seed++)
        run_orders(2 + (int)(seed % 3), 12, seed, &sim_modes[1]);
}

/* Lanes for 16, teams 20: the four that come last are served otherwise, by all their members. */
static void test_no_lane_left(void **state)
{
    enum { TEAMS = 20 };
    sim_options_t options = sim_options(3, 11);
    sim_case_t c = sim_case(&options, "auto", &sim_modes[1]);
    int t;

    (void)state;
    c.world->procs[1].config.ctl_bytes = 20 * c.world->procs[1].config.plan.ctl_bytes;
    sim_start(c.world);
    for (t = 0; t < TEAMS; t++) {
        sim_script_team(c.script);
        sim_script_all(c.script, SIM_CREATE, t);
        sim_add_call(&c, t, 1000, false);
        c.script->calls[t].expect = t < 16 ? SIM_EXPECT_OK : SIM_EXPECT_HOST;
        sim_script_all(c.script, SIM_POST, t);
        sim_script_all(c.script, SIM_WAIT, t);
    }
    for (t = 0; t < TEAMS; t++)
        sim_script_all(c.script, SIM_FREE, t);
    assert_true(sim_case_end(&c, "no lane left"));
}

static void test_eight_outstanding(void **state)
{
    uint64_t seed;
    int k;

    (void)state;
    for (seed = 1; seed <= 20; seed++) {
        sim_options_t options = sim_options(2 + (int)(seed % 4), seed);
        sim_case_t c = sim_case(&options, seed % 2 ? "ring" : "twoshot", &sim_modes[1]);
        int team;

        options.maps = seed / 2 % 2 == 0;
        sim_start(c.world);
        team = sim_script_team(c.script);
        sim_script_all(c.script, SIM_CREATE, team);
        for (k = 0; k < 8; k++)
            sim_script_all(c.script, SIM_POST,
                           sim_add_call(&c, team, 100 + 3000 * (uint64_t)k, false));
        for (k = 7; k >= 0; k--)
            sim_script_all(c.script, SIM_WAIT, k);
        sim_script_all(c.script, SIM_FREE, team);
        assert_true(sim_case_end(&c, "eight outstanding"));
    }
}

/* Lanes are used again and again; late messages of one life must not disturb the next. */
static void test_thousands(void **state)
{
    enum { TEAMS = 2000 };
    sim_options_t options = sim_options(3, 5);
    sim_case_t c = sim_case(&options, "auto", &sim_modes[2]);
    int t, members[3][2] = {{0, 1}, {1, 2}, {2, 0}};

    (void)state;
    sim_start(c.world);
    for (t = 0; t < TEAMS; t++) {
        int team = t % 4 == 3 ? sim_script_team(c.script)
                              : sim_script_team_of(c.script, 2, members[t % 4]);

        sim_script_all(c.script, SIM_CREATE, team);
        sim_add_call(&c, team, 1 + (uint64_t)t % 50, t % 3 != 0);
        sim_script_all(c.script, SIM_POST, t);
        sim_script_all(c.script, SIM_WAIT, t);
        sim_script_all(c.script, SIM_FREE, team);
    }
    assert_true(sim_case_end(&c, "teams by the thousand"));
}

typedef void (*spoil_fn)(sim_case_t *c);

static void spoil_device(sim_case_t *c)
{
    c->world->procs[1].no_device = true;
}

static void spoil_parameters(sim_case_t *c)
{
    c->world->procs[2].config.plan.chunk_size = 512;
}

static void spoil_capability(sim_case_t *c)
{
    c->world->procs[2].compute_capability = 80;
}

static void spoil_window(sim_case_t *c)
{
    c->world->procs[1].config.window_bytes = 1000;
}

static void spoil_page(sim_case_t *c)
{
    c->world->procs[0].config.ctl_bytes = 0;
}

static void spoil_eligible(sim_case_t *c)
{
    c->script->teams[0].ineligible = 2;
}

static void run_declined(spoil_fn spoil, uint64_t seed)
{
    sim_options_t options = sim_options(4, seed);
    sim_case_t c = sim_case(&options, "auto", &sim_modes[seed % 2]);
    int team = sim_script_team(c.script), k;

    options.maps = seed / 2 % 2 == 0;
    spoil(&c);
    sim_start(c.world);
    sim_script_all(c.script, SIM_CREATE, team);
    for (k = 0; k < 3; k++) {
        sim_add_call(&c, team, 100 * (uint64_t)k + 1, false);
        c.script->calls[k].expect = SIM_EXPECT_HOST;
        sim_script_all(c.script, SIM_POST, k);
    }
    for (k = 0; k < 3; k++)
        sim_script_all(c.script, SIM_WAIT, k);
    sim_script_all(c.script, SIM_FREE, team);
    assert_true(sim_case_end(&c, "declined"));
}

static void test_declined(void **state)
{
    static const spoil_fn spoils[] = {spoil_device, spoil_parameters, spoil_capability,
                                      spoil_window, spoil_page,       spoil_eligible};
    unsigned i;

    (void)state;
    for (i = 0; i < sizeof(spoils) / sizeof(spoils[0]); i++) {
        run_declined(spoils[i], 2 * (uint64_t)i);
        run_declined(spoils[i], 2 * (uint64_t)i + 1);
    }
}

/* What no algorithm serves is declined by each rank for itself, and the team lives on. */
static void test_unserved_call(void **state)
{
    sim_options_t options = sim_options(5, 13);
    sim_case_t c = sim_case(&options, "ring", &sim_modes[1]);
    int team = sim_script_team(c.script), p, k;

    (void)state;
    for (p = 0; p < 5; p++) /* chunks of 256 bytes would do, 16 flags of 4 contexts would not */
        c.world->procs[p].config.plan.ctl_bytes = 128;
    sim_start(c.world);
    sim_script_all(c.script, SIM_CREATE, team);
    for (k = 0; k < 3; k++) {
        sim_add_call(&c, team, 1000, false);
        c.script->calls[k].expect = SIM_EXPECT_HOST;
        sim_script_all(c.script, SIM_POST, k);
        sim_script_all(c.script, SIM_WAIT, k);
    }
    sim_script_all(c.script, SIM_FREE, team);
    assert_true(sim_case_end(&c, "a call that no algorithm serves"));
}

static void test_bad_arguments(void **state)
{
    static const int procs[] = {0, 1};
    sim_options_t options = sim_options(2, 1);
    sim_world_t *world = sim_create(&options);
    gdr_ways_t ways;
    gdr_team_desc_t desc = {.rank = 0, .size = 2, .procs = procs, .eligible = true, .ways = &ways};
    gdr_call_desc_t bad = {.count = 0, .op = GDR_OP_SUM, .type = GDR_TYPE_INT32};
    gdr_team_t *team = NULL;
    gdr_call_t *call = NULL;

    (void)state;
    gdr_ways_init(&ways, 2);
    sim_start(world);
    desc.rank = 2;
    assert_int_equal(gdr_team_create(world->procs[0].engine, &desc, &team), GDR_ERR_INVALID);
    desc.rank = 0;
    assert_int_equal(gdr_team_create(world->procs[0].engine, &desc, &team), GDR_OK);
    assert_int_equal(gdr_call_post(team, &bad, &call), GDR_ERR_INVALID);
    bad.count = UINT64_MAX;
    assert_int_equal(gdr_call_post(team, &bad, &call), GDR_ERR_INVALID);
    bad.count = 1;
    bad.op = GDR_OP_MINLOC;
    assert_int_equal(gdr_call_post(team, &bad, &call), GDR_ERR_INVALID);
    assert_null(call);
    gdr_team_destroy(team);
    sim_finish(world);
    sim_destroy(world);
}

/* One member's "cannot" is enough: nobody waits for the vote of one with a host buffer. */
static void test_silent_member(void **state)
{
    sim_options_t options = sim_options(3, 9);
    sim_case_t c = sim_case(&options, "auto", &sim_modes[0]);
    int team = sim_script_team(c.script), call;

    (void)state;
    spoil_device(&c);
    sim_start(c.world);
    sim_script_all(c.script, SIM_CREATE, team);
    call = sim_add_call(&c, team, 10, true);
    c.script->calls[call].expect = SIM_EXPECT_HOST;
    c.script->calls[call].host = 1 << 2;
    sim_script_all(c.script, SIM_POST, call);
    sim_script_all(c.script, SIM_WAIT, call);
    sim_script_all(c.script, SIM_FREE, team);
    assert_true(sim_case_end(&c, "a member that votes no"));
}

static void test_no_stream_words(void **state)
{
    sim_options_t options = sim_options(3, 21);
    sim_case_t c;
    int team, call;

    (void)state;
    options.stream_words = false;
    c = sim_case(&options, "ring", &sim_modes[2]);
    sim_start(c.world);
    team = sim_script_team(c.script);
    sim_script_all(c.script, SIM_CREATE, team);
    call = sim_add_call(&c, team, 5000, true);
    sim_script_all(c.script, SIM_POST, call);
    sim_script_all(c.script, SIM_WAIT, call);
    sim_script_all(c.script, SIM_FREE, team);
    assert_true(sim_case_end(&c, "devices without stream words"));
}

/* Each rank wants its flags elsewhere: an edge has its receiver's mode. */
static void test_mixed_modes(void **state)
{
    uint64_t seed;
    int p, k, team;

    (void)state;
    for (seed = 1; seed <= 30; seed++) {
        sim_options_t options = sim_options(2 + (int)(seed % 4), seed);
        sim_case_t c = sim_case(&options, seed % 2 ? "ring" : "twoshot", &sim_modes[0]);

        options.maps = seed / 2 % 2 == 0;
        for (p = 0; p < options.nprocs; p++) {
            gdr_engine_config_t *config = &c.world->procs[p].config;

            config->flags = (gdr_flags_mode_t)((seed + (uint64_t)p) % 3);
            config->thread_multiple = p == 1;
            config->stream_waits = (gdr_mode_t)((seed / 3 + (uint64_t)p) % 3);
        }
        sim_start(c.world);
        team = sim_script_team(c.script);
        sim_script_all(c.script, SIM_CREATE, team);
        for (k = 0; k < 4; k++) {
            sim_add_call(&c, team, 1 + 9000 * (uint64_t)k, k % 2 == 0);
            sim_script_all(c.script, SIM_POST, k);
            sim_script_all(c.script, SIM_WAIT, k);
        }
        sim_script_all(c.script, SIM_FREE, team);
        assert_true(sim_case_end(&c, "mixed modes"));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_orders),
        cmocka_unit_test(test_no_lane_left),
        cmocka_unit_test(test_eight_outstanding),
        cmocka_unit_test(test_thousands),
        cmocka_unit_test(test_declined),
        cmocka_unit_test(test_silent_member),
        cmocka_unit_test(test_no_stream_words),
        cmocka_unit_test(test_mixed_modes),
        cmocka_unit_test(test_unserved_call),
        cmocka_unit_test(test_bad_arguments),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
