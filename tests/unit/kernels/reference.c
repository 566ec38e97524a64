#include "unit/kernels/reference.h"

#include <math.h>
#include <string.h>

typedef enum kind { SIGNED, UNSIGNED, REAL, COMPLEX, TRUTH, PAIR_INTEGER, PAIR_REAL } kind_t;

typedef struct shape {
    kind_t kind;
    unsigned value_bytes, index_at; /* of a pair: width of the value, offset of the index */
    bool real_index;
} shape_t;

static shape_t shape_of(gdr_type_t type)
{
    static const shape_t shapes[GDR_TYPE_COUNT] = {
        [GDR_TYPE_INT8] = {SIGNED, 1, 0, false},
        [GDR_TYPE_INT16] = {SIGNED, 2, 0, false},
        [GDR_TYPE_INT32] = {SIGNED, 4, 0, false},
        [GDR_TYPE_INT64] = {SIGNED, 8, 0, false},
        [GDR_TYPE_UINT8] = {UNSIGNED, 1, 0, false},
        [GDR_TYPE_UINT16] = {UNSIGNED, 2, 0, false},
        [GDR_TYPE_UINT32] = {UNSIGNED, 4, 0, false},
        [GDR_TYPE_UINT64] = {UNSIGNED, 8, 0, false},
        [GDR_TYPE_FLOAT32] = {REAL, 4, 0, false},
        [GDR_TYPE_FLOAT64] = {REAL, 8, 0, false},
        [GDR_TYPE_COMPLEX64] = {COMPLEX, 4, 0, false},
        [GDR_TYPE_COMPLEX128] = {COMPLEX, 8, 0, false},
        [GDR_TYPE_BOOL8] = {TRUTH, 1, 0, false},
        [GDR_TYPE_LOGICAL8] = {TRUTH, 1, 0, false},
        [GDR_TYPE_LOGICAL16] = {TRUTH, 2, 0, false},
        [GDR_TYPE_LOGICAL32] = {TRUTH, 4, 0, false},
        [GDR_TYPE_LOGICAL64] = {TRUTH, 8, 0, false},
        [GDR_TYPE_BYTE] = {UNSIGNED, 1, 0, false},
        [GDR_TYPE_FLOAT_INT] = {PAIR_REAL, 4, 4, false},
        [GDR_TYPE_DOUBLE_INT] = {PAIR_REAL, 8, 8, false},
        [GDR_TYPE_LONG_INT] = {PAIR_INTEGER, 8, 8, false},
        [GDR_TYPE_SHORT_INT] = {PAIR_INTEGER, 2, 4, false},
        [GDR_TYPE_INT32_INT32] = {PAIR_INTEGER, 4, 4, false},
        [GDR_TYPE_FLOAT32_FLOAT32] = {PAIR_REAL, 4, 4, true},
        [GDR_TYPE_FLOAT64_FLOAT64] = {PAIR_REAL, 8, 8, true},
    };
    return shapes[type];
}

/* Little-endian bytes to an integer and back: every machine with CUDA is little-endian. */
static __int128 get_integer(const uint8_t *p, unsigned bytes, bool is_signed)
{
    unsigned __int128 u = 0;
    __int128 limit = (__int128)1 << (8 * bytes);

    for (unsigned i = 0; i < bytes; i++)
        u |= (unsigned __int128)p[i] << (8 * i);
    return is_signed && (p[bytes - 1] & 0x80) ? (__int128)u - limit : (__int128)u;
}

static void put_integer(uint8_t *p, unsigned bytes, __int128 value)
{
    for (unsigned i = 0; i < bytes; i++)
        p[i] = (uint8_t)((unsigned __int128)value >> (8 * i));
}

static double get_real(const uint8_t *p, unsigned bytes)
{
    float f;
    double d;

    if (bytes == sizeof(f)) {
        memcpy(&f, p, sizeof(f));
        return (double)f;
    }
    memcpy(&d, p, sizeof(d));
    return d;
}

/* Rounds once from an exactly held or double result. */
static void put_real(uint8_t *p, unsigned bytes, double value)
{
    float f = (float)value;

    if (bytes == sizeof(f))
        memcpy(p, &f, sizeof(f));
    else
        memcpy(p, &value, sizeof(value));
}

static void integer_op(gdr_op_t op, shape_t shape, uint8_t *acc, const uint8_t *in)
{
    unsigned bytes = shape.value_bytes;
    __int128 a = get_integer(acc, bytes, shape.kind == SIGNED);
    __int128 b = get_integer(in, bytes, shape.kind == SIGNED);
    unsigned __int128 product = (unsigned __int128)a * (unsigned __int128)b;

    switch (op) {
    case GDR_OP_SUM:
        a = a + b;
        break;
    case GDR_OP_PROD:
        a = (__int128)product;
        break;
    case GDR_OP_MIN:
        a = b < a ? b : a;
        break;
    case GDR_OP_MAX:
        a = b > a ? b : a;
        break;
    case GDR_OP_LAND:
        a = a && b;
        break;
    case GDR_OP_LOR:
        a = a || b;
        break;
    case GDR_OP_LXOR:
        a = !a ^ !b;
        break;
    default:
        for (unsigned i = 0; i < bytes; i++)
            acc[i] = op == GDR_OP_BAND  ? acc[i] & in[i]
                     : op == GDR_OP_BOR ? acc[i] | in[i]
                                        : acc[i] ^ in[i];
        return;
    }
    put_integer(acc, bytes, a);
}

/* float: in double, which holds products exactly and sums closely enough for one more rounding to
 * be innocuous (53 >= 2 * 24 + 2). double: by the machine, which is all there is. */
static double real_sum(double a, double b)
{
    volatile double result = a + b;
    return result;
}

static double real_product(double a, double b)
{
    volatile double result = a * b;
    return result;
}

static bool before(gdr_op_t op, double a, double b)
{
    bool least = op == GDR_OP_MIN || op == GDR_OP_MINLOC;

    return least ? a < b : a > b;
}

static void real_op(gdr_op_t op, shape_t shape, uint8_t *acc, const uint8_t *in)
{
    unsigned bytes = shape.value_bytes;
    double a = get_real(acc, bytes), b = get_real(in, bytes);
    bool take_in;

    if (op == GDR_OP_SUM || op == GDR_OP_PROD) {
        put_real(acc, bytes, op == GDR_OP_SUM ? real_sum(a, b) : real_product(a, b));
        return;
    }
    if (isnan(a))
        take_in = false;
    else if (isnan(b))
        take_in = true;
    else if (a == 0 && b == 0)
        take_in = op == GDR_OP_MIN ? signbit(b) : !signbit(b);
    else
        take_in = before(op, b, a);
    if (take_in)
        memcpy(acc, in, bytes);
}

/* Each real operation rounds to the type, as the textbook formula written out would. */
static double round_to(unsigned bytes, double value)
{
    volatile float f = (float)value;

    return bytes == sizeof(float) ? (double)f : value;
}

static void complex_op(gdr_op_t op, shape_t shape, uint8_t *acc, const uint8_t *in)
{
    unsigned w = shape.value_bytes;
    double a = get_real(acc, w), b = get_real(acc + w, w);
    double c = get_real(in, w), d = get_real(in + w, w);

    if (op == GDR_OP_SUM) {
        put_real(acc, w, real_sum(a, c));
        put_real(acc + w, w, real_sum(b, d));
        return;
    }
    double ac = round_to(w, real_product(a, c)), bd = round_to(w, real_product(b, d));
    double ad = round_to(w, real_product(a, d)), bc = round_to(w, real_product(b, c));
    put_real(acc, w, real_sum(ac, -bd));
    put_real(acc + w, w, real_sum(ad, bc));
}

/* -1, 0, 1: where the value of `a` stands against that of `b`, the winner first, all NaNs equal
 * and before everything else. */
static int rank_values(gdr_op_t op, shape_t shape, const uint8_t *a, const uint8_t *b)
{
    if (shape.kind == PAIR_INTEGER) {
        __int128 x = get_integer(a, shape.value_bytes, true);
        __int128 y = get_integer(b, shape.value_bytes, true);
        int order = (x > y) - (x < y);

        return op == GDR_OP_MINLOC ? order : -order;
    }
    double x = get_real(a, shape.value_bytes), y = get_real(b, shape.value_bytes);
    if (isnan(x) || isnan(y))
        return isnan(x) && isnan(y) ? 0 : isnan(x) ? -1 : 1;
    return before(op, x, y) ? -1 : before(op, y, x) ? 1 : 0;
}

static void pair_op(gdr_op_t op, gdr_type_t type, shape_t shape, uint8_t *acc, const uint8_t *in)
{
    int order = rank_values(op, shape, acc, in);
    const uint8_t *ia = acc + shape.index_at, *ib = in + shape.index_at;
    bool lower = shape.real_index
                     ? get_real(ib, shape.value_bytes) < get_real(ia, shape.value_bytes)
                     : get_integer(ib, 4, true) < get_integer(ia, 4, true);

    if (order > 0 || (order == 0 && lower))
        memcpy(acc, in, gdr_type_bytes(type));
}

static void apply(gdr_op_t op, gdr_type_t type, uint8_t *acc, const uint8_t *in)
{
    shape_t shape = shape_of(type);

    if (shape.kind == REAL)
        real_op(op, shape, acc, in);
    else if (shape.kind == COMPLEX)
        complex_op(op, shape, acc, in);
    else if (shape.kind == PAIR_INTEGER || shape.kind == PAIR_REAL)
        pair_op(op, type, shape, acc, in);
    else
        integer_op(op, shape, acc, in);
}

void reference_reduce(gdr_op_t op, gdr_type_t type, const uint8_t *const *in, unsigned n,
                      size_t count, uint8_t *result)
{
    size_t size = gdr_type_bytes(type);

    if (count == 0)
        return;
    memcpy(result, in[0], count * size);
    for (unsigned k = 1; k < n; k++) {
        for (size_t i = 0; i < count; i++)
            apply(op, type, result + i * size, in[k] + i * size);
    }
}

bool reference_same(gdr_op_t op, gdr_type_t type, const uint8_t *a, const uint8_t *b)
{
    shape_t shape = shape_of(type);
    unsigned parts = shape.kind == COMPLEX ? 2 : 1, w = shape.value_bytes;

    if ((op != GDR_OP_SUM && op != GDR_OP_PROD) || (shape.kind != REAL && shape.kind != COMPLEX))
        return memcmp(a, b, gdr_type_bytes(type)) == 0;
    for (unsigned i = 0; i < parts; i++, a += w, b += w) {
        if (memcmp(a, b, w) != 0 && !(isnan(get_real(a, w)) && isnan(get_real(b, w))))
            return false;
    }
    return true;
}

static uint64_t step(uint64_t *seed)
{
    *seed ^= *seed << 13;
    *seed ^= *seed >> 7;
    *seed ^= *seed << 17;
    return *seed;
}

static double awkward_real(uint64_t r)
{
    static const double values[] = {0.0,
                                    -0.0,
                                    1.0,
                                    -1.0,
                                    1e8,
                                    -1e8,
                                    (double)INFINITY,
                                    -(double)INFINITY,
                                    (double)NAN,
                                    -(double)NAN,
                                    1e-40,
                                    -1e-310,
                                    3e38,
                                    1.0000001,
                                    0.1,
                                    -3.0};

    if (r % 4 != 0)
        return ((double)(r >> 20 & 0xfffff) - 524288.0) / 1024.0;
    return values[r >> 8 & 15];
}

static __int128 awkward_integer(uint64_t r, unsigned bytes)
{
    const __int128 top = (__int128)1 << (8 * bytes - 1);
    const __int128 values[] = {0, 1, -1, 2, top - 1, -top, 2 * top - 1, 0x55};

    return r % 4 != 0 ? (__int128)(r >> 3) : values[r >> 8 & 7];
}

static __int128 awkward_truth(uint64_t r, unsigned bytes)
{
    const __int128 values[] = {0, 1, 0, 2, (__int128)1 << (8 * bytes - 1), -1, 0, 1};

    return values[r >> 8 & 7];
}

static void fill_one(shape_t shape, uint8_t *p, size_t size, uint64_t *seed)
{
    unsigned w = shape.value_bytes;

    for (size_t i = 0; i < size; i++)
        p[i] = (uint8_t)(step(seed) >> 32); /* padding too: it must not matter */
    if (shape.kind == SIGNED || shape.kind == UNSIGNED)
        put_integer(p, w, awkward_integer(step(seed), w));
    else if (shape.kind == TRUTH)
        put_integer(p, w, awkward_truth(step(seed), w));
    else if (shape.kind == PAIR_INTEGER)
        put_integer(p, w,
                    step(seed) % 8 == 0 ? awkward_integer(step(seed), w)
                                        : (__int128)(step(seed) % 3) - 1);
    else
        put_real(p, w, awkward_real(step(seed)));
    if (shape.kind == COMPLEX)
        put_real(p + w, w, awkward_real(step(seed)));
    if (shape.kind == PAIR_REAL && step(seed) % 2 == 0)
        put_real(p, w, (double)(step(seed) % 3) - 1.0);
    if (shape.real_index)
        put_real(p + shape.index_at, w, (double)(step(seed) % 5) - 2.0);
    else if (shape.kind == PAIR_INTEGER || shape.kind == PAIR_REAL)
        put_integer(p + shape.index_at, 4, (__int128)(step(seed) % 5) - 2);
}

void reference_fill(gdr_type_t type, uint8_t *elements, size_t count, uint64_t *seed)
{
    size_t size = gdr_type_bytes(type);

    for (size_t i = 0; i < count; i++)
        fill_one(shape_of(type), elements + i * size, size, seed);
}
