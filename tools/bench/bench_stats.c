#include "bench_stats.h"

#include <stdlib.h>

enum { RESAMPLES = 400 };

uint64_t bench_random(uint64_t *state)
{
    uint64_t x = *state += UINT64_C(0x9e3779b97f4a7c15);

    x = (x ^ (x >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    x = (x ^ (x >> 27)) * UINT64_C(0x94d049bb133111eb);
    return x ^ (x >> 31);
}

static int by_value(const void *left, const void *right)
{
    double a = *(const double *)left, b = *(const double *)right;

    return (a > b) - (a < b);
}

double bench_median(double *values, size_t n)
{
    qsort(values, n, sizeof(*values), by_value);
    return (values[(n - 1) / 2] + values[n / 2]) / 2;
}

typedef struct scratch {
    double *a, *b, *ratios;
} scratch_t;

static double resampled(const double *a, const double *b, size_t n, uint64_t *random,
                        const scratch_t *scratch)
{
    for (size_t i = 0; i < n; i++) {
        size_t drawn = (size_t)(bench_random(random) % n);

        scratch->a[i] = a[drawn];
        scratch->b[i] = b[drawn];
    }
    return bench_median(scratch->a, n) / bench_median(scratch->b, n);
}

static void compare(const double *a, const double *b, size_t n, uint64_t seed,
                    const scratch_t *scratch, bench_ratio_t *out)
{
    for (size_t i = 0; i < n; i++) {
        scratch->a[i] = a[i];
        scratch->b[i] = b[i];
    }
    out->ratio = bench_median(scratch->a, n) / bench_median(scratch->b, n);
    for (int i = 0; i < RESAMPLES; i++)
        scratch->ratios[i] = resampled(a, b, n, &seed, scratch);
    qsort(scratch->ratios, RESAMPLES, sizeof(double), by_value);
    out->low = scratch->ratios[RESAMPLES / 40];
    out->high = scratch->ratios[RESAMPLES - 1 - RESAMPLES / 40];
}

int bench_ratio_of(const double *a, const double *b, size_t n, uint64_t seed, bench_ratio_t *out)
{
    scratch_t scratch;

    scratch.a = malloc((2 * n + RESAMPLES) * sizeof(double));
    if (scratch.a == NULL)
        return -1;
    scratch.b = scratch.a + n;
    scratch.ratios = scratch.b + n;
    compare(a, b, n, seed, &scratch, out);
    free(scratch.a);
    return 0;
}
