/* Schedules whose kernels read mapped windows: proved, and faults in them are found. */
#include "broken_call.h"

enum { ALGORITHMS = 2, TYPES = 5 };

static const char *const algorithms[ALGORITHMS] = {"oneshot", "twoshot"};
static const uint32_t types[TYPES] = {1, 2, 4, 8, 16};

/* Ranks in nodes of `width`, one node after the other, or dealt out in turn. */
static gdr_topology_t *nodes_of(int32_t size, uint32_t width, bool dealt)
{
    uint32_t node[64], n = ((uint32_t)size + width - 1) / width;
    gdr_topology_t *topology = NULL;

    for (uint32_t r = 0; r < (uint32_t)size; r++)
        node[r] = dealt ? r % n : r / width;
    assert_int_equal(gdr_topology_make(node, size, &topology), GDR_OK);
    assert_false(topology->mapped);
    topology->mapped = true;
    return topology;
}

static void prove(const gdr_plan_params_t *params, const gdr_topology_t *topology, int32_t p,
                  uint64_t count, uint32_t type_bytes)
{
    gdr_plan_request_t request = plan_test_request(params, p, count, type_bytes);
    gdr_check_result_t result;
    gdr_status_t status;

    request.topology = topology;
    request.commutative = false; /* both reduce in rank order */
    status = gdr_check_request(&request, &result);
    if (status == GDR_ERR_UNSUPPORTED && params->algorithm[0] == 'o' && (p < 2 || p > 16))
        return;
    if (status != GDR_OK)
        fail_msg("%s, %d ranks on %u nodes, %llu x %u bytes, depth %u: status %d: %s",
                 params->algorithm, (int)p, topology->nnodes, (unsigned long long)count, type_bytes,
                 params->depth, (int)status, result.text);
}

static void prove_counts(int32_t p, uint32_t width, bool dealt, uint32_t salt)
{
    const uint64_t counts[] = {1, 3, 7, (uint64_t)p, 2 * (uint64_t)p - 1, 1025, 262147};
    gdr_topology_t *topology = nodes_of(p, width, dealt);

    for (uint32_t a = 0; a < ALGORITHMS; a++) {
        gdr_plan_params_t params = plan_test_params(algorithms[a]);
        gdr_plan_params_t small = plan_test_small_chunks(algorithms[a], 1 + salt % 4);
        uint32_t type = types[salt % TYPES];
        uint64_t segment = (uint64_t)p * 256 / type;

        for (uint32_t c = 0; c < sizeof(counts) / sizeof(counts[0]); c++)
            prove(&params, topology, p, counts[c], type);
        /* Every context is used three times, and a short segment comes last. */
        prove(&small, topology, p, (2 * (uint64_t)small.depth + 1) * segment + 1 + salt, type);
    }
    gdr_topology_free(topology);
}

static void one_node(void **state)
{
    (void)state;
    for (int32_t p = 1; p <= 64; p += p < 20 ? 1 : 4)
        prove_counts(p, 64, false, (uint32_t)p);
}

static void several_nodes(void **state)
{
    (void)state;
    for (int32_t p = 2; p <= 20; p++)
        for (uint32_t width = 1; width <= 9; width += width < 3 ? 1 : 3)
            prove_counts(p, width, (p + (int32_t)width) % 2 == 0, (uint32_t)p + width);
}

/* Nothing is put inside a node. */
static void no_puts(void **state)
{
    gdr_topology_t *topology = nodes_of(8, 4, false);

    (void)state;
    for (uint32_t a = 0; a < ALGORITHMS; a++) {
        gdr_plan_params_t params = plan_test_params(algorithms[a]);
        gdr_plan_request_t request = plan_test_request(&params, 8, 4096, 4);
        gdr_plan_t *plan;

        request.topology = topology;
        for (request.rank = 0; request.rank < 8; request.rank++) {
            uint32_t puts = 0;

            assert_int_equal(gdr_plan_make(&request, &plan), GDR_OK);
            for (uint32_t i = 0; i < plan->last->nsteps; i++) {
                const gdr_step_t *step = &plan->last->steps[i];

                if (step->kind != GDR_STEP_PUT)
                    continue;
                puts++;
                assert_int_not_equal(step->peer / 4, request.rank / 4);
            }
            assert_int_equal(puts, a == 0 ? 4 : 8);
            gdr_plan_free(plan);
        }
    }
    gdr_topology_free(topology);
}

static void make(call_t *call, const char *algorithm, int32_t p, uint64_t count,
                 const gdr_topology_t *topology)
{
    gdr_plan_request_t request;

    call->params = plan_test_small_chunks(algorithm, 2);
    request = plan_test_request(&call->params, p, count, 4);
    request.topology = topology;
    for (request.rank = 0; request.rank < p; request.rank++)
        assert_int_equal(gdr_plan_make(&request, &call->plans[request.rank]), GDR_OK);
    call->subject = (gdr_check_subject_t){.plans = call->plans,
                                          .size = p,
                                          .bytes = count * 4,
                                          .type_bytes = 4,
                                          .rank_order = true,
                                          .topology = topology};
}

/* Five full segments and a short one, or more. */
static void make_long(call_t *call, const char *algorithm, int32_t p,
                      const gdr_topology_t *topology)
{
    make(call, algorithm, p, (uint64_t)p * 5 * 64 + 33, topology);
    assert_true(call->plans[0]->nsegments >= 6);
}

static void not_mapped(void **state)
{
    gdr_topology_t *topology = nodes_of(4, 4, false);
    call_t call;

    (void)state;
    for (uint32_t a = 0; a < ALGORITHMS; a++) {
        make_long(&call, algorithms[a], 4, topology);
        assert_int_equal(call_verdict(&call), GDR_CHECK_NONE);
        topology->mapped = false;
        assert_int_equal(call_verdict(&call), GDR_CHECK_FORM);
        call.subject.topology = NULL;
        call_expect(&call, GDR_CHECK_FORM, "may not touch");
        topology->mapped = true;
    }
    gdr_topology_free(topology);
}

/* Removes the n-th dependency. False: there are not so many. *needed: no flag implies it. */
static bool remove_nth_dep(gdr_sched_t *sched, uint32_t n, bool *needed)
{
    for (uint32_t i = 0; i < sched->nsteps; i++) {
        gdr_step_t *step = &sched->steps[i];

        if (n < step->ndep) {
            *needed = step->kind != GDR_STEP_COPY ||
                      sched->steps[sched->deps[step->dep + n]].kind != GDR_STEP_COPY;
            sched_remove_dep(step, sched, n);
            return true;
        }
        n -= step->ndep;
    }
    return false;
}

/* Each is needed, and the faults are of all kinds. */
static void dropped_dependencies(void **state)
{
    gdr_topology_t *topology = nodes_of(4, 4, false);
    uint32_t found[GDR_CHECK_COMPLETION + 1] = {0};
    call_t call;

    (void)state;
    for (uint32_t a = 0; a < ALGORITHMS; a++) {
        bool more = true, needed = false;

        for (uint32_t n = 0; more; n++) {
            gdr_check_fault_t fault;

            make_long(&call, algorithms[a], 4, topology);
            more = remove_nth_dep(call.plans[1]->full, n, &needed);
            fault = call_verdict(&call);
            assert_true(!more || (fault != GDR_CHECK_NONE) == needed);
            found[fault]++;
            call_drop(&call);
        }
    }
    assert_true(found[GDR_CHECK_RACE] > 0);
    assert_true(found[GDR_CHECK_CREDIT] > 0); /* a word may overtake the one before it */
    assert_int_equal(found[GDR_CHECK_MATCH] + found[GDR_CHECK_FORM], 0);
    gdr_topology_free(topology);
}

/* The last word that says "read", taken away on both sides. */
static void drop_last_signal(call_t *call, int32_t rank, bool full)
{
    gdr_sched_t *own = full ? call->plans[rank]->full : call->plans[rank]->last, *other;
    uint32_t i = own->nsteps, flag;
    int32_t peer;

    while (own->steps[i - 1].kind != GDR_STEP_SIGNAL)
        i--;
    peer = own->steps[i - 1].peer;
    flag = own->steps[i - 1].flag;
    sched_remove_step(own, i - 1);
    other = full ? call->plans[peer]->full : call->plans[peer]->last;
    for (i = 0; other->steps[i].kind != GDR_STEP_WAIT || other->steps[i].flag != flag; i++)
        ;
    sched_remove_step(other, i);
    call_rederive(call, own);
    call_rederive(call, other);
}

/* The owner does not learn that its slots have been read. */
static void nobody_says_read(void **state)
{
    gdr_topology_t *topology = nodes_of(4, 4, false);
    call_t call;

    (void)state;
    for (uint32_t a = 0; a < ALGORITHMS; a++) {
        make_long(&call, algorithms[a], 4, topology);
        drop_last_signal(&call, 2, true);
        drop_last_signal(&call, 2, false);
        call_expect(&call, a == 0 ? GDR_CHECK_RACE : GDR_CHECK_COMPLETION, "");
        /* One segment: nothing is written again, but the call may be over too early. */
        make(&call, algorithms[a], 4, 64, topology);
        assert_null(call.plans[0]->full);
        drop_last_signal(&call, 2, false);
        call_expect(&call, GDR_CHECK_COMPLETION, "reads its slots");
    }
    gdr_topology_free(topology);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_node),         cmocka_unit_test(several_nodes),
        cmocka_unit_test(no_puts),          cmocka_unit_test(not_mapped),
        cmocka_unit_test(nobody_says_read), cmocka_unit_test(dropped_dependencies),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
