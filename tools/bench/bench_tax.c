/*
 * Requests are waited for by the kind of call, memory is checked by the caller.
 * NOLINTBEGIN(clang-analyzer-optin.mpi*)
 * NOLINTBEGIN(clang-analyzer-core.NonNullParamChecker,clang-analyzer-core.StackAddressEscape)
 */
#include "bench_tax.h"

#include "bench_cuda.h"
#include "bench_measure.h"
#include "bench_pvar.h"
#include "tax_comms.h"
#include "tax_report.h"

#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum {
    ROOM = 64 << 10, /* of one buffer; below what malloc maps by itself */
    WARM_UP = 50,    /* rounds that are not counted */
    RUN_IN = 100     /* calls of a block that are not, so that the switch between kinds is not */
};

typedef struct tax {
    const tax_options_t *options;
    int rank, ranks, count; /* count: doubles */
    tax_comms_t comms;
    double *times[TAX_KINDS]; /* of each round, in us a call */
    double *scratch;
    double *send, *recv;
} tax_t;

/* ---- blocks --------------------------------------------------------------------------------- */

/* What is timed is the loop alone: one function for each call. */
#define BLOCK(name, call)                                                                          \
    static int name##_block(const tax_t *t, MPI_Comm comm, int calls)                              \
    {                                                                                              \
        int rc = MPI_SUCCESS;                                                                      \
                                                                                                   \
        (void)t;                                                                                   \
        for (int i = 0; i < calls; i++)                                                            \
            rc |= call;                                                                            \
        return rc;                                                                                 \
    }

#define NONBLOCKING_BLOCK(name, call)                                                              \
    static int name##_block(const tax_t *t, MPI_Comm comm, int calls)                              \
    {                                                                                              \
        int rc = MPI_SUCCESS;                                                                      \
                                                                                                   \
        (void)t;                                                                                   \
        for (int i = 0; i < calls; i++) {                                                          \
            MPI_Request request;                                                                   \
                                                                                                   \
            rc |= call;                                                                            \
            rc |= MPI_Wait(&request, MPI_STATUS_IGNORE);                                           \
        }                                                                                          \
        return rc;                                                                                 \
    }

BLOCK(allreduce, MPI_Allreduce(t->send, t->recv, t->count, MPI_DOUBLE, MPI_SUM, comm))
BLOCK(barrier, MPI_Barrier(comm))
BLOCK(bcast, MPI_Bcast(t->send, t->count, MPI_DOUBLE, 0, comm))
BLOCK(reduce, MPI_Reduce(t->send, t->recv, t->count, MPI_DOUBLE, MPI_SUM, 0, comm))
BLOCK(allgather, MPI_Allgather(t->send, t->count, MPI_DOUBLE, t->recv, t->count, MPI_DOUBLE, comm))
BLOCK(alltoall, MPI_Alltoall(t->send, t->count, MPI_DOUBLE, t->recv, t->count, MPI_DOUBLE, comm))
NONBLOCKING_BLOCK(iallreduce,
                  MPI_Iallreduce(t->send, t->recv, t->count, MPI_DOUBLE, MPI_SUM, comm, &request))
NONBLOCKING_BLOCK(ibarrier, MPI_Ibarrier(comm, &request))

static int (*const blocks[TAX_CALLS])(const tax_t *t, MPI_Comm comm, int calls) = {
    [TAX_ALLREDUCE] = allreduce_block, [TAX_IALLREDUCE] = iallreduce_block,
    [TAX_BARRIER] = barrier_block,     [TAX_IBARRIER] = ibarrier_block,
    [TAX_BCAST] = bcast_block,         [TAX_REDUCE] = reduce_block,
    [TAX_ALLGATHER] = allgather_block, [TAX_ALLTOALL] = alltoall_block};

/* Time of one call in us; below 0: the call failed. */
static double time_block(const tax_t *t, MPI_Comm comm)
{
    double start;

    MPI_Barrier(MPI_COMM_WORLD);
    if (blocks[t->options->call](t, comm, RUN_IN) != MPI_SUCCESS)
        return -1;
    start = MPI_Wtime();
    if (blocks[t->options->call](t, comm, t->options->calls) != MPI_SUCCESS)
        return -1;
    return (MPI_Wtime() - start) * 1e6 / t->options->calls;
}

static void shuffle(tax_kind_t order[TAX_KINDS], uint64_t *random)
{
    for (int i = 0; i < TAX_KINDS; i++) {
        int j = (int)(bench_random(random) % (uint64_t)(i + 1));

        order[i] = order[j];
        order[j] = (tax_kind_t)i;
    }
}

/* Every rank draws the same order. A round's slowest rank counts. */
static int measure(const tax_t *t)
{
    uint64_t random = t->options->seed;
    bool good = true;

    for (int round = -WARM_UP; round < t->options->rounds; round++) {
        tax_kind_t order[TAX_KINDS] = {0};
        int set = (int)(bench_random(&random) % TAX_SETS);

        shuffle(order, &random);
        for (int i = 0; i < TAX_KINDS; i++) {
            double us = time_block(t, t->comms.comm[order[i]][set]);

            good = good && us >= 0;
            if (round >= 0)
                t->times[order[i]][round] = us;
        }
    }
    for (int kind = 0; kind < TAX_KINDS; kind++) {
        memcpy(t->scratch, t->times[kind], (size_t)t->options->rounds * sizeof(double));
        MPI_Reduce(t->scratch, t->times[kind], t->options->rounds, MPI_DOUBLE, MPI_MAX, 0,
                   MPI_COMM_WORLD);
    }
    return bench_all(good) ? 0 : -1;
}

/* ---- rows ----------------------------------------------------------------------------------- */

static double median_of(const tax_t *t, tax_kind_t kind)
{
    size_t n = (size_t)t->options->rounds;

    memcpy(t->scratch, t->times[kind], n * sizeof(double));
    return bench_median(t->scratch, n);
}

static int report_row(const tax_t *t, const char *place, tax_report_t *report)
{
    const tax_options_t *o = t->options;
    size_t n = (size_t)o->rounds;
    tax_row_t row = {.place = place};

    row.with_us = median_of(t, TAX_WITH);
    row.without_us = median_of(t, TAX_WITHOUT);
    if (bench_ratio_of(t->times[TAX_WITH], t->times[TAX_WITHOUT], n, o->seed, &row.tax) != 0 ||
        bench_ratio_of(t->times[TAX_CONTROL], t->times[TAX_WITHOUT], n, o->seed, &row.control) != 0)
        return -1;
    tax_report_row(report, &row);
    return 0;
}

/* Whether the two kinds really are what they are called: gdr counts the calls it passes on. */
static bool kinds_differ(const tax_t *t)
{
    uint64_t before = bench_pvar_host_calls(), with;

    if (t->options->call != TAX_ALLREDUCE && t->options->call != TAX_IALLREDUCE)
        return true;
    blocks[t->options->call](t, t->comms.comm[TAX_WITH][0], t->options->calls);
    with = bench_pvar_host_calls() - before;
    blocks[t->options->call](t, t->comms.comm[TAX_WITHOUT][0], t->options->calls);
    return with == (uint64_t)t->options->calls && bench_pvar_host_calls() - before == with;
}

static int measure_place(tax_t *t, const char *place, void *memory, tax_report_t *report)
{
    int rc;

    t->send = memory;
    t->recv = t->send + ROOM / 2 / sizeof(double);
    memset(memory, 0, ROOM);
    if (!bench_all(kinds_differ(t))) {
        if (t->rank == 0)
            fprintf(stderr, "gdr_bench: gdr does not count %d calls of a block as it should\n",
                    t->options->calls);
        return -1;
    }
    if (measure(t) != 0)
        return -1;
    rc = t->rank == 0 ? report_row(t, place, report) : 0;
    return bench_all(rc == 0) ? 0 : -1;
}

/* gdr tells some places from device memory by the address alone, others not. */
static int measure_places(tax_t *t, tax_report_t *report)
{
    static double constant[ROOM / sizeof(double)];
    double stack[ROOM / sizeof(double)];
    double *heap = malloc(ROOM);
    void *mapped = mmap(NULL, ROOM, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    int rc = -1;

    if (bench_all(heap != NULL && mapped != MAP_FAILED) &&
        measure_place(t, "static", constant, report) == 0 &&
        measure_place(t, "stack", stack, report) == 0 &&
        measure_place(t, "heap", heap, report) == 0)
        rc = measure_place(t, "mapped", mapped, report);
    free(heap);
    if (mapped != MAP_FAILED)
        munmap(mapped, ROOM);
    return rc;
}

/* ---- all ------------------------------------------------------------------------------------ */

static int use_cuda(const tax_t *t, tax_report_t *report)
{
    int rc = bench_cuda_open(0);

    if (rc != 0)
        fprintf(stderr, "gdr_bench: rank %d: no CUDA device: %s\n", t->rank, bench_cuda_error());
    report->device = bench_cuda_name();
    return bench_all(rc == 0) ? 0 : -1;
}

static int run(tax_t *t)
{
    tax_report_t report = {.options = t->options, .ranks = t->ranks, .device = "none"};
    int rc = 0;

    if ((t->options->cuda && use_cuda(t, &report) != 0) || tax_comms_open(&t->comms, t->rank) != 0)
        return -1;
    if (t->rank == 0)
        rc = tax_report_open(&report);
    if (!bench_all(rc == 0))
        return -1;
    rc = measure_places(t, &report);
    if (t->rank == 0 && tax_report_close(&report) != 0)
        rc = -1;
    return bench_all(rc == 0) ? 0 : -1;
}

int bench_tax(const tax_options_t *options, int rank, int ranks)
{
    tax_t tax = {.options = options,
                 .rank = rank,
                 .ranks = ranks,
                 .count = options->bytes / (int)sizeof(double)};
    size_t rounds = (size_t)options->rounds;
    double *times = malloc((TAX_KINDS + 1) * rounds * sizeof(double));
    int rc = -1;

    for (int kind = 0; kind < TAX_KINDS && times != NULL; kind++)
        tax.times[kind] = times + (size_t)kind * rounds;
    if (times != NULL)
        tax.scratch = times + TAX_KINDS * rounds;
    if (!bench_all(times != NULL && options->bytes <= ROOM / 2 / ranks)) {
        if (rank == 0)
            fprintf(stderr, "gdr_bench: too many bytes for %d ranks, or no memory\n", ranks);
    } else {
        rc = run(&tax);
        tax_comms_close(&tax.comms);
    }
    free(times);
    return rc;
}
/* NOLINTEND(clang-analyzer-core.NonNullParamChecker,clang-analyzer-core.StackAddressEscape) */
/* NOLINTEND(clang-analyzer-optin.mpi*) */
