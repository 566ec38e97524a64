/* After its first calls a communicator's calls allocate nothing; what stands in them is sound. */
#include "tests/sim/harness.h"

#include "engine/gdr_program.h"
#include "plan/gdr_builder.h"

static uint64_t allocations_at_warm;

static void note_allocations(sim_script_t *script)
{
    int p, warm = 1;

    for (p = 0; p < script->world->options.nprocs; p++)
        warm = warm && script->ranks[p].position >= 1 + 2 * script->hook_state;
    if (warm && allocations_at_warm == 0)
        allocations_at_warm = sim_alloc_count;
}

static void test_no_allocations(void **state)
{
    enum { WARM = 40, CALLS = 120 };
    unsigned m;
    int k;

    (void)state;
    for (m = 0; m < SIM_MODES; m++) {
        sim_options_t options = sim_options(4, m + 1);
        sim_case_t c = sim_case(&options, m % 2 ? "ring" : "twoshot", &sim_modes[m]);
        int team = sim_script_team(c.script);

        sim_start(c.world);
        sim_script_all(c.script, SIM_CREATE, team);
        for (k = 0; k < CALLS; k++) {
            int call = sim_add_call(&c, team, 1 + 4000 * (uint64_t)(k % 3), sim_modes[m].blocking);

            c.script->calls[call].type = GDR_TYPE_FLOAT32;
            sim_script_all(c.script, SIM_POST, call);
            sim_script_all(c.script, SIM_WAIT, call);
        }
        sim_script_all(c.script, SIM_FREE, team);
        allocations_at_warm = 0;
        sim_alloc_count = 0;
        c.script->hook = note_allocations;
        c.script->hook_state = WARM;
        assert_true(sim_script_run(c.script));
        assert_true(allocations_at_warm > 10);
        assert_int_equal(sim_alloc_count, allocations_at_warm);
        assert_true(sim_case_end(&c, "steady state"));
    }
}

/* A schedule of two ranks with one of every kind of step. */
static gdr_sched_t *small_schedule(void)
{
    gdr_edge_t edge = {.peer = 1};
    gdr_build_t build;
    gdr_sched_t *sched = NULL;

    gdr_build_init(&build, 0, 2, 64);
    gdr_build_copy(&build, gdr_operand_send(&build, 0), gdr_operand_slot(0, 0, 0), 64);
    gdr_build_put(&build, edge, gdr_operand_slot(0, 0, 0), gdr_operand_slot(1, 1, 0), 64);
    gdr_build_after(&build, 0);
    gdr_build_wait(&build, edge, gdr_operand_slot(0, 1, 0), 64);
    gdr_build_copy(&build, gdr_operand_slot(0, 1, 0), gdr_operand_recv(&build, 0), 64);
    gdr_build_after(&build, 2);
    assert_int_equal(gdr_build_finish(&build, 256, &sched), GDR_OK);
    return sched;
}

static void expect_program(gdr_sched_t *sched, gdr_status_t status)
{
    const int32_t ranks[] = {1, 2}, others[] = {0, 2};
    gdr_program_t *program = NULL;

    assert_int_equal(gdr_program_make(sched, 1, 1, ranks, 2, &program), status);
    gdr_program_free(program);
    program = NULL;
    assert_int_equal(gdr_program_make(sched, 1, 1, others, 2, &program), GDR_ERR_INVALID);
    gdr_program_free(program);
}

/* The engine does not trust a schedule's indices. */
static void test_unsound_schedules(void **state)
{
    gdr_sched_t *sched = small_schedule();
    const gdr_step_t put = sched->steps[1], wait = sched->steps[2], copy = sched->steps[3];
    const gdr_credit_t credit = sched->credits[0];

    (void)state;
    expect_program(sched, GDR_OK);
    sched->steps[1].peer = 2;
    expect_program(sched, GDR_ERR_INVALID);
    sched->steps[1].peer = 0; /* itself */
    expect_program(sched, GDR_ERR_INVALID);
    sched->steps[1] = put;
    sched->steps[1].channel = 1;
    expect_program(sched, GDR_ERR_INVALID);
    sched->steps[1] = put;
    sched->steps[2].flag = 1;
    expect_program(sched, GDR_ERR_INVALID);
    sched->steps[2] = wait;
    sched->steps[3].nin = GDR_STEP_MAX_IN + 1;
    expect_program(sched, GDR_ERR_INVALID);
    sched->steps[3] = copy;
    sched->steps[3].kind = GDR_STEP_GATHER;
    sched->steps[3].block = 64;
    expect_program(sched, GDR_OK);
    sched->steps[3].block = 63; /* there is no input for the last byte */
    expect_program(sched, GDR_ERR_INVALID);
    sched->steps[3].block = 0;
    expect_program(sched, GDR_ERR_INVALID);
    sched->steps[3] = copy;
    sched->deps[sched->steps[1].dep] = 1; /* itself */
    expect_program(sched, GDR_ERR_INVALID);
    sched->deps[sched->steps[1].dep] = 0;
    sched->credits[0].wait = 1;
    expect_program(sched, GDR_ERR_INVALID);
    sched->credits[0] = credit;
    expect_program(sched, GDR_OK);
    gdr_sched_free(sched);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_no_allocations),
        cmocka_unit_test(test_unsound_schedules),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
