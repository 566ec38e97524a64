/*
 * The checker itself: right schedules are broken in every way that an author might, and it must
 * notice, for the right reason. Then at random, to see that no nonsense makes it read out of
 * bounds.
 */
#include "plan_test.h"

#include <stdlib.h>
#include <string.h>

enum { MAX_RANKS = 16 };

typedef struct call {
    gdr_plan_params_t params;
    gdr_plan_t *plans[MAX_RANKS];
    gdr_check_subject_t subject;
    gdr_check_result_t result;
} call_t;

/* Elements of 4 bytes, chunks of 256 bytes, depth 2: five full segments and a short one. */
static void make(call_t *call, const char *algorithm, int32_t p, uint64_t count)
{
    gdr_plan_request_t request;

    call->params = plan_test_small_chunks(algorithm, 2);
    request = plan_test_request(&call->params, p, count, 4);
    request.commutative = algorithm[0] == 'r';
    for (request.rank = 0; request.rank < p; request.rank++)
        assert_int_equal(gdr_plan_make(&request, &call->plans[request.rank]), GDR_OK);
    call->subject = (gdr_check_subject_t){.plans = call->plans,
                                          .size = p,
                                          .bytes = count * 4,
                                          .type_bytes = 4,
                                          .rank_order = algorithm[0] == 't'};
}

static void make_long(call_t *call, const char *algorithm, int32_t p)
{
    make(call, algorithm, p, (uint64_t)p * 5 * 64 + 33);
    assert_int_equal(call->plans[0]->nsegments, 6);
}

static void drop(call_t *call)
{
    for (int32_t r = 0; r < call->subject.size; r++)
        gdr_plan_free(call->plans[r]);
}

static gdr_check_fault_t verdict(call_t *call)
{
    gdr_status_t status = gdr_check_plans(&call->subject, &call->result);

    assert_true(status == GDR_OK || status == GDR_ERR_INVALID);
    assert_true((status == GDR_OK) == (call->result.fault == GDR_CHECK_NONE));
    assert_true((status == GDR_OK) == (call->result.text[0] == '\0'));
    return call->result.fault;
}

/* The call must be found broken for this reason, in words that hold `word`; then it is freed. */
static void expect(call_t *call, gdr_check_fault_t fault, const char *word)
{
    gdr_check_fault_t found = verdict(call);

    if (found != fault || strstr(call->result.text, word) == NULL)
        fail_msg("fault %d instead of %d with \"%s\": %s", (int)found, (int)fault, word,
                 call->result.text);
    drop(call);
}

/* The n-th step of a kind, from 0. */
static uint32_t nth(const gdr_sched_t *sched, gdr_step_kind_t kind, uint32_t n)
{
    for (uint32_t i = 0; i < sched->nsteps; i++)
        if (sched->steps[i].kind == kind && n-- == 0)
            return i;
    fail_msg("no such step");
    return 0;
}

static gdr_step_t *step_of(gdr_sched_t *sched, gdr_step_kind_t kind, uint32_t n)
{
    return &sched->steps[nth(sched, kind, n)];
}

static gdr_operand_t *operand(gdr_sched_t *sched, const gdr_step_t *step, uint32_t i)
{
    return &sched->operands[step->operand + i];
}

static gdr_operand_t *output(gdr_sched_t *sched, const gdr_step_t *step, uint32_t i)
{
    return operand(sched, step, step->nin + i);
}

static void rederive(call_t *call, gdr_sched_t *sched)
{
    assert_int_equal(gdr_sched_derive_credits(sched, call->plans[0]->layout.chunk_bytes), GDR_OK);
}

static void remove_dep(gdr_step_t *step, gdr_sched_t *sched, uint32_t i)
{
    sched->deps[step->dep + i] = sched->deps[step->dep + step->ndep - 1];
    step->ndep--;
}

/* Moves a step to an earlier place. */
static void move_step(gdr_sched_t *sched, uint32_t from, uint32_t to)
{
    gdr_step_t moved = sched->steps[from];

    memmove(&sched->steps[to + 1], &sched->steps[to], (from - to) * sizeof(moved));
    sched->steps[to] = moved;
    for (uint32_t i = 0; i < sched->ndeps; i++) {
        uint32_t *dep = &sched->deps[i];

        if (*dep == from)
            *dep = to;
        else if (*dep >= to && *dep < from)
            ++*dep;
    }
}

static void remove_step(gdr_sched_t *sched, uint32_t index)
{
    memmove(&sched->steps[index], &sched->steps[index + 1],
            (sched->nsteps - index - 1) * sizeof(sched->steps[0]));
    sched->nsteps--;
    for (uint32_t i = 0; i < sched->nsteps; i++)
        for (uint32_t d = 0; d < sched->steps[i].ndep; d++)
            if (sched->deps[sched->steps[i].dep + d] == index)
                remove_dep(&sched->steps[i], sched, d--);
    for (uint32_t i = 0; i < sched->ndeps; i++)
        if (sched->deps[i] > index)
            sched->deps[i]--;
}

static void unbroken(void **state)
{
    call_t call;

    (void)state;
    for (int32_t p = 2; p <= 10; p++)
        for (uint32_t a = 0; a < 2; a++) {
            make_long(&call, a == 0 ? "twoshot" : "ring", p);
            assert_int_equal(verdict(&call), GDR_CHECK_NONE);
            drop(&call);
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

            remove_dep(step, sched, n);
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

            make_long(&call, i < 4 ? "twoshot" : "ring", sizes[i % 4]);
            sched = call.plans[1]->full;
            left = count_deps(sched);
            if (remove_nth_dep(sched, n))
                expect(&call, GDR_CHECK_RACE, "does not come before");
            else
                expect(&call, GDR_CHECK_NONE, "");
        }
        assert_true(left >= 4);
    }
}

static void dropped_order_of_partial_results(void **state)
{
    gdr_sched_t *sched;
    call_t call;

    (void)state;
    make_long(&call, "twoshot", 10);
    sched = call.plans[4]->full;
    remove_dep(step_of(sched, GDR_STEP_REDUCE, 1), sched, 0); /* on the first REDUCE */
    expect(&call, GDR_CHECK_RACE, "does not come before");
}

static void swapped_operands(void **state)
{
    gdr_operand_t *a, *b, swap;
    gdr_sched_t *sched;
    call_t call;

    (void)state;
    make_long(&call, "twoshot", 4);
    sched = call.plans[2]->full;
    a = operand(sched, step_of(sched, GDR_STEP_REDUCE, 0), 1);
    b = operand(sched, step_of(sched, GDR_STEP_REDUCE, 0), 3);
    swap = *a, *a = *b, *b = swap;
    expect(&call, GDR_CHECK_VALUE, "rank order");
}

static void operand_twice(void **state)
{
    gdr_sched_t *sched;
    gdr_step_t *step;
    call_t call;

    (void)state;
    make_long(&call, "twoshot", 3);
    call.subject.rank_order = false;
    sched = call.plans[0]->full;
    step = step_of(sched, GDR_STEP_REDUCE, 0);
    *operand(sched, step, 2) = *operand(sched, step, 1);
    rederive(&call, sched);
    expect(&call, GDR_CHECK_VALUE, "twice");
}

static void missing_input(void **state)
{
    gdr_sched_t *sched;
    gdr_step_t *step;
    call_t call;

    (void)state;
    make(&call, "twoshot", 3, 100);
    sched = call.plans[1]->last;
    step = step_of(sched, GDR_STEP_REDUCE, 0);
    step->operand++; /* operands 1 and 2 */
    step->nin--;
    expect(&call, GDR_CHECK_VALUE, "partial");
}

static void credit_too_early(void **state)
{
    call_t call;

    (void)state;
    for (uint32_t i = 0; i < 4; i++) {
        make_long(&call, "ring", 3);
        assert_true(i < call.plans[1]->full->ncredits);
        call.plans[1]->full->credits[i].n = 0;
        expect(&call, GDR_CHECK_RACE, "does not come before");
    }
    /* Here a context's reuse says already what this credit says. */
    make_long(&call, "twoshot", 3);
    call.plans[1]->full->credits[1].n = 0;
    expect(&call, GDR_CHECK_CREDIT, "does not wait for step");
}

/* Two-shot: REDUCE and two PUTs read the first incoming slot, rank 0's. That the PUT to rank 2 has
 * left it, rank 0 can know from the credit only. */
static void credit_skips_a_reader(void **state)
{
    gdr_sched_t *sched;
    call_t call;

    (void)state;
    make_long(&call, "twoshot", 3);
    sched = call.plans[1]->full;
    assert_int_equal(sched->credits[0].n, 3);
    assert_int_equal(sched->steps[sched->readers[1]].peer, 2);
    sched->readers[1] = sched->readers[2];
    sched->credits[0].n = 2;
    expect(&call, GDR_CHECK_RACE, "(put)");
}

static void credit_missing(void **state)
{
    gdr_sched_t *sched;
    call_t call;

    (void)state;
    make_long(&call, "ring", 3);
    sched = call.plans[1]->full;
    sched->ncredits--;
    expect(&call, GDR_CHECK_RACE, "does not come before");
    make(&call, "ring", 2, 10); /* never used, but the flag must be expected to be written again */
    call.plans[1]->last->ncredits--;
    expect(&call, GDR_CHECK_CREDIT, "has no credit");
}

static void credit_waits_for_a_stranger(void **state)
{
    gdr_sched_t *sched;
    call_t call;

    (void)state;
    make(&call, "twoshot", 3, 100);
    sched = call.plans[1]->last;
    sched->readers[sched->credits[1].first] = sched->nsteps - 1;
    expect(&call, GDR_CHECK_CREDIT, "does not wait for step");
}

static void missing_last_chunk(void **state)
{
    gdr_sched_t *sched;
    call_t call;

    (void)state;
    make_long(&call, "twoshot", 4);
    sched = call.plans[0]->full;
    step_of(sched, GDR_STEP_COPY, 1)->bytes -= 4; /* to RECV: one element less */
    expect(&call, GDR_CHECK_VALUE, "never written");
    make_long(&call, "ring", 4);
    sched = call.plans[3]->full;
    remove_step(sched, sched->nsteps - 1);
    rederive(&call, sched);
    expect(&call, GDR_CHECK_VALUE, "never written");
}

static void written_twice(void **state)
{
    gdr_sched_t *sched;
    gdr_step_t *step;
    call_t call;

    (void)state;
    make_long(&call, "ring", 3);
    sched = call.plans[0]->full;
    step = step_of(sched, GDR_STEP_COPY, 1);
    output(sched, step, 0)->offset = output(sched, step_of(sched, GDR_STEP_COPY, 2), 0)->offset;
    expect(&call, GDR_CHECK_VALUE, "output");
}

static void partial_result_in_the_output(void **state)
{
    gdr_sched_t *sched;
    call_t call;

    (void)state;
    make_long(&call, "twoshot", 10);
    sched = call.plans[0]->full;
    *output(sched, step_of(sched, GDR_STEP_REDUCE, 0), 0) =
        *output(sched, step_of(sched, GDR_STEP_REDUCE, 1), 0);
    expect(&call, GDR_CHECK_VALUE, "partial");
}

/* What is put lies 16 bytes further than it should, on both sides. */
static void wrong_place(void **state)
{
    gdr_step_t *put, *wait;
    call_t call;

    (void)state;
    make_long(&call, "twoshot", 2);
    put = step_of(call.plans[0]->full, GDR_STEP_PUT, 0);
    wait = step_of(call.plans[1]->full, GDR_STEP_WAIT, 0);
    operand(call.plans[0]->full, put, 0)->offset += 16;
    put->bytes -= 16;
    wait->bytes -= 16;
    expect(&call, GDR_CHECK_VALUE, "different places");
}

static void never_written(void **state)
{
    gdr_sched_t *sched;
    gdr_step_t *copy;
    call_t call;

    (void)state;
    make(&call, "twoshot", 3, 300);
    sched = call.plans[0]->last;
    copy = step_of(sched, GDR_STEP_COPY, 0);
    copy->bytes -= 16; /* the end of what is put to rank 2 */
    expect(&call, GDR_CHECK_VALUE, "never written");
}

static void overlapping_slots(void **state)
{
    gdr_sched_t *from, *to;
    gdr_step_t *put, *wait;
    call_t call;

    (void)state;
    make_long(&call, "twoshot", 3); /* rank 1's data into rank 2's slot at rank 0 */
    from = call.plans[1]->full;
    to = call.plans[0]->full;
    put = step_of(from, GDR_STEP_PUT, 1);
    wait = step_of(to, GDR_STEP_WAIT, 0);
    assert_int_equal(put->peer, 0);
    assert_int_equal(wait->peer, 1);
    output(from, put, 0)->slot++;
    expect(&call, GDR_CHECK_MATCH, "size or place differ");
    make_long(&call, "twoshot", 3);
    from = call.plans[1]->full;
    to = call.plans[0]->full;
    output(from, step_of(from, GDR_STEP_PUT, 1), 0)->slot++;
    output(to, step_of(to, GDR_STEP_WAIT, 0), 0)->slot++;
    rederive(&call, call.plans[0]->full);
    expect(&call, GDR_CHECK_RACE, "context's slots of rank 0");
}

static void wrong_flags(void **state)
{
    call_t call;

    (void)state;
    make_long(&call, "ring", 4);
    step_of(call.plans[1]->full, GDR_STEP_PUT, 0)->round = 1;
    expect(&call, GDR_CHECK_MATCH, "second write");
    make_long(&call, "ring", 4);
    step_of(call.plans[1]->full, GDR_STEP_WAIT, 0)->round = 1;
    expect(&call, GDR_CHECK_MATCH, "second wait");
    make_long(&call, "ring", 4);
    step_of(call.plans[1]->full, GDR_STEP_PUT, 0)->round = 3;
    expect(&call, GDR_CHECK_FORM, "round");
    make_long(&call, "ring", 4);
    step_of(call.plans[1]->full, GDR_STEP_PUT, 0)->round = 2;
    step_of(call.plans[1]->full, GDR_STEP_PUT, 4)->round = 0;
    expect(&call, GDR_CHECK_MATCH, "round");
    make_long(&call, "twoshot", 3);
    step_of(call.plans[1]->full, GDR_STEP_PUT, 0)->flag = 0;
    expect(&call, GDR_CHECK_MATCH, "belongs to another");
    make_long(&call, "twoshot", 3);
    step_of(call.plans[1]->full, GDR_STEP_WAIT, 0)->channel++;
    expect(&call, GDR_CHECK_MATCH, "belongs to another");
    make_long(&call, "twoshot", 3);
    step_of(call.plans[1]->full, GDR_STEP_WAIT, 0)->flag = 99;
    expect(&call, GDR_CHECK_FORM, "flag beyond");
    make_long(&call, "twoshot", 3);
    step_of(call.plans[1]->full, GDR_STEP_WAIT, 0)->peer = 1;
    expect(&call, GDR_CHECK_FORM, "no other rank");
}

static void one_channel_for_two_flags(void **state)
{
    call_t call;

    (void)state;
    make(&call, "twoshot", 2, 100);
    for (int32_t r = 0; r < 2; r++) {
        step_of(call.plans[r]->last, GDR_STEP_PUT, 1)->channel = 0;
        step_of(call.plans[r]->last, GDR_STEP_WAIT, 1)->channel = 0;
    }
    expect(&call, GDR_CHECK_MATCH, "serves two flags");
}

static void unmatched(void **state)
{
    gdr_sched_t *sched;
    call_t call;

    (void)state;
    make_long(&call, "twoshot", 3);
    sched = call.plans[0]->full;
    remove_step(sched, nth(sched, GDR_STEP_WAIT, 3));
    rederive(&call, sched);
    expect(&call, GDR_CHECK_MATCH, "nobody waits");
    make_long(&call, "twoshot", 3);
    sched = call.plans[0]->full;
    remove_step(sched, nth(sched, GDR_STEP_PUT, 3));
    rederive(&call, sched);
    expect(&call, GDR_CHECK_MATCH, "nobody writes");
    make_long(&call, "ring", 3);
    remove_step(call.plans[0]->full, nth(call.plans[0]->full, GDR_STEP_PUT, 3));
    remove_step(call.plans[1]->full, nth(call.plans[1]->full, GDR_STEP_WAIT, 3));
    rederive(&call, call.plans[0]->full);
    rederive(&call, call.plans[1]->full);
    expect(&call, GDR_CHECK_MATCH, "rounds instead of");
}

/* In a call of several segments a flag must not be left out of the short one. */
static void flag_missing_in_the_last_segment(void **state)
{
    call_t call;

    (void)state;
    make_long(&call, "twoshot", 2);
    remove_step(call.plans[0]->last, nth(call.plans[0]->last, GDR_STEP_PUT, 1));
    remove_step(call.plans[1]->last, nth(call.plans[1]->last, GDR_STEP_WAIT, 1));
    rederive(&call, call.plans[0]->last);
    rederive(&call, call.plans[1]->last);
    expect(&call, GDR_CHECK_MATCH, "missing in the last segment");
}

static void deadlock_in_a_stream(void **state)
{
    call_t call;

    (void)state;
    make_long(&call, "twoshot", 2);
    for (int32_t r = 0; r < 2; r++) {
        gdr_sched_t *sched = call.plans[r]->full;

        move_step(sched, nth(sched, GDR_STEP_WAIT, 0), 0); /* before its own COPY */
        rederive(&call, sched);
    }
    expect(&call, GDR_CHECK_DEADLOCK, "one stream");
}

/* Everybody waits for its neighbour before it puts: only dependencies, no stream. */
static void deadlock_in_a_circle(void **state)
{
    call_t call;

    (void)state;
    make_long(&call, "ring", 3);
    for (int32_t r = 0; r < 3; r++) {
        gdr_sched_t *sched = call.plans[r]->full;
        uint32_t put = nth(sched, GDR_STEP_PUT, 0);

        move_step(sched, nth(sched, GDR_STEP_WAIT, 0), put);
        sched->deps[sched->steps[put + 1].dep] = put;
        rederive(&call, sched);
    }
    expect(&call, GDR_CHECK_DEADLOCK, "waits for itself");
}

/* With one slot, and hence one flag, a ring's put waits for the credit of its own successor. */
static void deadlock_of_credits(void **state)
{
    call_t call;

    (void)state;
    make(&call, "ring", 3, 100);
    for (int32_t r = 0; r < 3; r++) {
        gdr_sched_t *sched = call.plans[r]->last;

        sched->rounds = 4;
        for (uint32_t i = 0; i < sched->nsteps; i++) {
            gdr_step_t *s = &sched->steps[i];

            for (uint32_t j = 0; j < (uint32_t)s->nin + s->nout; j++)
                if (operand(sched, s, j)->slot == 1)
                    operand(sched, s, j)->slot = 0;
            if (s->peer >= 0) {
                s->round = 2 * s->round + s->flag;
                s->flag = s->channel = 0;
            }
        }
        rederive(&call, sched);
    }
    expect(&call, GDR_CHECK_DEADLOCK, "(put)");
}

/* Nobody talks to anybody. */
static void leaves_too_early(void **state)
{
    call_t call;

    (void)state;
    make(&call, "twoshot", 2, 100);
    for (int32_t r = 0; r < 2; r++) {
        gdr_sched_t *sched = call.plans[r]->last;

        sched->nsteps = 1;
        sched->ncredits = 0;
        sched->steps[0].bytes = 400;
        *operand(sched, sched->steps, 0) = (gdr_operand_t){.rank = r, .buffer = GDR_BUFFER_SEND};
        *output(sched, sched->steps, 0) = (gdr_operand_t){.rank = r, .buffer = GDR_BUFFER_RECV};
    }
    expect(&call, GDR_CHECK_COMPLETION, "may complete before rank");
}

/* In place, the input would be read after the output was written over it. */
static void input_read_too_late(void **state)
{
    gdr_sched_t *sched;
    gdr_step_t *copy;
    call_t call;

    (void)state;
    make(&call, "ring", 3, 190);
    sched = call.plans[0]->last;
    copy = step_of(sched, GDR_STEP_COPY, 2); /* the last result; reads SEND there, too late */
    operand(sched, copy, 0)->buffer = GDR_BUFFER_SEND;
    operand(sched, copy, 0)->slot = 0;
    operand(sched, copy, 0)->offset = output(sched, step_of(sched, GDR_STEP_COPY, 1), 0)->offset;
    *output(sched, copy, 0) = (gdr_operand_t){.rank = 0, .buffer = GDR_BUFFER_SLOT, .slot = 2};
    expect(&call, GDR_CHECK_RACE, "in place");
}

static void outside_of_everything(void **state)
{
    gdr_sched_t *sched;
    call_t call;

    (void)state;
    make_long(&call, "twoshot", 3);
    sched = call.plans[0]->full;
    output(sched, step_of(sched, GDR_STEP_PUT, 0), 0)->slot = 4;
    expect(&call, GDR_CHECK_FORM, "leaves its buffer");
    make_long(&call, "twoshot", 3);
    sched = call.plans[0]->full;
    output(sched, step_of(sched, GDR_STEP_PUT, 0), 0)->offset = UINT64_MAX - 15;
    expect(&call, GDR_CHECK_FORM, "leaves its buffer");
    make_long(&call, "twoshot", 3);
    sched = call.plans[0]->last;
    operand(sched, step_of(sched, GDR_STEP_COPY, 0), 0)->offset += 4;
    expect(&call, GDR_CHECK_FORM, "leaves its buffer");
    make_long(&call, "twoshot", 3);
    step_of(call.plans[0]->full, GDR_STEP_REDUCE, 0)->bytes = 255;
    expect(&call, GDR_CHECK_FORM, "part of an element");
}

static void forbidden_buffers(void **state)
{
    gdr_sched_t *sched;
    call_t call;

    (void)state;
    make_long(&call, "ring", 3);
    sched = call.plans[0]->full;
    operand(sched, step_of(sched, GDR_STEP_REDUCE, 0), 1)->buffer = GDR_BUFFER_RECV;
    expect(&call, GDR_CHECK_FORM, "may not touch");
    make_long(&call, "ring", 3);
    sched = call.plans[0]->full;
    output(sched, step_of(sched, GDR_STEP_COPY, 1), 0)->buffer = GDR_BUFFER_SEND;
    expect(&call, GDR_CHECK_FORM, "may not touch");
    make_long(&call, "ring", 3);
    sched = call.plans[0]->full;
    operand(sched, step_of(sched, GDR_STEP_PUT, 0), 0)->buffer = GDR_BUFFER_SEND; /* D1 */
    expect(&call, GDR_CHECK_FORM, "may not touch");
    make_long(&call, "ring", 3);
    sched = call.plans[0]->full;
    output(sched, step_of(sched, GDR_STEP_REDUCE, 0), 0)->rank = 1;
    expect(&call, GDR_CHECK_FORM, "may not touch");
}

static void partly_overlapping_operands(void **state)
{
    gdr_sched_t *sched;
    call_t call;

    (void)state;
    make_long(&call, "twoshot", 3);
    sched = call.plans[0]->full;
    output(sched, step_of(sched, GDR_STEP_REDUCE, 0), 1)->offset += 16;
    expect(&call, GDR_CHECK_FORM, "overlaps an input partly");
    make_long(&call, "twoshot", 3);
    sched = call.plans[0]->full;
    output(sched, step_of(sched, GDR_STEP_REDUCE, 0), 0)->offset += 16; /* in place: SEND */
    expect(&call, GDR_CHECK_FORM, "overlaps an input partly");
}

static void plans_that_differ(void **state)
{
    call_t call;

    (void)state;
    make_long(&call, "ring", 3);
    call.plans[2]->layout.chunk_bytes = 512;
    expect(&call, GDR_CHECK_FORM, "another plan");
    make_long(&call, "ring", 3);
    call.plans[1]->full->rounds = 1;
    expect(&call, GDR_CHECK_FORM, "differ from the plan's");
    make_long(&call, "ring", 3);
    call.subject.bytes += 100000;
    expect(&call, GDR_CHECK_FORM, "not the message");
    make_long(&call, "ring", 3);
    call.plans[1]->full->steps[0].ndep = 1;
    call.plans[1]->full->deps[call.plans[1]->full->steps[0].dep] = 0;
    expect(&call, GDR_CHECK_FORM, "does not come before it");
}

static uint32_t next_random(uint32_t *seed)
{
    *seed = *seed * 1664525u + 1013904223u;
    return *seed >> 8;
}

/* One 32-bit word somewhere in a schedule becomes something else. */
static void spoil(gdr_sched_t *sched, uint32_t *seed)
{
    struct {
        void *array;
        size_t bytes;
    } arrays[] = {{sched->steps, sched->nsteps * sizeof(*sched->steps)},
                  {sched->operands, sched->noperands * sizeof(*sched->operands)},
                  {sched->deps, sched->ndeps * sizeof(*sched->deps)},
                  {sched->credits, sched->ncredits * sizeof(*sched->credits)},
                  {sched->readers, sched->nreaders * sizeof(*sched->readers)}};
    uint32_t which = next_random(seed) % 5, at, word;
    const uint32_t values[] = {0, 1, 2, 3, 5, 16, 255, 256, 0x7fffffff, 0xffffffff};

    if (arrays[which].bytes == 0)
        return;
    at = next_random(seed) % (uint32_t)(arrays[which].bytes / 4);
    word = values[next_random(seed) % 10];
    memcpy((char *)arrays[which].array + 4 * (size_t)at, &word, sizeof(word));
}

static void random_nonsense(void **state)
{
    uint32_t seed = 1, found = 0, rounds = 3000;

    (void)state;
    for (uint32_t i = 0; i < rounds; i++) {
        call_t call;

        make_long(&call, i % 2 == 0 ? "twoshot" : "ring", 2 + (int32_t)(i % 3));
        for (uint32_t n = 0; n <= i % 4; n++)
            spoil(i % 5 == 0 ? call.plans[0]->last : call.plans[1]->full, &seed);
        found += verdict(&call) != GDR_CHECK_NONE;
        drop(&call);
    }
    assert_true(found > rounds / 2); /* many words are padding or already had that value */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(unbroken),
        cmocka_unit_test(every_dropped_dependency),
        cmocka_unit_test(dropped_order_of_partial_results),
        cmocka_unit_test(swapped_operands),
        cmocka_unit_test(operand_twice),
        cmocka_unit_test(missing_input),
        cmocka_unit_test(credit_too_early),
        cmocka_unit_test(credit_skips_a_reader),
        cmocka_unit_test(credit_missing),
        cmocka_unit_test(credit_waits_for_a_stranger),
        cmocka_unit_test(missing_last_chunk),
        cmocka_unit_test(written_twice),
        cmocka_unit_test(partial_result_in_the_output),
        cmocka_unit_test(wrong_place),
        cmocka_unit_test(never_written),
        cmocka_unit_test(overlapping_slots),
        cmocka_unit_test(wrong_flags),
        cmocka_unit_test(one_channel_for_two_flags),
        cmocka_unit_test(unmatched),
        cmocka_unit_test(flag_missing_in_the_last_segment),
        cmocka_unit_test(deadlock_in_a_stream),
        cmocka_unit_test(deadlock_in_a_circle),
        cmocka_unit_test(deadlock_of_credits),
        cmocka_unit_test(leaves_too_early),
        cmocka_unit_test(input_read_too_late),
        cmocka_unit_test(outside_of_everything),
        cmocka_unit_test(forbidden_buffers),
        cmocka_unit_test(partly_overlapping_operands),
        cmocka_unit_test(plans_that_differ),
        cmocka_unit_test(random_nonsense),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
