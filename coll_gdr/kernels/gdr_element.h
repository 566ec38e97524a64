/*
 * Element types in a kernel and the one expression for each operation. C++ and CUDA.
 * No expression may depend on who evaluates it: built with -fmad=false and -ffp-contract=off.
 */
#ifndef GDR_ELEMENT_H
#define GDR_ELEMENT_H

#include <stdint.h>
#include <string.h>

#include "base/gdr_optypes.h"
#include "kernels/gdr_inline.h"

template <class R> struct gdr_complex {
    R re, im;
};

/* Fields as in the C struct of the MPI type. The padding is a member, so that an element is
 * copied whole: a result then has the same bytes at every alignment. */
struct gdr_float_int {
    float value;
    int32_t index;
};
struct gdr_double_int {
    double value;
    int32_t index, padding;
};
struct gdr_long_int {
    int64_t value;
    int32_t index, padding;
};
struct gdr_short_int {
    int16_t value, padding;
    int32_t index;
};
template <class V> struct gdr_same_pair {
    V value, index;
};

/* gdr_element<TYPE, OP>::representation: what a kernel computes with. Addition that wraps, and
 * everything that looks at bits or at "not zero", is done in unsigned arithmetic, which is defined
 * in C. */
template <gdr_type_t TYPE, gdr_op_t OP> struct gdr_element;

#define GDR_ORDERED(OP) ((OP) == GDR_OP_MIN || (OP) == GDR_OP_MAX)
template <bool ORDERED, class S, class U> struct gdr_integer {
    typedef S representation;
};
template <class S, class U> struct gdr_integer<false, S, U> {
    typedef U representation;
};

#define GDR_SIGNED(TYPE, S, U)                                                                     \
    template <gdr_op_t OP>                                                                         \
    struct gdr_element<GDR_TYPE_##TYPE, OP> : gdr_integer<GDR_ORDERED(OP), S, U> {                 \
    };
GDR_SIGNED(INT8, int8_t, uint8_t)
GDR_SIGNED(INT16, int16_t, uint16_t)
GDR_SIGNED(INT32, int32_t, uint32_t)
GDR_SIGNED(INT64, int64_t, uint64_t)
#undef GDR_SIGNED

#define GDR_PLAIN(TYPE, ...)                                                                       \
    template <gdr_op_t OP> struct gdr_element<GDR_TYPE_##TYPE, OP> {                               \
        typedef __VA_ARGS__ representation;                                                        \
    };
GDR_PLAIN(UINT8, uint8_t)
GDR_PLAIN(UINT16, uint16_t)
GDR_PLAIN(UINT32, uint32_t)
GDR_PLAIN(UINT64, uint64_t)
GDR_PLAIN(FLOAT32, float)
GDR_PLAIN(FLOAT64, double)
GDR_PLAIN(COMPLEX64, gdr_complex<float>)
GDR_PLAIN(COMPLEX128, gdr_complex<double>)
GDR_PLAIN(FLOAT_INT, gdr_float_int)
GDR_PLAIN(DOUBLE_INT, gdr_double_int)
GDR_PLAIN(LONG_INT, gdr_long_int)
GDR_PLAIN(SHORT_INT, gdr_short_int)
GDR_PLAIN(INT32_INT32, gdr_same_pair<int32_t>)
GDR_PLAIN(FLOAT32_FLOAT32, gdr_same_pair<float>)
GDR_PLAIN(FLOAT64_FLOAT64, gdr_same_pair<double>)
#undef GDR_PLAIN

GDR_INLINE bool gdr_negative(float x)
{
    uint32_t bits;

    memcpy(&bits, &x, sizeof(bits));
    return bits >> 31 != 0;
}

GDR_INLINE bool gdr_negative(double x)
{
    uint64_t bits;

    memcpy(&bits, &x, sizeof(bits));
    return bits >> 63 != 0;
}

GDR_INLINE bool gdr_nan(float x)
{
    return x != x;
}

GDR_INLINE bool gdr_nan(double x)
{
    return x != x;
}

template <class V> GDR_INLINE bool gdr_nan(V)
{
    return false;
}

/* Of two operands, the first if it comes first (MIN) or last (MAX). */
template <gdr_op_t OP, class V> GDR_INLINE V gdr_extreme(V a, V b)
{
    return (OP == GDR_OP_MIN ? a < b : b < a) ? a : b;
}

/* NaN wins and -0 < +0 (IEEE 754-2019 minimum, maximum), so that neither depends on which rank
 * contributed it. Of two NaNs the first wins. Bitwise operators keep this free of branches. */
template <gdr_op_t OP, class V> GDR_INLINE V gdr_float_extreme(V a, V b)
{
    bool before = OP == GDR_OP_MIN ? a < b : b < a;
    bool sign = gdr_negative(a) == (OP == GDR_OP_MIN);

    return (before | gdr_nan(a) | ((a == b) & sign)) ? a : b;
}

template <gdr_op_t OP> GDR_INLINE float gdr_extreme(float a, float b)
{
    return gdr_float_extreme<OP>(a, b);
}

template <gdr_op_t OP> GDR_INLINE double gdr_extreme(double a, double b)
{
    return gdr_float_extreme<OP>(a, b);
}

/* The pair with the winning value; of equal values (all NaNs are equal here) the lower index. */
template <gdr_op_t OP, class P> GDR_INLINE P gdr_pair(P a, P b)
{
    bool nan_a = gdr_nan(a.value), nan_b = gdr_nan(b.value);
    bool before = OP == GDR_OP_MINLOC ? a.value < b.value : b.value < a.value;
    bool equal = (a.value == b.value) | (nan_a & nan_b);

    return (before | (nan_a & !nan_b) | (equal & (a.index <= b.index))) ? a : b;
}

template <class R> GDR_INLINE gdr_complex<R> operator+(gdr_complex<R> a, gdr_complex<R> b)
{
    return {a.re + b.re, a.im + b.im};
}

/* The textbook formula: C's recovery of infinities from NaN + NaN i (Annex G) is not done. */
template <class R> GDR_INLINE gdr_complex<R> operator*(gdr_complex<R> a, gdr_complex<R> b)
{
    return {a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re};
}

/* What sums and products are computed in. Small integers would be promoted to int, in which the
 * product of two uint16_t overflows. */
template <class E> struct gdr_wide {
    typedef E type;
};
template <> struct gdr_wide<uint8_t> {
    typedef uint32_t type;
};
template <> struct gdr_wide<uint16_t> {
    typedef uint32_t type;
};

template <gdr_op_t OP, class E> GDR_INLINE E gdr_apply(E a, E b)
{
    typedef typename gdr_wide<E>::type wide;

    if constexpr (OP == GDR_OP_SUM)
        return (E)((wide)a + (wide)b);
    else if constexpr (OP == GDR_OP_PROD)
        return (E)((wide)a * (wide)b);
    else if constexpr (OP == GDR_OP_MIN || OP == GDR_OP_MAX)
        return gdr_extreme<OP>(a, b);
    else if constexpr (OP == GDR_OP_LAND)
        return (E)((a != 0) & (b != 0));
    else if constexpr (OP == GDR_OP_LOR)
        return (E)((a | b) != 0);
    else if constexpr (OP == GDR_OP_LXOR)
        return (E)((a != 0) != (b != 0));
    else if constexpr (OP == GDR_OP_BAND)
        return (E)(a & b);
    else if constexpr (OP == GDR_OP_BOR)
        return (E)(a | b);
    else if constexpr (OP == GDR_OP_BXOR)
        return (E)(a ^ b);
    else
        return gdr_pair<OP>(a, b);
}

#endif
