#include "broken_call.h"

#include <string.h>

void call_make(call_t *call, const char *algorithm, int32_t p, uint64_t count)
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

void call_make_long(call_t *call, const char *algorithm, int32_t p)
{
    call_make(call, algorithm, p, (uint64_t)p * 5 * 64 + 33);
    assert_int_equal(call->plans[0]->nsegments, 6);
}

void call_drop(call_t *call)
{
    for (int32_t r = 0; r < call->subject.size; r++)
        gdr_plan_free(call->plans[r]);
}

gdr_check_fault_t call_verdict(call_t *call)
{
    gdr_status_t status = gdr_check_plans(&call->subject, &call->result);

    assert_true(status == GDR_OK || status == GDR_ERR_INVALID);
    assert_true((status == GDR_OK) == (call->result.fault == GDR_CHECK_NONE));
    assert_true((status == GDR_OK) == (call->result.text[0] == '\0'));
    return call->result.fault;
}

void call_expect(call_t *call, gdr_check_fault_t fault, const char *word)
{
    gdr_check_fault_t found = call_verdict(call);

    if (found != fault || strstr(call->result.text, word) == NULL)
        fail_msg("fault %d instead of %d with \"%s\": %s", (int)found, (int)fault, word,
                 call->result.text);
    call_drop(call);
}

uint32_t sched_nth(const gdr_sched_t *sched, gdr_step_kind_t kind, uint32_t n)
{
    for (uint32_t i = 0; i < sched->nsteps; i++)
        if (sched->steps[i].kind == kind && n-- == 0)
            return i;
    fail_msg("no such step");
    return 0;
}

gdr_step_t *sched_step(gdr_sched_t *sched, gdr_step_kind_t kind, uint32_t n)
{
    return &sched->steps[sched_nth(sched, kind, n)];
}

gdr_operand_t *sched_operand(gdr_sched_t *sched, const gdr_step_t *step, uint32_t i)
{
    return &sched->operands[step->operand + i];
}

gdr_operand_t *sched_output(gdr_sched_t *sched, const gdr_step_t *step, uint32_t i)
{
    return sched_operand(sched, step, step->nin + i);
}

void call_rederive(call_t *call, gdr_sched_t *sched)
{
    assert_int_equal(gdr_sched_derive_credits(sched, call->plans[0]->layout.chunk_bytes), GDR_OK);
}

void sched_remove_dep(gdr_step_t *step, gdr_sched_t *sched, uint32_t i)
{
    sched->deps[step->dep + i] = sched->deps[step->dep + step->ndep - 1];
    step->ndep--;
}

void sched_move_step(gdr_sched_t *sched, uint32_t from, uint32_t to)
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

void sched_remove_step(gdr_sched_t *sched, uint32_t index)
{
    memmove(&sched->steps[index], &sched->steps[index + 1],
            (sched->nsteps - index - 1) * sizeof(sched->steps[0]));
    sched->nsteps--;
    for (uint32_t i = 0; i < sched->nsteps; i++)
        for (uint32_t d = 0; d < sched->steps[i].ndep; d++)
            if (sched->deps[sched->steps[i].dep + d] == index)
                sched_remove_dep(&sched->steps[i], sched, d--);
    for (uint32_t i = 0; i < sched->ndeps; i++)
        if (sched->deps[i] > index)
            sched->deps[i]--;
}
