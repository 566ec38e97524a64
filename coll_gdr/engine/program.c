#include "engine/gdr_program.h"

#include <stdlib.h>

/* What is read of the inputs makes up the output. */
static bool gather_is_sound(const gdr_step_t *step)
{
    return step->nout == 1 && step->block > 0 && step->bytes > 0 &&
           (step->bytes - 1) / step->block + 1 == step->nin;
}

static bool step_is_sound(const gdr_sched_t *sched, uint32_t index, uint32_t nflags,
                          uint32_t nchannels)
{
    const gdr_step_t *step = &sched->steps[index];
    uint32_t i;

    if (step->operand + step->nin + step->nout > sched->noperands ||
        step->dep + step->ndep > sched->ndeps)
        return false;
    for (i = 0; i < step->ndep; i++) {
        if (sched->deps[step->dep + i] >= index)
            return false;
    }
    if (gdr_kind_is_kernel(step->kind))
        return step->nin >= 1 && step->nin <= GDR_STEP_MAX_IN && step->nout >= 1 &&
               step->nout <= GDR_STEP_MAX_OUT &&
               (step->kind != GDR_STEP_GATHER || gather_is_sound(step));
    if (step->peer < 0 || step->peer >= sched->size || step->peer == sched->rank)
        return false;
    if (step->kind == GDR_STEP_WAIT)
        return step->flag < nflags;
    return gdr_kind_is_put(step->kind) && step->channel < nchannels &&
           (step->kind == GDR_STEP_SIGNAL || step->bytes == 0 ||
            (step->nin == 1 && step->nout == 1));
}

static bool sched_is_sound(const gdr_sched_t *sched, uint32_t nflags, uint32_t nchannels)
{
    uint32_t i, r;

    for (i = 0; i < sched->nsteps; i++) {
        if (!step_is_sound(sched, i, nflags, nchannels))
            return false;
    }
    for (i = 0; i < sched->ncredits; i++) {
        const gdr_credit_t *credit = &sched->credits[i];

        if (credit->wait >= sched->nsteps || sched->steps[credit->wait].kind != GDR_STEP_WAIT ||
            credit->first + credit->n > sched->nreaders)
            return false;
        for (r = 0; r < credit->n; r++) {
            if (sched->readers[credit->first + r] >= sched->nsteps)
                return false;
        }
    }
    return true;
}

/* Whether the edge needs no more than the order of one stream. */
static bool edge_is_order(const gdr_program_t *program, uint32_t from, uint32_t to)
{
    return gdr_kind_is_kernel(program->items[from].kind) &&
           gdr_kind_is_kernel(program->items[to].kind);
}

typedef void (*edge_fn)(gdr_program_t *program, uint32_t from, uint32_t to, uint32_t *cursor);

static void each_edge(gdr_program_t *program, edge_fn fn, uint32_t *cursor)
{
    const gdr_sched_t *sched = program->sched;
    uint32_t i, k;

    for (i = 0; i < sched->nsteps; i++) {
        for (k = 0; k < sched->steps[i].ndep; k++)
            fn(program, sched->deps[sched->steps[i].dep + k], i, cursor);
        /* A flag's later value is not looked for before the earlier one has come. */
        if (sched->steps[i].kind == GDR_STEP_WAIT && program->items[i].prior >= 0)
            fn(program, (uint32_t)program->items[i].prior, i, cursor);
    }
    for (i = 0; i < sched->ncredits; i++) {
        const gdr_credit_t *credit = &sched->credits[i];

        if (credit->n == 0)
            fn(program, credit->wait, sched->nsteps + i, cursor);
        for (k = 0; k < credit->n; k++)
            fn(program, sched->readers[credit->first + k], sched->nsteps + i, cursor);
    }
}

static void count_edge(gdr_program_t *program, uint32_t from, uint32_t to, uint32_t *cursor)
{
    (void)cursor;
    program->missing[to]++;
    if (edge_is_order(program, from, to)) {
        program->items[from].norder++;
    } else {
        program->items[from].ndone++;
        program->items[from].urgent |=
            to < program->sched->nsteps && program->items[to].kind != GDR_STEP_WAIT;
        program->items[from].wanted |= to >= program->sched->nsteps;
    }
}

/* cursor[2 * item]: next place for an order edge, [2 * item + 1]: for a done edge. */
static void store_edge(gdr_program_t *program, uint32_t from, uint32_t to, uint32_t *cursor)
{
    uint32_t *place = &cursor[2 * (size_t)from + (edge_is_order(program, from, to) ? 0 : 1)];

    program->successors[(*place)++] = to;
}

static gdr_status_t link_items(gdr_program_t *program)
{
    uint32_t total = 0, i;
    uint32_t *cursor = calloc(2 * (size_t)program->nitems + 1, sizeof(*cursor));

    if (cursor == NULL)
        return GDR_ERR_NO_MEMORY;
    each_edge(program, count_edge, NULL);
    for (i = 0; i < program->nitems; i++) {
        gdr_item_t *item = &program->items[i];

        item->succ = total;
        cursor[2 * (size_t)i] = total;
        cursor[2 * (size_t)i + 1] = total + item->norder;
        item->wanted |= item->ndone > 0 ? item->kind != GDR_STEP_WAIT : item->norder == 0;
        total += item->norder + item->ndone;
    }
    program->successors = calloc((size_t)total + 1, sizeof(*program->successors));
    if (program->successors == NULL) {
        free(cursor);
        return GDR_ERR_NO_MEMORY;
    }
    each_edge(program, store_edge, cursor);
    free(cursor);
    for (i = 0; i < program->nitems; i++) {
        if (program->missing[i] == 0)
            program->first[program->nfirst++] = i;
    }
    return GDR_OK;
}

static int by_rank(const void *a, const void *b)
{
    const int32_t *x = a, *y = b;

    return (*x > *y) - (*x < *y);
}

/* Before the rounds are numbered: a step's item says for whom it is, a credit's as its WAIT's. */
static gdr_status_t name_peers(gdr_program_t *program, const int32_t *ranks, uint32_t nranks)
{
    const gdr_sched_t *sched = program->sched;
    uint32_t i;

    for (i = 0; i < program->nitems; i++) {
        gdr_item_t *item = &program->items[i];
        const gdr_credit_t *credit = i < sched->nsteps ? NULL : &sched->credits[i - sched->nsteps];
        const gdr_step_t *step = &sched->steps[credit != NULL ? credit->wait : i];
        const int32_t *found;

        if (gdr_kind_is_kernel(step->kind))
            continue;
        found = bsearch(&step->peer, ranks, nranks, sizeof(*ranks), by_rank);
        if (found == NULL)
            return GDR_ERR_INVALID;
        item->peer = (uint32_t)(found - ranks);
        item->op = credit != NULL ? program->nchannels + step->flag : step->channel;
    }
    return GDR_OK;
}

/* The schedule's order is an execution order, so rounds of a flag come in sequence. */
static void number_rounds(gdr_program_t *program, int64_t *last_wait)
{
    const gdr_sched_t *sched = program->sched;
    uint32_t i;

    for (i = 0; i < sched->nsteps; i++) {
        const gdr_step_t *step = &sched->steps[i];
        gdr_item_t *item = &program->items[i];

        item->kind = step->kind;
        item->prior = -1;
        if (step->kind == GDR_STEP_WAIT) {
            if (last_wait[step->flag] >= 0)
                program->items[last_wait[step->flag]].last_round = false;
            item->last_round = true;
            item->prior = last_wait[step->flag];
            last_wait[step->flag] = i;
            program->waited[step->flag] = true;
        } else if (gdr_kind_is_put(step->kind)) {
            item->prior = program->last_written[step->channel];
            program->last_written[step->channel] = i;
        }
    }
    for (i = 0; i < sched->ncredits; i++) {
        program->items[sched->nsteps + i].kind = GDR_ITEM_CREDIT;
        program->items[sched->nsteps + i].wait = sched->credits[i].wait;
    }
}

static gdr_status_t fill(gdr_program_t *program, const int32_t *ranks, uint32_t nranks)
{
    uint32_t i;
    gdr_status_t status;
    int64_t *last_wait;

    program->items = calloc((size_t)program->nitems + 1, sizeof(*program->items));
    program->missing = calloc((size_t)program->nitems + 1, sizeof(*program->missing));
    program->first = calloc((size_t)program->nitems + 1, sizeof(*program->first));
    program->waited = calloc((size_t)program->nflags + 1, sizeof(*program->waited));
    program->last_written = calloc((size_t)program->nchannels + 1, sizeof(*program->last_written));
    last_wait = calloc((size_t)program->nflags + 1, sizeof(*last_wait));
    if (program->items == NULL || program->missing == NULL || program->first == NULL ||
        program->waited == NULL || program->last_written == NULL || last_wait == NULL) {
        free(last_wait);
        return GDR_ERR_NO_MEMORY;
    }
    for (i = 0; i < program->nchannels; i++)
        program->last_written[i] = -1;
    for (i = 0; i < program->nflags; i++)
        last_wait[i] = -1;
    status = name_peers(program, ranks, nranks);
    if (status == GDR_OK)
        number_rounds(program, last_wait);
    free(last_wait);
    return status == GDR_OK ? link_items(program) : status;
}

gdr_status_t gdr_program_make(const gdr_sched_t *sched, uint32_t nflags, uint32_t nchannels,
                              const int32_t *ranks, uint32_t nranks, gdr_program_t **program)
{
    gdr_program_t *made;
    gdr_status_t status;

    if (!sched_is_sound(sched, nflags, nchannels))
        return GDR_ERR_INVALID;
    made = calloc(1, sizeof(*made));
    if (made == NULL)
        return GDR_ERR_NO_MEMORY;
    made->sched = sched;
    made->nitems = sched->nsteps + sched->ncredits;
    made->nflags = nflags;
    made->nchannels = nchannels;
    made->nops = nchannels + nflags;
    status = fill(made, ranks, nranks);
    if (status != GDR_OK) {
        gdr_program_free(made);
        return status;
    }
    *program = made;
    return GDR_OK;
}

void gdr_program_free(gdr_program_t *program)
{
    if (program == NULL)
        return;
    free(program->items);
    free(program->missing);
    free(program->first);
    free(program->successors);
    free(program->waited);
    free(program->last_written);
    free(program);
}
