/* What ranks find out together: puts from each to the next one of a ring. */
#include "tools/tune/tune_measure.h"

#include <string.h>

#define SMALL ((uint64_t)64)
#define LARGE ((uint64_t)1024 * 1024)
#define WORD  ((uint64_t)sizeof(uint64_t))

_Static_assert(TUNE_OPS *LARGE <= TUNE_WINDOW / 2, "the window's halves hold what is under way");

/* A word of this rank's page. */
static uint64_t look(const tune_rig_t *rig, int word)
{
    return __atomic_load_n(&rig->page[word], __ATOMIC_ACQUIRE);
}

/* Puts `bytes` of place `slot` and then the word, from the page's word `source` to `to`. */
static void put(tune_rig_t *rig, const tune_ring_t *ring, uint64_t slot, uint64_t bytes,
                const int word[2], gdr_net_op_t *op)
{
    gdr_net_word_t flag = {.rmem = ring->page,
                           .roff = (uint64_t)word[1] * WORD,
                           .lmem = rig->page_mem,
                           .loff = (uint64_t)word[0] * WORD};

    op->status = GDR_INPROGRESS;
    rig->ops->put(ring->next, ring->window, TUNE_WINDOW / 2 + slot * bytes, rig->window_mem,
                  slot * bytes, bytes, &flag, op);
}

static void finish(tune_rig_t *rig, const gdr_net_op_t *op)
{
    while (op->status == GDR_INPROGRESS)
        rig->ops->progress(rig->net);
    if (op->status != GDR_OK)
        tune_rig_fail();
}

static void send_token(tune_rig_t *rig, tune_ring_t *ring, gdr_net_op_t *op)
{
    const int word[2] = {ring->words + TUNE_TOKEN_SOURCE, ring->words + TUNE_TOKEN};

    finish(rig, op); /* the one before has read the source */
    rig->page[word[0]] = ring->token;
    put(rig, ring, 0, SMALL, word, op);
}

static void await_token(tune_rig_t *rig, const tune_ring_t *ring)
{
    while (look(rig, ring->words + TUNE_TOKEN) < ring->token)
        rig->ops->progress(rig->net);
    if (rig->device.ops->flush_rdma_writes(rig->device.dev) != GDR_OK)
        tune_rig_fail();
}

/* Seconds from one rank to the next: a token goes round the ring, one put with its flag a hop. */
static double time_hop(tune_rig_t *rig, tune_ring_t *ring, int rounds)
{
    gdr_net_op_t op = {.status = GDR_OK};
    double begin;

    tune_rig_barrier(rig, ring->comm);
    begin = tune_now();
    for (int k = 0; k < rounds; k++) {
        ring->token++;
        if (ring->rank != 0)
            await_token(rig, ring);
        send_token(rig, ring, &op);
        if (ring->rank == 0)
            await_token(rig, ring);
    }
    finish(rig, &op);
    begin = tune_now() - begin;
    tune_rig_barrier(rig, ring->comm);
    return begin / rounds / ring->size;
}

static bool any_under_way(const gdr_net_op_t *ops)
{
    for (int i = 0; i < TUNE_OPS; i++)
        if (ops[i].status == GDR_INPROGRESS)
            return true;
    return false;
}

/* Seconds for so many puts from every rank of the ring, TUNE_OPS of them under way at once. */
static double time_puts(tune_rig_t *rig, tune_ring_t *ring, uint64_t bytes, int puts)
{
    gdr_net_op_t ops[TUNE_OPS];
    int posted = 0;
    double begin;

    memset(ops, 0, sizeof(ops)); /* GDR_OK */
    tune_rig_barrier(rig, ring->comm);
    begin = tune_now();
    while (posted < puts || any_under_way(ops)) {
        for (int i = 0; i < TUNE_OPS; i++) {
            const int word[2] = {ring->words + TUNE_SOURCES + i, ring->words + TUNE_ARRIVALS + i};

            if (ops[i].status == GDR_INPROGRESS)
                continue;
            if (ops[i].status != GDR_OK)
                tune_rig_fail();
            if (posted == puts)
                continue;
            rig->page[word[0]]++;
            put(rig, ring, (uint64_t)i, bytes, word, &ops[i]);
            posted++;
        }
        rig->ops->progress(rig->net);
    }
    begin = tune_now() - begin;
    tune_rig_barrier(rig, ring->comm);
    return begin;
}

/* How often something that takes `seconds` may be done; alike on all ranks of the ring. */
static int often(const tune_rig_t *rig, const tune_ring_t *ring, double seconds, int least)
{
    double enough = rig->options->quick ? 0.02 : 0.3;
    int n = seconds * 2000 < enough ? 2000 : (int)(enough / seconds);

    if (n < least)
        n = least;
    MPI_Allreduce(MPI_IN_PLACE, &n, 1, MPI_INT, MPI_MIN, ring->comm);
    return n;
}

/* 10^6 bytes a second that kernels of every rank read of the next one's window; 0: not mapped. */
static double read_rate(tune_rig_t *rig, tune_ring_t *ring)
{
    uint64_t part = TUNE_WINDOW / 2 / TUNE_STREAMS, address = 0;
    tune_load_t load = {.reduce = {.nin = 1, .nout = 1, .bytes = part},
                        .stride = part,
                        .streams = TUNE_STREAMS,
                        .launches = rig->options->quick ? 1 : 16};
    double seconds = 0, posting;
    bool mapped = ring->size > 1 && rig->ops->map(ring->window, &address) == GDR_OK;

    load.reduce.in[0] = address;
    load.reduce.out[0] = rig->window + TUNE_WINDOW / 2;
    for (int i = 0; i < 2; i++) { /* the first time for the way there */
        tune_rig_barrier(rig, MPI_COMM_WORLD);
        if (mapped && tune_device_time(&rig->device, &load, &seconds, &posting) != GDR_OK)
            tune_rig_fail();
    }
    tune_rig_barrier(rig, MPI_COMM_WORLD);
    return mapped ? (double)part * load.streams * load.launches / seconds / 1e6 : 0;
}

typedef struct link {
    const char *state, *latency, *put, *mbs; /* the watchdog's line; names of the figures */
} link_t;

/* All rings of a kind at once. Ranks without one have 0, which is no figure. */
static void measure(tune_rig_t *rig, tune_ring_t *ring, const link_t *link, tune_figures_t *figures)
{
    const tune_figure_t *flag = tune_figures_find(figures, "flag_ns");
    double hop = 0, small = 0, large = 0;
    int n;

    tune_rig_state(link->state);
    if (ring->size > 1) {
        hop = time_hop(rig, ring, often(rig, ring, time_hop(rig, ring, 4), 4));
        n = often(rig, ring, time_puts(rig, ring, SMALL, TUNE_OPS) / TUNE_OPS, TUNE_OPS);
        small = time_puts(rig, ring, SMALL, n) / n;
        n = often(rig, ring, time_puts(rig, ring, LARGE, TUNE_OPS) / TUNE_OPS, TUNE_OPS);
        large = time_puts(rig, ring, LARGE, n) / n;
    }
    hop = hop * 1e9 - (flag == NULL ? 0 : flag->value);
    tune_measure_gather(rig, figures, link->latency,
                        ring->size < 2 ? 0
                        : hop < 1      ? 1
                                       : hop,
                        "64 bytes and the flag, from rank to rank round a ring, less flag_ns");
    tune_measure_gather(rig, figures, link->put, small * 1e9,
                        "64 bytes and the flag, 16 puts under way, time for one more");
    tune_measure_gather(rig, figures, link->mbs, large == 0 ? 0 : (double)LARGE / large / 1e6,
                        "1 MiB and the flag, 16 puts under way, every rank to the next");
}

void tune_measure_links(tune_rig_t *rig, tune_figures_t *figures)
{
    static const link_t inside = {"putting inside nodes", "node_latency_ns", "node_put_ns",
                                  "node_mbs"},
                        between = {"putting between nodes", "net_latency_ns", "net_put_ns",
                                   "net_mbs"};

    measure(rig, &rig->inside, &inside, figures);
    tune_rig_state("reading mapped windows");
    tune_measure_gather(rig, figures, "node_read_mbs", read_rate(rig, &rig->inside),
                        "kernels read the next rank's mapped window, all ranks at once");
    measure(rig, &rig->between, &between, figures);
}
