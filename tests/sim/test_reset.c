/*
 * cudaDeviceReset between calls: on all ranks, on one, on some at different times, with calls of
 * the others already running in the old lanes. Lanes are made anew; or, where the transport keeps
 * mappings that went with the context, a process that was connected puts nothing any more, and all
 * members decline from that call on. Nothing of the old context is touched: the fake device tells.
 */
#include "tests/sim/harness.h"

#include "engine/gdr_engine_priv.h"

enum { ROUNDS = 6 };

/* resets(round, rank): whether the rank resets its device before that round. Until round 0 there
 * is no device, and a process alone is connected to nobody. */
static void run_either(bool (*resets)(uint64_t seed, int round, int rank), int nprocs,
                       uint64_t seed, bool keeps, const char *what)
{
    sim_expect_t expect = SIM_EXPECT_OK;
    int p, k;
    const sim_mode_t *mode = &sim_modes[seed % SIM_MODES];
    sim_options_t options = sim_options(nprocs, seed);
    sim_case_t c;
    int team;

    options.maps = seed / 2 % 2 == 0;
    options.large_lane = seed / 3 % 2 == 0 ? 1 << 20 : 0;
    options.keeps_mappings = keeps;
    options.late_words = seed / 5 % 2 == 0 ? 5 : 0;
    options.emulates = seed / 8 % 2 == 0;
    c = sim_case(&options, seed % 3 ? "twoshot" : "ring", mode);
    team = sim_script_team(c.script);
    sim_start(c.world);
    sim_script_all(c.script, SIM_CREATE, team);
    for (k = 0; k < 2 * ROUNDS; k++)
        sim_add_call(&c, team, 50 + 3000 * (uint64_t)(k % 4), mode->blocking);
    /* In place, a kernel that ran behind a released wait would spoil the second run's input. */
    for (k = 0; k < 2 * ROUNDS; k++)
        c.script->calls[k].in_place = (seed / 4 + (uint64_t)k) % 2 == 0;
    for (k = 0; k < ROUNDS; k++) {
        for (p = 0; p < nprocs; p++) {
            if (!resets(seed, k, p))
                continue;
            sim_script_do(c.script, p, SIM_RESET, 0);
            if (k > 0 && nprocs > 1 && keeps)
                expect = SIM_EXPECT_HOST;
        }
        c.script->calls[2 * (size_t)k].expect = c.script->calls[2 * (size_t)k + 1].expect = expect;
        sim_script_all(c.script, SIM_POST, 2 * k);
        if (mode->blocking)
            sim_script_all(c.script, SIM_WAIT, 2 * k);
        sim_script_all(c.script, SIM_POST, 2 * k + 1);
        sim_script_all(c.script, SIM_WAIT, 2 * k + 1);
        if (!mode->blocking)
            sim_script_all(c.script, SIM_WAIT, 2 * k);
    }
    sim_script_all(c.script, SIM_FREE, team);
    assert_true(sim_case_end(&c, what));
}

static void run_resets(bool (*resets)(uint64_t seed, int round, int rank), int nprocs,
                       uint64_t seed, const char *what)
{
    run_either(resets, nprocs, seed, false, what);
    run_either(resets, nprocs, seed, true, what);
}

static bool all_reset(uint64_t seed, int round, int rank)
{
    (void)seed;
    (void)rank;
    return round % 2 == 1;
}

static bool one_resets(uint64_t seed, int round, int rank)
{
    return round % 2 == 1 && rank == (int)(seed % 2);
}

static bool some_reset(uint64_t seed, int round, int rank)
{
    return (seed + (uint64_t)round * 5 + (uint64_t)rank * 3) % 4 == 0;
}

static void test_all(void **state)
{
    uint64_t seed;

    (void)state;
    for (seed = 0; seed < 24; seed++)
        run_resets(all_reset, 2 + (int)(seed % 4), seed, "all ranks reset their devices");
}

static void test_one(void **state)
{
    uint64_t seed;

    (void)state;
    for (seed = 0; seed < 48; seed++)
        run_resets(one_resets, 2 + (int)(seed % 4), seed, "one rank resets its device");
}

static void test_some(void **state)
{
    uint64_t seed;

    (void)state;
    for (seed = 0; seed < 96; seed++)
        run_resets(some_reset, 2 + (int)(seed % 4), seed, "some ranks reset their devices");
}

static void test_alone(void **state)
{
    uint64_t seed;

    (void)state;
    for (seed = 1; seed < 24; seed += 3) /* two-shot: a ring needs two */
        run_resets(all_reset, 1, seed, "a process alone resets its device");
}

/* Two communicators on one device: the one that notices the reset speaks for the process, also for
 * one that is made later. */
static void test_other_teams(void **state)
{
    uint64_t seed;

    (void)state;
    for (seed = 0; seed < 12; seed++) {
        sim_options_t options = sim_options(3, seed);
        const sim_mode_t *mode = &sim_modes[seed % SIM_MODES];
        sim_case_t c;
        int teams[3], k;

        options.maps = seed / 2 % 2 == 0;
        options.emulates = seed / 4 % 2 == 0;
        options.keeps_mappings = true;
        c = sim_case(&options, "twoshot", mode);
        sim_start(c.world);
        for (k = 0; k < 3; k++)
            teams[k] = sim_script_team(c.script);
        for (k = 0; k < 5; k++) {
            int team = teams[k < 2 ? k : 4 - k];

            if (k == 2)
                sim_script_do(c.script, (int)(seed % 3), SIM_RESET, 0);
            if (k < 3)
                sim_script_all(c.script, SIM_CREATE, team);
            sim_add_call(&c, team, 2000, mode->blocking);
            c.script->calls[k].expect = k < 2 ? SIM_EXPECT_OK : SIM_EXPECT_HOST;
            sim_script_all(c.script, SIM_POST, k);
            sim_script_all(c.script, SIM_WAIT, k);
        }
        for (k = 0; k < 3; k++)
            sim_script_all(c.script, SIM_FREE, teams[k]);
        assert_true(sim_case_end(&c, "several communicators and a reset"));
    }
}

static unsigned ctl_lanes_in_use(const gdr_engine_t *engine)
{
    unsigned i, n = 0;

    for (i = 0; i < engine->nctl_lanes; i++)
        n += engine->ctl_lanes[i].in_use;
    return n;
}

/* Reset again and again, also before the members have agreed on what the reset before has ended:
 * once they have, a communicator holds the words of one lane. */
static void test_no_lane_is_lost(void **state)
{
    uint64_t seed;
    int k, p;

    (void)state;
    for (seed = 0; seed < 80; seed++) {
        sim_options_t options = sim_options(5, seed);
        sim_case_t c;
        int team;

        options.ctl_delay = 1 + 100000 * (seed % 8);
        c = sim_case(&options, "twoshot", &sim_modes[1]);
        team = sim_script_team(c.script);
        sim_start(c.world);
        sim_script_all(c.script, SIM_CREATE, team);
        for (k = 0; k < 4 * ROUNDS; k++) {
            sim_add_call(&c, team, 3000, false);
            for (p = 0; p < 5; p++) {
                if (k < 3 * ROUNDS && sim_random(c.world, 4) == 0)
                    sim_script_do(c.script, p, SIM_RESET, 0);
                sim_script_do(c.script, p, SIM_POST, k);
            }
        }
        for (k = 0; k < 4 * ROUNDS; k++)
            sim_script_all(c.script, SIM_WAIT, k);
        assert_true(sim_script_run(c.script));
        for (p = 0; p < 5; p++)
            assert_int_equal(ctl_lanes_in_use(c.world->procs[p].engine), 1);
        sim_script_all(c.script, SIM_FREE, team);
        assert_true(sim_case_end(&c, "resets upon resets"));
    }
}

static void add_calls(sim_case_t *c, int team, int n)
{
    int k;

    for (k = 0; k < n; k++) {
        int call = sim_add_call(c, team, 3000, false);

        sim_script_all(c->script, SIM_POST, call);
        sim_script_all(c->script, SIM_WAIT, call);
    }
}

/* Others have begun calls in the lane that one of them has lost, and left their numbers in its
 * words: the communicator that gets these words takes none for its own. */
static void test_words_of_lost_lane(void **state)
{
    enum { AHEAD = 2 };
    uint64_t seed;
    int k;

    (void)state;
    for (seed = 0; seed < 60; seed++) {
        sim_options_t options = sim_options(3, seed);
        sim_case_t c = sim_case(&options, seed % 2 ? "twoshot" : "ring", &sim_modes[1]);
        int team = sim_script_team(c.script), next = sim_script_team(c.script);
        int call = 0;

        sim_start(c.world);
        sim_script_all(c.script, SIM_CREATE, team);
        add_calls(&c, team, 1 + (int)(seed % 3));
        sim_script_do(c.script, 1, SIM_RESET, 0);
        for (k = 0; k < AHEAD; k++) {
            call = sim_add_call(&c, team, 3000, false);
            sim_script_all(c.script, SIM_POST, call);
        }
        for (k = 0; k < AHEAD; k++)
            sim_script_all(c.script, SIM_WAIT, call - k);
        sim_script_all(c.script, SIM_CREATE, next);
        add_calls(&c, next, ROUNDS);
        sim_script_all(c.script, SIM_FREE, next);
        sim_script_all(c.script, SIM_FREE, team);
        assert_true(sim_case_end(&c, "words of a lane that was lost"));
    }
}

/* Teams end and engines close behind a reset: nothing may be touched. */
static void test_at_the_end(void **state)
{
    sim_options_t options = sim_options(3, 8);
    sim_case_t c = sim_case(&options, "auto", &sim_modes[2]);
    int team = sim_script_team(c.script), p, call;

    (void)state;
    sim_start(c.world);
    sim_script_all(c.script, SIM_CREATE, team);
    call = sim_add_call(&c, team, 10000, true);
    sim_script_all(c.script, SIM_POST, call);
    sim_script_all(c.script, SIM_WAIT, call);
    for (p = 0; p < 3; p++)
        sim_script_do(c.script, p, SIM_RESET, 0);
    sim_script_all(c.script, SIM_FREE, team);
    assert_true(sim_case_end(&c, "a reset at the end"));
}

/* After the reset one rank finds no device any more: all members serve the calls otherwise. */
static void test_declined_after(void **state)
{
    uint64_t seed;

    (void)state;
    for (seed = 1; seed < 20; seed++) {
        sim_options_t options = sim_options(4, seed);
        sim_case_t c = sim_case(&options, "twoshot", &sim_modes[1]);
        int team = sim_script_team(c.script), k;

        options.maps = seed / 2 % 2 == 0;
        sim_start(c.world);
        sim_script_all(c.script, SIM_CREATE, team);
        for (k = 0; k < 4; k++) {
            sim_add_call(&c, team, 3000, false);
            c.script->calls[k].expect = k < 2 ? SIM_EXPECT_OK : SIM_EXPECT_HOST;
        }
        for (k = 0; k < 2; k++) {
            sim_script_all(c.script, SIM_POST, k);
            sim_script_all(c.script, SIM_WAIT, k);
        }
        sim_script_do(c.script, 2, SIM_RESET, 0);
        sim_script_do(c.script, 2, SIM_LOSE, 0);
        for (k = 2; k < 4; k++)
            sim_script_all(c.script, SIM_POST, k);
        for (k = 2; k < 4; k++)
            sim_script_all(c.script, SIM_WAIT, k);
        sim_script_all(c.script, SIM_FREE, team);
        assert_true(sim_case_end(&c, "declined after a reset"));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_all),
        cmocka_unit_test(test_one),
        cmocka_unit_test(test_some),
        cmocka_unit_test(test_alone),
        cmocka_unit_test(test_other_teams),
        cmocka_unit_test(test_no_lane_is_lost),
        cmocka_unit_test(test_words_of_lost_lane),
        cmocka_unit_test(test_at_the_end),
        cmocka_unit_test(test_declined_after),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
