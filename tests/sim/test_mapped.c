/*
 * Kernels that read windows of their node's other ranks: right results, nothing put, and what
 * happens where a window cannot be mapped although all believed so. The fake device notices what a
 * kernel reads being written, freed or reset meanwhile.
 */
#include "tests/sim/harness.h"

enum { CALLS = 6, ALGORITHMS = 2 };

static const char *const algorithms[ALGORITHMS] = {"oneshot", "twoshot"};

static sim_case_t mapped_case(int nprocs, int width, uint64_t seed, const char *algorithm,
                              const sim_mode_t *mode)
{
    sim_options_t options = sim_options(nprocs, seed);
    sim_case_t c;
    int i;

    options.maps = true;
    options.reenter = true;
    options.flush_rdma = seed % 2 == 0;
    options.late_words = seed % 3 == 0 ? 16 : 0;
    c = sim_case(&options, algorithm, mode);
    for (i = 0; i < nprocs; i++)
        c.world->procs[i].config.node = 1 + (uint64_t)(i / width);
    return c;
}

static void add_calls(sim_case_t *c, const sim_mode_t *mode, uint64_t seed)
{
    int team = sim_script_team(c->script), k;

    sim_script_all(c->script, SIM_CREATE, team);
    for (k = 0; k < CALLS; k++) {
        sim_add_call(c, team, 1 + (seed + 911 * (uint64_t)k * (uint64_t)k) % 9000, mode->blocking);
        sim_script_all(c->script, SIM_POST, k);
        if (mode->blocking || k % 2 == 1)
            sim_script_all(c->script, SIM_WAIT, k);
        if (!mode->blocking && k % 2 == 1)
            sim_script_all(c->script, SIM_WAIT, k - 1);
    }
    sim_script_all(c->script, SIM_FREE, team);
}

static uint64_t puts_of(const sim_case_t *c)
{
    uint64_t puts = 0;
    int i;

    for (i = 0; i < c->world->options.nprocs; i++)
        puts += c->world->procs[i].puts;
    return puts;
}

static void run(int nprocs, int width, uint64_t seed)
{
    const sim_mode_t *mode = &sim_modes[seed % SIM_MODES];
    const char *algorithm = nprocs > width && seed / SIM_MODES % 3 == 2
                                ? "hierarchical"
                                : algorithms[seed / SIM_MODES % ALGORITHMS];
    sim_case_t c = mapped_case(nprocs, width, seed, algorithm, mode);

    add_calls(&c, mode, seed);
    sim_start(c.world);
    sim_script_run(c.script);
    assert_true((puts_of(&c) == 0) == (nprocs <= width));
    assert_true(sim_case_end(&c, mode->name));
}

static void test_one_node(void **state)
{
    uint64_t seed;

    (void)state;
    for (seed = 0; seed < 160; seed++)
        run(2 + (int)(seed % 9), 64, seed);
}

static void test_several_nodes(void **state)
{
    uint64_t seed;

    (void)state;
    for (seed = 0; seed < 120; seed++)
        run(3 + (int)(seed % 8), 2 + (int)(seed % 3), seed);
}

/* More results than one kernel gathers. */
static void test_wide_nodes(void **state)
{
    uint64_t seed;

    (void)state;
    for (seed = 0; seed < 48; seed++)
        run(10 + (int)(seed % 3), 9, seed);
}

static void test_off(void **state)
{
    const sim_mode_t *mode = &sim_modes[0];
    sim_case_t c = mapped_case(4, 4, 1, "twoshot", mode);
    int i;

    (void)state;
    for (i = 0; i < 4; i++)
        c.world->procs[i].config.mapped = GDR_MODE_OFF;
    add_calls(&c, mode, 1);
    sim_start(c.world);
    sim_script_run(c.script);
    assert_true(puts_of(&c) > 0);
    assert_int_equal(c.world->warnings, 0);
    assert_true(sim_case_end(&c, "off"));
}

/* One process, or several, find out in the first call that reads: all vote again, and put. */
static void test_cannot_map(void **state)
{
    uint64_t seed;

    (void)state;
    for (seed = 0; seed < 100; seed++) {
        const sim_mode_t *mode = &sim_modes[seed % SIM_MODES];
        int nprocs = 2 + (int)(seed % 5), width = seed % 2 ? 64 : 3, i;
        sim_case_t c =
            mapped_case(nprocs, width, seed, algorithms[seed / SIM_MODES % ALGORITHMS], mode);

        for (i = 0; i < nprocs; i++) {
            c.world->procs[i].maps_nothing = i == (int)(seed % 2) || (seed / 8 >> i) % 2 != 0;
            c.world->procs[i].config.mapped = seed % 4 == 0 ? GDR_MODE_ON : GDR_MODE_AUTO;
        }
        add_calls(&c, mode, seed);
        sim_start(c.world);
        sim_script_run(c.script);
        assert_true(puts_of(&c) > 0);
        assert_int_equal(c.world->warnings, seed % 4 == 0 ? nprocs : 0);
        assert_true(sim_case_end(&c, "cannot map"));
    }
}

/* A rank resets its device as soon as its call is over, while others may still be in theirs. */
static void test_reset_behind_a_call(void **state)
{
    uint64_t seed;

    (void)state;
    for (seed = 0; seed < 120; seed++) {
        const sim_mode_t *mode = &sim_modes[seed % SIM_MODES];
        int nprocs = 2 + (int)(seed % 4), team, k;
        sim_case_t c = mapped_case(nprocs, 64, seed, algorithms[seed / 2 % ALGORITHMS], mode);

        team = sim_script_team(c.script);
        sim_script_all(c.script, SIM_CREATE, team);
        for (k = 0; k < CALLS; k++) {
            sim_add_call(&c, team, 40 + 900 * (uint64_t)k, mode->blocking);
            sim_script_all(c.script, SIM_POST, k);
            sim_script_all(c.script, SIM_WAIT, k);
            sim_script_do(c.script, (k + (int)seed) % nprocs, SIM_RESET, 0);
        }
        sim_script_all(c.script, SIM_FREE, team);
        sim_start(c.world);
        assert_true(sim_case_end(&c, "reset behind a call"));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_one_node),
        cmocka_unit_test(test_several_nodes),
        cmocka_unit_test(test_wide_nodes),
        cmocka_unit_test(test_off),
        cmocka_unit_test(test_reset_behind_a_call),
        cmocka_unit_test(test_cannot_map),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
