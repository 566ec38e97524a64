#include "tests/fuzz/user_types.h"

#include "tests/mpi/harness.h"

#include <string.h>

enum { USER_TYPES = 10, PLAIN = 3 };

static fz_type_t types[USER_TYPES];
static MPI_Op sum_op, ordered_op;

uint64_t fz_user_load(const char *at, int bytes)
{
    uint64_t value = 0;

    memcpy(&value, at, (size_t)bytes);
    return value;
}

void fz_user_store(char *at, int bytes, uint64_t value)
{
    memcpy(at, &value, (size_t)bytes);
}

/*
 * Ordered: a unit is a map x -> p x + q, its halves; the operation is "first a, then b", which is
 * associative and depends on the order. All modulo the halves' width.
 */
uint64_t fz_user_combine(fz_op_class_t class, int bytes, uint64_t a, uint64_t b)
{
    int half = 4 * bytes;
    uint64_t mask = (UINT64_C(1) << half) - 1;
    uint64_t p, q;

    if (class == FZ_COMMUTATIVE)
        return a + b;
    p = (a >> half & mask) * (b >> half & mask) & mask;
    q = ((b >> half & mask) * (a & mask) + (b & mask)) & mask;
    return p << half | q;
}

static const fz_type_t *type_of(MPI_Datatype mpi)
{
    for (size_t i = 0; i < USER_TYPES; i++)
        if (types[i].mpi == mpi)
            return &types[i];
    t_fatal("a user's operation was called with a type that is not the call's");
}

static void apply(fz_op_class_t class, const char *in, char *inout, int n, MPI_Datatype mpi)
{
    const fz_type_t *type = type_of(mpi);

    for (ptrdiff_t e = 0; e < n; e++)
        for (int u = 0; u < type->units; u++) {
            ptrdiff_t at = e * type->extent + type->unit[u].at;
            int bytes = type->unit[u].bytes;
            uint64_t a = fz_user_load(in + at, bytes), b = fz_user_load(inout + at, bytes);

            fz_user_store(inout + at, bytes, fz_user_combine(class, bytes, a, b));
        }
}

static void add(void *in, void *inout, int *n, MPI_Datatype *type)
{
    apply(FZ_COMMUTATIVE, in, inout, *n, *type);
}

static void compose(void *in, void *inout, int *n, MPI_Datatype *type)
{
    apply(FZ_ORDERED, in, inout, *n, *type);
}

MPI_Op fz_user_op(fz_op_class_t class)
{
    return class == FZ_COMMUTATIVE ? sum_op : ordered_op;
}

/* ---- the types ------------------------------------------------------------------------------ */

static void describe(fz_type_t *type, const char *name, long most, int units,
                     const fz_unit_t *unit)
{
    MPI_Aint lb, extent;

    MPI_Type_get_extent(type->mpi, &lb, &extent);
    type->name = name;
    type->extent = extent;
    type->most = most;
    type->units = units;
    type->alignment = 1;
    type->low = unit[0].at;
    type->high = 0;
    for (int u = 0; u < units; u++) {
        type->unit[u] = unit[u];
        type->low = unit[u].at < type->low ? unit[u].at : type->low;
        if (unit[u].at + unit[u].bytes > type->high)
            type->high = unit[u].at + unit[u].bytes;
        if ((size_t)unit[u].bytes > type->alignment)
            type->alignment = (size_t)unit[u].bytes;
    }
}

static void plain_types(void)
{
    static const fz_unit_t four = {0, 4}, eight = {0, 8}, two = {0, 2};

    types[0].mpi = MPI_UINT32_T;
    describe(&types[0], "MPI_UINT32_T", 1L << 30, 1, &four);
    types[1].mpi = MPI_UINT64_T;
    describe(&types[1], "MPI_UINT64_T", 1L << 30, 1, &eight);
    types[2].mpi = MPI_UINT16_T;
    describe(&types[2], "MPI_UINT16_T", 1L << 30, 1, &two);
}

static void regular_types(fz_type_t *type)
{
    static const fz_unit_t vector[] = {{0, 4}, {8, 4}, {16, 4}}, gap[] = {{0, 4}},
                           row[] = {{0, 8}, {8, 8}, {16, 8}}, column[] = {{0, 4}, {16, 4}, {32, 4}};
    MPI_Datatype strided;

    MPI_Type_vector(3, 1, 2, MPI_UINT32_T, &type[0].mpi);
    describe(&type[0], "a vector of MPI_UINT32_T with holes", 3000, 3, vector);
    MPI_Type_create_resized(MPI_UINT32_T, -4, 12, &type[1].mpi);
    describe(&type[1], "MPI_UINT32_T resized to 12 bytes from -4 on", 3000, 1, gap);
    MPI_Type_contiguous(3, MPI_UINT64_T, &type[2].mpi);
    describe(&type[2], "three MPI_UINT64_T", 1L << 30, 3, row);
    MPI_Type_vector(3, 1, 4, MPI_UINT32_T, &strided);
    MPI_Type_create_resized(strided, 0, 4, &type[3].mpi);
    MPI_Type_free(&strided);
    describe(&type[3], "columns of MPI_UINT32_T that interleave", 4, 3, column);
}

/* No type has bytes before its address: Open MPI 4.1's ring on the host forgets that there may be
 * some, and writes before its own buffers. */
static void irregular_types(fz_type_t *type)
{
    static const fz_unit_t record[] = {{4, 2}, {0, 4}, {8, 8}};
    static const fz_unit_t blocks[] = {{0, 8}, {24, 8}, {32, 8}};
    static const fz_unit_t four = {0, 4};
    int lengths[3] = {1, 1, 1}, counts[2] = {2, 1}, places[2] = {3, 0};
    MPI_Datatype parts[3] = {MPI_UINT16_T, MPI_UINT32_T, MPI_UINT64_T};
    MPI_Aint at[3] = {4, 0, 8};
    MPI_Datatype loose;

    MPI_Type_create_struct(3, lengths, at, parts, &loose);
    MPI_Type_create_resized(loose, -8, 24, &type[0].mpi);
    MPI_Type_free(&loose);
    describe(&type[0], "a record of three widths from -8 on", 3000, 3, record);
    MPI_Type_indexed(2, counts, places, MPI_UINT64_T, &type[1].mpi);
    describe(&type[1], "blocks of MPI_UINT64_T, the last first", 3000, 3, blocks);
    MPI_Type_dup(MPI_UINT32_T, &type[2].mpi);
    describe(&type[2], "a duplicate of MPI_UINT32_T", 1L << 30, 1, &four);
}

void fz_user_open(void)
{
    plain_types();
    regular_types(types + PLAIN);
    irregular_types(types + PLAIN + 4);
    for (int i = PLAIN; i < USER_TYPES; i++)
        MPI_Type_commit(&types[i].mpi);
    MPI_Op_create(add, 1, &sum_op);
    MPI_Op_create(compose, 0, &ordered_op);
}

void fz_user_close(void)
{
    for (int i = PLAIN; i < USER_TYPES; i++)
        MPI_Type_free(&types[i].mpi);
    MPI_Op_free(&sum_op);
    MPI_Op_free(&ordered_op);
}

const fz_type_t *fz_user_types(size_t *n)
{
    *n = USER_TYPES;
    return types;
}
