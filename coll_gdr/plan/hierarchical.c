/*
 * Rail-hierarchical: the ranks of a node reduce one block each (directly, as in the two-shot), the
 * owners of the same block in all nodes finish it among themselves (as in gdr_circulant.h), and
 * give it to the ranks of their nodes. All rails, a node's ways out, are busy at once, and each
 * carries 2 (M - 1) / M of its block for M nodes. Segments overlap: while one is between nodes,
 * others are inside. Only commutative operations; each part of a block is finished by one rank.
 *
 * A block for each rank of the largest node: a rail. In a node of n ranks local rank l owns rails
 * l, l + n, ...; its turn t (rail / n) numbers them. So nodes may differ, down to a rank alone.
 *
 * Slots of a rank, for R rails: slots 0 .. R - 1, blocks side by side: its part of each, from where
 * it goes to the owner, and where the result comes back from whom has had it; what it owns itself
 * is in the order of gdr_circulant.h. Then incoming parts of the node, n - 1 for each turn, what
 * comes in between nodes, and the result for the others in the user's order, for each turn.
 *
 * Where ranks map the windows of their node nothing is put inside it: an owner's kernels read the
 * others' parts; one kernel of each rank gathers the results of all rails (of eight, where they are
 * more), its own ones too, which then lie side by side in RECV; and says so. Instead of incoming
 * parts there is a slot for partial results, for each turn.
 */
#include "plan/gdr_circulant.h"
#include "plan/gdr_hierarchical.h"

#include <stdlib.h>

typedef struct hier hier_t;

typedef struct rail {
    const hier_t *hier;
    uint32_t number, turn;
    uint32_t owner;  /* local rank in this node */
    uint32_t copied; /* the step that has copied this rank's part; not its own rails */
    uint32_t waits;  /* own rails: the first of n - 1 steps, for the others' parts; else the one for
                      * the result */
    uint32_t results[2], nresults; /* own rails: the steps that put the result into its slot */
    gdr_circulant_t circulant;
} rail_t;

struct hier {
    gdr_build_t *build;
    const gdr_topology_t *topology;
    gdr_hier_needs_t needs;
    gdr_blocks_t blocks;
    int32_t rank;
    uint32_t n, local; /* ranks of the node, and which one this is */
    rail_t *rails;
};

static uint64_t rail_bytes(const hier_t *h, uint32_t rail)
{
    return gdr_blocks_bytes(&h->blocks, rail, rail + 1);
}

static bool is_own(const hier_t *h, uint32_t rail)
{
    return h->rails[rail].owner == h->local;
}

static int32_t rank_at(const hier_t *h, uint32_t local)
{
    return h->topology->members[h->topology->first[h->topology->node[h->rank]] + local];
}

/* Between a rail's owner and another rank of its node: among the owner's slots (behind those of
 * the rails), and among its flags and channels (behind those that the rails give to the others). */
static uint32_t part_of(const hier_t *h, uint32_t rail, uint32_t local)
{
    const rail_t *r = &h->rails[rail];
    uint32_t place = local < r->owner ? local : local - 1;

    return h->needs.rails + r->turn * (h->n - 1) + place;
}

/* The owner's result has been read by another rank of its node. */
static gdr_edge_t read_edge(const hier_t *h, uint32_t rail, uint32_t reader)
{
    uint32_t owner = h->rails[rail].owner, first = gdr_hier_first_read(&h->needs);

    return (gdr_edge_t){.peer = rank_at(h, owner == h->local ? reader : owner),
                        .flag = first + part_of(h, rail, reader) - h->needs.rails,
                        .channel = first + rail};
}

static gdr_operand_t block_slot(const hier_t *h, int32_t rank, uint32_t rail)
{
    return gdr_operand_slot(rank, 0, rail * h->blocks.block * h->blocks.type_bytes);
}

static gdr_circulant_member_t member(const void *ctx, uint32_t index)
{
    const rail_t *rail = ctx;
    const hier_t *h = rail->hier;
    uint32_t n = gdr_topology_ranks(h->topology, index), turn = rail->number / n;
    uint32_t behind = h->needs.rails + gdr_hier_part_slots(&h->needs, h->topology);

    return (gdr_circulant_member_t){
        .rank = h->topology->members[h->topology->first[index] + rail->number % n],
        .offset = rail->number * h->blocks.block * h->blocks.type_bytes,
        .arrivals = behind + turn * GDR_HIER_ARRIVAL_SLOTS,
        .number = h->needs.rails + h->needs.parts + turn * 2 * h->needs.steps};
}

/* Results are read where they were made, own ones too: all of them with one kernel. */
static bool is_gathered(const hier_t *h)
{
    return h->topology->mapped && h->n > 1;
}

static void open_rails(hier_t *h)
{
    uint32_t n = h->n;

    for (uint32_t j = 0; j < h->needs.rails; j++) {
        rail_t *rail = &h->rails[j];

        rail->hier = h;
        rail->number = j;
        rail->turn = j / n;
        rail->owner = j % n;
        rail->copied = rail->waits = GDR_BUILD_NONE;
        rail->circulant = (gdr_circulant_t){
            .build = h->build,
            .blocks = gdr_blocks_make(rail_bytes(h, j) / h->blocks.type_bytes, h->needs.nodes,
                                      h->blocks.type_bytes),
            .user = gdr_blocks_offset(&h->blocks, j),
            .p = h->needs.nodes,
            .r = h->topology->node[h->rank],
            .relays = true,
            .apart = is_gathered(h),
            .result = h->needs.rails + gdr_hier_part_slots(&h->needs, h->topology) +
                      h->needs.turns * GDR_HIER_ARRIVAL_SLOTS + rail->turn,
            .member = member,
            .ctx = rail};
        gdr_circulant_init(&rail->circulant);
    }
}

/* Others' rails first .. end - 1, with one kernel. */
static void copy_out(hier_t *h, uint32_t first, uint32_t end)
{
    uint64_t bytes = gdr_blocks_bytes(&h->blocks, first, end);
    uint32_t copy;

    if (bytes == 0)
        return;
    copy =
        gdr_build_copy(h->build, gdr_operand_send(h->build, gdr_blocks_offset(&h->blocks, first)),
                       block_slot(h, h->rank, first), bytes);
    for (uint32_t j = first; j < end; j++)
        h->rails[j].copied = copy;
}

static void scatter_in_node(hier_t *h)
{
    uint32_t first = 0;

    for (uint32_t j = 0; j <= h->needs.rails; j++)
        if (j == h->needs.rails || is_own(h, j)) {
            copy_out(h, first, j);
            first = j + 1;
        }
    /* Every rank begins with another one. */
    for (uint32_t i = 1; i < h->needs.rails; i++) {
        uint32_t j = (h->local + i) % h->needs.rails, part = part_of(h, j, h->local);
        int32_t owner = rank_at(h, h->rails[j].owner);
        gdr_edge_t edge = {.peer = owner, .flag = part, .channel = j};

        if (is_own(h, j))
            continue;
        if (h->topology->mapped)
            gdr_build_signal(h->build, edge);
        else
            gdr_build_put(h->build, edge, block_slot(h, h->rank, j),
                          gdr_operand_slot(owner, part, 0), rail_bytes(h, j));
        gdr_build_after(h->build, h->rails[j].copied);
    }
}

/* Where this rank's kernels find the part of another one of its node, `skip` bytes behind its
 * start.
 */
static gdr_operand_t part_operand(const hier_t *h, uint32_t rail, uint32_t local, uint64_t skip)
{
    gdr_operand_t part = gdr_operand_slot(h->rank, part_of(h, rail, local), 0);

    if (h->topology->mapped)
        part = block_slot(h, rank_at(h, local), rail);
    part.offset += skip;
    return part;
}

/* One REDUCE of the node's ranks first .. end - 1 for a run of the rail's block, behind the partial
 * result of those before. */
static uint32_t reduce_ranks(hier_t *h, const rail_t *rail, const gdr_circulant_run_t *run,
                             uint32_t first, uint32_t end, uint32_t before)
{
    uint32_t place = h->needs.rails + rail->turn * (h->n - 1); /* of the first part */
    uint32_t slot = h->topology->mapped ? h->needs.rails + rail->turn : place;
    uint64_t skip = run->user - rail->circulant.user;
    gdr_operand_t partial = gdr_operand_slot(h->rank, slot, skip);
    gdr_operand_t in[GDR_STEP_MAX_IN], out;
    uint32_t nin = 0, step;

    if (before != GDR_BUILD_NONE)
        in[nin++] = partial;
    for (uint32_t q = first; q < end; q++)
        in[nin++] = q == h->local ? gdr_operand_send(h->build, run->user)
                                  : part_operand(h, rail->number, q, skip);
    out = end < h->n ? partial : gdr_circulant_block(&rail->circulant, run->first);
    step = gdr_build_reduce(h->build, in, nin, &out, 1, run->bytes);
    gdr_build_after(h->build, before);
    for (uint32_t q = first; q < end; q++)
        if (q != h->local)
            gdr_build_after(h->build, rail->waits + part_of(h, rail->number, q) - place);
    return step;
}

static uint32_t reduce_run(hier_t *h, const rail_t *rail, const gdr_circulant_run_t *run)
{
    uint32_t step = GDR_BUILD_NONE;

    if (h->n == 1)
        return gdr_build_copy(h->build, gdr_operand_send(h->build, run->user),
                              gdr_circulant_block(&rail->circulant, run->first), run->bytes);
    for (uint32_t first = 0; first < h->n;) {
        uint32_t room = GDR_STEP_MAX_IN - (first > 0 ? 1 : 0);
        uint32_t end = h->n - first < room ? h->n : first + room;

        step = reduce_ranks(h, rail, run, first, end, step);
        first = end;
    }
    return step;
}

/* Waits for the parts of an own rail and adds them up. */
static void reduce_in_node(hier_t *h, rail_t *rail)
{
    gdr_circulant_t *c = &rail->circulant;
    gdr_circulant_run_t runs[2];

    for (uint32_t q = 0; q < h->n; q++) {
        gdr_edge_t edge = {.peer = rank_at(h, q), .channel = rail->number};
        uint32_t wait;

        if (q == h->local)
            continue;
        edge.flag = part_of(h, rail->number, q);
        wait = h->topology->mapped
                   ? gdr_build_await(h->build, edge)
                   : gdr_build_wait(h->build, edge, part_operand(h, rail->number, q, 0),
                                    rail_bytes(h, rail->number));
        rail->waits = rail->waits == GDR_BUILD_NONE ? wait : rail->waits;
    }
    c->nready = gdr_circulant_runs(c, 0, c->p, runs);
    for (uint32_t i = 0; i < c->nready; i++)
        c->ready[i] = reduce_run(h, rail, &runs[i]);
}

/* All own rails step by step: their waits do not queue up behind each other. */
static void exchange_between_nodes(hier_t *h)
{
    uint32_t steps = h->needs.steps, j;

    for (uint32_t k = 0; k < steps; k++) {
        for (j = h->local; j < h->needs.rails; j += h->n)
            gdr_circulant_scatter_put(&h->rails[j].circulant, k);
        for (j = h->local; j < h->needs.rails; j += h->n)
            gdr_circulant_scatter_add(&h->rails[j].circulant, k);
    }
    for (uint32_t k = steps; k-- > 0;) {
        for (j = h->local; j < h->needs.rails; j += h->n)
            gdr_circulant_gather_put(&h->rails[j].circulant, k);
        for (j = h->local; j < h->needs.rails; j += h->n)
            gdr_circulant_gather_wait(&h->rails[j].circulant, k);
    }
}

/* In the user's order, where its owner puts it from, or others read it. */
static gdr_operand_t result_slot(const hier_t *h, uint32_t rail)
{
    const rail_t *r = &h->rails[rail];
    uint32_t behind = h->needs.rails + gdr_hier_part_slots(&h->needs, h->topology);

    return gdr_operand_slot(rank_at(h, r->owner),
                            behind + h->needs.turns * GDR_HIER_ARRIVAL_SLOTS + r->turn, 0);
}

static void give_result(hier_t *h, const rail_t *rail)
{
    uint32_t first = h->needs.rails + rail->turn * (h->n - 1);

    for (uint32_t i = 1; i < h->n; i++) {
        uint32_t q = (h->local + i) % h->n, part = part_of(h, rail->number, q);
        gdr_edge_t edge = {.peer = rank_at(h, q), .flag = rail->number, .channel = part};

        if (h->topology->mapped)
            gdr_build_signal(h->build, edge);
        else
            gdr_build_put(h->build, edge, result_slot(h, rail->number),
                          block_slot(h, edge.peer, rail->number), rail_bytes(h, rail->number));
        for (uint32_t k = 0; k < rail->nresults; k++)
            gdr_build_after(h->build, rail->results[k]);
        if (h->topology->mapped) /* also of an empty block: a word comes after the peer's */
            gdr_build_after(h->build, rail->waits + part - first);
    }
}

static gdr_edge_t result_edge(const hier_t *h, uint32_t rail)
{
    return (gdr_edge_t){.peer = rank_at(h, h->rails[rail].owner),
                        .flag = rail,
                        .channel = part_of(h, rail, h->local)};
}

/* The newest step comes after the rail's result is there. So is this rank's part of it then, which
 * means that the input has been read, where the result takes its place. */
static void after_result(hier_t *h, const rail_t *rail)
{
    for (uint32_t i = 0; i < rail->nresults; i++)
        gdr_build_after(h->build, rail->results[i]);
    if (rail->owner != h->local)
        gdr_build_after(h->build, rail->waits);
}

/* Reads what the owners of rails first .. end - 1 have finished, with one kernel. */
static uint32_t read_results(hier_t *h, uint32_t first, uint32_t end)
{
    uint64_t bytes = gdr_blocks_bytes(&h->blocks, first, end);
    uint64_t user = gdr_blocks_offset(&h->blocks, first);
    gdr_operand_t in[GDR_STEP_MAX_IN];
    uint32_t nin = 0, step;

    for (uint32_t j = first; j < end && rail_bytes(h, j) > 0; j++)
        in[nin++] = result_slot(h, j);
    if (nin == 0)
        return GDR_BUILD_NONE;
    step = gdr_build_gather(h->build, in, nin, gdr_operand_recv(h->build, user),
                            h->blocks.block * h->blocks.type_bytes, bytes);
    for (uint32_t j = first; j < first + nin; j++)
        after_result(h, &h->rails[j]);
    return step;
}

/* Waits for the results of rails first .. end - 1, reads them, and says so. */
static void take_mapped(hier_t *h, uint32_t first, uint32_t end)
{
    uint32_t gather;

    for (uint32_t j = first; j < end; j++)
        if (!is_own(h, j))
            h->rails[j].waits = gdr_build_await(h->build, result_edge(h, j));
    gather = read_results(h, first, end);
    for (uint32_t j = first; j < end; j++) {
        if (is_own(h, j))
            continue;
        gdr_build_signal(h->build, read_edge(h, j, h->local));
        gdr_build_after(h->build, rail_bytes(h, j) > 0 ? gather : h->rails[j].waits);
    }
}

/* As many as a kernel takes at once, beginning with the own one. */
static void take_all_mapped(hier_t *h)
{
    uint32_t n = (uint32_t)gdr_div_up(h->needs.rails, GDR_STEP_MAX_IN);

    for (uint32_t i = 0; i < n; i++) {
        uint32_t first = (h->local / GDR_STEP_MAX_IN + i) % n * GDR_STEP_MAX_IN;

        take_mapped(h, first, (uint32_t)gdr_min_u64(first + GDR_STEP_MAX_IN, h->needs.rails));
    }
}

/* Results that were put side by side, of others' rails first .. end - 1, with one kernel. */
static void copy_results(hier_t *h, uint32_t first, uint32_t end)
{
    uint64_t bytes = gdr_blocks_bytes(&h->blocks, first, end);

    if (bytes == 0)
        return;
    gdr_build_copy(h->build, block_slot(h, h->rank, first),
                   gdr_operand_recv(h->build, gdr_blocks_offset(&h->blocks, first)), bytes);
    for (uint32_t j = first; j < end; j++) {
        gdr_build_after(h->build, h->rails[j].waits);
        gdr_build_after(h->build, h->rails[j].copied); /* in place: the input has been read */
    }
}

/* What the owners of others' rails have finished, and put here. */
static void take_put(hier_t *h)
{
    for (uint32_t i = 1; i <= h->needs.rails; i++) {
        uint32_t j = (h->local + i) % h->needs.rails;

        if (!is_own(h, j))
            h->rails[j].waits = gdr_build_wait(h->build, result_edge(h, j),
                                               block_slot(h, h->rank, j), rail_bytes(h, j));
    }
    for (uint32_t first = 0, j = 0; j <= h->needs.rails; j++)
        if (j == h->needs.rails || is_own(h, j)) {
            copy_results(h, first, j);
            first = j + 1;
        }
}

/* Those who map this rank's window have read the result. */
static void await_readers(hier_t *h, const rail_t *rail)
{
    for (uint32_t q = 0; q < h->n && h->topology->mapped; q++)
        if (q != h->local)
            gdr_build_await(h->build, read_edge(h, rail->number, q));
}

static void gather_in_node(hier_t *h)
{
    for (uint32_t j = h->local; j < h->needs.rails; j += h->n) {
        rail_t *rail = &h->rails[j];

        rail->nresults = gdr_circulant_copy_results(&rail->circulant, rail->results);
    }
    for (uint32_t j = h->local; j < h->needs.rails; j += h->n)
        give_result(h, &h->rails[j]);
    if (is_gathered(h))
        take_all_mapped(h);
    else
        take_put(h);
    for (uint32_t j = h->local; j < h->needs.rails; j += h->n)
        await_readers(h, &h->rails[j]);
}

static gdr_status_t build(const gdr_plan_request_t *request, const gdr_layout_t *layout,
                          uint64_t elements, gdr_build_t *b)
{
    const gdr_topology_t *t = request->topology;
    hier_t h = {.build = b,
                .topology = t,
                .needs = gdr_hier_needs(t),
                .rank = request->rank,
                .n = gdr_topology_ranks(t, t->node[request->rank]),
                .local = t->local[request->rank]};

    h.blocks = gdr_blocks_make(elements, h.needs.rails, request->type_bytes);
    if (h.blocks.block * h.blocks.type_bytes > layout->chunk_bytes)
        return GDR_ERR_INVALID;
    h.rails = calloc(h.needs.rails, sizeof(*h.rails));
    if (h.rails == NULL)
        return GDR_ERR_NO_MEMORY;
    open_rails(&h);
    scatter_in_node(&h);
    for (uint32_t j = h.local; j < h.needs.rails; j += h.n)
        reduce_in_node(&h, &h.rails[j]);
    exchange_between_nodes(&h);
    gather_in_node(&h);
    free(h.rails);
    return b->status;
}

const gdr_algorithm_t gdr_algorithm_hierarchical = {
    .name = "hierarchical", .shape = gdr_hier_shape, .work = gdr_hier_work, .build = build};
