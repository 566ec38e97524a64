/* The checker must notice, for the right reason, schedules whose steps are ordered too little
 * (dependencies, credits, slots) or too much (deadlock). */
#include "broken_call.h"

static void unbroken(void **state)
{
    call_t call;

    (void)state;
    for (int32_t p = 2; p <= 10; p++)
        for (uint32_t a = 0; a < 2; a++) {
            call_make_long(&call, a == 0 ? "twoshot" : "ring", p);
            assert_int_equal(call_verdict(&call), GDR_CHECK_NONE);
            call_drop(&call);
        }
}

static uint32_t count_deps(const gdr_sched_t *sched)
{
    uint32_t n = 0;

    for (uint32_t i = 0; i < sched->nsteps; i++)
        n += sched->steps[i].ndep;
    return n;
}

/* Removes the n-th dependency; false if it only says in so many words what the flags imply
 * (two-shot: the result is copied to RECV after SEND was copied out). */
static bool remove_nth_dep(gdr_sched_t *sched, uint32_t n)
{
    for (uint32_t i = 0; i < sched->nsteps; i++) {
        gdr_step_t *step = &sched->steps[i];

        if (n < step->ndep) {
            bool needed = step->kind != GDR_STEP_COPY ||
                          sched->steps[sched->deps[step->dep + n]].kind != GDR_STEP_COPY;

            sched_remove_dep(step, sched, n);
            return needed;
        }
        n -= step->ndep;
    }
    return false;
}

static void every_dropped_dependency(void **state)
{
    static const int32_t sizes[] = {2, 3, 4, 10};
    call_t call;

    (void)state;
    for (uint32_t i = 0; i < 8; i++) {
        uint32_t left = 1;

        for (uint32_t n = 0; n < left; n++) {
            gdr_sched_t *sched;

            call_make_long(&call, i < 4 ? "twoshot" : "ring", sizes[i % 4]);
            sched = call.plans[1]->full;
            left = count_deps(sched);
            if (remove_nth_dep(sched, n))
                call_expect(&call, GDR_CHECK_RACE, "does not come before");
            else
                call_expect(&call, GDR_CHECK_NONE, "");
        }
        assert_true(left >= 4);
    }
}

static void dropped_order_of_partial_results(void **state)
{
    gdr_sched_t *sched;
    call_t call;

    (void)state;
    call_make_long(&call, "twoshot", 10);
    sched = call.plans[4]->full;
    sched_remove_dep(sched_step(sched, GDR_STEP_REDUCE, 1), sched, 0); /* on the first REDUCE */
    call_expect(&call, GDR_CHECK_RACE, "does not come before");
}

static void credit_too_early(void **state)
{
    call_t call;

    (void)state;
    for (uint32_t i = 0; i < 4; i++) {
        call_make_long(&call, "ring", 3);
        assert_true(i < call.plans[1]->full->ncredits);
        call.plans[1]->full->credits[i].n = 0;
        call_expect(&call, GDR_CHECK_RACE, "does not come before");
    }
    /* Here a context's reuse says already what this credit says. */
    call_make_long(&call, "twoshot", 3);
    call.plans[1]->full->credits[1].n = 0;
    call_expect(&call, GDR_CHECK_CREDIT, "does not wait for step");
}

/* Two-shot: REDUCE and two PUTs read the first incoming slot, rank 0's. That the PUT to rank 2 has
 * left it, rank 0 can know from the credit only. */
static void credit_skips_a_reader(void **state)
{
    gdr_sched_t *sched;
    call_t call;

    (void)state;
    call_make_long(&call, "twoshot", 3);
    sched = call.plans[1]->full;
    assert_int_equal(sched->credits[0].n, 3);
    assert_int_equal(sched->steps[sched->readers[1]].peer, 2);
    sched->readers[1] = sched->readers[2];
    sched->credits[0].n = 2;
    call_expect(&call, GDR_CHECK_RACE, "(put)");
}

static void credit_missing(void **state)
{
    gdr_sched_t *sched;
    call_t call;

    (void)state;
    call_make_long(&call, "ring", 3);
    sched = call.plans[1]->full;
    sched->ncredits--;
    call_expect(&call, GDR_CHECK_RACE, "does not come before");
    call_make(&call, "ring", 2,
              10); /* never used, but the flag must be expected to be written again */
    call.plans[1]->last->ncredits--;
    call_expect(&call, GDR_CHECK_CREDIT, "has no credit");
}

static void credit_waits_for_a_stranger(void **state)
{
    gdr_sched_t *sched;
    call_t call;

    (void)state;
    call_make(&call, "twoshot", 3, 100);
    sched = call.plans[1]->last;
    sched->readers[sched->credits[1].first] = sched->nsteps - 1;
    call_expect(&call, GDR_CHECK_CREDIT, "does not wait for step");
}

static void overlapping_slots(void **state)
{
    gdr_sched_t *from, *to;
    gdr_step_t *put, *wait;
    call_t call;

    (void)state;
    call_make_long(&call, "twoshot", 3); /* rank 1's data into rank 2's slot at rank 0 */
    from = call.plans[1]->full;
    to = call.plans[0]->full;
    put = sched_step(from, GDR_STEP_PUT, 1);
    wait = sched_step(to, GDR_STEP_WAIT, 0);
    assert_int_equal(put->peer, 0);
    assert_int_equal(wait->peer, 1);
    sched_output(from, put, 0)->slot++;
    call_expect(&call, GDR_CHECK_MATCH, "size or place differ");
    call_make_long(&call, "twoshot", 3);
    from = call.plans[1]->full;
    to = call.plans[0]->full;
    sched_output(from, sched_step(from, GDR_STEP_PUT, 1), 0)->slot++;
    sched_output(to, sched_step(to, GDR_STEP_WAIT, 0), 0)->slot++;
    call_rederive(&call, call.plans[0]->full);
    call_expect(&call, GDR_CHECK_RACE, "context's slots of rank 0");
}

static void deadlock_in_a_stream(void **state)
{
    call_t call;

    (void)state;
    call_make_long(&call, "twoshot", 2);
    for (int32_t r = 0; r < 2; r++) {
        gdr_sched_t *sched = call.plans[r]->full;

        sched_move_step(sched, sched_nth(sched, GDR_STEP_WAIT, 0), 0); /* before its own COPY */
        call_rederive(&call, sched);
    }
    call_expect(&call, GDR_CHECK_DEADLOCK, "one stream");
}

/* Everybody waits for its neighbour before it puts: only dependencies, no stream. */
static void deadlock_in_a_circle(void **state)
{
    call_t call;

    (void)state;
    call_make_long(&call, "ring", 3);
    for (int32_t r = 0; r < 3; r++) {
        gdr_sched_t *sched = call.plans[r]->full;
        uint32_t put = sched_nth(sched, GDR_STEP_PUT, 0);

        sched_move_step(sched, sched_nth(sched, GDR_STEP_WAIT, 0), put);
        sched->deps[sched->steps[put + 1].dep] = put;
        call_rederive(&call, sched);
    }
    call_expect(&call, GDR_CHECK_DEADLOCK, "waits for itself");
}

/* With one slot, and hence one flag, a ring's put waits for the credit of its own successor. */
static void deadlock_of_credits(void **state)
{
    call_t call;

    (void)state;
    call_make(&call, "ring", 3, 100);
    for (int32_t r = 0; r < 3; r++) {
        gdr_sched_t *sched = call.plans[r]->last;

        sched->rounds = 4;
        for (uint32_t i = 0; i < sched->nsteps; i++) {
            gdr_step_t *s = &sched->steps[i];

            for (uint32_t j = 0; j < (uint32_t)s->nin + s->nout; j++)
                if (sched_operand(sched, s, j)->slot == 1)
                    sched_operand(sched, s, j)->slot = 0;
            if (s->peer >= 0) {
                s->round = 2 * s->round + s->flag;
                s->flag = s->channel = 0;
            }
        }
        call_rederive(&call, sched);
    }
    call_expect(&call, GDR_CHECK_DEADLOCK, "(put)");
}

/* Nobody talks to anybody. */
static void leaves_too_early(void **state)
{
    call_t call;

    (void)state;
    call_make(&call, "twoshot", 2, 100);
    for (int32_t r = 0; r < 2; r++) {
        gdr_sched_t *sched = call.plans[r]->last;

        sched->nsteps = 1;
        sched->ncredits = 0;
        sched->steps[0].bytes = 400;
        *sched_operand(sched, sched->steps, 0) =
            (gdr_operand_t){.rank = r, .buffer = GDR_BUFFER_SEND};
        *sched_output(sched, sched->steps, 0) =
            (gdr_operand_t){.rank = r, .buffer = GDR_BUFFER_RECV};
    }
    call_expect(&call, GDR_CHECK_COMPLETION, "may complete before rank");
}

/* In place, the input would be read after the output was written over it. */
static void input_read_too_late(void **state)
{
    gdr_sched_t *sched;
    gdr_step_t *copy;
    call_t call;

    (void)state;
    call_make(&call, "ring", 3, 190);
    sched = call.plans[0]->last;
    copy = sched_step(sched, GDR_STEP_COPY, 2); /* the last result; reads SEND there, too late */
    sched_operand(sched, copy, 0)->buffer = GDR_BUFFER_SEND;
    sched_operand(sched, copy, 0)->slot = 0;
    sched_operand(sched, copy, 0)->offset =
        sched_output(sched, sched_step(sched, GDR_STEP_COPY, 1), 0)->offset;
    *sched_output(sched, copy, 0) =
        (gdr_operand_t){.rank = 0, .buffer = GDR_BUFFER_SLOT, .slot = 2};
    call_expect(&call, GDR_CHECK_RACE, "in place");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(unbroken),
        cmocka_unit_test(every_dropped_dependency),
        cmocka_unit_test(dropped_order_of_partial_results),
        cmocka_unit_test(credit_too_early),
        cmocka_unit_test(credit_skips_a_reader),
        cmocka_unit_test(credit_missing),
        cmocka_unit_test(credit_waits_for_a_stranger),
        cmocka_unit_test(overlapping_slots),
        cmocka_unit_test(deadlock_in_a_stream),
        cmocka_unit_test(deadlock_in_a_circle),
        cmocka_unit_test(deadlock_of_credits),
        cmocka_unit_test(leaves_too_early),
        cmocka_unit_test(input_read_too_late),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
