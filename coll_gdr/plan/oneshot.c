/*
 * One-shot: everybody sends its whole input to everybody, and reduces all of them in rank order.
 * One step of latency, for (p - 1) N of traffic: for small messages of few ranks. All ranks
 * evaluate the same expression, so they get the same bits.
 *
 * Slots of rank r: slot 0 holds its own part, from where it is put to all others; slot 1 + place
 * takes the part of the peer with that number among the others. Partial results replace the first
 * of them. A peer whose window is mapped gets nothing: it is told, reads slot 0, and says so; then
 * partial results have a slot of their own behind the incoming ones.
 */
#include "plan/gdr_algorithms.h"

enum { MAX_RANKS = 16, OUT_SLOT = 0, IN_SLOT = 1 };

enum { DATA, HAS_READ }; /* what a flag says */

typedef struct oneshot {
    gdr_build_t *build;
    const gdr_topology_t *topology;
    uint32_t p, r;
    uint64_t bytes;
    uint32_t partial;     /* slot */
    uint32_t copy, waits; /* steps; the waits follow each other in the order of places */
} oneshot_t;

static bool shape(const gdr_plan_request_t *request, gdr_shape_t *shape)
{
    uint32_t peers = (uint32_t)request->size - 1, flags = (gdr_has_mapped(request) ? 2 : 1) * peers;

    *shape =
        (gdr_shape_t){.nslots = 1 + gdr_peers_put_to(request) + (gdr_has_mapped(request) ? 1 : 0),
                      .nflags = flags,
                      .nchannels = flags,
                      .seg_chunks = 1};
    return request->size >= 2 && request->size <= MAX_RANKS;
}

static void work(const gdr_plan_request_t *request, uint64_t bytes, gdr_work_t *work)
{
    uint64_t peers = (uint64_t)request->size - 1, reductions = gdr_build_reductions(peers + 1);
    uint64_t put = gdr_peers_put_to(request);
    uint64_t reduced = peers + 1 + 2 * (reductions - 1) + 1; /* inputs, partial results, output */

    /* A copy, puts that read here and write there, the reduction. */
    *work = (gdr_work_t){
        .kernels = 1 + reductions,
        .touched = (2 + 2 * put + reduced) * bytes,
        .way = {2, 2, (2 + reduced) * bytes}, /* the last reduction: those before are beside */
    };
    gdr_work_to_all(request, 1, bytes, work);
}

static gdr_operand_t incoming(const oneshot_t *o, uint32_t rank, uint32_t peer)
{
    return gdr_operand_slot((int32_t)rank, IN_SLOT + gdr_put_place(o->topology, rank, peer), 0);
}

static bool is_mapped(const oneshot_t *o, uint32_t peer)
{
    return gdr_topology_mapped(o->topology, (int32_t)o->r, (int32_t)peer);
}

/* Where this rank's kernels find the part of a peer. */
static gdr_operand_t part_of(const oneshot_t *o, uint32_t peer)
{
    return is_mapped(o, peer) ? gdr_operand_slot((int32_t)peer, OUT_SLOT, 0)
                              : incoming(o, o->r, peer);
}

static gdr_edge_t edge(const oneshot_t *o, uint32_t from, uint32_t to, uint32_t what)
{
    return (gdr_edge_t){.peer = (int32_t)(from == o->r ? to : from),
                        .flag = what * (o->p - 1) + gdr_peer_place(to, from),
                        .channel = what * (o->p - 1) + gdr_peer_place(from, to)};
}

static void exchange(oneshot_t *o)
{
    gdr_operand_t out = gdr_operand_slot((int32_t)o->r, OUT_SLOT, 0);

    o->copy = gdr_build_copy(o->build, gdr_operand_send(o->build, 0), out, o->bytes);
    /* Every rank begins with another peer. */
    for (uint32_t i = 1; i < o->p; i++) {
        uint32_t q = (o->r + i) % o->p;
        gdr_edge_t to = edge(o, o->r, q, DATA);

        if (is_mapped(o, q))
            gdr_build_signal(o->build, to);
        else
            gdr_build_put(o->build, to, out, incoming(o, q, o->r), o->bytes);
        gdr_build_after(o->build, o->copy);
    }
    for (uint32_t q = 0; q < o->p; q++) {
        uint32_t wait;

        if (q == o->r)
            continue;
        wait = is_mapped(o, q) ? gdr_build_await(o->build, edge(o, q, o->r, DATA))
                               : gdr_build_wait(o->build, edge(o, q, o->r, DATA),
                                                incoming(o, o->r, q), o->bytes);
        if (gdr_peer_place(o->r, q) == 0)
            o->waits = wait;
    }
}

/* The mapped peers' parts have been read, and this rank's by them. */
static void close_pulls(oneshot_t *o, uint32_t result)
{
    for (uint32_t i = 1; i < o->p; i++) {
        uint32_t q = (o->r + i) % o->p;

        if (!is_mapped(o, q))
            continue;
        gdr_build_signal(o->build, edge(o, o->r, q, HAS_READ));
        gdr_build_after(o->build, result);
    }
    for (uint32_t q = 0; q < o->p; q++)
        if (q != o->r && is_mapped(o, q))
            gdr_build_await(o->build, edge(o, q, o->r, HAS_READ));
}

/* One REDUCE over ranks first .. end - 1, behind the partial result of those before. */
static uint32_t reduce_ranks(oneshot_t *o, uint32_t first, uint32_t end, uint32_t before)
{
    gdr_operand_t partial = gdr_operand_slot((int32_t)o->r, o->partial, 0);
    gdr_operand_t in[GDR_STEP_MAX_IN], out;
    uint32_t nin = 0, step;

    if (before != GDR_BUILD_NONE)
        in[nin++] = partial;
    for (uint32_t q = first; q < end; q++)
        in[nin++] = q == o->r ? gdr_operand_send(o->build, 0) : part_of(o, q);
    out = end == o->p ? gdr_operand_recv(o->build, 0) : partial; /* final values only */
    step = gdr_build_reduce(o->build, in, nin, &out, 1, o->bytes);
    gdr_build_after(o->build, before);
    for (uint32_t q = first; q < end; q++)
        if (q != o->r)
            gdr_build_after(o->build, o->waits + gdr_peer_place(o->r, q));
    if (end == o->p) /* in place: the input has been read */
        gdr_build_after(o->build, o->copy);
    return step;
}

static gdr_status_t build(const gdr_plan_request_t *request, const gdr_layout_t *layout,
                          uint64_t elements, gdr_build_t *b)
{
    oneshot_t o = {.build = b,
                   .topology = request->topology,
                   .p = (uint32_t)request->size,
                   .r = (uint32_t)request->rank,
                   .bytes = elements * request->type_bytes,
                   .partial = IN_SLOT + (gdr_has_mapped(request) ? gdr_peers_put_to(request) : 0)};
    uint32_t step = GDR_BUILD_NONE;

    if (o.bytes > layout->chunk_bytes)
        return GDR_ERR_INVALID;
    exchange(&o);
    for (uint32_t first = 0; first < o.p;) {
        uint32_t room = GDR_STEP_MAX_IN - (first > 0 ? 1 : 0);
        uint32_t end = o.p - first < room ? o.p : first + room;

        step = reduce_ranks(&o, first, end, step);
        first = end;
    }
    close_pulls(&o, step);
    return b->status;
}

const gdr_algorithm_t gdr_algorithm_oneshot = {
    .name = "oneshot", .shape = shape, .work = work, .build = build};
