/* Small integer arithmetic; every function is pure. */
#ifndef GDR_MATH_H
#define GDR_MATH_H

#include <stdbool.h>
#include <stdint.h>

static inline uint64_t gdr_min_u64(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

static inline uint64_t gdr_max_u64(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

/* Smallest multiple of `unit` (> 0) that is >= x; x + unit - 1 must not overflow. */
static inline uint64_t gdr_align_up(uint64_t x, uint64_t unit)
{
    return (x + unit - 1) / unit * unit;
}

static inline uint64_t gdr_align_down(uint64_t x, uint64_t unit)
{
    return x / unit * unit;
}

static inline uint64_t gdr_div_up(uint64_t x, uint64_t unit)
{
    return x / unit + (x % unit != 0);
}

/* a * b into *out; false, and *out untouched, on overflow. */
static inline bool gdr_mul_u64(uint64_t a, uint64_t b, uint64_t *out)
{
    return !__builtin_mul_overflow(a, b, out);
}

#endif
