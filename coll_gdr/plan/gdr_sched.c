#include "plan/gdr_schedule.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdlib.h>

void gdr_sched_free(gdr_sched_t *sched)
{
    if (sched == NULL)
        return;
    free(sched->steps);
    free(sched->operands);
    free(sched->deps);
    free(sched->credits);
    free(sched->readers);
    free(sched);
}

static bool has_credit(const gdr_step_t *step)
{
    return step->kind == GDR_STEP_WAIT && step->nout > 0;
}

static bool overlap(const gdr_operand_t *a, uint64_t abytes, const gdr_operand_t *b,
                    uint64_t bbytes, uint64_t chunk_bytes)
{
    uint64_t a0 = a->slot * chunk_bytes + a->offset, b0 = b->slot * chunk_bytes + b->offset;

    return a->rank == b->rank && a->buffer == b->buffer && a0 < b0 + bbytes && b0 < a0 + abytes;
}

static bool reads(const gdr_sched_t *sched, const gdr_step_t *step, const gdr_operand_t *region,
                  uint64_t bytes, uint64_t chunk_bytes)
{
    for (uint32_t i = 0; i < step->nin; i++)
        if (overlap(&sched->operands[step->operand + i], gdr_step_input_bytes(step, i), region,
                    bytes, chunk_bytes))
            return true;
    return false;
}

/* The readers of `wait`'s data into out[] (NULL: only counted); their number. */
static uint32_t find_readers(const gdr_sched_t *sched, uint32_t wait, uint64_t chunk_bytes,
                             uint32_t *out)
{
    const gdr_step_t *w = &sched->steps[wait];
    uint32_t n = 0;

    if (w->bytes == 0)
        return 0;
    for (uint32_t j = wait + 1; j < sched->nsteps; j++) {
        const gdr_step_t *step = &sched->steps[j];

        if (step->kind == GDR_STEP_WAIT && step->flag == w->flag)
            break;
        if (!reads(sched, step, &sched->operands[w->operand + w->nin], w->bytes, chunk_bytes))
            continue;
        if (out != NULL)
            out[n] = j;
        n++;
    }
    return n;
}

gdr_status_t gdr_sched_derive_credits(gdr_sched_t *sched, uint64_t chunk_bytes)
{
    uint32_t nwaits = 0, nreaders = 0;
    gdr_credit_t *credits;
    uint32_t *readers;

    for (uint32_t i = 0; i < sched->nsteps; i++) {
        if (!has_credit(&sched->steps[i]))
            continue;
        nwaits++;
        nreaders += find_readers(sched, i, chunk_bytes, NULL);
    }
    credits = calloc(nwaits + (size_t)1, sizeof(*credits));
    readers = calloc(nreaders + (size_t)1, sizeof(*readers));
    if (credits == NULL || readers == NULL) {
        free(credits);
        free(readers);
        return GDR_ERR_NO_MEMORY;
    }
    nwaits = nreaders = 0;
    for (uint32_t i = 0; i < sched->nsteps; i++) {
        if (!has_credit(&sched->steps[i]))
            continue;
        credits[nwaits] = (gdr_credit_t){.wait = i, .first = nreaders};
        credits[nwaits].n = find_readers(sched, i, chunk_bytes, readers + nreaders);
        nreaders += credits[nwaits++].n;
    }
    free(sched->credits);
    free(sched->readers);
    sched->credits = credits;
    sched->readers = readers;
    sched->ncredits = nwaits;
    sched->nreaders = nreaders;
    return GDR_OK;
}

static const char *kind_name(uint8_t kind)
{
    static const char *const names[] = {"put", "signal", "wait", "reduce", "copy", "gather"};

    return kind <= GDR_STEP_GATHER ? names[kind] : "?";
}

static void print_operand(FILE *file, const gdr_operand_t *o)
{
    static const char *const names[] = {"send", "recv", "slot"};

    fprintf(file, " %s", o->buffer <= GDR_BUFFER_SLOT ? names[o->buffer] : "?");
    if (o->buffer == GDR_BUFFER_SLOT)
        fprintf(file, "%" PRIu32, o->slot);
    fprintf(file, "+%" PRIu64 "@%" PRId32, o->offset, o->rank);
}

static void print_step(FILE *file, const gdr_sched_t *sched, uint32_t index)
{
    const gdr_step_t *step = &sched->steps[index];

    fprintf(file, "%4" PRIu32 " %-6s %" PRIu64 " B", index, kind_name(step->kind), step->bytes);
    if (step->kind == GDR_STEP_GATHER)
        fprintf(file, " of %" PRIu64, step->block);
    for (uint32_t i = 0; i < step->nin; i++)
        print_operand(file, &sched->operands[step->operand + i]);
    if (step->nout > 0)
        fputs(" ->", file);
    for (uint32_t i = 0; i < step->nout; i++)
        print_operand(file, &sched->operands[step->operand + step->nin + i]);
    if (step->peer >= 0)
        fprintf(file, " peer %" PRId32 " flag %" PRIu32 " channel %" PRIu32 " round %" PRIu32,
                step->peer, step->flag, step->channel, step->round);
    for (uint32_t i = 0; i < step->ndep; i++)
        fprintf(file, "%s%" PRIu32, i == 0 ? " after " : ",", sched->deps[step->dep + i]);
    fputc('\n', file);
}

void gdr_sched_print(const gdr_sched_t *sched, FILE *file)
{
    fprintf(file,
            "rank %" PRId32 " of %" PRId32 ", segment of %" PRIu64 " bytes, %" PRIu32
            " steps, %" PRIu32 " rounds\n",
            sched->rank, sched->size, sched->bytes, sched->nsteps, sched->rounds);
    for (uint32_t i = 0; i < sched->nsteps; i++)
        print_step(file, sched, i);
    for (uint32_t i = 0; i < sched->ncredits; i++) {
        const gdr_credit_t *credit = &sched->credits[i];

        fprintf(file, "credit of wait %" PRIu32 " after", credit->wait);
        for (uint32_t j = 0; j < credit->n; j++)
            fprintf(file, " %" PRIu32, sched->readers[credit->first + j]);
        fputs(credit->n == 0 ? " itself\n" : "\n", file);
    }
}
