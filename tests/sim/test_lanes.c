/*
 * Lanes that grow with the messages: agreed by all, as large as the member with least memory can
 * have it, on the same call, whatever else happens to that call; the small lanes go to others.
 */
#include "tests/sim/harness.h"

#include "engine/gdr_engine_priv.h"

enum { ORDINARY = 64 << 10, LARGE = 1 << 20, SMALL_COUNT = 100, LARGE_COUNT = 60000 };

static gdr_team_t *team_of(const sim_case_t *c, int proc, int team)
{
    return c->script->ranks[proc].teams[team];
}

static void add_calls(sim_case_t *c, int team, uint64_t count, int n, bool blocking)
{
    int k;

    for (k = 0; k < n; k++) {
        int call = sim_add_call(c, team, count, blocking);

        sim_script_all(c->script, SIM_POST, call);
        sim_script_all(c->script, SIM_WAIT, call);
    }
}

static sim_case_t lane_case(int nprocs, uint64_t seed, int *team)
{
    sim_options_t options = sim_options(nprocs, seed);
    sim_case_t c;

    options.large_lane = LARGE;
    options.maps = seed / 4 % 2 == 0;
    c = sim_case(&options, "auto", &sim_modes[seed % SIM_MODES]);
    *team = sim_script_team(c.script);
    sim_script_all(c.script, SIM_CREATE, *team);
    return c;
}

static void assert_lanes(const sim_case_t *c, int team, uint64_t bytes)
{
    int p;

    for (p = 0; p < c->world->options.nprocs; p++)
        assert_int_equal(team_of(c, p, team)->plan.lane_bytes, bytes);
}

static void assert_epoch(const sim_case_t *c, int team, uint32_t epoch)
{
    int p;

    for (p = 0; p < c->world->options.nprocs; p++)
        assert_int_equal(team_of(c, p, team)->epoch, epoch);
}

static void test_grow(void **state)
{
    uint64_t seed;

    (void)state;
    for (seed = 0; seed < 40; seed++) {
        const sim_mode_t *mode = &sim_modes[seed % SIM_MODES];
        int team;
        sim_case_t c = lane_case(2 + (int)(seed % 4), seed, &team);

        sim_start(c.world);
        add_calls(&c, team, SMALL_COUNT, 3, mode->blocking);
        assert_true(sim_script_run(c.script));
        assert_lanes(&c, team, ORDINARY);
        add_calls(&c, team, LARGE_COUNT, 3, mode->blocking);
        add_calls(&c, team, SMALL_COUNT, 2, mode->blocking);
        assert_true(sim_script_run(c.script));
        assert_lanes(&c, team, LARGE);
        assert_epoch(&c, team, 1);
        sim_script_all(c.script, SIM_FREE, team);
        assert_true(sim_case_end(&c, "lanes grow"));
    }
}

/* One member has no memory for it: nobody uses more, and nobody asks again. */
static void test_one_cannot(void **state)
{
    uint64_t seed;

    (void)state;
    for (seed = 0; seed < 40; seed++) {
        const sim_mode_t *mode = &sim_modes[seed % SIM_MODES];
        int nprocs = 2 + (int)(seed % 4), team;
        sim_case_t c = lane_case(nprocs, seed, &team);

        c.world->procs[seed / 2 % (uint64_t)nprocs].largest_alloc = LARGE / 2;
        sim_start(c.world);
        add_calls(&c, team, SMALL_COUNT, 1, mode->blocking);
        add_calls(&c, team, LARGE_COUNT, 4, mode->blocking);
        assert_true(sim_script_run(c.script));
        assert_lanes(&c, team, ORDINARY);
        assert_epoch(&c, team, 1);
        sim_script_all(c.script, SIM_FREE, team);
        assert_true(sim_case_end(&c, "a lane cannot grow"));
    }
}

/* More communicators than large lanes: the others' stay as they are, and all are right. Those that
 * were given up serve others. */
static void test_many(void **state)
{
    enum { TEAMS = GDR_LARGE_LANES_MAX + 3 };
    uint64_t seed;
    int k, team;

    (void)state;
    for (seed = 0; seed < 10; seed++) {
        const sim_mode_t *mode = &sim_modes[seed % SIM_MODES];
        sim_case_t c = lane_case(3, seed, &team);
        unsigned large = 0;
        int teams[TEAMS];

        sim_start(c.world);
        for (k = 0; k < TEAMS; k++) {
            teams[k] = k == 0 ? team : sim_script_team(c.script);
            if (k > 0)
                sim_script_all(c.script, SIM_CREATE, teams[k]);
            add_calls(&c, teams[k], LARGE_COUNT, 2, mode->blocking);
        }
        assert_true(sim_script_run(c.script));
        for (k = 0; k < TEAMS; k++)
            large += team_of(&c, 0, teams[k])->plan.lane_bytes == LARGE;
        assert_int_equal(large, GDR_LARGE_LANES_MAX);
        for (k = 0; k < TEAMS; k++)
            sim_script_all(c.script, SIM_FREE, teams[k]);
        team = sim_script_team(c.script); /* gets one of them */
        sim_script_all(c.script, SIM_CREATE, team);
        add_calls(&c, team, LARGE_COUNT, 3, mode->blocking);
        assert_true(sim_script_run(c.script));
        assert_lanes(&c, team, LARGE);
        sim_script_all(c.script, SIM_FREE, team);
        assert_true(sim_case_end(&c, "more communicators than large lanes"));
    }
}

/* The call that wants larger lanes is a host call on some members, and others are outstanding. */
static void test_mixed(void **state)
{
    enum { CALLS = 12 };
    uint64_t seed;
    int k, team;

    (void)state;
    for (seed = 0; seed < 120; seed++) {
        int nprocs = 2 + (int)(seed % 4);
        sim_case_t c = lane_case(nprocs, seed, &team);

        sim_start(c.world);
        for (k = 0; k < CALLS; k++) {
            int call = sim_add_call(&c, team, sim_random(c.world, 3) ? SMALL_COUNT : LARGE_COUNT,
                                    false);
            sim_call_t *made = &c.script->calls[call];

            if (sim_random(c.world, 3) == 0)
                made->host = sim_random(c.world, 1ull << nprocs);
            made->expect = made->host == 0 ? SIM_EXPECT_OK : SIM_EXPECT_HOST;
            sim_script_all(c.script, SIM_POST, call);
            if (sim_random(c.world, 2) == 0)
                sim_script_all(c.script, SIM_WAIT, call);
            else
                made->partly = true;
        }
        for (k = 0; k < CALLS; k++) {
            if (c.script->calls[k].partly)
                sim_script_all(c.script, SIM_WAIT, k);
            c.script->calls[k].partly = false;
        }
        sim_script_all(c.script, SIM_FREE, team);
        assert_true(sim_case_end(&c, "lanes grow among mixed calls"));
    }
}

/*
 * All of a lane serves a communicator, and then its start serves another one, of which a member has
 * none as large: what was put there as data is no flag for the next.
 */
static void test_used_otherwise(void **state)
{
    uint64_t seed;
    int k, team, some;

    (void)state;
    for (seed = 0; seed < 40; seed++) {
        const sim_mode_t *mode = &sim_modes[seed % SIM_MODES];
        int nprocs = 3 + (int)(seed / 4 % 3);
        sim_case_t c = lane_case(nprocs, seed, &team);

        c.world->procs[nprocs - 1].largest_alloc = LARGE / 2;
        sim_start(c.world);
        for (k = 0; k < 2; k++) {
            some = sim_script_team(c.script);
            c.script->teams[some].size--;
            sim_script_all(c.script, SIM_CREATE, some);
            add_calls(&c, some, LARGE_COUNT, 4, mode->blocking);
            sim_script_all(c.script, SIM_FREE, some);
            assert_true(sim_script_run(c.script));
            if (k > 0) {
                team = sim_script_team(c.script);
                sim_script_all(c.script, SIM_CREATE, team);
            }
            add_calls(&c, team, LARGE_COUNT, 4, mode->blocking);
            assert_true(sim_script_run(c.script));
            assert_lanes(&c, team, ORDINARY);
            sim_script_all(c.script, SIM_FREE, team);
        }
        assert_true(sim_case_end(&c, "a lane is used otherwise"));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_grow),
        cmocka_unit_test(test_one_cannot),
        cmocka_unit_test(test_many),
        cmocka_unit_test(test_used_otherwise),
        cmocka_unit_test(test_mixed),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
