/*
 * A call is abandoned at every step of every schedule: a fault at each event of a run, one run for
 * each. All calls of all ranks end; receive buffers hold final values or what was in them, also
 * afterwards; a communicator that the fault does not concern ends its calls, too.
 */
#include "tests/sim/harness.h"

#include "plan/gdr_plan.h"

enum { CALLS = 3 };

typedef enum fault { CUT, BREAK, FAULTS } fault_t;

static struct {
    fault_t kind;
    uint64_t event; /* at which it happens */
    int victim;
    bool happened;
} fault;

static void inject(sim_script_t *script)
{
    sim_world_t *world = script->world;
    int nprocs = world->options.nprocs;

    if (fault.happened || world->events_run < fault.event)
        return;
    fault.happened = true;
    if (fault.kind == CUT)
        sim_cut(world, fault.victim, (fault.victim + 1) % nprocs);
    else
        sim_dev_break(&world->procs[fault.victim]);
}

/* Two communicators: of all, and of all but the last process. Several segments on few contexts. */
static sim_case_t abandon_case(int nprocs, const char *algorithm, const sim_mode_t *mode,
                               uint64_t seed)
{
    sim_options_t options = sim_options(nprocs, seed);
    sim_case_t c;
    int procs[SIM_PROCS_MAX], teams[2], i, k;

    options.maps = seed / 2 % 2 == 0;
    options.log_level = GDR_LOG_ERROR;
    options.flush_rdma = seed % 2 == 0;
    options.late_words = 5;
    c = sim_case(&options, algorithm, mode);
    for (i = 0; i < nprocs; i++) {
        c.world->procs[i].config.plan.chunk_size = 256;
        c.world->procs[i].config.plan.depth = 2;
        c.world->procs[i].config.node = 1 + (uint64_t)i / 2;
        procs[i] = i;
    }
    teams[0] = sim_script_team(c.script);
    teams[1] = nprocs > 2 ? sim_script_team_of(c.script, nprocs - 1, procs) : teams[0];
    sim_script_all(c.script, SIM_CREATE, teams[0]);
    if (teams[1] != teams[0])
        sim_script_all(c.script, SIM_CREATE, teams[1]);
    for (k = 0; k < CALLS; k++) {
        int call = sim_add_call(&c, teams[k % 2], 64 * (uint64_t)nprocs * (k < 2 ? 4 : 1) - 3,
                                mode->blocking);

        c.script->calls[call].expect = SIM_EXPECT_END;
        sim_script_all(c.script, SIM_POST, call);
        if (mode->blocking)
            sim_script_all(c.script, SIM_WAIT, call);
    }
    for (k = 0; k < CALLS && !mode->blocking; k++)
        sim_script_all(c.script, SIM_WAIT, k);
    for (k = 0; k < (teams[1] != teams[0] ? 2 : 1); k++)
        sim_script_all(c.script, SIM_FREE, teams[k]);
    c.script->hook = inject;
    sim_start(c.world);
    return c;
}

/* Events that all of it takes when nothing fails. */
static uint64_t count_events(int nprocs, const char *algorithm, const sim_mode_t *mode,
                             uint64_t seed)
{
    sim_case_t c;
    uint64_t n;

    fault.happened = true;
    c = abandon_case(nprocs, algorithm, mode, seed);
    assert_true(sim_script_run(c.script));
    assert_false(sim_script_failed(c.script));
    n = c.world->events_run;
    assert_true(sim_case_end(&c, "nothing fails"));
    return n;
}

static void run_one(int nprocs, const char *algorithm, const sim_mode_t *mode, uint64_t seed,
                    unsigned *failed)
{
    sim_case_t c;
    char what[160];
    int k;

    fault.happened = false;
    c = abandon_case(nprocs, algorithm, mode, seed);
    /* What a kernel was writing when its device broke is anything. */
    for (k = 0; k < CALLS; k++)
        c.script->calls[k].partly = fault.kind != BREAK;
    sim_script_run(c.script);
    *failed += sim_script_failed(c.script);
    snprintf(what, sizeof(what), "%d ranks, %s, %s: %s of process %d at event %llu", nprocs,
             algorithm, mode->name, fault.kind == CUT ? "a connection" : "the device", fault.victim,
             (unsigned long long)fault.event);
    assert_true(sim_case_end(&c, what));
}

/* Every event of two ranks, every third of three (others in each mode), some of more; with
 * SIM_EVERY_EVENT in the environment all of them. */
static uint64_t stride(int nprocs)
{
    if (getenv("SIM_EVERY_EVENT") != NULL)
        return 1;
    return nprocs == 2 ? 1 : nprocs == 3 ? 3 : 97;
}

/* Faults before the first put are for test_faults: whoever is not connected yet learns nothing. */
static void run_all_events(int nprocs, const char *algorithm, unsigned m, fault_t kind,
                           unsigned *runs, unsigned *failed)
{
    const sim_mode_t *mode = &sim_modes[m];
    uint64_t seed = (uint64_t)nprocs, n = count_events(nprocs, algorithm, mode, seed), e;

    for (e = 1 + m % stride(nprocs); e < n; e += stride(nprocs)) {
        fault.kind = kind;
        fault.event = e;
        fault.victim = (int)(e % (uint64_t)nprocs);
        run_one(nprocs, algorithm, mode, seed, failed);
        (*runs)++;
    }
}

static void run_kind(fault_t kind)
{
    const gdr_algorithm_t *const *a;
    unsigned m, runs = 0, failed = 0;
    int p;

    for (a = gdr_plan_algorithms(); *a != NULL; a++) {
        /* Both communicators need a node of two and another one. */
        for (p = strcmp((*a)->name, "hierarchical") == 0 ? 4 : 2; p <= 6; p++) {
            for (m = 0; m < SIM_MODES; m++)
                run_all_events(p, (*a)->name, m, kind, &runs, &failed);
        }
    }
    print_message("%u runs, calls failed in %u\n", runs, failed);
    assert_true(failed > runs / 2);
}

static void test_connection(void **state)
{
    (void)state;
    run_kind(CUT);
}

static void test_device(void **state)
{
    (void)state;
    run_kind(BREAK);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_connection),
        cmocka_unit_test(test_device),
    };

    if (argc == 6) { /* ranks, algorithm, mode, kind, event: one run again */
        unsigned failed = 0;

        fault.kind = (fault_t)atoi(argv[4]);
        fault.event = strtoull(argv[5], NULL, 0);
        fault.victim = (int)(fault.event % strtoull(argv[1], NULL, 0));
        run_one(atoi(argv[1]), argv[2], &sim_modes[atoi(argv[3]) % SIM_MODES],
                strtoull(argv[1], NULL, 0), &failed);
        return 0;
    }
    return cmocka_run_group_tests(tests, NULL, NULL);
}
