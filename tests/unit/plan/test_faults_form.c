/* The checker must notice, for the right reason, schedules that compute something else, or that are
 * none. At the end at random, to see that no nonsense makes it read out of bounds. */
#include "broken_call.h"

#include <string.h>

static void swapped_operands(void **state)
{
    gdr_operand_t *a, *b, swap;
    gdr_sched_t *sched;
    call_t call;

    (void)state;
    call_make_long(&call, "twoshot", 4);
    sched = call.plans[2]->full;
    a = sched_operand(sched, sched_step(sched, GDR_STEP_REDUCE, 0), 1);
    b = sched_operand(sched, sched_step(sched, GDR_STEP_REDUCE, 0), 3);
    swap = *a, *a = *b, *b = swap;
    call_expect(&call, GDR_CHECK_VALUE, "rank order");
}

static void operand_twice(void **state)
{
    gdr_sched_t *sched;
    gdr_step_t *step;
    call_t call;

    (void)state;
    call_make_long(&call, "twoshot", 3);
    call.subject.rank_order = false;
    sched = call.plans[0]->full;
    step = sched_step(sched, GDR_STEP_REDUCE, 0);
    *sched_operand(sched, step, 2) = *sched_operand(sched, step, 1);
    call_rederive(&call, sched);
    call_expect(&call, GDR_CHECK_VALUE, "twice");
}

static void missing_input(void **state)
{
    gdr_sched_t *sched;
    gdr_step_t *step;
    call_t call;

    (void)state;
    call_make(&call, "twoshot", 3, 100);
    sched = call.plans[1]->last;
    step = sched_step(sched, GDR_STEP_REDUCE, 0);
    step->operand++; /* operands 1 and 2 */
    step->nin--;
    call_expect(&call, GDR_CHECK_VALUE, "partial");
}

static void missing_last_chunk(void **state)
{
    gdr_sched_t *sched;
    call_t call;

    (void)state;
    call_make_long(&call, "twoshot", 4);
    sched = call.plans[0]->full;
    sched_step(sched, GDR_STEP_COPY, 1)->bytes -= 4; /* to RECV: one element less */
    call_expect(&call, GDR_CHECK_VALUE, "never written");
    call_make_long(&call, "ring", 4);
    sched = call.plans[3]->full;
    sched_remove_step(sched, sched->nsteps - 1);
    call_rederive(&call, sched);
    call_expect(&call, GDR_CHECK_VALUE, "never written");
}

static void written_twice(void **state)
{
    gdr_sched_t *sched;
    gdr_step_t *step;
    call_t call;

    (void)state;
    call_make_long(&call, "ring", 3);
    sched = call.plans[0]->full;
    step = sched_step(sched, GDR_STEP_COPY, 1);
    sched_output(sched, step, 0)->offset =
        sched_output(sched, sched_step(sched, GDR_STEP_COPY, 2), 0)->offset;
    call_expect(&call, GDR_CHECK_VALUE, "output");
}

static void partial_result_in_the_output(void **state)
{
    gdr_sched_t *sched;
    call_t call;

    (void)state;
    call_make_long(&call, "twoshot", 10);
    sched = call.plans[0]->full;
    *sched_output(sched, sched_step(sched, GDR_STEP_REDUCE, 0), 0) =
        *sched_output(sched, sched_step(sched, GDR_STEP_REDUCE, 1), 0);
    call_expect(&call, GDR_CHECK_VALUE, "partial");
}

/* What is put lies 16 bytes further than it should, on both sides. */
static void wrong_place(void **state)
{
    gdr_step_t *put, *wait;
    call_t call;

    (void)state;
    call_make_long(&call, "twoshot", 2);
    put = sched_step(call.plans[0]->full, GDR_STEP_PUT, 0);
    wait = sched_step(call.plans[1]->full, GDR_STEP_WAIT, 0);
    sched_operand(call.plans[0]->full, put, 0)->offset += 16;
    put->bytes -= 16;
    wait->bytes -= 16;
    call_expect(&call, GDR_CHECK_VALUE, "different places");
}

static void never_written(void **state)
{
    gdr_sched_t *sched;
    gdr_step_t *copy;
    call_t call;

    (void)state;
    call_make(&call, "twoshot", 3, 300);
    sched = call.plans[0]->last;
    copy = sched_step(sched, GDR_STEP_COPY, 0);
    copy->bytes -= 16; /* the end of what is put to rank 2 */
    call_expect(&call, GDR_CHECK_VALUE, "never written");
}

static void wrong_flags(void **state)
{
    call_t call;

    (void)state;
    call_make_long(&call, "ring", 4);
    sched_step(call.plans[1]->full, GDR_STEP_PUT, 0)->round = 1;
    call_expect(&call, GDR_CHECK_MATCH, "second write");
    call_make_long(&call, "ring", 4);
    sched_step(call.plans[1]->full, GDR_STEP_WAIT, 0)->round = 1;
    call_expect(&call, GDR_CHECK_MATCH, "second wait");
    call_make_long(&call, "ring", 4);
    sched_step(call.plans[1]->full, GDR_STEP_PUT, 0)->round = 3;
    call_expect(&call, GDR_CHECK_FORM, "round");
    call_make_long(&call, "ring", 4);
    sched_step(call.plans[1]->full, GDR_STEP_PUT, 0)->round = 2;
    sched_step(call.plans[1]->full, GDR_STEP_PUT, 4)->round = 0;
    call_expect(&call, GDR_CHECK_MATCH, "round");
    call_make_long(&call, "twoshot", 3);
    sched_step(call.plans[1]->full, GDR_STEP_PUT, 0)->flag = 0;
    call_expect(&call, GDR_CHECK_MATCH, "belongs to another");
    call_make_long(&call, "twoshot", 3);
    sched_step(call.plans[1]->full, GDR_STEP_WAIT, 0)->channel++;
    call_expect(&call, GDR_CHECK_MATCH, "belongs to another");
    call_make_long(&call, "twoshot", 3);
    sched_step(call.plans[1]->full, GDR_STEP_WAIT, 0)->flag = 99;
    call_expect(&call, GDR_CHECK_FORM, "flag beyond");
    call_make_long(&call, "twoshot", 3);
    sched_step(call.plans[1]->full, GDR_STEP_WAIT, 0)->peer = 1;
    call_expect(&call, GDR_CHECK_FORM, "no other rank");
}

static void one_channel_for_two_flags(void **state)
{
    call_t call;

    (void)state;
    call_make(&call, "twoshot", 2, 100);
    for (int32_t r = 0; r < 2; r++) {
        sched_step(call.plans[r]->last, GDR_STEP_PUT, 1)->channel = 0;
        sched_step(call.plans[r]->last, GDR_STEP_WAIT, 1)->channel = 0;
    }
    call_expect(&call, GDR_CHECK_MATCH, "serves two flags");
}

static void unmatched(void **state)
{
    gdr_sched_t *sched;
    call_t call;

    (void)state;
    call_make_long(&call, "twoshot", 3);
    sched = call.plans[0]->full;
    sched_remove_step(sched, sched_nth(sched, GDR_STEP_WAIT, 3));
    call_rederive(&call, sched);
    call_expect(&call, GDR_CHECK_MATCH, "nobody waits");
    call_make_long(&call, "twoshot", 3);
    sched = call.plans[0]->full;
    sched_remove_step(sched, sched_nth(sched, GDR_STEP_PUT, 3));
    call_rederive(&call, sched);
    call_expect(&call, GDR_CHECK_MATCH, "nobody writes");
    call_make_long(&call, "ring", 3);
    sched_remove_step(call.plans[0]->full, sched_nth(call.plans[0]->full, GDR_STEP_PUT, 3));
    sched_remove_step(call.plans[1]->full, sched_nth(call.plans[1]->full, GDR_STEP_WAIT, 3));
    call_rederive(&call, call.plans[0]->full);
    call_rederive(&call, call.plans[1]->full);
    call_expect(&call, GDR_CHECK_MATCH, "rounds instead of");
}

/* In a call of several segments a flag must not be left out of the short one. */
static void flag_missing_in_the_last_segment(void **state)
{
    call_t call;

    (void)state;
    call_make_long(&call, "twoshot", 2);
    sched_remove_step(call.plans[0]->last, sched_nth(call.plans[0]->last, GDR_STEP_PUT, 1));
    sched_remove_step(call.plans[1]->last, sched_nth(call.plans[1]->last, GDR_STEP_WAIT, 1));
    call_rederive(&call, call.plans[0]->last);
    call_rederive(&call, call.plans[1]->last);
    call_expect(&call, GDR_CHECK_MATCH, "missing in the last segment");
}

static void outside_of_everything(void **state)
{
    gdr_sched_t *sched;
    call_t call;

    (void)state;
    call_make_long(&call, "twoshot", 3);
    sched = call.plans[0]->full;
    sched_output(sched, sched_step(sched, GDR_STEP_PUT, 0), 0)->slot = 4;
    call_expect(&call, GDR_CHECK_FORM, "leaves its buffer");
    call_make_long(&call, "twoshot", 3);
    sched = call.plans[0]->full;
    sched_output(sched, sched_step(sched, GDR_STEP_PUT, 0), 0)->offset = UINT64_MAX - 15;
    call_expect(&call, GDR_CHECK_FORM, "leaves its buffer");
    call_make_long(&call, "twoshot", 3);
    sched = call.plans[0]->last;
    sched_operand(sched, sched_step(sched, GDR_STEP_COPY, 0), 0)->offset += 4;
    call_expect(&call, GDR_CHECK_FORM, "leaves its buffer");
    call_make_long(&call, "twoshot", 3);
    sched_step(call.plans[0]->full, GDR_STEP_REDUCE, 0)->bytes = 255;
    call_expect(&call, GDR_CHECK_FORM, "part of an element");
}

static void forbidden_buffers(void **state)
{
    gdr_sched_t *sched;
    call_t call;

    (void)state;
    call_make_long(&call, "ring", 3);
    sched = call.plans[0]->full;
    sched_operand(sched, sched_step(sched, GDR_STEP_REDUCE, 0), 1)->buffer = GDR_BUFFER_RECV;
    call_expect(&call, GDR_CHECK_FORM, "may not touch");
    call_make_long(&call, "ring", 3);
    sched = call.plans[0]->full;
    sched_output(sched, sched_step(sched, GDR_STEP_COPY, 1), 0)->buffer = GDR_BUFFER_SEND;
    call_expect(&call, GDR_CHECK_FORM, "may not touch");
    call_make_long(&call, "ring", 3);
    sched = call.plans[0]->full;
    sched_operand(sched, sched_step(sched, GDR_STEP_PUT, 0), 0)->buffer = GDR_BUFFER_SEND;
    call_expect(&call, GDR_CHECK_FORM, "may not touch");
    call_make_long(&call, "ring", 3);
    sched = call.plans[0]->full;
    sched_output(sched, sched_step(sched, GDR_STEP_REDUCE, 0), 0)->rank = 1;
    call_expect(&call, GDR_CHECK_FORM, "may not touch");
}

static void partly_overlapping_operands(void **state)
{
    gdr_sched_t *sched;
    call_t call;

    (void)state;
    call_make_long(&call, "twoshot", 3);
    sched = call.plans[0]->full;
    sched_output(sched, sched_step(sched, GDR_STEP_REDUCE, 0), 1)->offset += 16;
    call_expect(&call, GDR_CHECK_FORM, "overlaps an input partly");
    call_make_long(&call, "twoshot", 3);
    sched = call.plans[0]->full;
    sched_output(sched, sched_step(sched, GDR_STEP_REDUCE, 0), 0)->offset +=
        16; /* in place: SEND */
    call_expect(&call, GDR_CHECK_FORM, "overlaps an input partly");
}

static void plans_that_differ(void **state)
{
    call_t call;

    (void)state;
    call_make_long(&call, "ring", 3);
    call.plans[2]->layout.chunk_bytes = 512;
    call_expect(&call, GDR_CHECK_FORM, "another plan");
    call_make_long(&call, "ring", 3);
    call.plans[1]->full->rounds = 1;
    call_expect(&call, GDR_CHECK_FORM, "differ from the plan's");
    call_make_long(&call, "ring", 3);
    call.subject.bytes += 100000;
    call_expect(&call, GDR_CHECK_FORM, "not the message");
    call_make_long(&call, "ring", 3);
    call.plans[1]->full->steps[0].ndep = 1;
    call.plans[1]->full->deps[call.plans[1]->full->steps[0].dep] = 0;
    call_expect(&call, GDR_CHECK_FORM, "does not come before it");
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

        call_make_long(&call, i % 2 == 0 ? "twoshot" : "ring", 2 + (int32_t)(i % 3));
        for (uint32_t n = 0; n <= i % 4; n++)
            spoil(i % 5 == 0 ? call.plans[0]->last : call.plans[1]->full, &seed);
        found += call_verdict(&call) != GDR_CHECK_NONE;
        call_drop(&call);
    }
    assert_true(found > rounds / 2); /* many words are padding or already had that value */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(swapped_operands),
        cmocka_unit_test(operand_twice),
        cmocka_unit_test(missing_input),
        cmocka_unit_test(missing_last_chunk),
        cmocka_unit_test(written_twice),
        cmocka_unit_test(partial_result_in_the_output),
        cmocka_unit_test(wrong_place),
        cmocka_unit_test(never_written),
        cmocka_unit_test(wrong_flags),
        cmocka_unit_test(one_channel_for_two_flags),
        cmocka_unit_test(unmatched),
        cmocka_unit_test(flag_missing_in_the_last_segment),
        cmocka_unit_test(outside_of_everything),
        cmocka_unit_test(forbidden_buffers),
        cmocka_unit_test(partly_overlapping_operands),
        cmocka_unit_test(plans_that_differ),
        cmocka_unit_test(random_nonsense),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
