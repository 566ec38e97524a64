#include "types.h"

#include <stddef.h>
#include <stdio.h>
#include <string.h>

/* ---- names ---------------------------------------------------------------------------------- */

static const char *const op_names[T_OPS] = {"sum",  "prod", "min", "max",  "land",   "lor",
                                            "lxor", "band", "bor", "bxor", "minloc", "maxloc"};

const char *t_op_name(t_op_t op)
{
    return op_names[op];
}

MPI_Op t_mpi_op(t_op_t op)
{
    const MPI_Op ops[T_OPS] = {MPI_SUM,  MPI_PROD, MPI_MIN, MPI_MAX,  MPI_LAND,   MPI_LOR,
                               MPI_LXOR, MPI_BAND, MPI_BOR, MPI_BXOR, MPI_MINLOC, MPI_MAXLOC};

    return ops[op];
}

bool t_applies(t_op_t op, const t_type_t *type)
{
    bool logical = op == T_LAND || op == T_LOR || op == T_LXOR;
    bool bits = op == T_BAND || op == T_BOR || op == T_BXOR;
    bool loc = op == T_MINLOC || op == T_MAXLOC;

    switch (type->kind) {
    case T_SIGNED:
    case T_UNSIGNED:
        return !loc;
    case T_FLOAT:
        return op == T_SUM || op == T_PROD || op == T_MIN || op == T_MAX;
    case T_COMPLEX:
        return op == T_SUM || op == T_PROD;
    case T_TRUTH:
        return logical;
    case T_BITS:
        return bits;
    case T_PAIR:
        return loc;
    }
    return false;
}

/* ---- the table ------------------------------------------------------------------------------ */

/* Staged: not for the device. */
#define STAGED(mpi, kind, first, bytes, second, index)                                             \
    {                                                                                              \
#mpi, mpi, kind, bytes, 0, false, first, second, index, true                               \
    }
#define SCALAR(mpi, kind, primary)                                                                 \
    {                                                                                              \
#mpi, mpi, kind, 0, 0, primary, 0, 0, 0, false                                             \
    }
#define PAIR(mpi, first, bytes, second, index)                                                     \
    {                                                                                              \
#mpi, mpi, T_PAIR, bytes, 0, true, first, second, index, false                             \
    }

struct double_int {
    double first;
    int second;
};
struct long_int {
    long first;
    int second;
};
struct short_int {
    short first;
    int second;
};

struct long_double_int {
    long double first;
    int second;
};

enum { MAX_TYPES = 64 };

/* Sizes as this MPI has them; a Fortran type that it lacks has none and is left out. */
static size_t measure(t_type_t *types, size_t n)
{
    size_t kept = 0;

    for (size_t i = 0; i < n; i++) {
        t_type_t type = types[i];
        MPI_Aint lb, extent;
        int size = 0;

        MPI_Type_size(type.mpi, &size);
        if (size <= 0)
            continue;
        MPI_Type_get_extent(type.mpi, &lb, &extent);
        type.extent = (size_t)extent;
        if (type.kind == T_COMPLEX)
            type.bytes = (size_t)size / 2;
        else if (type.kind != T_PAIR)
            type.bytes = (size_t)size;
        types[kept++] = type;
    }
    return kept;
}

const t_type_t *t_types(size_t *n)
{
    static t_type_t types[MAX_TYPES];
    static size_t count;
    const t_type_t table[] = {
        SCALAR(MPI_INT8_T, T_SIGNED, true),
        SCALAR(MPI_INT16_T, T_SIGNED, true),
        SCALAR(MPI_INT32_T, T_SIGNED, true),
        SCALAR(MPI_INT64_T, T_SIGNED, true),
        SCALAR(MPI_UINT8_T, T_UNSIGNED, true),
        SCALAR(MPI_UINT16_T, T_UNSIGNED, true),
        SCALAR(MPI_UINT32_T, T_UNSIGNED, true),
        SCALAR(MPI_UINT64_T, T_UNSIGNED, true),
        SCALAR(MPI_FLOAT, T_FLOAT, true),
        SCALAR(MPI_DOUBLE, T_FLOAT, true),
        SCALAR(MPI_C_FLOAT_COMPLEX, T_COMPLEX, true),
        SCALAR(MPI_C_DOUBLE_COMPLEX, T_COMPLEX, true),
        SCALAR(MPI_C_BOOL, T_TRUTH, true),
        SCALAR(MPI_LOGICAL, T_TRUTH, true),
        SCALAR(MPI_LOGICAL1, T_TRUTH, true),
        SCALAR(MPI_LOGICAL2, T_TRUTH, true),
        SCALAR(MPI_LOGICAL8, T_TRUTH, true),
        SCALAR(MPI_BYTE, T_BITS, true),
        PAIR(MPI_FLOAT_INT, T_FLOAT, 4, 4, 4),
        PAIR(MPI_DOUBLE_INT, T_FLOAT, 8, offsetof(struct double_int, second), 4),
        PAIR(MPI_LONG_INT, T_SIGNED, sizeof(long), offsetof(struct long_int, second), 4),
        PAIR(MPI_SHORT_INT, T_SIGNED, 2, offsetof(struct short_int, second), 4),
        PAIR(MPI_2INT, T_SIGNED, 4, 4, 4),
        PAIR(MPI_2REAL, T_FLOAT, 4, 4, 0),
        PAIR(MPI_2DOUBLE_PRECISION, T_FLOAT, 8, 8, 0),
        PAIR(MPI_2INTEGER, T_SIGNED, 4, 4, 4),
        SCALAR(MPI_SIGNED_CHAR, T_SIGNED, false),
        SCALAR(MPI_CHAR, T_SIGNED, false),
        SCALAR(MPI_CHARACTER, T_UNSIGNED, false),
        SCALAR(MPI_UNSIGNED_CHAR, T_UNSIGNED, false),
        SCALAR(MPI_SHORT, T_SIGNED, false),
        SCALAR(MPI_UNSIGNED_SHORT, T_UNSIGNED, false),
        SCALAR(MPI_INT, T_SIGNED, false),
        SCALAR(MPI_UNSIGNED, T_UNSIGNED, false),
        SCALAR(MPI_LONG, T_SIGNED, false),
        SCALAR(MPI_UNSIGNED_LONG, T_UNSIGNED, false),
        SCALAR(MPI_LONG_LONG, T_SIGNED, false),
        SCALAR(MPI_UNSIGNED_LONG_LONG, T_UNSIGNED, false),
        SCALAR(MPI_AINT, T_SIGNED, false),
        SCALAR(MPI_OFFSET, T_SIGNED, false),
        SCALAR(MPI_COUNT, T_SIGNED, false),
        SCALAR(MPI_INTEGER, T_SIGNED, false),
        SCALAR(MPI_INTEGER1, T_SIGNED, false),
        SCALAR(MPI_INTEGER2, T_SIGNED, false),
        SCALAR(MPI_INTEGER4, T_SIGNED, false),
        SCALAR(MPI_INTEGER8, T_SIGNED, false),
        SCALAR(MPI_REAL, T_FLOAT, false),
        SCALAR(MPI_REAL4, T_FLOAT, false),
        SCALAR(MPI_REAL8, T_FLOAT, false),
        SCALAR(MPI_DOUBLE_PRECISION, T_FLOAT, false),
        SCALAR(MPI_COMPLEX, T_COMPLEX, false),
        SCALAR(MPI_COMPLEX8, T_COMPLEX, false),
        SCALAR(MPI_COMPLEX16, T_COMPLEX, false),
        SCALAR(MPI_DOUBLE_COMPLEX, T_COMPLEX, false),
        SCALAR(MPI_C_COMPLEX, T_COMPLEX, false),
        SCALAR(MPI_CXX_BOOL, T_TRUTH, false),
        SCALAR(MPI_CXX_FLOAT_COMPLEX, T_COMPLEX, false),
        SCALAR(MPI_CXX_DOUBLE_COMPLEX, T_COMPLEX, false),
        SCALAR(MPI_LOGICAL4, T_TRUTH, false),
        STAGED(MPI_LONG_DOUBLE, T_FLOAT, 0, 0, 0, 0),
        STAGED(MPI_C_LONG_DOUBLE_COMPLEX, T_COMPLEX, 0, 0, 0, 0),
        STAGED(MPI_LONG_DOUBLE_INT, T_PAIR, T_FLOAT, sizeof(long double),
               offsetof(struct long_double_int, second), 4),
    };

    if (count == 0) {
        memcpy(types, table, sizeof(table));
        count = measure(types, sizeof(table) / sizeof(table[0]));
    }
    *n = count;
    return types;
}

/* ---- values --------------------------------------------------------------------------------- */

static uint64_t mixed(uint64_t x)
{
    x ^= x >> 30;
    x *= UINT64_C(0xbf58476d1ce4e5b9);
    x ^= x >> 27;
    x *= UINT64_C(0x94d049bb133111eb);
    return x ^ x >> 31;
}

/* What is left of a value in the type's width. */
static int64_t narrowed(t_kind_t kind, size_t bytes, uint64_t x)
{
    unsigned shift = 64 - 8 * (unsigned)bytes;

    if (kind == T_SIGNED)
        return (int64_t)(x << shift) >> shift;
    return (int64_t)(x << shift >> shift);
}

static void complex_input(t_op_t op, uint64_t random, t_value_t *v)
{
    static const double units[5][2] = {{1, 0}, {0, 1}, {-1, 0}, {0, -1}, {1, 1}};

    if (op == T_PROD) {
        v->real = units[random % 5][0];
        v->imaginary = units[random % 5][1];
    } else {
        v->real = (double)(random % 17) - 8;
        v->imaginary = (double)(random / 17 % 17) - 8;
    }
}

t_value_t t_input(t_op_t op, const t_type_t *type, int rank, size_t i)
{
    static const double factors[4] = {1, 2, -1, 0.5};
    uint64_t random = mixed((uint64_t)rank * 1000003 + i + 1);
    bool logical = op == T_LAND || op == T_LOR || op == T_LXOR;
    t_value_t v = {0};

    switch (type->kind) {
    case T_SIGNED:
    case T_UNSIGNED:
        v.whole = logical && random % 3 == 0 ? 0 : narrowed(type->kind, type->bytes, mixed(random));
        break;
    case T_BITS:
        v.whole = narrowed(T_UNSIGNED, type->bytes, random);
        break;
    case T_TRUTH:
        v.whole = random % 5 < 3;
        break;
    case T_FLOAT:
        v.real = op == T_PROD ? factors[random % 4] : (double)(random % 17) - 8;
        break;
    case T_COMPLEX:
        complex_input(op, random, &v);
        break;
    case T_PAIR: /* few values: ties are what these operations are about */
        v.whole = (int64_t)(random % 5) - 2;
        v.real = (double)v.whole;
        v.index = (int64_t)(random / 5 % 1000);
        break;
    }
    return v;
}

static uint64_t combined_bits(t_op_t op, uint64_t a, uint64_t b)
{
    switch (op) {
    case T_SUM:
        return a + b;
    case T_PROD:
        return a * b;
    case T_LAND:
        return a != 0 && b != 0;
    case T_LOR:
        return a != 0 || b != 0;
    case T_LXOR:
        return (a != 0) != (b != 0);
    case T_BAND:
        return a & b;
    case T_BOR:
        return a | b;
    case T_BXOR:
        return a ^ b;
    default:
        return 0;
    }
}

static t_value_t combined_integers(t_op_t op, const t_type_t *type, t_value_t a, t_value_t b)
{
    bool less = type->kind == T_SIGNED ? a.whole < b.whole : (uint64_t)a.whole < (uint64_t)b.whole;
    t_value_t v = {0};

    if (op == T_MIN)
        return less ? a : b;
    if (op == T_MAX)
        return less ? b : a;
    v.whole =
        narrowed(type->kind, type->bytes, combined_bits(op, (uint64_t)a.whole, (uint64_t)b.whole));
    return v;
}

static t_value_t combined_floats(t_op_t op, t_value_t a, t_value_t b)
{
    t_value_t v = {0};

    switch (op) {
    case T_SUM:
        v.real = a.real + b.real;
        break;
    case T_PROD:
        v.real = a.real * b.real;
        break;
    case T_MIN:
        v.real = a.real < b.real ? a.real : b.real;
        break;
    default:
        v.real = a.real < b.real ? b.real : a.real;
        break;
    }
    return v;
}

static t_value_t combined_pairs(t_op_t op, t_value_t a, t_value_t b)
{
    t_value_t v;

    if (a.real == b.real) {
        v = a;
        v.index = a.index < b.index ? a.index : b.index;
        return v;
    }
    return (a.real < b.real) == (op == T_MINLOC) ? a : b;
}

t_value_t t_combine(t_op_t op, const t_type_t *type, t_value_t a, t_value_t b)
{
    t_value_t v = {0};

    switch (type->kind) {
    case T_FLOAT:
        return combined_floats(op, a, b);
    case T_COMPLEX:
        v.real = op == T_SUM ? a.real + b.real : a.real * b.real - a.imaginary * b.imaginary;
        v.imaginary =
            op == T_SUM ? a.imaginary + b.imaginary : a.real * b.imaginary + a.imaginary * b.real;
        return v;
    case T_PAIR:
        return combined_pairs(op, a, b);
    default:
        return combined_integers(op, type, a, b);
    }
}

/* ---- bytes ---------------------------------------------------------------------------------- */

static void store_float(size_t bytes, double value, void *at)
{
    long double wide = (long double)value;
    float narrow = (float)value;

    if (bytes == 4)
        memcpy(at, &narrow, 4);
    else if (bytes == sizeof(wide))
        memcpy(at, &wide, sizeof(wide));
    else
        memcpy(at, &value, 8);
}

void t_store(const t_type_t *type, t_value_t value, void *element)
{
    char *at = element;

    memset(element, 0, type->extent);
    switch (type->kind) {
    case T_FLOAT:
        store_float(type->bytes, value.real, at);
        break;
    case T_COMPLEX:
        store_float(type->bytes, value.real, at);
        store_float(type->bytes, value.imaginary, at + type->bytes);
        break;
    case T_PAIR:
        if (type->first == T_FLOAT)
            store_float(type->bytes, value.real, at);
        else
            memcpy(at, &value.whole, type->bytes); /* little-endian, as every GPU's host */
        if (type->index_bytes == 0)                /* the index is of the first part's type */
            store_float(type->bytes, (double)value.index, at + type->second);
        else
            memcpy(at + type->second, &value.index, type->index_bytes);
        break;
    default:
        memcpy(at, &value.whole, type->bytes);
        break;
    }
}

static double load_float(size_t bytes, const char *at)
{
    long double widest;
    double wide;
    float narrow;

    if (bytes == sizeof(widest)) {
        memcpy(&widest, at, sizeof(widest));
        return (double)widest;
    }
    memcpy(&narrow, at, 4);
    if (bytes == 4)
        return (double)narrow;
    memcpy(&wide, at, 8);
    return wide;
}

bool t_same(const t_type_t *type, const void *a, const void *b)
{
    const char *x = a, *y = b;
    size_t index = type->index_bytes == 0 ? type->bytes : type->index_bytes;

    /* The sign of a zero depends on the order of a product. */
    if (type->kind == T_COMPLEX)
        return load_float(type->bytes, x) == load_float(type->bytes, y) &&
               load_float(type->bytes, x + type->bytes) == load_float(type->bytes, y + type->bytes);
    if (type->kind == T_FLOAT && type->bytes > 8)
        return load_float(type->bytes, x) == load_float(type->bytes, y);
    if (type->kind != T_PAIR)
        return memcmp(a, b, type->extent) == 0;
    /* Padding may hold anything, also that of a long double. */
    if (type->bytes > 8 && load_float(type->bytes, x) != load_float(type->bytes, y))
        return false;
    return (type->bytes > 8 || memcmp(x, y, type->bytes) == 0) &&
           memcmp(x + type->second, y + type->second, index) == 0;
}
