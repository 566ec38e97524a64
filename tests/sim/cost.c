/*
 * A run for an instruction counter (tests/sim/cost.sh): CALLS equal calls, one after another, on
 * the fake device and network.
 *   cost ALGORITHM RANKS ELEMENTS MODE CALLS      prints the schedule steps of all ranks' calls
 * MODE: a number of sim_modes.
 */
#include "tests/sim/harness.h"

#include "plan/gdr_plan.h"

/* All that can happen happens before the processes look again, each of them once: next to nothing
 * of what is counted are empty polls. */
static void settle(sim_script_t *script)
{
    int proc;

    while (sim_run_event(script->world)) {
    }
    for (proc = 0; proc < script->world->options.nprocs; proc++)
        sim_progress(script->world, proc);
}

static uint64_t steps_of_call(const sim_world_t *world, int rank, uint64_t count)
{
    gdr_plan_request_t request = {.rank = rank,
                                  .size = world->options.nprocs,
                                  .count = count,
                                  .type_bytes = 4,
                                  .commutative = true,
                                  .params = &world->procs[rank].config.plan};
    gdr_plan_t *plan = NULL;
    uint64_t steps;

    assert_int_equal(gdr_plan_make(&request, &plan), GDR_OK);
    steps = plan->last->nsteps;
    if (plan->full != NULL)
        steps += (plan->nsegments - 1) * plan->full->nsteps;
    gdr_plan_free(plan);
    return steps;
}

int main(int argc, char **argv)
{
    const sim_mode_t *mode;
    sim_options_t options;
    uint64_t count, steps = 0;
    int team, k, calls, nprocs;
    sim_case_t c;

    if (argc != 6) {
        fprintf(stderr, "usage: cost ALGORITHM RANKS ELEMENTS MODE CALLS\n");
        return 2;
    }
    nprocs = atoi(argv[2]);
    count = strtoull(argv[3], NULL, 0);
    mode = &sim_modes[(unsigned)atoi(argv[4]) % SIM_MODES];
    calls = atoi(argv[5]);
    options = sim_options(nprocs, 1);
    options.reenter = false;
    options.late_words = 0;
    c = sim_case(&options, argv[1], mode);
    for (k = 0; k < nprocs; k++) { /* many steps, few elements */
        c.world->procs[k].config.plan.chunk_size = 256;
        /* Time leaps: nobody waits so long that it asks where the others are. */
        c.world->procs[k].config.ask_ns = 1000000000;
    }
    team = sim_script_team(c.script);
    c.script->hook = settle;
    sim_start(c.world);
    sim_script_all(c.script, SIM_CREATE, team);
    for (k = 0; k < calls; k++) {
        int call = sim_add_call(&c, team, count, mode->blocking);

        c.script->calls[call].type = GDR_TYPE_FLOAT32;
        c.script->calls[call].op = GDR_OP_SUM;
        sim_script_all(c.script, SIM_POST, call);
        sim_script_all(c.script, SIM_WAIT, call);
    }
    sim_script_all(c.script, SIM_FREE, team);
    for (k = 0; k < nprocs; k++)
        steps += steps_of_call(c.world, k, count) * (uint64_t)calls;
    assert_true(sim_case_end(&c, "cost"));
    printf("%llu steps\n", (unsigned long long)steps);
    return 0;
}
