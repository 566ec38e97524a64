#include "plan/gdr_circulant.h"

static uint32_t distances(uint32_t p, uint32_t *distance)
{
    uint32_t n = 0;

    distance[0] = p;
    while (distance[n] > 1) {
        distance[n + 1] = distance[n] / 2 + distance[n] % 2;
        n++;
    }
    return n;
}

uint32_t gdr_circulant_steps(uint32_t p)
{
    uint32_t distance[GDR_CIRCULANT_STEPS + 1];

    return distances(p, distance);
}

void gdr_circulant_init(gdr_circulant_t *c)
{
    c->nsteps = distances(c->p, c->distance);
    c->nwaits = 0;
}

/* Bytes of blocks 0 .. i - 1 in the numbering of `member`. */
static uint64_t offset_of(const gdr_circulant_t *c, uint32_t member, uint32_t i)
{
    uint64_t start = gdr_blocks_offset(&c->blocks, member);

    if (i <= c->p - member)
        return gdr_blocks_offset(&c->blocks, member + i) - start;
    return gdr_blocks_offset(&c->blocks, c->p) - start +
           gdr_blocks_offset(&c->blocks, i - (c->p - member));
}

static uint64_t bytes_of(const gdr_circulant_t *c, uint32_t first, uint32_t end)
{
    return offset_of(c, c->r, end) - offset_of(c, c->r, first);
}

static gdr_operand_t block_at(const gdr_circulant_t *c, uint32_t member, uint32_t i)
{
    gdr_circulant_member_t m = c->member(c->ctx, member);

    return gdr_operand_slot(m.rank, m.slot, m.offset + offset_of(c, member, i));
}

gdr_operand_t gdr_circulant_block(const gdr_circulant_t *c, uint32_t i)
{
    return block_at(c, c->r, i);
}

/* Where step k's data comes in, behind that of the steps before. */
static gdr_operand_t arrival_at(const gdr_circulant_t *c, uint32_t member, uint32_t k,
                                uint64_t offset)
{
    gdr_circulant_member_t m = c->member(c->ctx, member);
    uint64_t before = c->distance[0] - c->distance[k];

    return gdr_operand_slot(m.rank, m.arrivals,
                            before * c->blocks.block * c->blocks.type_bytes + offset);
}

/* Between this member and another: step k of the reduce-scatter (half 0) or back (half 1). */
static gdr_edge_t edge(const gdr_circulant_t *c, uint32_t from, uint32_t to, uint32_t half,
                       uint32_t k)
{
    gdr_circulant_member_t sender = c->member(c->ctx, from), receiver = c->member(c->ctx, to);
    uint32_t number = half * c->nsteps + k;

    return (gdr_edge_t){.peer = from == c->r ? receiver.rank : sender.rank,
                        .flag = receiver.number + number,
                        .channel = sender.number + number};
}

static uint32_t above(const gdr_circulant_t *c, uint32_t distance)
{
    return (uint32_t)(((uint64_t)c->r + distance) % c->p);
}

static uint32_t below(const gdr_circulant_t *c, uint32_t distance)
{
    return above(c, c->p - distance);
}

uint32_t gdr_circulant_runs(const gdr_circulant_t *c, uint32_t first, uint32_t end,
                            gdr_circulant_run_t runs[2])
{
    uint32_t wrap = c->p - c->r; /* the i of block 0 */
    uint32_t n = 0;

    for (uint32_t half = 0; half < 2; half++) {
        uint32_t from = half == 0 ? first : (uint32_t)gdr_max_u64(first, wrap);
        uint32_t to = half == 0 ? (uint32_t)gdr_min_u64(end, wrap) : end;
        gdr_circulant_run_t run = {.first = from};

        if (from >= to)
            continue;
        run.bytes = bytes_of(c, from, to);
        run.user = c->user + gdr_blocks_offset(&c->blocks, half == 0 ? c->r + from : from - wrap);
        if (run.bytes > 0)
            runs[n++] = run;
    }
    return n;
}

static void after_all(const gdr_circulant_t *c, const uint32_t *steps, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++)
        gdr_build_after(c->build, steps[i]);
}

void gdr_circulant_after(const gdr_circulant_t *c)
{
    after_all(c, c->ready, c->nready);
    after_all(c, c->waits, c->nwaits);
}

void gdr_circulant_scatter_put(gdr_circulant_t *c, uint32_t k)
{
    uint32_t first = c->distance[k + 1], end = c->distance[k], to = above(c, first);

    gdr_build_put(c->build, edge(c, c->r, to, 0, k), block_at(c, c->r, first),
                  arrival_at(c, to, k, 0), bytes_of(c, first, end));
    after_all(c, c->ready, c->nready);
}

/* Adds what came in step k to a run of blocks. */
static uint32_t add_run(gdr_circulant_t *c, uint32_t k, const gdr_circulant_run_t *run,
                        uint32_t wait)
{
    gdr_operand_t sum = block_at(c, c->r, run->first), in[2], out[GDR_STEP_MAX_OUT];
    uint32_t nout = 0, step;

    in[0] = k == 0 && c->from_send ? gdr_operand_send(c->build, run->user) : sum;
    in[1] = arrival_at(c, c->r, k, offset_of(c, c->r, run->first));
    if (k + 1 == c->nsteps && !c->relays) /* the own block, complete */
        out[nout++] = gdr_operand_recv(c->build, run->user);
    out[nout++] = sum;
    step = gdr_build_reduce(c->build, in, 2, out, nout, run->bytes);
    gdr_build_after(c->build, wait);
    after_all(c, c->ready, c->nready);
    return step;
}

void gdr_circulant_scatter_add(gdr_circulant_t *c, uint32_t k)
{
    uint32_t first = c->distance[k + 1], nblocks = c->distance[k] - first, from = below(c, first);
    gdr_circulant_run_t runs[2];
    uint32_t added[2], n, wait;

    wait = gdr_build_wait(c->build, edge(c, from, c->r, 0, k), arrival_at(c, c->r, k, 0),
                          bytes_of(c, 0, nblocks));
    n = gdr_circulant_runs(c, 0, nblocks, runs);
    for (uint32_t i = 0; i < n; i++)
        added[i] = add_run(c, k, &runs[i], wait);
    for (uint32_t i = 0; i < n; i++)
        c->ready[i] = added[i];
    c->nready = n > 0 ? n : c->nready;
}

void gdr_circulant_gather_put(gdr_circulant_t *c, uint32_t k)
{
    uint32_t first = c->distance[k + 1], end = c->distance[k], to = below(c, first);

    gdr_build_put(c->build, edge(c, c->r, to, 1, k), block_at(c, c->r, 0), block_at(c, to, first),
                  bytes_of(c, 0, end - first));
    gdr_circulant_after(c);
}

void gdr_circulant_gather_wait(gdr_circulant_t *c, uint32_t k)
{
    uint32_t first = c->distance[k + 1], end = c->distance[k], from = above(c, first);

    c->waits[c->nwaits++] = gdr_build_wait(c->build, edge(c, from, c->r, 1, k),
                                           block_at(c, c->r, first), bytes_of(c, first, end));
}

uint32_t gdr_circulant_copy_results(const gdr_circulant_t *c, uint32_t copies[2])
{
    gdr_circulant_run_t runs[2];
    uint32_t n = gdr_circulant_runs(c, c->relays ? 0 : 1, c->p, runs);

    for (uint32_t i = 0; i < n; i++) {
        gdr_operand_t from = block_at(c, c->r, runs[i].first);
        gdr_operand_t to[2] = {gdr_operand_recv(c->build, runs[i].user),
                               gdr_operand_slot(from.rank, c->result, runs[i].user - c->user)};

        copies[i] = c->relays && !c->apart
                        ? gdr_build_copy_twice(c->build, from, to, runs[i].bytes)
                        : gdr_build_copy(c->build, from, to[c->apart], runs[i].bytes);
        gdr_circulant_after(c); /* in place: the input has been read */
    }
    return n;
}
