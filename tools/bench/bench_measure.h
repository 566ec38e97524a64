/* One size, timed on all ranks. Collective over MPI_COMM_WORLD. */
#ifndef BENCH_MEASURE_H
#define BENCH_MEASURE_H

#include "bench_pvar.h"
#include "bench_way.h"

typedef struct bench_timing {
    double min_us, avg_us, max_us; /* over the ranks, of a rank's mean time of one call */
} bench_timing_t;

/* Sums over ranks and timed calls; valid on rank 0. */
typedef struct bench_row {
    uint64_t bytes, count;
    int iters;
    bench_timing_t timing;
    bench_counters_t counters;
    char path[64];
    uint64_t wrong;       /* elements, over all ranks and ways */
    bench_timing_t other; /* of --compare */
} bench_row_t;

/*
 * Times `count` elements both ways in turn (other: NULL without --compare) and compares every
 * element. -1 when a rank failed; then all ranks return -1.
 */
int bench_measure(bench_way_t *way, bench_way_t *other, size_t count, bench_row_t *row);

/* Whether `good` holds on every rank. */
bool bench_all(bool good);

#endif
