/*
 * What a reduction must give, by another way than the kernels': each element is taken apart into a
 * wide integer or a long double, computed there, and put together again from bytes.
 */
#ifndef KERNELS_REFERENCE_H
#define KERNELS_REFERENCE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/gdr_optypes.h"

/* result[i] = in[0][i] op in[1][i] ... op in[n - 1][i], from left to right; n = 1 copies. */
void reference_reduce(gdr_op_t op, gdr_type_t type, const uint8_t *const *in, unsigned n,
                      size_t count, uint8_t *result);

/* Whether two elements are the same result: equal bytes, except that any NaN of a computed sum or
 * product is as good as another. */
bool reference_same(gdr_op_t op, gdr_type_t type, const uint8_t *a, const uint8_t *b);

/* Random elements, many of them awkward: extremes, signed zeros, NaN, infinities, denormals, odd
 * truth values, ties. `seed` is stepped. */
void reference_fill(gdr_type_t type, uint8_t *elements, size_t count, uint64_t *seed);

#endif
