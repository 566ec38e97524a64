/*
 * Faults: every fallible call of every port fails once, every allocation, a device breaks, a
 * process vanishes. Each call of each survivor ends, none hangs, nothing writes a receive buffer
 * after its call has failed. Also: the simulation would notice a network that breaks its promise.
 */
#include "tests/sim/harness.h"

enum { CALLS = 5 };

static sim_case_t fault_case(int nprocs, uint64_t seed, const char *algorithm,
                             const sim_mode_t *mode)
{
    sim_options_t options = sim_options(nprocs, seed);
    sim_case_t c;
    int team, k;

    options.maps = seed / 4 % 2 == 0;
    options.large_lane = seed / 3 % 2 == 0 ? 1 << 20 : 0;
    c = sim_case(&options, algorithm, mode);
    team = sim_script_team(c.script);
    sim_script_all(c.script, SIM_CREATE, team);
    for (k = 0; k < CALLS; k++) {
        sim_add_call(&c, team, 10 + 700 * (uint64_t)k, mode->blocking);
        c.script->calls[k].expect = SIM_EXPECT_END;
        sim_script_all(c.script, SIM_POST, k);
        if (mode->blocking || k >= 2)
            sim_script_all(c.script, SIM_WAIT, mode->blocking ? k : k - 2);
    }
    for (k = CALLS - 2; k < CALLS && !mode->blocking; k++)
        sim_script_all(c.script, SIM_WAIT, k);
    sim_script_all(c.script, SIM_FREE, team);
    sim_start(c.world);
    return c;
}

static bool is_host(gdr_status_t status)
{
    return status == GDR_ERR_DECLINED || status == GDR_ERR_MIXED;
}

/* A member that cannot be connected to: every call is served on all ranks, or declined on all. */
static void assert_all_alike(const sim_case_t *c)
{
    int i, k;

    for (k = 0; k < CALLS; k++) {
        gdr_status_t first = c->script->ranks[0].posted[k].status;

        assert_true(first == GDR_OK || is_host(first));
        for (i = 1; i < c->world->options.nprocs; i++)
            assert_int_equal(is_host(c->script->ranks[i].posted[k].status), is_host(first));
    }
}

static bool is_wiring(const char *port)
{
    return port != NULL && (strcmp(port, "net.connect") == 0 || strcmp(port, "net.import") == 0 ||
                            strcmp(port, "net.map") == 0);
}

static void test_port_faults(void **state)
{
    uint64_t n, last = 1;
    int m, wirings = 0;

    (void)state;
    for (m = 0; m < SIM_MODES; m++) {
        for (n = 1; n <= last; n += n < 60 ? 1 : 7) {
            sim_case_t c =
                fault_case(3, n * 4 + (uint64_t)m, m % 2 ? "ring" : "twoshot", &sim_modes[m]);
            char what[100];

            c.world->procs[n % 3].fail_port_call = n;
            sim_script_run(c.script);
            last = c.world->procs[n % 3].failed_port != NULL ? n + 8 : last;
            snprintf(what, sizeof(what), "port call %llu (%s) fails, %s", (unsigned long long)n,
                     c.world->procs[n % 3].failed_port, sim_modes[m].name);
            if (is_wiring(c.world->procs[n % 3].failed_port)) {
                wirings++;
                assert_all_alike(&c);
            }
            assert_true(sim_case_end(&c, what));
        }
    }
    assert_true(wirings > 0);
}

static void test_allocation_faults(void **state)
{
    uint64_t n;
    bool hit = true;

    (void)state;
    for (n = 1; hit; n += n < 300 ? 1 : 17) {
        sim_case_t c = fault_case(3, n, n % 2 ? "ring" : "twoshot", &sim_modes[n % SIM_MODES]);

        sim_alloc_count = 0;
        sim_alloc_fail_at = n;
        if (!sim_script_run(c.script))
            print_message("allocation %llu fails\n", (unsigned long long)n);
        hit = sim_alloc_count >= n;
        sim_alloc_fail_at = 0;
        assert_true(sim_case_end(&c, "an allocation fails"));
    }
    assert_true(n > 50);
}

static uint64_t fault_turn;

static void break_device(sim_script_t *script)
{
    if (script->steps == fault_turn)
        sim_dev_break(&script->world->procs[1]);
}

static void kill_process(sim_script_t *script)
{
    if (script->steps == fault_turn)
        sim_kill(script->world, 1);
}

static void run_at_turns(void (*hook)(sim_script_t *), uint64_t first, const char *what)
{
    uint64_t i;
    unsigned failed = 0;

    for (i = 0; i < 80; i++) {
        sim_case_t c = fault_case(3, i, i % 2 ? "ring" : "twoshot", &sim_modes[i / 2 % SIM_MODES]);

        fault_turn = first + i * 6;
        c.script->hook = hook;
        sim_script_run(c.script);
        failed += sim_script_failed(c.script);
        assert_true(sim_case_end(&c, what));
    }
    print_message("%s: calls failed in %u of 80 runs\n", what, failed);
    assert_true(failed > 20);
}

static void test_device_breaks(void **state)
{
    (void)state;
    run_at_turns(break_device, 300, "a device breaks");
}

/* Before the ranks are connected a death can be told by nobody but the runtime, which ends the job:
 * so it comes later here. */
static void test_process_dies(void **state)
{
    (void)state;
    run_at_turns(kill_process, 1500, "a process dies");
}

/* The simulation must see a word that overtakes its data, whatever the mode. */
static void test_overtaking_is_seen(void **state)
{
    unsigned m, seen = 0;

    (void)state;
    for (m = 0; m < SIM_MODES; m++) {
        sim_case_t c = fault_case(3, 40 + m, "ring", &sim_modes[m]);

        c.world->options.overtake = true;
        seen += !sim_script_run(c.script);
        while (!sim_script_over(c.script)) { /* the wrong results do not matter here */
            c.world->failure[0] = 0;
            sim_script_run(c.script);
        }
        sim_script_free(c.script);
        sim_finish(c.world);
        sim_destroy(c.world);
    }
    assert_int_equal(seen, SIM_MODES);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_port_faults),        cmocka_unit_test(test_allocation_faults),
        cmocka_unit_test(test_device_breaks),      cmocka_unit_test(test_process_dies),
        cmocka_unit_test(test_overtaking_is_seen),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
