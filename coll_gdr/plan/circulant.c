/*
 * The circulant reduce-scatter and allgather of gdr_circulant.h among all ranks, on one block for
 * each. Slots: 0 .. p - 1 for the blocks, p .. 2p - 2 for what comes in.
 */
#include "plan/gdr_algorithms.h"
#include "plan/gdr_circulant.h"

static bool shape(const gdr_plan_request_t *request, gdr_shape_t *shape)
{
    uint32_t p = (uint32_t)request->size, flags = 2 * gdr_circulant_steps(p);

    *shape =
        (gdr_shape_t){.nslots = 2 * p - 1, .nflags = flags, .nchannels = flags, .seg_chunks = p};
    return p >= 2 && request->commutative;
}

static void work(const gdr_plan_request_t *request, uint64_t bytes, gdr_work_t *work)
{
    uint32_t p = (uint32_t)request->size, row = (uint32_t)gdr_topology_row(request->topology);
    uint64_t block = gdr_div_up(bytes, p), others = bytes - bytes / p;
    uint64_t kernels = (2 * (uint64_t)(p - p / 2) + 1) * block + (3 + 2) * others;
    uint64_t n = gdr_circulant_steps(p);
    gdr_circulant_t c = {.p = p};

    /* The upper half is copied out; others are added to, put twice, and copied to the result: of
     * blocks around the end two runs. */
    *work = (gdr_work_t){
        .sent = 2 * others,
        .senders = gdr_topology_most(request->topology),
        .kernels = 2 + 2 * n - 1 + 2,
        .touched = 4 * others + kernels,
        .way = {n + 2, 2 + 2 * n - 1 + 2, kernels},
    };
    gdr_circulant_init(&c);
    for (uint32_t k = 0; k < c.nsteps; k++) {
        bool outside = request->topology == NULL || request->topology->nnodes > 1;
        gdr_flow_t *net = &work->link[GDR_LINK_NET], *node = &work->link[GDR_LINK_NODE];
        /* Less far than a node's ranks: only those next to its ends leave it. */
        gdr_flow_t *most = c.distance[k + 1] < row ? node : net;
        uint64_t sent = 2 * (uint64_t)(c.distance[k] - c.distance[k + 1]) * block;

        most->puts += 2;
        most->sent += sent;
        most->passed += sent;
        (outside ? net : node)->steps += 2;
    }
}

static gdr_circulant_member_t member(const void *ctx, uint32_t index)
{
    const uint32_t *p = ctx;

    return (gdr_circulant_member_t){.rank = (int32_t)index, .arrivals = *p};
}

/* The blocks that step 0 puts, and the one in the middle that it leaves alone if p is odd. */
static void copy_out(gdr_circulant_t *c)
{
    gdr_circulant_run_t runs[2];

    c->nready = gdr_circulant_runs(c, c->p / 2, c->p, runs);
    for (uint32_t i = 0; i < c->nready; i++)
        c->ready[i] = gdr_build_copy(c->build, gdr_operand_send(c->build, runs[i].user),
                                     gdr_circulant_block(c, runs[i].first), runs[i].bytes);
}

static gdr_status_t build(const gdr_plan_request_t *request, const gdr_layout_t *layout,
                          uint64_t elements, gdr_build_t *b)
{
    gdr_circulant_t c = {.build = b,
                         .p = (uint32_t)request->size,
                         .r = (uint32_t)request->rank,
                         .member = member,
                         .from_send = true};
    uint32_t copies[2];

    c.ctx = &c.p;
    c.blocks = gdr_blocks_make(elements, c.p, request->type_bytes);
    if (c.blocks.block * c.blocks.type_bytes > layout->chunk_bytes)
        return GDR_ERR_INVALID;
    gdr_circulant_init(&c);
    copy_out(&c);
    for (uint32_t k = 0; k < c.nsteps; k++) {
        gdr_circulant_scatter_put(&c, k);
        gdr_circulant_scatter_add(&c, k);
    }
    for (uint32_t k = c.nsteps; k-- > 0;) {
        gdr_circulant_gather_put(&c, k);
        gdr_circulant_gather_wait(&c, k);
    }
    gdr_circulant_copy_results(&c, copies);
    return b->status;
}

const gdr_algorithm_t gdr_algorithm_circulant = {
    .name = "circulant", .shape = shape, .work = work, .build = build};
