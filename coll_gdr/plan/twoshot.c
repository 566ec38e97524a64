/*
 * Direct two-shot: every rank owns one block; all send it their part of it (reduce-scatter), the
 * owner reduces in rank order and sends the result to all (allgather). Two steps of latency.
 *
 * Slots of rank r; "place" numbers the peers 0 .. p - 2 without r:
 *   outgoing: slot 0 ..., blocks side by side at place * block bytes, so that one COPY fills all
 *     blocks below r and one all above; block q is put to q from there;
 *   incoming: slot p - 1 + place, one for each peer's part of block r; the result, and before that
 *     partial results, replace the first of them.
 * The result of block q lands on the outgoing copy of block q: q has finished it only after that
 * copy had arrived there.
 *
 * Between two ranks that map each other's windows nothing is put: r's kernels read q's outgoing
 * copy of block r, and q's result where it was made, and r tells q when that is done. That q's
 * copies have been read q learns with the result. So incoming slots are for the other peers alone,
 * and the result has a slot of its own behind them. Results side by side are gathered by one kernel
 * for up to eight of them, the own one among them: it waits for all, but saves launches, which take
 * longer than the ranks of a node are apart.
 */
#include "plan/gdr_algorithms.h"
#include "plan/gdr_blocks.h"

enum { PART, RESULT, HAS_READ }; /* what a flag says */

typedef struct twoshot {
    gdr_build_t *build;
    const gdr_topology_t *topology;
    gdr_blocks_t blocks;
    uint32_t p, r;
    uint32_t result_slot;
    uint64_t own_bytes; /* of block r */
    bool apart;         /* the result goes to RECV together with others */
    bool only;          /* the message is this segment: flags of empty blocks are left out */
    uint32_t copy_low, copy_high, waits, result; /* steps; waits: the first of p - 1 */
} twoshot_t;

static bool shape(const gdr_plan_request_t *request, gdr_shape_t *shape)
{
    uint32_t peers = (uint32_t)request->size - 1, flags = (gdr_has_mapped(request) ? 3 : 2) * peers;

    if (peers >= UINT32_MAX / 4)
        return false;
    *shape = (gdr_shape_t){.nslots = peers + gdr_peers_put_to(request) +
                                     (gdr_has_mapped(request) ? 1 : 0),
                           .nflags = flags,
                           .nchannels = flags,
                           .seg_chunks = (uint32_t)request->size};
    return true;
}

static void work(const gdr_plan_request_t *request, uint64_t bytes, gdr_work_t *work)
{
    uint64_t p = (uint64_t)request->size, block = gdr_div_up(bytes, p), others = bytes - bytes / p;
    uint64_t reductions = p == 1 ? 0 : gdr_build_reductions(p), copies = p == 2 ? 1 : 2;
    uint64_t put = gdr_min_u64(gdr_peers_put_to(request) * block, others);
    uint64_t kernels; /* what they touch */

    if (p == 1) {
        *work = (gdr_work_t){.kernels = 1, .touched = 2 * bytes, .way = {1, 1, 2 * bytes}};
        return;
    }
    /* Copied out, put twice, copied to the result; p inputs of one block are reduced, the first of
     * them while others come. */
    kernels = (2 + 2) * others + bytes + 2 * reductions * block;
    *work = (gdr_work_t){
        .kernels = 2 * copies + reductions,
        .touched = 4 * put + kernels,
        .way = {3, 2 + copies, kernels},
    };
    gdr_work_to_all(request, 2, block, work);
    if (gdr_has_mapped(request))
        gdr_work_mapped(request->topology->most - 1, request->topology->nnodes > 1 ? 0 : copies,
                        work);
}

static uint64_t block_bytes(const twoshot_t *t, uint32_t b)
{
    return gdr_blocks_bytes(&t->blocks, b, b + 1);
}

/* Where block `peer` lies among the outgoing blocks of `rank`. */
static gdr_operand_t outgoing(const twoshot_t *t, uint32_t rank, uint32_t peer)
{
    return gdr_operand_slot((int32_t)rank, 0,
                            gdr_peer_place(rank, peer) * t->blocks.block * t->blocks.type_bytes);
}

static gdr_operand_t incoming(const twoshot_t *t, uint32_t rank, uint32_t peer)
{
    return gdr_operand_slot((int32_t)rank, t->p - 1 + gdr_put_place(t->topology, rank, peer), 0);
}

static gdr_operand_t result_of(const twoshot_t *t, uint32_t rank)
{
    return gdr_operand_slot((int32_t)rank, t->result_slot, 0);
}

static bool is_mapped(const twoshot_t *t, uint32_t peer)
{
    return gdr_topology_mapped(t->topology, (int32_t)t->r, (int32_t)peer);
}

/* This rank's kernels read the result of block q where it was made. */
static bool is_read(const twoshot_t *t, uint32_t q)
{
    return q == t->r || is_mapped(t, q);
}

/* From `first` on: results that one kernel reads where they were made, or that are put here. */
static uint32_t span_end(const twoshot_t *t, uint32_t first)
{
    bool read = is_read(t, first);
    uint32_t end = first;

    while (end < t->p && is_read(t, end) == read && (!read || end - first < GDR_STEP_MAX_IN))
        end++;
    return end;
}

/* The own block is one of several that one kernel reads. */
static bool is_taken(const twoshot_t *t)
{
    uint32_t first = 0, end;

    while ((end = span_end(t, first)) <= t->r)
        first = end;
    return end - first > 1;
}

/* Where this rank's kernels find a peer's part of block r. */
static gdr_operand_t part_of(const twoshot_t *t, uint32_t peer)
{
    return is_mapped(t, peer) ? outgoing(t, peer, t->r) : incoming(t, t->r, peer);
}

static gdr_edge_t edge(const twoshot_t *t, uint32_t from, uint32_t to, uint32_t what)
{
    return (gdr_edge_t){.peer = (int32_t)(from == t->r ? to : from),
                        .flag = what * (t->p - 1) + gdr_peer_place(to, from),
                        .channel = what * (t->p - 1) + gdr_peer_place(from, to)};
}

/* Copies SEND blocks first .. end - 1 to their outgoing places; `first` is a peer's. */
static uint32_t copy_out(twoshot_t *t, uint32_t first, uint32_t end)
{
    uint64_t bytes = gdr_blocks_bytes(&t->blocks, first, end);

    if (bytes == 0)
        return GDR_BUILD_NONE;
    return gdr_build_copy(t->build,
                          gdr_operand_send(t->build, gdr_blocks_offset(&t->blocks, first)),
                          outgoing(t, t->r, first), bytes);
}

static void scatter(twoshot_t *t)
{
    t->copy_high = copy_out(t, t->r + 1, t->p);
    t->copy_low = copy_out(t, 0, t->r);
    /* Every rank begins with another peer. */
    for (uint32_t i = 1; i < t->p; i++) {
        uint32_t q = (uint32_t)(((uint64_t)t->r + i) % t->p);
        uint64_t bytes = block_bytes(t, q);

        if (bytes == 0 && t->only)
            continue;
        if (is_mapped(t, q))
            gdr_build_signal(t->build, edge(t, t->r, q, PART));
        else
            gdr_build_put(t->build, edge(t, t->r, q, PART), outgoing(t, t->r, q),
                          incoming(t, q, t->r), bytes);
        if (bytes != 0)
            gdr_build_after(t->build, q > t->r ? t->copy_high : t->copy_low);
    }
}

/* Waits for every peer's part of block r. */
static void await_parts(twoshot_t *t)
{
    for (uint32_t q = 0; q < t->p; q++) {
        uint32_t wait;

        if (q == t->r)
            continue;
        wait = is_mapped(t, q) ? gdr_build_await(t->build, edge(t, q, t->r, PART))
                               : gdr_build_wait(t->build, edge(t, q, t->r, PART),
                                                incoming(t, t->r, q), t->own_bytes);
        if (t->waits == GDR_BUILD_NONE)
            t->waits = wait;
    }
}

/* One REDUCE over ranks first .. end - 1, behind the partial result of those before. */
static uint32_t reduce_ranks(twoshot_t *t, uint32_t first, uint32_t end, uint32_t before)
{
    gdr_operand_t recv = gdr_operand_recv(t->build, gdr_blocks_offset(&t->blocks, t->r));
    gdr_operand_t in[GDR_STEP_MAX_IN], out[GDR_STEP_MAX_OUT];
    uint32_t nin = 0, nout = 0, step;

    if (before != GDR_BUILD_NONE)
        in[nin++] = result_of(t, t->r);
    for (uint32_t q = first; q < end; q++)
        in[nin++] = q == t->r ? gdr_operand_send(t->build, gdr_blocks_offset(&t->blocks, t->r))
                              : part_of(t, q);
    if (end == t->p && !t->apart) /* final values only */
        out[nout++] = recv;
    out[nout++] = result_of(t, t->r);
    step = gdr_build_reduce(t->build, in, nin, out, nout, t->own_bytes);
    gdr_build_after(t->build, before);
    for (uint32_t q = first; q < end; q++)
        if (q != t->r)
            gdr_build_after(t->build, t->waits + gdr_peer_place(t->r, q));
    return step;
}

static void reduce(twoshot_t *t)
{
    uint32_t step = GDR_BUILD_NONE;

    if (t->own_bytes == 0 && t->only)
        return;
    await_parts(t);
    if (t->own_bytes == 0)
        return;
    for (uint32_t first = 0; first < t->p;) {
        uint32_t room = GDR_STEP_MAX_IN - (first > 0 ? 1 : 0);
        uint32_t end = t->p - first < room ? t->p : first + room;

        step = reduce_ranks(t, first, end, step);
        first = end;
    }
    t->result = step;
}

static void announce(twoshot_t *t)
{
    if (t->own_bytes == 0 && t->only)
        return;
    for (uint32_t i = 1; i < t->p; i++) {
        uint32_t q = (uint32_t)(((uint64_t)t->r + i) % t->p);
        gdr_edge_t to = edge(t, t->r, q, RESULT);

        if (is_mapped(t, q))
            gdr_build_signal(t->build, to);
        else
            gdr_build_put(t->build, to, result_of(t, t->r), outgoing(t, q, t->r), t->own_bytes);
        gdr_build_after(t->build, t->result);
        if (t->result ==
            GDR_BUILD_NONE) /* an empty block: the flag follows the peer's all the same */
            gdr_build_after(t->build, t->waits + gdr_peer_place(t->r, q));
    }
}

/* Reads the results of blocks first .. end - 1 where they were made, with one kernel: all links at
 * once. That its input has been read, where a result takes its place, the word about the result
 * implies. */
static uint32_t read_results(twoshot_t *t, const uint32_t *after, uint32_t first, uint32_t end)
{
    uint64_t bytes = gdr_blocks_bytes(&t->blocks, first, end);
    gdr_operand_t in[GDR_STEP_MAX_IN];
    uint32_t nin = 0, step;

    for (uint32_t q = first; q < end && block_bytes(t, q) > 0; q++)
        in[nin++] = result_of(t, q);
    if (nin == 0)
        return GDR_BUILD_NONE;
    step = gdr_build_gather(t->build, in, nin,
                            gdr_operand_recv(t->build, gdr_blocks_offset(&t->blocks, first)),
                            t->blocks.block * t->blocks.type_bytes, bytes);
    for (uint32_t i = 0; i < nin; i++)
        gdr_build_after(t->build, after[i]);
    return step;
}

/* Waits for the results of blocks first .. end - 1, the own one perhaps among them, reads them, and
 * says so. */
static void take_mapped(twoshot_t *t, uint32_t first, uint32_t end)
{
    uint32_t after[GDR_STEP_MAX_IN], gather;

    for (uint32_t q = first; q < end; q++)
        after[q - first] = q == t->r ? t->result
                           : block_bytes(t, q) == 0 && t->only
                               ? GDR_BUILD_NONE
                               : gdr_build_await(t->build, edge(t, q, t->r, RESULT));
    gather = read_results(t, after, first, end);
    for (uint32_t q = first; q < end; q++) {
        if (q == t->r || (block_bytes(t, q) == 0 && t->only))
            continue;
        gdr_build_signal(t->build, edge(t, t->r, q, HAS_READ));
        gdr_build_after(t->build, block_bytes(t, q) > 0 ? gather : after[q - first]);
    }
}

/* Waits for the results of blocks first .. end - 1, which are put here, and copies them to RECV
 * with one kernel. */
static void take_put(twoshot_t *t, uint32_t first, uint32_t end, uint32_t copied_out)
{
    uint64_t bytes = gdr_blocks_bytes(&t->blocks, first, end);
    uint32_t waits = GDR_BUILD_NONE, nwaits = 0;

    for (uint32_t q = first; q < end; q++) {
        uint32_t wait;

        if (block_bytes(t, q) == 0 && t->only)
            continue;
        wait = gdr_build_wait(t->build, edge(t, q, t->r, RESULT), outgoing(t, t->r, q),
                              block_bytes(t, q));
        waits = nwaits++ == 0 ? wait : waits;
    }
    if (bytes == 0)
        return;
    gdr_build_copy(t->build, outgoing(t, t->r, first),
                   gdr_operand_recv(t->build, gdr_blocks_offset(&t->blocks, first)), bytes);
    gdr_build_after(t->build, copied_out); /* in place: the input has been read */
    for (uint32_t i = 0; i < nwaits; i++)
        gdr_build_after(t->build, waits + i);
}

/* Those above the own block first, so that not all begin with the same ones. */
static void gather(twoshot_t *t)
{
    for (uint32_t below = 0; below < 2; below++)
        for (uint32_t first = 0, end; first < t->p; first = end) {
            end = span_end(t, first);
            if ((end <= t->r) != (below == 1))
                continue;
            if (!is_read(t, first))
                take_put(t, first, end, first > t->r ? t->copy_high : t->copy_low);
            else if (end - first > 1 || first != t->r)
                take_mapped(t, first, end);
        }
}

/* Those who map this rank's window have read the result. */
static void await_readers(twoshot_t *t)
{
    if (t->own_bytes == 0 && t->only)
        return;
    for (uint32_t q = 0; q < t->p; q++)
        if (q != t->r && is_mapped(t, q))
            gdr_build_await(t->build, edge(t, q, t->r, HAS_READ));
}

static gdr_status_t build(const gdr_plan_request_t *request, const gdr_layout_t *layout,
                          uint64_t elements, gdr_build_t *b)
{
    twoshot_t t = {.build = b,
                   .topology = request->topology,
                   .p = (uint32_t)request->size,
                   .r = (uint32_t)request->rank,
                   .only = elements == request->count,
                   .copy_low = GDR_BUILD_NONE,
                   .copy_high = GDR_BUILD_NONE,
                   .waits = GDR_BUILD_NONE,
                   .result = GDR_BUILD_NONE};

    t.blocks = gdr_blocks_make(elements, t.p, request->type_bytes);
    t.own_bytes = block_bytes(&t, t.r);
    t.result_slot = t.p - 1 + (gdr_has_mapped(request) ? gdr_peers_put_to(request) : 0);
    if (t.p > 1 && t.blocks.block * t.blocks.type_bytes > layout->chunk_bytes)
        return GDR_ERR_INVALID;
    if (t.p == 1) {
        gdr_build_copy(b, gdr_operand_send(b, 0), gdr_operand_recv(b, 0), t.own_bytes);
        return b->status;
    }
    t.apart = is_taken(&t);
    scatter(&t);
    reduce(&t);
    announce(&t);
    gather(&t);
    await_readers(&t);
    return b->status;
}

const gdr_algorithm_t gdr_algorithm_twoshot = {
    .name = "twoshot", .shape = shape, .work = work, .build = build};
