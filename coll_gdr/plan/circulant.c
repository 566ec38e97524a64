/*
 * Reduce-scatter and allgather on a circulant graph: 2 ceil(log2 p) steps and 2 (p - 1) / p N of
 * traffic for any number of ranks (J. L. Traeff, "Optimal, Non-pipelined Reduce-scatter and
 * Allreduce Algorithms", arXiv:2410.14234, 2024). Only commutative operations: the order of
 * operands differs from block to block, but each block is finished by one rank.
 *
 * Rank r numbers the blocks from its own: i stands for block (r + i) mod p. The distances are
 * s(0) = p, s(k + 1) = ceil(s(k) / 2), down to 1. Step k of the reduce-scatter: blocks s(k + 1) ..
 * s(k) - 1 go to rank r + s(k + 1), for which they are 0 .. s(k) - s(k + 1) - 1; what comes from
 * rank r - s(k + 1) is added to these here. In the end block 0 is complete. The allgather runs the
 * steps backwards: what was sent comes back finished.
 *
 * Slots: 0 .. p - 1 for the blocks, p .. 2p - 2 for what comes in. Blocks lie side by side in the
 * order of i, and a run of them is put at once: block 0 follows block p - 1 without a gap, also
 * where that one is shorter. What comes in a step of the reduce-scatter has a place of its own,
 * since the sender of a step knows nothing of what is read in the step before. A finished block
 * lands where its partial sum was: its sender is whom that sum was put to, and has received it.
 */
#include "plan/gdr_algorithms.h"
#include "plan/gdr_blocks.h"

enum { MAX_STEPS = 32 };

typedef struct circulant {
    gdr_build_t *build;
    gdr_blocks_t blocks;
    uint32_t p, r;
    uint32_t nsteps;                  /* of one half */
    uint32_t distance[MAX_STEPS + 1]; /* s(0) .. s(nsteps) */
    uint32_t arrival[MAX_STEPS];      /* slot: where step k's data comes in */
    uint32_t ready[2], nready;        /* the newest steps that put something into blocks */
} circulant_t;

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

static bool shape(const gdr_plan_request_t *request, gdr_shape_t *shape)
{
    uint32_t distance[MAX_STEPS + 1], p = (uint32_t)request->size;
    uint32_t flags = 2 * distances(p, distance);

    *shape =
        (gdr_shape_t){.nslots = 2 * p - 1, .nflags = flags, .nchannels = flags, .seg_chunks = p};
    return p >= 2 && request->commutative;
}

static void work(const gdr_plan_request_t *request, uint64_t bytes, gdr_work_t *work)
{
    uint32_t distance[MAX_STEPS + 1], p = (uint32_t)request->size;
    uint64_t steps = 2 * (uint64_t)distances(p, distance);
    uint64_t block = gdr_div_up(bytes, p), others = bytes - bytes / p;

    /* The upper half is copied out; others are added to, put twice, and copied to the result. */
    *work = (gdr_work_t){.steps = steps,
                         .puts = steps,
                         .sent = 2 * others,
                         .touched = (2 * (uint64_t)(p - p / 2) + 1) * block + (3 + 4 + 2) * others};
}

/* Bytes of blocks 0 .. i - 1 in the numbering of `rank`. */
static uint64_t offset_of(const circulant_t *c, uint32_t rank, uint32_t i)
{
    uint64_t start = gdr_blocks_offset(&c->blocks, rank);

    if (i <= c->p - rank)
        return gdr_blocks_offset(&c->blocks, rank + i) - start;
    return gdr_blocks_offset(&c->blocks, c->p) - start +
           gdr_blocks_offset(&c->blocks, i - (c->p - rank));
}

static uint64_t bytes_of(const circulant_t *c, uint32_t rank, uint32_t first, uint32_t end)
{
    return offset_of(c, rank, end) - offset_of(c, rank, first);
}

static gdr_operand_t block_at(const circulant_t *c, uint32_t rank, uint32_t i)
{
    return gdr_operand_slot((int32_t)rank, 0, offset_of(c, rank, i));
}

static gdr_operand_t arrival_at(const circulant_t *c, uint32_t rank, uint32_t k, uint64_t offset)
{
    return gdr_operand_slot((int32_t)rank, c->arrival[k], offset);
}

/* Step k of the reduce-scatter (half 0) or back again (half 1). */
static gdr_edge_t edge(const circulant_t *c, uint32_t peer, uint32_t half, uint32_t k)
{
    uint32_t number = half * c->nsteps + k;

    return (gdr_edge_t){.peer = (int32_t)peer, .flag = number, .channel = number};
}

static uint32_t above(const circulant_t *c, uint32_t distance)
{
    return (uint32_t)(((uint64_t)c->r + distance) % c->p);
}

static uint32_t below(const circulant_t *c, uint32_t distance)
{
    return above(c, c->p - distance);
}

/* A run of blocks in the order of i is one run of the user's buffer, or two around its end. */
typedef struct run {
    uint32_t first, end; /* in the numbering of this rank */
    uint64_t offset;     /* in the user's buffer */
    uint64_t bytes;
} run_t;

static uint32_t cut_runs(const circulant_t *c, uint32_t first, uint32_t end, run_t runs[2])
{
    uint32_t wrap = c->p - c->r; /* the i of block 0 */
    uint32_t n = 0;

    for (uint32_t half = 0; half < 2; half++) {
        uint32_t from = half == 0 ? first : (uint32_t)gdr_max_u64(first, wrap);
        uint32_t to = half == 0 ? (uint32_t)gdr_min_u64(end, wrap) : end;
        run_t run = {.first = from, .end = to};

        if (from >= to)
            continue;
        run.bytes = bytes_of(c, c->r, from, to);
        run.offset = gdr_blocks_offset(&c->blocks, half == 0 ? c->r + from : from - wrap);
        if (run.bytes > 0)
            runs[n++] = run;
    }
    return n;
}

static void after_all(circulant_t *c, const uint32_t *steps, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++)
        gdr_build_after(c->build, steps[i]);
}

/* The blocks that step 0 puts, and the one in the middle that it leaves alone if p is odd. */
static void copy_out(circulant_t *c)
{
    run_t runs[2];

    c->nready = cut_runs(c, c->p / 2, c->p, runs);
    for (uint32_t i = 0; i < c->nready; i++)
        c->ready[i] = gdr_build_copy(c->build, gdr_operand_send(c->build, runs[i].offset),
                                     block_at(c, c->r, runs[i].first), runs[i].bytes);
}

/* Adds what came in step k to a run of blocks: in step 0 to the input, then to what is there. */
static uint32_t add_run(circulant_t *c, uint32_t k, const run_t *run, uint32_t wait)
{
    gdr_operand_t sum = block_at(c, c->r, run->first), in[2], out[GDR_STEP_MAX_OUT];
    uint32_t nout = 0, step;

    in[0] = k == 0 ? gdr_operand_send(c->build, run->offset) : sum;
    in[1] = arrival_at(c, c->r, k, offset_of(c, c->r, run->first));
    if (k + 1 == c->nsteps) /* the own block, complete */
        out[nout++] = gdr_operand_recv(c->build, run->offset);
    out[nout++] = sum;
    step = gdr_build_reduce(c->build, in, 2, out, nout, run->bytes);
    gdr_build_after(c->build, wait);
    after_all(c, c->ready, c->nready);
    return step;
}

static void add_arrival(circulant_t *c, uint32_t k, uint32_t nblocks, uint32_t wait)
{
    run_t runs[2];
    uint32_t added[2], n = cut_runs(c, 0, nblocks, runs);

    for (uint32_t i = 0; i < n; i++)
        added[i] = add_run(c, k, &runs[i], wait);
    if (n == 0)
        return;
    for (uint32_t i = 0; i < n; i++)
        c->ready[i] = added[i];
    c->nready = n;
}

static void reduce_scatter(circulant_t *c)
{
    copy_out(c);
    for (uint32_t k = 0; k < c->nsteps; k++) {
        uint32_t first = c->distance[k + 1], end = c->distance[k], wait;
        uint32_t to = above(c, first), from = below(c, first);

        gdr_build_put(c->build, edge(c, to, 0, k), block_at(c, c->r, first),
                      arrival_at(c, to, k, 0), bytes_of(c, c->r, first, end));
        after_all(c, c->ready, c->nready);
        wait = gdr_build_wait(c->build, edge(c, from, 0, k), arrival_at(c, c->r, k, 0),
                              bytes_of(c, c->r, 0, end - first));
        add_arrival(c, k, end - first, wait);
    }
}

static void copy_results(circulant_t *c, const uint32_t *waits)
{
    run_t runs[2];
    uint32_t n = cut_runs(c, 1, c->p, runs);

    for (uint32_t i = 0; i < n; i++) {
        gdr_build_copy(c->build, block_at(c, c->r, runs[i].first),
                       gdr_operand_recv(c->build, runs[i].offset), runs[i].bytes);
        after_all(c, c->ready, c->nready); /* in place: the input has been read */
        after_all(c, waits, c->nsteps);
    }
}

static void allgather(circulant_t *c)
{
    uint32_t waits[MAX_STEPS], nwaits = 0;

    for (uint32_t k = c->nsteps; k-- > 0;) {
        uint32_t first = c->distance[k + 1], end = c->distance[k];
        uint32_t to = below(c, first), from = above(c, first);

        gdr_build_put(c->build, edge(c, to, 1, k), block_at(c, c->r, 0), block_at(c, to, first),
                      bytes_of(c, c->r, 0, end - first));
        after_all(c, c->ready, c->nready);
        after_all(c, waits, nwaits);
        waits[nwaits++] = gdr_build_wait(c->build, edge(c, from, 1, k), block_at(c, c->r, first),
                                         bytes_of(c, c->r, first, end));
    }
    copy_results(c, waits);
}

static gdr_status_t build(const gdr_plan_request_t *request, const gdr_layout_t *layout,
                          uint64_t elements, gdr_build_t *b)
{
    circulant_t c = {.build = b, .p = (uint32_t)request->size, .r = (uint32_t)request->rank};
    uint32_t slot = c.p;

    c.blocks = gdr_blocks_make(elements, c.p, request->type_bytes);
    if (c.blocks.block * c.blocks.type_bytes > layout->chunk_bytes)
        return GDR_ERR_INVALID;
    c.nsteps = distances(c.p, c.distance);
    for (uint32_t k = 0; k < c.nsteps; k++) {
        c.arrival[k] = slot;
        slot += c.distance[k] - c.distance[k + 1];
    }
    reduce_scatter(&c);
    allgather(&c);
    return b->status;
}

const gdr_algorithm_t gdr_algorithm_circulant = {
    .name = "circulant", .shape = shape, .work = work, .build = build};
