/* FORM: each schedule on its own. */
#include "plan/gdr_check_parts.h"

#include <inttypes.h>

typedef struct form {
    check_t *check;
    const gdr_sched_t *sched;
    const char *kind; /* of the segment */
    uint32_t index;
    const gdr_step_t *step;
} form_t;

static gdr_status_t wrong(form_t *f, const char *what)
{
    return gdr_check_fail(f->check, GDR_CHECK_FORM, "%s: %s",
                          gdr_check_step_name(f->sched, f->kind, f->index).text, what);
}

static bool counts_ok(const gdr_step_t *s)
{
    switch (s->kind) {
    case GDR_STEP_PUT:
        return s->nin == 1 && s->nout == 1;
    case GDR_STEP_SIGNAL:
        return s->nin == 0 && s->nout == 0 && s->bytes == 0;
    case GDR_STEP_WAIT:
        return s->nin == 0 && s->nout <= 1 && (s->nout == 1 || s->bytes == 0);
    case GDR_STEP_REDUCE:
        return s->nin >= 2 && s->nin <= GDR_STEP_MAX_IN && s->nout >= 1 &&
               s->nout <= GDR_STEP_MAX_OUT && s->bytes > 0;
    case GDR_STEP_COPY:
        return s->nin == 1 && s->nout >= 1 && s->nout <= GDR_STEP_MAX_OUT && s->bytes > 0;
    case GDR_STEP_GATHER: /* the last input is not empty, and no longer than a block */
        return s->nin >= 2 && s->nin <= GDR_STEP_MAX_IN && s->nout == 1 && s->block > 0 &&
               s->block <= s->bytes && (s->bytes - 1) / s->block == s->nin - 1U;
    default:
        return false;
    }
}

static gdr_status_t check_indices(form_t *f)
{
    const gdr_step_t *s = f->step;

    if (!counts_ok(s))
        return wrong(f, "kind, number of operands or size that do not go together");
    if (s->operand + (uint64_t)s->nin + s->nout > f->sched->noperands)
        return wrong(f, "operands beyond the schedule's");
    if (s->dep + (uint64_t)s->ndep > f->sched->ndeps)
        return wrong(f, "dependencies beyond the schedule's");
    for (uint32_t i = 0; i < s->ndep; i++)
        if (f->sched->deps[s->dep + i] >= f->index)
            return wrong(f, "depends on a step that does not come before it");
    if (s->kind == GDR_STEP_REDUCE && s->bytes % f->check->subject->type_bytes != 0)
        return wrong(f, "reduces a part of an element");
    return GDR_OK;
}

static gdr_status_t check_flag(form_t *f)
{
    const gdr_step_t *s = f->step;

    if (s->kind != GDR_STEP_WAIT && !check_writes_flag(s))
        return GDR_OK;
    if (s->peer < 0 || s->peer >= f->sched->size || s->peer == f->sched->rank)
        return wrong(f, "peer is no other rank");
    if (s->flag >= f->check->layout->shape.nflags)
        return wrong(f, "flag beyond the layout's");
    if (s->channel >= f->check->layout->shape.nchannels)
        return wrong(f, "channel beyond the layout's");
    if (s->round >= f->check->rounds)
        return wrong(f, "round beyond the schedule's");
    return GDR_OK;
}

/* Who may own an operand, and which buffers a step may read and write. */
static bool owner_ok(const form_t *f, const gdr_operand_t *o, bool output)
{
    uint8_t kind = f->step->kind;
    bool kernel = kind != GDR_STEP_WAIT && !check_writes_flag(f->step);
    bool own = o->rank == f->sched->rank;

    switch (o->buffer) {
    case GDR_BUFFER_SEND:
        return kernel && own && !output;
    case GDR_BUFFER_RECV:
        return kernel && own && output;
    case GDR_BUFFER_SLOT:
        if (kind == GDR_STEP_PUT && output)
            return o->rank == f->step->peer;
        if (kernel && !output && !own)
            return o->rank >= 0 && o->rank < f->sched->size &&
                   gdr_topology_mapped(f->check->subject->topology, o->rank, f->sched->rank);
        return own;
    default:
        return false;
    }
}

static bool inside(const form_t *f, const gdr_operand_t *o, uint64_t bytes)
{
    const gdr_layout_t *l = f->check->layout;
    uint64_t end = f->sched->bytes, start = o->offset;

    if (o->buffer == GDR_BUFFER_SLOT) {
        if (o->slot >= l->shape.nslots)
            return false;
        end = l->shape.nslots * l->chunk_bytes - o->slot * l->chunk_bytes;
    }
    return start <= end && bytes <= end - start;
}

/* Of operand i; the outputs follow the inputs. */
static uint64_t operand_bytes(const gdr_step_t *s, uint32_t i)
{
    return i < s->nin ? gdr_step_input_bytes(s, i) : s->bytes;
}

/* In place SEND and RECV are one memory. */
static bool same_memory(const gdr_operand_t *a, const gdr_operand_t *b)
{
    return a->rank == b->rank && (a->buffer == GDR_BUFFER_SLOT) == (b->buffer == GDR_BUFFER_SLOT);
}

/* Operands i and j. */
static bool overlaps(const form_t *f, uint32_t i, uint32_t j, bool may_be_equal)
{
    const gdr_operand_t *a = check_in(f->sched, f->step, i), *b = check_in(f->sched, f->step, j);
    uint64_t x = check_address(f->check, a), y = check_address(f->check, b);

    if (!same_memory(a, b) || (may_be_equal && x == y))
        return false;
    return x < y + operand_bytes(f->step, j) && y < x + operand_bytes(f->step, i);
}

static gdr_status_t check_operands(form_t *f)
{
    const gdr_step_t *s = f->step;

    for (uint32_t i = 0; i < (uint32_t)s->nin + s->nout; i++) {
        const gdr_operand_t *o = check_in(f->sched, s, i);

        if (!owner_ok(f, o, i >= s->nin))
            return wrong(f, "an operand in a buffer that this step may not touch");
        if (!inside(f, o, operand_bytes(s, i)))
            return wrong(f, "an operand leaves its buffer");
    }
    for (uint32_t i = 0; i < s->nout; i++)
        for (uint32_t j = 0; j < s->nin; j++)
            if (overlaps(f, s->nin + i, j, s->kind != GDR_STEP_GATHER))
                return wrong(f, "an output overlaps an input partly");
    if (s->nout == 2 && overlaps(f, s->nin, s->nin + 1U, false))
        return wrong(f, "the outputs overlap");
    return GDR_OK;
}

static gdr_status_t check_steps(form_t *f)
{
    for (f->index = 0; f->index < f->sched->nsteps; f->index++) {
        gdr_status_t status;

        f->step = &f->sched->steps[f->index];
        status = check_indices(f);
        if (status == GDR_OK)
            status = check_flag(f);
        if (status == GDR_OK)
            status = check_operands(f);
        if (status != GDR_OK)
            return status;
    }
    return GDR_OK;
}

/* Whether the credits' indices can be followed; what they mean is judged later. */
static bool credits_ok(const gdr_sched_t *sched)
{
    for (uint32_t i = 0; i < sched->ncredits; i++) {
        const gdr_credit_t *credit = &sched->credits[i];

        if (credit->wait >= sched->nsteps || sched->steps[credit->wait].kind != GDR_STEP_WAIT ||
            credit->first + (uint64_t)credit->n > sched->nreaders)
            return false;
        for (uint32_t j = 0; j < credit->n; j++)
            if (sched->readers[credit->first + j] >= sched->nsteps)
                return false;
    }
    return true;
}

static gdr_status_t check_schedule(check_t *check, int32_t rank, const gdr_sched_t *sched,
                                   const char *kind, uint64_t bytes)
{
    form_t form = {.check = check, .sched = sched, .kind = kind};

    if (sched->rank != rank || sched->size != check->subject->size || sched->bytes != bytes ||
        sched->rounds != check->rounds)
        return gdr_check_fail(check, GDR_CHECK_FORM,
                              "rank %" PRId32
                              " %s segment: rank, size, bytes or rounds differ from "
                              "the plan's",
                              rank, kind);
    if (!credits_ok(sched))
        return gdr_check_fail(
            check, GDR_CHECK_FORM,
            "rank %" PRId32 " %s segment: credits or readers beyond the schedule's", rank, kind);
    return check_steps(&form);
}

static bool layouts_equal(const gdr_layout_t *a, const gdr_layout_t *b)
{
    return a->depth == b->depth && a->chunk_bytes == b->chunk_bytes &&
           a->slots_bytes == b->slots_bytes && a->source_offset == b->source_offset &&
           a->shape.nslots == b->shape.nslots && a->shape.nflags == b->shape.nflags &&
           a->shape.nchannels == b->shape.nchannels;
}

static bool plans_agree(const gdr_plan_t *a, const gdr_plan_t *b)
{
    return a->algorithm == b->algorithm && a->nsegments == b->nsegments &&
           a->seg_bytes == b->seg_bytes && layouts_equal(&a->layout, &b->layout) &&
           (a->full == NULL) == (b->full == NULL) && b->last != NULL;
}

gdr_status_t gdr_check_form(check_t *check)
{
    const gdr_check_subject_t *s = check->subject;
    const gdr_plan_t *first = s->plans[0];
    uint64_t last_bytes = s->bytes - (first->nsegments - 1) * first->seg_bytes;
    gdr_status_t status = GDR_OK;

    if ((first->full == NULL) != (first->nsegments == 1) || last_bytes == 0 ||
        last_bytes > first->seg_bytes)
        return gdr_check_fail(check, GDR_CHECK_FORM, "segments that are not the message");
    for (int32_t r = 0; r < s->size && status == GDR_OK; r++) {
        if (!plans_agree(first, s->plans[r]))
            return gdr_check_fail(check, GDR_CHECK_FORM,
                                  "rank %" PRId32 " has another plan than rank 0", r);
        status = check_schedule(check, r, s->plans[r]->last, "last", last_bytes);
        if (status == GDR_OK && first->full != NULL)
            status = check_schedule(check, r, s->plans[r]->full, "full", first->seg_bytes);
    }
    return status;
}
