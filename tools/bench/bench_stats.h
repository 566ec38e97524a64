/* Statistics of paired measurements, and the random numbers behind them. Pure. */
#ifndef BENCH_STATS_H
#define BENCH_STATS_H

#include <stddef.h>
#include <stdint.h>

/* A seeded sequence, the same on every machine. */
uint64_t bench_random(uint64_t *state);

/* Sorts `values` (n > 0) and returns their median. */
double bench_median(double *values, size_t n);

typedef struct bench_ratio {
    double ratio;     /* median of a / median of b */
    double low, high; /* of it: 95 % of all resamples of the rounds lie between */
} bench_ratio_t;

/*
 * Compares two ways that were timed in the same n > 0 rounds: a[i] and b[i] belong together, and a
 * resample draws them together, so that a slow moment of the machine hits both. -1: no memory.
 */
int bench_ratio_of(const double *a, const double *b, size_t n, uint64_t seed, bench_ratio_t *out);

#endif
