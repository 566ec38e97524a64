/* Right results: sizes, counts, algorithms, both flag modes, host-driven and stream-ordered. */
#include "tests/sim/script.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

typedef struct mode {
    const char *name;
    gdr_flags_mode_t flags;
    gdr_mode_t waits;
    bool blocking;
} sim_mode_t;

static const sim_mode_t modes[] = {
    {"host flags", GDR_FLAGS_HOST, GDR_MODE_AUTO, true},
    {"nonblocking", GDR_FLAGS_AUTO, GDR_MODE_AUTO, false},
    {"stream-ordered", GDR_FLAGS_AUTO, GDR_MODE_AUTO, true},
    {"device flags, host-driven", GDR_FLAGS_DEVICE, GDR_MODE_OFF, true},
};

static void tune(sim_world_t *world, const char *algorithm, const sim_mode_t *mode)
{
    int i;

    for (i = 0; i < world->options.nprocs; i++) {
        gdr_engine_config_t *config = &world->procs[i].config;

        snprintf(config->plan.algorithm, sizeof(config->plan.algorithm), "%s", algorithm);
        config->flags = mode->flags;
        config->stream_waits = mode->waits;
    }
}

/* Posts all calls, then waits for them; true if all went well. */
static bool run_calls(int nprocs, uint64_t seed, const char *algorithm, const sim_mode_t *mode,
                      const sim_call_t *calls, int ncalls)
{
    sim_options_t options = sim_options(nprocs, seed);
    sim_world_t *world = sim_create(&options);
    sim_script_t *script = sim_script_new(world);
    int team, i;
    bool ok;

    world->options.reenter = true;
    tune(world, algorithm, mode);
    sim_start(world);
    team = sim_script_team(script);
    sim_script_all(script, SIM_CREATE, team);
    for (i = 0; i < ncalls; i++) {
        sim_call_t call = calls[i];

        call.team = team;
        call.blocking = mode->blocking;
        sim_script_call(script, &call);
        sim_script_all(script, SIM_POST, i);
        if (mode->blocking)
            sim_script_all(script, SIM_WAIT, i);
    }
    for (i = 0; i < ncalls && !mode->blocking; i++)
        sim_script_all(script, SIM_WAIT, ncalls - 1 - i);
    sim_script_all(script, SIM_FREE, team);
    ok = sim_script_run(script);
    if (!ok)
        print_message("%d ranks, %s, %s, seed %llu: %s\n", nprocs, algorithm, mode->name,
                      (unsigned long long)seed, world->failure);
    sim_script_free(script);
    sim_destroy(world);
    return ok;
}

static void run_sizes(int nprocs, const char *algorithm, uint64_t seed)
{
    uint64_t p = (uint64_t)nprocs;
    sim_call_t calls[] = {
        {.count = 1, .op = GDR_OP_SUM, .type = GDR_TYPE_FLOAT32},
        {.count = p > 1 ? p - 1 : 1, .op = GDR_OP_SUM, .type = GDR_TYPE_INT32, .in_place = true},
        {.count = p, .op = GDR_OP_PROD, .type = GDR_TYPE_INT64},
        {.count = 1023, .op = GDR_OP_MAX, .type = GDR_TYPE_FLOAT64, .in_place = true},
        {.count = 40000, .op = GDR_OP_SUM, .type = GDR_TYPE_FLOAT32},
        {.count = 70001, .op = GDR_OP_SUM, .type = GDR_TYPE_INT32, .in_place = true},
        {.count = 3, .op = GDR_OP_MIN, .type = GDR_TYPE_INT64},
    };
    unsigned m;

    for (m = 0; m < sizeof(modes) / sizeof(modes[0]); m++)
        assert_true(run_calls(nprocs, seed + m, algorithm, &modes[m], calls,
                              sizeof(calls) / sizeof(calls[0])));
}

static void test_twoshot(void **state)
{
    int p;

    (void)state;
    for (p = 1; p <= 16; p++)
        run_sizes(p, "twoshot", (uint64_t)p * 100);
}

static void test_ring(void **state)
{
    int p;

    (void)state;
    for (p = 2; p <= 16; p++)
        run_sizes(p, "ring", (uint64_t)p * 100);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_twoshot),
        cmocka_unit_test(test_ring),
    };

    if (argc == 4) { /* ranks, algorithm, seed: one run again */
        run_sizes(atoi(argv[1]), argv[2], strtoull(argv[3], NULL, 0));
        return 0;
    }
    return cmocka_run_group_tests(tests, NULL, NULL);
}
