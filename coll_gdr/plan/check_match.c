/* MATCH: writes of flags against WAITs, and CREDIT: credits against readers. */
#include "plan/gdr_check_parts.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static const char *const kind_names[] = {"full", "last"};

static const char *name(const gdr_sched_t *sched, uint32_t kind, uint32_t step, check_name_t *out)
{
    *out = gdr_check_step_name(sched, kind_names[kind], step);
    return out->text;
}

/* Whether `step` may be the flag's write or WAIT: the flag belongs to one channel of one rank. */
static bool owns_flag(check_t *check, int32_t receiver, const gdr_step_t *step, int32_t sender)
{
    size_t i = (size_t)receiver * check->layout->shape.nflags + step->flag;

    if (check->sender[i] < 0) {
        check->sender[i] = sender;
        check->channel[i] = step->channel;
    }
    return check->sender[i] == sender && check->channel[i] == step->channel;
}

/* Enters the flag steps of one schedule into the tables. */
static gdr_status_t enter(check_t *check, uint32_t kind, int32_t rank)
{
    check_side_t *side = &check->side[kind];
    const gdr_sched_t *sched = side->sched[rank];
    check_name_t text;

    for (uint32_t i = 0; i < sched->nsteps; i++) {
        const gdr_step_t *step = &sched->steps[i];
        bool put = check_writes_flag(step);
        int32_t receiver = put ? step->peer : rank;
        uint32_t *entry;
        size_t at;

        if (!put && step->kind != GDR_STEP_WAIT)
            continue;
        at = check_write(check, receiver, step->flag, step->round);
        entry = put ? &side->put[at] : &side->wait[at];
        if (!owns_flag(check, receiver, step, put ? rank : step->peer))
            return gdr_check_fail(check, GDR_CHECK_MATCH,
                                  "%s: flag %" PRIu32 " of rank %" PRId32
                                  " belongs to another rank or channel",
                                  name(sched, kind, i, &text), step->flag, receiver);
        if (*entry != CHECK_ABSENT)
            return gdr_check_fail(
                check, GDR_CHECK_MATCH, "%s: the second %s of flag %" PRIu32 " round %" PRIu32,
                name(sched, kind, i, &text), put ? "write" : "wait", step->flag, step->round);
        *entry = i;
    }
    return GDR_OK;
}

static gdr_status_t compare(check_t *check, uint32_t kind, int32_t receiver, uint32_t flag,
                            uint32_t put, uint32_t wait)
{
    const check_side_t *side = &check->side[kind];
    int32_t sender = check->sender[(size_t)receiver * check->layout->shape.nflags + flag];
    const gdr_sched_t *from = side->sched[sender], *to = side->sched[receiver];
    const gdr_step_t *p, *w;
    check_name_t text, other;

    if (wait == CHECK_ABSENT)
        return gdr_check_fail(check, GDR_CHECK_MATCH, "%s: nobody waits for it",
                              name(from, kind, put, &text));
    if (put == CHECK_ABSENT)
        return gdr_check_fail(check, GDR_CHECK_MATCH, "%s: nobody writes the flag",
                              name(to, kind, wait, &text));
    p = &from->steps[put];
    w = &to->steps[wait];
    if ((p->kind == GDR_STEP_PUT) != (w->nout == 1) || p->bytes != w->bytes ||
        (w->nout == 1 &&
         check_address(check, check_out(from, p, 0)) != check_address(check, check_out(to, w, 0))))
        return gdr_check_fail(check, GDR_CHECK_MATCH, "%s and %s: size or place differ",
                              name(from, kind, put, &text), name(to, kind, wait, &other));
    return GDR_OK;
}

/* All rounds of a flag or none, in the order of the steps, on both sides. */
static gdr_status_t match_flag(check_t *check, uint32_t kind, int32_t receiver, uint32_t flag)
{
    const check_side_t *side = &check->side[kind];
    size_t at = check_write(check, receiver, flag, 0);
    uint32_t present = 0;

    for (uint32_t k = 0; k < check->rounds; k++) {
        gdr_status_t status;

        if (side->put[at + k] == CHECK_ABSENT && side->wait[at + k] == CHECK_ABSENT)
            continue;
        present++;
        status = compare(check, kind, receiver, flag, side->put[at + k], side->wait[at + k]);
        if (status != GDR_OK)
            return status;
        if (k > 0 && side->put[at + k - 1] != CHECK_ABSENT &&
            (side->put[at + k] < side->put[at + k - 1] ||
             side->wait[at + k] < side->wait[at + k - 1]))
            return gdr_check_fail(check, GDR_CHECK_MATCH,
                                  "rank %" PRId32 " %s segment: flag %" PRIu32 " round %" PRIu32
                                  " comes before the round before it",
                                  receiver, kind_names[kind], flag, k);
    }
    if (present != 0 && present != check->rounds)
        return gdr_check_fail(check, GDR_CHECK_MATCH,
                              "rank %" PRId32 " %s segment: flag %" PRIu32 " has %" PRIu32
                              " rounds instead of %" PRIu32,
                              receiver, kind_names[kind], flag, present, check->rounds);
    if (present == 0 && check->subject->plans[0]->nsegments > 1 &&
        check->sender[(size_t)receiver * check->layout->shape.nflags + flag] >= 0)
        return gdr_check_fail(check, GDR_CHECK_MATCH,
                              "rank %" PRId32 ": flag %" PRIu32 " is missing in the %s segment",
                              receiver, flag, kind_names[kind]);
    return GDR_OK;
}

/* No channel serves two flags: it has one credit word. */
static gdr_status_t match_channels(check_t *check)
{
    uint32_t nflags = check->layout->shape.nflags, nchannels = check->layout->shape.nchannels;
    size_t total = (size_t)check->subject->size * nflags;
    bool *used = calloc((size_t)check->subject->size * nchannels + 1, sizeof(*used));
    gdr_status_t status = GDR_OK;

    if (used == NULL)
        return GDR_ERR_NO_MEMORY;
    for (size_t i = 0; i < total && status == GDR_OK; i++) {
        size_t at;

        if (check->sender[i] < 0)
            continue;
        at = (size_t)check->sender[i] * nchannels + check->channel[i];
        if (used[at])
            status = gdr_check_fail(check, GDR_CHECK_MATCH,
                                    "channel %" PRIu32 " of rank %" PRId32 " serves two flags",
                                    check->channel[i], check->sender[i]);
        used[at] = true;
    }
    free(used);
    return status;
}

gdr_status_t gdr_check_match(check_t *check)
{
    gdr_status_t status = GDR_OK;

    for (uint32_t kind = 0; kind < CHECK_KINDS; kind++)
        for (int32_t r = 0; r < check->subject->size && status == GDR_OK; r++)
            if (check->side[kind].sched != NULL)
                status = enter(check, kind, r);
    for (uint32_t kind = 0; kind < CHECK_KINDS; kind++)
        for (int32_t r = 0; r < check->subject->size; r++)
            for (uint32_t f = 0; f < check->layout->shape.nflags && status == GDR_OK; f++)
                if (check->side[kind].sched != NULL)
                    status = match_flag(check, kind, r, f);
    return status == GDR_OK ? match_channels(check) : status;
}

static bool reads(const check_t *check, const gdr_sched_t *sched, const gdr_step_t *step,
                  const gdr_step_t *wait)
{
    uint64_t from, to;

    if (wait->bytes == 0)
        return false;
    from = check_address(check, check_out(sched, wait, 0));
    to = from + wait->bytes;
    for (uint32_t i = 0; i < step->nin; i++) {
        const gdr_operand_t *in = check_in(sched, step, i);
        uint64_t at = check_address(check, in);

        if (in->buffer == GDR_BUFFER_SLOT && in->rank == sched->rank && at < to &&
            from < at + gdr_step_input_bytes(step, i))
            return true;
    }
    return false;
}

static gdr_status_t check_credit(check_t *check, uint32_t kind, const gdr_sched_t *sched,
                                 const gdr_credit_t *credit)
{
    const gdr_step_t *wait = &sched->steps[credit->wait];
    const uint32_t *readers = sched->readers + credit->first;
    uint32_t n = 0;
    check_name_t text;

    for (uint32_t i = credit->wait + 1; i < sched->nsteps; i++) {
        const gdr_step_t *step = &sched->steps[i];

        if (step->kind == GDR_STEP_WAIT && step->flag == wait->flag)
            break;
        if (!reads(check, sched, step, wait))
            continue;
        if (n >= credit->n || readers[n] != i)
            return gdr_check_fail(check, GDR_CHECK_CREDIT,
                                  "%s: its credit does not wait for step %" PRIu32,
                                  name(sched, kind, credit->wait, &text), i);
        n++;
    }
    if (n != credit->n)
        return gdr_check_fail(check, GDR_CHECK_CREDIT,
                              "%s: its credit waits for a step that reads nothing of it",
                              name(sched, kind, credit->wait, &text));
    return GDR_OK;
}

static gdr_status_t check_schedule_credits(check_t *check, uint32_t kind, const gdr_sched_t *sched)
{
    gdr_status_t status = GDR_OK;
    uint32_t next = 0;
    check_name_t text;

    for (uint32_t i = 0; i < sched->nsteps && status == GDR_OK; i++) {
        if (sched->steps[i].kind != GDR_STEP_WAIT || sched->steps[i].nout == 0)
            continue;
        if (next >= sched->ncredits || sched->credits[next].wait != i)
            return gdr_check_fail(check, GDR_CHECK_CREDIT, "%s: has no credit",
                                  name(sched, kind, i, &text));
        status = check_credit(check, kind, sched, &sched->credits[next++]);
    }
    if (status == GDR_OK && next != sched->ncredits)
        return gdr_check_fail(check, GDR_CHECK_CREDIT,
                              "rank %" PRId32 " %s segment: credits without a wait", sched->rank,
                              kind_names[kind]);
    return status;
}

gdr_status_t gdr_check_credits(check_t *check)
{
    gdr_status_t status = GDR_OK;

    for (uint32_t kind = 0; kind < CHECK_KINDS; kind++)
        for (int32_t r = 0; r < check->subject->size && status == GDR_OK; r++)
            if (check->side[kind].sched != NULL)
                status = check_schedule_credits(check, kind, check->side[kind].sched[r]);
    return status;
}
