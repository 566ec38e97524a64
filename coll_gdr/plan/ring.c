/*
 * Segmented ring: block b starts at rank b, goes round once while every rank adds its part
 * (reduce-scatter), and round once more as a result (allgather). Only commutative operations: the
 * order of operands differs from block to block, but each block is finished by one rank.
 *
 * Round t, 0 .. 2p - 3: rank r puts block (r - t) mod p into slot t % 2 of rank r + 1; what came in
 * round t - 1 is reduced where it lies and put on from there. Slot k has flag k, so a slot is
 * written again two rounds later, when its credit says that its last put has left. Two slots are
 * enough for any p: round t at r waits for round t - 1 at r + 1, never for its own round; with one
 * slot the ring would wait for itself.
 */
#include "plan/gdr_algorithms.h"
#include "plan/gdr_blocks.h"

enum {
    IN_SLOTS = 2, /* divides 2(p - 1): every flag has p - 1 rounds in a segment */
    OUT_SLOT = IN_SLOTS
};

typedef struct ring {
    gdr_build_t *build;
    gdr_blocks_t blocks;
    uint32_t p, r;
} ring_t;

static bool shape(const gdr_plan_request_t *request, gdr_shape_t *shape)
{
    *shape = (gdr_shape_t){.nslots = IN_SLOTS + 1,
                           .nflags = IN_SLOTS,
                           .nchannels = IN_SLOTS,
                           .seg_chunks = (uint32_t)request->size};
    return request->size >= 2 && request->commutative;
}

static void work(const gdr_plan_request_t *request, uint64_t bytes, gdr_work_t *work)
{
    uint64_t p = (uint64_t)request->size, block = gdr_div_up(bytes, p), others = bytes - bytes / p;

    const gdr_topology_t *t = request->topology;
    bool in_row = gdr_topology_row(t) > 1;
    uint64_t hops = 2 * (p - 1);
    uint64_t outside = !in_row ? hops : t->nnodes == 1 ? 0 : gdr_div_up(hops * t->nnodes, p);

    /* The first block is copied out; then each is added to, put twice, and copied to the result.
     * On the way back copies are launched beside. Whoever is next to another node puts all blocks
     * out of its own, while each block is on its way inside most of the time. */
    *work = (gdr_work_t){
        .sent = 2 * others,
        .even = true,
        .senders = in_row ? 1 : gdr_topology_most(t),
        .kernels = 2 * p - 1,
        .touched = 3 * block + (3 + 4 + 2) * others,
        .way = {p + 1, p + 1, 3 * block + 3 * others + 2 * block},
    };
    if (outside > 0)
        work->link[GDR_LINK_NET] = (gdr_flow_t){hops, 2 * others, outside, 2 * others};
    if (in_row)
        work->link[GDR_LINK_NODE] =
            (gdr_flow_t){hops, 2 * others, hops - outside, outside > 0 ? 0 : 2 * others};
}

/* The block that rank r sends in round t, t <= 2p - 2; in round t - 1 it has received it. */
static uint32_t block_of(const ring_t *ring, uint32_t t)
{
    return (uint32_t)(((uint64_t)ring->r + 2 * (uint64_t)ring->p - t) % ring->p);
}

static uint64_t block_bytes(const ring_t *ring, uint32_t b)
{
    return gdr_blocks_bytes(&ring->blocks, b, b + 1);
}

static gdr_operand_t in_slot(uint32_t rank, uint32_t t)
{
    return gdr_operand_slot((int32_t)rank, t % IN_SLOTS, 0);
}

static gdr_edge_t edge(uint32_t peer, uint32_t t)
{
    return (gdr_edge_t){.peer = (int32_t)peer,
                        .flag = t % IN_SLOTS,
                        .channel = t % IN_SLOTS,
                        .round = t / IN_SLOTS};
}

static void put_block(ring_t *ring, uint32_t t, gdr_operand_t from, uint32_t after)
{
    uint32_t right = ring->r + 1 == ring->p ? 0 : ring->r + 1;

    gdr_build_put(ring->build, edge(right, t), from, in_slot(right, t),
                  block_bytes(ring, block_of(ring, t)));
    gdr_build_after(ring->build, after);
}

static void first_round(ring_t *ring)
{
    uint64_t bytes = block_bytes(ring, ring->r);
    gdr_operand_t out = gdr_operand_slot((int32_t)ring->r, OUT_SLOT, 0);
    uint32_t copy = GDR_BUILD_NONE;

    if (bytes > 0)
        copy = gdr_build_copy(
            ring->build, gdr_operand_send(ring->build, gdr_blocks_offset(&ring->blocks, ring->r)),
            out, bytes);
    put_block(ring, 0, out, copy);
}

/* Adds the own part to what came in round t - 1; the step to wait for before it may be put on. */
static uint32_t add_own(ring_t *ring, uint32_t t, uint32_t wait)
{
    uint32_t b = block_of(ring, t), nout = 0;
    uint64_t bytes = block_bytes(ring, b), offset = gdr_blocks_offset(&ring->blocks, b);
    gdr_operand_t in[2] = {in_slot(ring->r, t - 1), gdr_operand_send(ring->build, offset)};
    gdr_operand_t out[2];
    uint32_t step;

    if (bytes == 0)
        return wait;
    if (t == ring->p - 1) /* all parts are in it */
        out[nout++] = gdr_operand_recv(ring->build, offset);
    out[nout++] = in[0];
    step = gdr_build_reduce(ring->build, in, 2, out, nout, bytes);
    gdr_build_after(ring->build, wait);
    return step;
}

static void copy_result(ring_t *ring, uint32_t t, uint32_t wait)
{
    uint32_t b = block_of(ring, t);
    uint64_t bytes = block_bytes(ring, b);

    if (bytes == 0)
        return;
    gdr_build_copy(ring->build, in_slot(ring->r, t - 1),
                   gdr_operand_recv(ring->build, gdr_blocks_offset(&ring->blocks, b)), bytes);
    gdr_build_after(ring->build, wait);
}

static gdr_status_t build(const gdr_plan_request_t *request, const gdr_layout_t *layout,
                          uint64_t elements, gdr_build_t *b)
{
    ring_t ring = {.build = b, .p = (uint32_t)request->size, .r = (uint32_t)request->rank};
    uint32_t left = ring.r == 0 ? ring.p - 1 : ring.r - 1;
    uint32_t rounds = 2 * (ring.p - 1);

    ring.blocks = gdr_blocks_make(elements, ring.p, request->type_bytes);
    if (ring.blocks.block * ring.blocks.type_bytes > layout->chunk_bytes)
        return GDR_ERR_INVALID;
    first_round(&ring);
    for (uint32_t t = 1; t <= rounds && b->status == GDR_OK; t++) {
        uint32_t wait = gdr_build_wait(b, edge(left, t - 1), in_slot(ring.r, t - 1),
                                       block_bytes(&ring, block_of(&ring, t)));

        if (t < ring.p)
            wait = add_own(&ring, t, wait);
        if (t < rounds)
            put_block(&ring, t, in_slot(ring.r, t - 1), wait);
        if (t >= ring.p)
            copy_result(&ring, t, wait);
    }
    if (b->status == GDR_OK)
        b->sched->rounds = rounds / IN_SLOTS;
    return b->status;
}

const gdr_algorithm_t gdr_algorithm_ring = {
    .name = "ring", .shape = shape, .work = work, .build = build};
