#include "bench_measure.h"

#include <stdio.h>
#include <string.h>

enum { ROUNDS = 4 }; /* with --compare, so that a change of the machine hits both ways */

bool bench_all(bool good)
{
    int bad = !good, sum = 0;

    MPI_Reduce(&bad, &sum, 1, MPI_INT, MPI_SUM, 0, MPI_COMM_WORLD);
    MPI_Bcast(&sum, 1, MPI_INT, 0, MPI_COMM_WORLD);
    return sum == 0;
}

/* `calls` calls; their time is added to *seconds, a barrier between them is not. */
static int timed(bench_way_t *way, size_t count, int calls, double *seconds)
{
    int rc = 0;

    for (int i = 0; i < calls; i++) {
        double begin;

        MPI_Barrier(MPI_COMM_WORLD);
        begin = MPI_Wtime();
        rc |= bench_way_call(way, count);
        *seconds += MPI_Wtime() - begin;
    }
    return rc;
}

static int warm_up(bench_way_t *way, size_t count, int calls)
{
    double unused = 0;

    if (way == NULL)
        return 0;
    return bench_way_fill(way, count) | timed(way, count, calls, &unused) |
           bench_way_fill(way, count);
}

/* In place the timed calls have eaten the input: one more call on a fresh one. */
static int verify(bench_way_t *way, size_t count, uint64_t *wrong)
{
    bench_verdict_t verdict;
    int rc = 0;

    if (way->options->in_place)
        rc = bench_way_fill(way, count) | bench_way_call(way, count);
    rc |= bench_way_verify(way, count, &verdict);
    if (verdict.wrong != 0)
        fprintf(stderr,
                "gdr_bench: rank %d, %s, %zu elements: %llu wrong, first [%zu] = %s, right: %s\n",
                way->rank, bench_way_name(way->kind), count, (unsigned long long)verdict.wrong,
                verdict.first, verdict.got, verdict.expected);
    *wrong += verdict.wrong;
    return rc;
}

static void reduce_timing(double seconds, int iters, const bench_way_t *way, bench_timing_t *timing)
{
    double us = seconds * 1e6 / iters, sum = 0;

    MPI_Reduce(&us, &timing->min_us, 1, MPI_DOUBLE, MPI_MIN, 0, MPI_COMM_WORLD);
    MPI_Reduce(&us, &timing->max_us, 1, MPI_DOUBLE, MPI_MAX, 0, MPI_COMM_WORLD);
    MPI_Reduce(&us, &sum, 1, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD);
    timing->avg_us = sum / way->ranks;
}

static void reduce_counters(const bench_counters_t *mine, uint64_t my_wrong, bench_row_t *row)
{
    uint64_t from[5] = {mine->kernels, mine->puts, mine->put_bytes, mine->host_bytes, my_wrong};
    uint64_t to[5] = {0};

    MPI_Reduce(from, to, 5, MPI_UINT64_T, MPI_SUM, 0, MPI_COMM_WORLD);
    row->counters = (bench_counters_t){to[0], to[1], to[2], to[3]};
    row->wrong = to[4];
}

static int run_rounds(bench_way_t *way, bench_way_t *other, bench_row_t *row, double seconds[2],
                      bench_counters_t *counters)
{
    int rounds = other != NULL && row->iters >= ROUNDS ? ROUNDS : 1, rc = 0;

    for (int round = 0, done = 0; round < rounds; round++) {
        int calls = (row->iters - done) / (rounds - round);
        bench_counters_t before, after;

        bench_pvar_read(&before);
        rc |= timed(way, row->count, calls, &seconds[0]);
        bench_pvar_read(&after);
        bench_counters_add(counters, &before, &after);
        snprintf(row->path, sizeof(row->path), "%s",
                 way->kind == BENCH_WAY_HOST ? "host" : bench_pvar_path());
        if (other != NULL)
            rc |= timed(other, row->count, calls, &seconds[1]);
        done += calls;
    }
    return rc;
}

int bench_measure(bench_way_t *way, bench_way_t *other, size_t count, bench_row_t *row)
{
    const bench_options_t *o = way->options;
    double seconds[2] = {0, 0};
    bench_counters_t counters = {0};
    uint64_t wrong = 0;
    int rc;

    *row = (bench_row_t){.count = count, .bytes = count * bench_type_bytes(o->type)};
    row->iters = bench_options_iters(o, row->bytes);
    rc = warm_up(way, count, bench_options_warmup(o, row->bytes)) |
         warm_up(other, count, bench_options_warmup(o, row->bytes)) |
         run_rounds(way, other, row, seconds, &counters);
    if (o->check) {
        rc |= verify(way, count, &wrong);
        if (other != NULL)
            rc |= verify(other, count, &wrong);
    }
    reduce_timing(seconds[0], row->iters, way, &row->timing);
    if (other != NULL)
        reduce_timing(seconds[1], row->iters, way, &row->other);
    reduce_counters(&counters, wrong, row);
    return bench_all(rc == 0) ? 0 : -1;
}
