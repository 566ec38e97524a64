/* What one rank can find out by itself: kernels, device memory, words. */
#include "tools/tune/tune_measure.h"

#include <stdlib.h>

#define KIB ((uint64_t)1024)
#define MIB ((uint64_t)1024 * 1024)

static int limited(double wanted, int low, int high)
{
    return wanted < low ? low : wanted > high ? high : (int)wanted;
}

void tune_measure_gather(const tune_rig_t *rig, tune_figures_t *figures, const char *name,
                         double value, const char *how)
{
    double *values = rig->rank == 0 ? calloc((size_t)rig->ranks, sizeof(*values)) : NULL;
    int n = 0;

    MPI_Gather(&value, 1, MPI_DOUBLE, values, 1, MPI_DOUBLE, 0, MPI_COMM_WORLD);
    if (rig->rank == 0 && values == NULL)
        tune_rig_fail();
    for (int i = 0; rig->rank == 0 && i < rig->ranks; i++)
        if (values[i] > 0)
            values[n++] = values[i];
    if (n > 0)
        tune_figures_add(figures, name, values, n, how);
    free(values);
}

static int ascending(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

static double time_load(tune_rig_t *rig, const tune_load_t *load, double *posting)
{
    double seconds;

    if (tune_device_time(&rig->device, load, &seconds, posting) != GDR_OK)
        tune_rig_fail();
    return seconds;
}

/* One kernel of few bytes after the other. */
static void measure_launch(tune_rig_t *rig, tune_figures_t *figures)
{
    enum { MOST = 401 };
    int n = rig->options->quick ? 21 : MOST;
    double times[MOST] = {0}, posting[MOST] = {0};
    tune_load_t load = {.reduce = {.op = GDR_OP_SUM,
                                   .type = GDR_TYPE_FLOAT32,
                                   .nin = 2,
                                   .nout = 1,
                                   .in = {rig->window, rig->window + KIB},
                                   .out = {rig->window + 2 * KIB},
                                   .bytes = 64},
                        .streams = 1,
                        .launches = 1};

    for (int i = 0; i < 5; i++)
        time_load(rig, &load, &posting[0]);
    for (int i = 0; i < n; i++)
        times[i] = time_load(rig, &load, &posting[i]);
    qsort(times, (size_t)n, sizeof(*times), ascending);
    qsort(posting, (size_t)n, sizeof(*posting), ascending);
    tune_measure_gather(rig, figures, "launch_ns", times[n / 2] * 1e9,
                        "a sum of 2 x 64 bytes, from its launch until its word was seen, median");
    tune_measure_gather(rig, figures, "launch_cpu_ns", posting[n / 2] * 1e9,
                        "the call that launches it, median");
}

/* 10^6 bytes a second. */
static double rate(tune_rig_t *rig, tune_load_t *load)
{
    double posting, seconds, enough = rig->options->quick ? 0.005 : 0.1;

    load->launches = 1;
    time_load(rig, load, &posting);
    seconds = time_load(rig, load, &posting);
    load->launches = limited(enough / seconds, 2, 200);
    MPI_Allreduce(MPI_IN_PLACE, &load->launches, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
    tune_rig_barrier(rig, MPI_COMM_WORLD);
    seconds = time_load(rig, load, &posting);
    return tune_load_bytes(load) / seconds / 1e6;
}

/* Operands of more than any cache holds, unless that much memory cannot be had. */
static uint64_t take_memory(tune_rig_t *rig)
{
    const gdr_dev_ops_t *ops = rig->device.ops;
    uint64_t operand = rig->options->quick ? MIB : 16 * MIB;

    while (ops->alloc(rig->device.dev, 3 * operand * TUNE_STREAMS, &rig->memory) != GDR_OK) {
        operand /= 2;
        if (operand < 64 * KIB)
            tune_rig_fail();
    }
    return operand;
}

static void measure_memory(tune_rig_t *rig, tune_figures_t *figures)
{
    uint64_t operand = take_memory(rig);
    tune_load_t load = {.reduce = {.op = GDR_OP_SUM,
                                   .type = GDR_TYPE_FLOAT32,
                                   .nin = 2,
                                   .nout = 1,
                                   .in = {rig->memory, rig->memory + operand},
                                   .out = {rig->memory + 2 * operand},
                                   .bytes = operand},
                        .stride = 3 * operand};

    load.streams = TUNE_STREAMS;
    tune_measure_gather(rig, figures, "memory_mbs", rate(rig, &load),
                        "large sums in 4 streams, all ranks at once; bytes read and written");
    load.streams = 1;
    tune_measure_gather(rig, figures, "kernel_mbs", rate(rig, &load), "the same in 1 stream");
    load.driver_copies = true;
    tune_measure_gather(rig, figures, "copy_mbs", rate(rig, &load),
                        "the driver's copies instead of kernels, in 1 stream");
    rig->device.ops->free(rig->device.dev, rig->memory);
}

void tune_measure_device(tune_rig_t *rig, tune_figures_t *figures)
{
    tune_rig_state("launching kernels");
    if (rig->device.ops->prepare != NULL &&
        rig->device.ops->prepare(rig->device.dev, GDR_OP_SUM, GDR_TYPE_FLOAT32) != GDR_OK)
        tune_rig_fail();
    tune_rig_barrier(rig, MPI_COMM_WORLD);
    measure_launch(rig, figures);
    tune_rig_state("reading and writing device memory");
    measure_memory(rig, figures);
}

void tune_measure_flag(tune_rig_t *rig, tune_figures_t *figures)
{
    int n = rig->options->quick ? 1000 : 20000;
    double begin;

    tune_rig_state("looking at words");
    tune_rig_barrier(rig, MPI_COMM_WORLD);
    begin = tune_now();
    for (int i = 0; i < n; i++) {
        rig->ops->progress(rig->net);
        if (__atomic_load_n(&rig->page[rig->inside.words + TUNE_TOKEN], __ATOMIC_ACQUIRE) ==
                UINT64_MAX ||
            rig->device.ops->flush_rdma_writes(rig->device.dev) != GDR_OK)
            tune_rig_fail();
    }
    tune_measure_gather(rig, figures, "flag_ns", (tune_now() - begin) * 1e9 / n,
                        "UCX's progress, a look at a word, the flush for what was put");
}
