/*
 * Recursive k-nomial exchange of whole messages: few steps for small messages of any number of
 * ranks. In a phase of radix k, k ranks send each other what they have and reduce it in the order
 * of their ranks; a phase joins k neighbouring groups of the phase before, so the order is that of
 * all ranks, and ranks that have joined have evaluated the same expression: the same bits.
 *
 * The radices are the factors of a core of ranks: of all, if their number has small factors, else
 * of the power of two below. The others are odd ranks among the first: their even neighbour adds
 * their input to its own before the first phase and sends them the result behind the last.
 *
 * Slots: one for the value that each phase begins with, from where it is put; with neighbours one
 * for the result and one for what the neighbour sends; then one for each peer of each phase.
 */
#include "base/gdr_math.h"
#include "plan/gdr_algorithms.h"

enum {
    MAX_PHASES = 32,
    NEIGHBOUR_SLOTS = 2,
    /* In units of the CPU's time for a put: what a step costs besides. See cost.c. */
    STEP_PUTS = 2,
    NEIGHBOUR_COST = 2 * (STEP_PUTS + 1) /* a step there and one back */
};

typedef struct core {
    uint32_t extra; /* ranks outside: 1, 3, ... 2 extra - 1 */
    uint32_t nphases, nexchanges;
    uint32_t radix[MAX_PHASES];
    uint32_t first[MAX_PHASES]; /* exchanges of the phases before */
} core_t;

typedef struct knomial {
    gdr_build_t *build;
    core_t core;
    uint32_t r;
    uint32_t index; /* in the core: of this rank or of its neighbour */
    bool has_neighbour;
    uint64_t bytes;
    gdr_operand_t value; /* this rank's, at the beginning of the phase */
    uint32_t ready;      /* the step after which it may be put */
} knomial_t;

/* Factors of n, fours first; false if one is greater than 7. */
static bool factorize(uint32_t n, core_t *core, uint32_t *cost)
{
    static const uint32_t radices[] = {4, 2, 3, 5, 7};

    core->nphases = core->nexchanges = *cost = 0;
    for (uint32_t i = 0; i < sizeof(radices) / sizeof(radices[0]); i++)
        for (; n % radices[i] == 0; n /= radices[i]) {
            core->radix[core->nphases] = radices[i];
            core->first[core->nphases++] = core->nexchanges;
            core->nexchanges += radices[i] - 1;
            *cost += STEP_PUTS + radices[i] - 1;
        }
    return n == 1;
}

static core_t core_of(uint32_t p)
{
    uint32_t power = 1, cost, other;
    core_t core = {0}, all = {0};

    while (power <= p / 2)
        power *= 2;
    core.extra = p - power;
    factorize(power, &core, &cost);
    return factorize(p, &all, &other) && other <= cost + NEIGHBOUR_COST ? all : core;
}

static bool shape(const gdr_plan_request_t *request, gdr_shape_t *shape)
{
    core_t core = core_of((uint32_t)request->size);
    uint32_t flags = core.nexchanges + (core.extra > 0 ? 1 : 0);

    *shape = (gdr_shape_t){.nslots = core.nphases + (core.extra > 0 ? NEIGHBOUR_SLOTS : 0) +
                                     core.nexchanges,
                           .nflags = flags,
                           .nchannels = flags,
                           .seg_chunks = 1};
    return request->size >= 2;
}

/* Puts to as many ranks, so far from each other, that follow each other in `steps` steps. */
static void add_exchanges(const gdr_topology_t *t, uint64_t stride, uint64_t puts, uint64_t steps,
                          uint64_t bytes, gdr_work_t *work)
{
    uint64_t near = gdr_div_up(gdr_topology_row(t), stride) - 1; /* at most, in the node */
    uint64_t inside = gdr_min_u64(puts, near), of[GDR_LINKS] = {puts - inside, inside};

    for (uint32_t i = 0; i < GDR_LINKS; i++) {
        work->link[i].puts += of[i];
        work->link[i].sent += of[i] * bytes;
        work->link[i].passed += of[i] * bytes;
    }
    if (puts > 0)
        work->link[of[GDR_LINK_NET] > 0 ? GDR_LINK_NET : GDR_LINK_NODE].steps += steps;
}

static void work(const gdr_plan_request_t *request, uint64_t bytes, gdr_work_t *work)
{
    core_t core = core_of((uint32_t)request->size);
    uint64_t n = core.nexchanges, phases = core.nphases, neighbour = core.extra > 0 ? 1 : 0;
    uint64_t kernels = 2 + n + 2 * phases + neighbour; /* messages that they touch */
    uint64_t stride = 1;

    /* In a phase: puts, as many inputs and the own one, an output. Before: a copy, or the addition
     * of a neighbour's input; behind: a copy of the result that is put to it. */
    *work = (gdr_work_t){
        .sent = (n + neighbour) * bytes,
        .senders = gdr_topology_most(request->topology),
        .kernels = 1 + phases,
        .touched = (kernels + 2 * n + 3 * neighbour) * bytes,
        .way = {1 + phases + 2 * neighbour, 1 + phases + 2 * neighbour,
                (kernels + 4 * neighbour) * bytes},
    };
    add_exchanges(request->topology, 1, neighbour, 2, bytes, work);
    for (uint32_t i = 0; i < core.nphases; i++) {
        add_exchanges(request->topology, stride, core.radix[i] - 1, 1, bytes, work);
        stride *= core.radix[i];
    }
}

static uint32_t rank_of(const core_t *core, uint32_t index)
{
    return index < core->extra ? 2 * index : index + core->extra;
}

static gdr_operand_t value_slot(const knomial_t *k, uint32_t phase)
{
    return gdr_operand_slot((int32_t)k->r, phase, 0);
}

static gdr_operand_t result_slot(const knomial_t *k, uint32_t rank)
{
    return gdr_operand_slot((int32_t)rank, k->core.nphases, 0);
}

static gdr_operand_t neighbour_slot(const knomial_t *k, uint32_t rank)
{
    return gdr_operand_slot((int32_t)rank, k->core.nphases + 1, 0);
}

/* Member `from` of a group is this exchange of member `to`; digits count the members of a group. */
static uint32_t exchange_of(const knomial_t *k, uint32_t phase, uint32_t to, uint32_t from)
{
    return k->core.first[phase] + (from < to ? from : from - 1);
}

static gdr_operand_t arrival(const knomial_t *k, uint32_t rank, uint32_t exchange)
{
    uint32_t before = k->core.nphases + (k->core.extra > 0 ? NEIGHBOUR_SLOTS : 0);

    return gdr_operand_slot((int32_t)rank, before + exchange, 0);
}

static gdr_edge_t neighbour_edge(const knomial_t *k, uint32_t peer)
{
    return (gdr_edge_t){
        .peer = (int32_t)peer, .flag = k->core.nexchanges, .channel = k->core.nexchanges};
}

/* A rank outside the core. */
static void outside(knomial_t *k)
{
    uint32_t leader = k->r - 1, copy, wait;

    copy = gdr_build_copy(k->build, gdr_operand_send(k->build, 0), value_slot(k, 0), k->bytes);
    gdr_build_put(k->build, neighbour_edge(k, leader), value_slot(k, 0), neighbour_slot(k, leader),
                  k->bytes);
    gdr_build_after(k->build, copy);
    wait = gdr_build_wait(k->build, neighbour_edge(k, leader), result_slot(k, k->r), k->bytes);
    gdr_build_copy(k->build, result_slot(k, k->r), gdr_operand_recv(k->build, 0), k->bytes);
    gdr_build_after(k->build, wait);
    gdr_build_after(k->build, copy); /* in place: the input has been read */
}

/* The value of the first phase: the own input, or that and the neighbour's. */
static void begin(knomial_t *k)
{
    gdr_operand_t send = gdr_operand_send(k->build, 0), slot = value_slot(k, 0);
    uint32_t wait;

    if (k->has_neighbour) {
        gdr_operand_t in[2] = {send, neighbour_slot(k, k->r)};

        wait = gdr_build_wait(k->build, neighbour_edge(k, k->r + 1), in[1], k->bytes);
        k->ready = gdr_build_reduce(k->build, in, 2, &slot, 1, k->bytes);
        gdr_build_after(k->build, wait);
    } else {
        k->ready = gdr_build_copy(k->build, send, slot, k->bytes);
    }
    k->value = slot;
}

static uint32_t peer_of(const knomial_t *k, uint32_t stride, uint32_t digit, uint32_t other)
{
    return rank_of(&k->core, k->index - digit * stride + other * stride);
}

/* The i-th one that a member puts to: never the same one at once as another member. Pairs, where
 * they come out even, so that this holds also where some ways are faster than others. */
static uint32_t partner(uint32_t radix, uint32_t digit, uint32_t i)
{
    return (radix & (radix - 1)) == 0 ? digit ^ i : (digit + i) % radix;
}

static void put_value(knomial_t *k, uint32_t phase, uint32_t stride, uint32_t digit)
{
    uint32_t radix = k->core.radix[phase];

    for (uint32_t i = 1; i < radix; i++) {
        uint32_t other = partner(radix, digit, i), peer = peer_of(k, stride, digit, other);
        gdr_edge_t edge = {.peer = (int32_t)peer,
                           .flag = exchange_of(k, phase, other, digit),
                           .channel = exchange_of(k, phase, digit, other)};

        gdr_build_put(k->build, edge, k->value, arrival(k, peer, edge.flag), k->bytes);
        gdr_build_after(k->build, k->ready);
    }
}

static void reduce(knomial_t *k, uint32_t phase, const gdr_operand_t *in, const uint32_t *waits,
                   uint32_t nwaits)
{
    gdr_operand_t out[GDR_STEP_MAX_OUT];
    uint32_t nout = 0, step;

    if (phase + 1 < k->core.nphases) {
        out[nout++] = value_slot(k, phase + 1);
    } else { /* final values */
        out[nout++] = gdr_operand_recv(k->build, 0);
        if (k->has_neighbour)
            out[nout++] = result_slot(k, k->r);
    }
    step = gdr_build_reduce(k->build, in, k->core.radix[phase], out, nout, k->bytes);
    gdr_build_after(k->build, k->ready);
    for (uint32_t i = 0; i < nwaits; i++)
        gdr_build_after(k->build, waits[i]);
    k->ready = step;
    k->value = out[nout - 1];
}

static void run_phase(knomial_t *k, uint32_t phase, uint32_t stride)
{
    uint32_t radix = k->core.radix[phase], digit = k->index / stride % radix, nwaits = 0;
    gdr_operand_t in[GDR_STEP_MAX_IN];
    uint32_t waits[GDR_STEP_MAX_IN];

    put_value(k, phase, stride, digit);
    for (uint32_t other = 0; other < radix; other++) {
        uint32_t peer = peer_of(k, stride, digit, other);
        gdr_edge_t edge = {.peer = (int32_t)peer,
                           .flag = exchange_of(k, phase, digit, other),
                           .channel = exchange_of(k, phase, other, digit)};

        in[other] = other == digit ? k->value : arrival(k, k->r, edge.flag);
        if (other != digit)
            waits[nwaits++] = gdr_build_wait(k->build, edge, in[other], k->bytes);
    }
    reduce(k, phase, in, waits, nwaits);
}

static gdr_status_t build(const gdr_plan_request_t *request, const gdr_layout_t *layout,
                          uint64_t elements, gdr_build_t *b)
{
    knomial_t k = {.build = b,
                   .core = core_of((uint32_t)request->size),
                   .r = (uint32_t)request->rank,
                   .bytes = elements * request->type_bytes};
    uint32_t stride = 1;

    if (k.bytes > layout->chunk_bytes)
        return GDR_ERR_INVALID;
    k.index = k.r < 2 * k.core.extra ? k.r / 2 : k.r - k.core.extra;
    if (k.r != rank_of(&k.core, k.index)) {
        outside(&k);
        return b->status;
    }
    k.has_neighbour = k.index < k.core.extra;
    begin(&k);
    for (uint32_t phase = 0; phase < k.core.nphases; phase++) {
        run_phase(&k, phase, stride);
        stride *= k.core.radix[phase];
    }
    if (k.has_neighbour) {
        gdr_build_put(b, neighbour_edge(&k, k.r + 1), k.value, result_slot(&k, k.r + 1), k.bytes);
        gdr_build_after(b, k.ready);
    }
    return b->status;
}

const gdr_algorithm_t gdr_algorithm_knomial = {
    .name = "knomial", .shape = shape, .work = work, .build = build};
