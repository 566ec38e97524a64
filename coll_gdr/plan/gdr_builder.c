#include "plan/gdr_builder.h"

#include <stdlib.h>

enum { FIRST_CAPACITY = 32 };

void gdr_build_init(gdr_build_t *build, int32_t rank, int32_t size, uint64_t bytes)
{
    *build = (gdr_build_t){.status = GDR_OK};
    build->sched = calloc(1, sizeof(*build->sched));
    if (build->sched == NULL) {
        build->status = GDR_ERR_NO_MEMORY;
        return;
    }
    build->sched->rank = rank;
    build->sched->size = size;
    build->sched->bytes = bytes;
    build->sched->rounds = 1;
}

gdr_status_t gdr_build_finish(gdr_build_t *build, uint64_t chunk_bytes, gdr_sched_t **sched)
{
    gdr_status_t status = build->status;

    if (status == GDR_OK)
        status = gdr_sched_derive_credits(build->sched, chunk_bytes);
    if (status != GDR_OK) {
        gdr_sched_free(build->sched);
        build->sched = NULL;
        return status;
    }
    *sched = build->sched;
    build->sched = NULL;
    return GDR_OK;
}

gdr_operand_t gdr_operand_send(const gdr_build_t *build, uint64_t offset)
{
    int32_t rank = build->sched != NULL ? build->sched->rank : -1;

    return (gdr_operand_t){.rank = rank, .buffer = GDR_BUFFER_SEND, .offset = offset};
}

gdr_operand_t gdr_operand_recv(const gdr_build_t *build, uint64_t offset)
{
    int32_t rank = build->sched != NULL ? build->sched->rank : -1;

    return (gdr_operand_t){.rank = rank, .buffer = GDR_BUFFER_RECV, .offset = offset};
}

gdr_operand_t gdr_operand_slot(int32_t rank, uint32_t slot, uint64_t offset)
{
    return (gdr_operand_t){.rank = rank, .buffer = GDR_BUFFER_SLOT, .slot = slot, .offset = offset};
}

/* Room for `more` elements of `size` bytes behind the first `used`; the array, or NULL. */
static void *grown(gdr_build_t *build, void *array, uint32_t used, uint32_t more, uint32_t *cap,
                   size_t size)
{
    uint64_t wanted = *cap != 0 ? *cap : FIRST_CAPACITY;
    void *larger;

    if (array != NULL && used + (uint64_t)more <= *cap)
        return array;
    while (wanted < used + (uint64_t)more)
        wanted *= 2;
    if (wanted >= GDR_BUILD_NONE) {
        build->status = GDR_ERR_UNSUPPORTED;
        return NULL;
    }
    larger = realloc(array, wanted * size);
    if (larger == NULL) {
        build->status = GDR_ERR_NO_MEMORY;
        return NULL;
    }
    *cap = (uint32_t)wanted;
    return larger;
}

static bool reserve_step(gdr_build_t *build, uint32_t noperands)
{
    gdr_sched_t *s = build->sched;
    void *steps, *operands;

    steps = grown(build, s->steps, s->nsteps, 1, &build->steps_cap, sizeof(*s->steps));
    if (steps == NULL)
        return false;
    s->steps = steps;
    operands = grown(build, s->operands, s->noperands, noperands, &build->operands_cap,
                     sizeof(*s->operands));
    if (operands == NULL)
        return false;
    s->operands = operands;
    return true;
}

static uint32_t append(gdr_build_t *build, gdr_step_t step, const gdr_operand_t *in,
                       const gdr_operand_t *out)
{
    gdr_sched_t *s = build->sched;

    if (build->status != GDR_OK || !reserve_step(build, (uint32_t)step.nin + step.nout))
        return GDR_BUILD_NONE;
    step.operand = s->noperands;
    step.dep = s->ndeps;
    for (uint32_t i = 0; i < step.nin; i++)
        s->operands[s->noperands++] = in[i];
    for (uint32_t i = 0; i < step.nout; i++)
        s->operands[s->noperands++] = out[i];
    s->steps[s->nsteps] = step;
    return s->nsteps++;
}

static gdr_step_t on_edge(gdr_step_kind_t kind, gdr_edge_t edge, uint64_t bytes)
{
    return (gdr_step_t){.kind = (uint8_t)kind,
                        .bytes = bytes,
                        .peer = edge.peer,
                        .flag = edge.flag,
                        .channel = edge.channel,
                        .round = edge.round};
}

uint32_t gdr_build_put(gdr_build_t *build, gdr_edge_t edge, gdr_operand_t from, gdr_operand_t to,
                       uint64_t bytes)
{
    gdr_step_t step = on_edge(GDR_STEP_PUT, edge, bytes);

    step.nin = step.nout = 1;
    return append(build, step, &from, &to);
}

uint32_t gdr_build_wait(gdr_build_t *build, gdr_edge_t edge, gdr_operand_t at, uint64_t bytes)
{
    gdr_step_t step = on_edge(GDR_STEP_WAIT, edge, bytes);

    step.nout = 1;
    return append(build, step, NULL, &at);
}

uint32_t gdr_build_signal(gdr_build_t *build, gdr_edge_t edge)
{
    return append(build, on_edge(GDR_STEP_SIGNAL, edge, 0), NULL, NULL);
}

uint32_t gdr_build_await(gdr_build_t *build, gdr_edge_t edge)
{
    return append(build, on_edge(GDR_STEP_WAIT, edge, 0), NULL, NULL);
}

uint32_t gdr_build_copy(gdr_build_t *build, gdr_operand_t from, gdr_operand_t to, uint64_t bytes)
{
    gdr_step_t step = {.kind = GDR_STEP_COPY, .nin = 1, .nout = 1, .bytes = bytes, .peer = -1};

    return append(build, step, &from, &to);
}

uint32_t gdr_build_copy_twice(gdr_build_t *build, gdr_operand_t from, const gdr_operand_t to[2],
                              uint64_t bytes)
{
    gdr_step_t step = {.kind = GDR_STEP_COPY, .nin = 1, .nout = 2, .bytes = bytes, .peer = -1};

    return append(build, step, &from, to);
}

uint32_t gdr_build_reduce(gdr_build_t *build, const gdr_operand_t *in, uint32_t nin,
                          const gdr_operand_t *out, uint32_t nout, uint64_t bytes)
{
    gdr_step_t step = {.kind = GDR_STEP_REDUCE,
                       .nin = (uint8_t)nin,
                       .nout = (uint8_t)nout,
                       .bytes = bytes,
                       .peer = -1};

    if (nin < 2 || nin > GDR_STEP_MAX_IN || nout < 1 || nout > GDR_STEP_MAX_OUT) {
        build->status = build->status == GDR_OK ? GDR_ERR_INVALID : build->status;
        return GDR_BUILD_NONE;
    }
    return append(build, step, in, out);
}

uint32_t gdr_build_gather(gdr_build_t *build, const gdr_operand_t *in, uint32_t nin,
                          gdr_operand_t to, uint64_t block, uint64_t bytes)
{
    gdr_step_t step = {.kind = GDR_STEP_GATHER,
                       .nin = (uint8_t)nin,
                       .nout = 1,
                       .bytes = bytes,
                       .block = block,
                       .peer = -1};

    if (nin < 1 || nin > GDR_STEP_MAX_IN || bytes <= (nin - 1) * block || bytes > nin * block) {
        build->status = build->status == GDR_OK ? GDR_ERR_INVALID : build->status;
        return GDR_BUILD_NONE;
    }
    if (nin == 1)
        return gdr_build_copy(build, in[0], to, bytes);
    return append(build, step, in, &to);
}

void gdr_build_after(gdr_build_t *build, uint32_t step)
{
    gdr_sched_t *s = build->sched;
    void *deps;

    if (build->status != GDR_OK || step == GDR_BUILD_NONE)
        return;
    deps = grown(build, s->deps, s->ndeps, 1, &build->deps_cap, sizeof(*s->deps));
    if (deps == NULL)
        return;
    s->deps = deps;
    s->deps[s->ndeps++] = step;
    s->steps[s->nsteps - 1].ndep++;
}
