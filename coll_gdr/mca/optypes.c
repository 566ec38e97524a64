/* MPI's handles as the device's operations and types. */
#include "mca/gdr_mca.h"

#include <stdbool.h>
#include <stddef.h>
#include <wchar.h>

/* MPI_* names are macros that expand to addresses: not constant enough for a static table. */
static bool find_op(struct ompi_op_t *op, gdr_op_t *out)
{
    const struct {
        struct ompi_op_t *op;
        gdr_op_t out;
    } table[] = {
        {MPI_SUM, GDR_OP_SUM},   {MPI_MAX, GDR_OP_MAX},       {MPI_MIN, GDR_OP_MIN},
        {MPI_PROD, GDR_OP_PROD}, {MPI_LAND, GDR_OP_LAND},     {MPI_LOR, GDR_OP_LOR},
        {MPI_LXOR, GDR_OP_LXOR}, {MPI_BAND, GDR_OP_BAND},     {MPI_BOR, GDR_OP_BOR},
        {MPI_BXOR, GDR_OP_BXOR}, {MPI_MAXLOC, GDR_OP_MAXLOC}, {MPI_MINLOC, GDR_OP_MINLOC},
    };

    for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++)
        if (table[i].op == op) {
            *out = table[i].out;
            return true;
        }
    return false;
}

typedef enum shape { SIGNED, UNSIGNED, FLOATING, COMPLEX, BOOLEAN, LOGICAL, EXACT } shape_t;

/* The device type of a shape and a size; GDR_TYPE_COUNT if there is none. */
static gdr_type_t sized(shape_t shape, size_t bytes)
{
    static const struct {
        size_t bytes;
        shape_t shape;
        gdr_type_t type;
    } table[] = {
        {1, SIGNED, GDR_TYPE_INT8},       {2, SIGNED, GDR_TYPE_INT16},
        {4, SIGNED, GDR_TYPE_INT32},      {8, SIGNED, GDR_TYPE_INT64},
        {1, UNSIGNED, GDR_TYPE_UINT8},    {2, UNSIGNED, GDR_TYPE_UINT16},
        {4, UNSIGNED, GDR_TYPE_UINT32},   {8, UNSIGNED, GDR_TYPE_UINT64},
        {4, FLOATING, GDR_TYPE_FLOAT32},  {8, FLOATING, GDR_TYPE_FLOAT64},
        {8, COMPLEX, GDR_TYPE_COMPLEX64}, {16, COMPLEX, GDR_TYPE_COMPLEX128},
        {1, BOOLEAN, GDR_TYPE_BOOL8},     {1, LOGICAL, GDR_TYPE_LOGICAL8},
        {2, LOGICAL, GDR_TYPE_LOGICAL16}, {4, LOGICAL, GDR_TYPE_LOGICAL32},
        {8, LOGICAL, GDR_TYPE_LOGICAL64},
    };

    for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++)
        if (table[i].shape == shape && table[i].bytes == bytes)
            return table[i].type;
    return GDR_TYPE_COUNT;
}

typedef struct entry {
    struct ompi_datatype_t *dtype;
    shape_t shape;
    gdr_type_t type; /* EXACT only */
    size_t bytes;    /* EXACT only: the size without padding that this type must have */
} entry_t;

static bool lookup(const entry_t *table, size_t n, struct ompi_datatype_t *dtype, gdr_type_t *out)
{
    size_t size;

    for (size_t i = 0; i < n; i++) {
        if (table[i].dtype != dtype)
            continue;
        ompi_datatype_type_size(dtype, &size);
        *out = table[i].shape != EXACT  ? sized(table[i].shape, size)
               : table[i].bytes == size ? table[i].type
                                        : GDR_TYPE_COUNT;
        return true;
    }
    return false;
}

static bool find_c_type(struct ompi_datatype_t *dtype, gdr_type_t *out)
{
    const entry_t table[] = {
        {MPI_FLOAT, FLOATING, 0, 0},
        {MPI_DOUBLE, FLOATING, 0, 0},
        {MPI_INT, SIGNED, 0, 0},
        {MPI_LONG, SIGNED, 0, 0},
        {MPI_LONG_LONG_INT, SIGNED, 0, 0},
        {MPI_SHORT, SIGNED, 0, 0},
        {MPI_SIGNED_CHAR, SIGNED, 0, 0},
        /* Not the standard's, but Open MPI reduces them as integers, and benchmarks use that. */
        {MPI_CHAR, SIGNED, 0, 0},
        {MPI_UNSIGNED, UNSIGNED, 0, 0},
        {MPI_UNSIGNED_LONG, UNSIGNED, 0, 0},
        {MPI_UNSIGNED_LONG_LONG, UNSIGNED, 0, 0},
        {MPI_UNSIGNED_SHORT, UNSIGNED, 0, 0},
        {MPI_UNSIGNED_CHAR, UNSIGNED, 0, 0},
        {MPI_INT8_T, SIGNED, 0, 0},
        {MPI_INT16_T, SIGNED, 0, 0},
        {MPI_INT32_T, SIGNED, 0, 0},
        {MPI_INT64_T, SIGNED, 0, 0},
        {MPI_UINT8_T, UNSIGNED, 0, 0},
        {MPI_UINT16_T, UNSIGNED, 0, 0},
        {MPI_UINT32_T, UNSIGNED, 0, 0},
        {MPI_UINT64_T, UNSIGNED, 0, 0},
        {MPI_AINT, SIGNED, 0, 0},
        {MPI_OFFSET, SIGNED, 0, 0},
        {MPI_COUNT, SIGNED, 0, 0},
        {MPI_C_FLOAT_COMPLEX, COMPLEX, 0, 0},
        {MPI_C_DOUBLE_COMPLEX, COMPLEX, 0, 0},
        {MPI_CXX_FLOAT_COMPLEX, COMPLEX, 0, 0},
        {MPI_CXX_DOUBLE_COMPLEX, COMPLEX, 0, 0},
        {MPI_C_BOOL, BOOLEAN, 0, 0},
        {MPI_CXX_BOOL, BOOLEAN, 0, 0},
        {MPI_BYTE, EXACT, GDR_TYPE_BYTE, 1},
        {MPI_FLOAT_INT, EXACT, GDR_TYPE_FLOAT_INT, 8},
        {MPI_DOUBLE_INT, EXACT, GDR_TYPE_DOUBLE_INT, 12},
        {MPI_LONG_INT, EXACT, GDR_TYPE_LONG_INT, 12},
        {MPI_2INT, EXACT, GDR_TYPE_INT32_INT32, 8},
        {MPI_SHORT_INT, EXACT, GDR_TYPE_SHORT_INT, 6},
    };

    return lookup(table, sizeof(table) / sizeof(table[0]), dtype, out);
}

static bool find_fortran_type(struct ompi_datatype_t *dtype, gdr_type_t *out)
{
    const entry_t table[] = {
        {MPI_CHARACTER, UNSIGNED, 0, 0},
        {MPI_INTEGER, SIGNED, 0, 0},
        {MPI_REAL, FLOATING, 0, 0},
        {MPI_DOUBLE_PRECISION, FLOATING, 0, 0},
        {MPI_COMPLEX, COMPLEX, 0, 0},
        {MPI_DOUBLE_COMPLEX, COMPLEX, 0, 0},
        {MPI_LOGICAL, LOGICAL, 0, 0},
        {MPI_INTEGER1, SIGNED, 0, 0},
        {MPI_INTEGER2, SIGNED, 0, 0},
        {MPI_INTEGER4, SIGNED, 0, 0},
        {MPI_INTEGER8, SIGNED, 0, 0},
        {MPI_REAL4, FLOATING, 0, 0},
        {MPI_REAL8, FLOATING, 0, 0},
        {MPI_COMPLEX8, COMPLEX, 0, 0},
        {MPI_COMPLEX16, COMPLEX, 0, 0},
        {MPI_LOGICAL1, LOGICAL, 0, 0},
        {MPI_LOGICAL2, LOGICAL, 0, 0},
        {MPI_LOGICAL4, LOGICAL, 0, 0},
        {MPI_LOGICAL8, LOGICAL, 0, 0},
        {MPI_2INTEGER, EXACT, GDR_TYPE_INT32_INT32, 8},
        {MPI_2REAL, EXACT, GDR_TYPE_FLOAT32_FLOAT32, 8},
        {MPI_2DOUBLE_PRECISION, EXACT, GDR_TYPE_FLOAT64_FLOAT64, 16},
    };

    return lookup(table, sizeof(table) / sizeof(table[0]), dtype, out);
}

bool gdr_mca_optype(struct ompi_op_t *op, struct ompi_datatype_t *dtype, gdr_op_t *gdr_op,
                    gdr_type_t *gdr_type)
{
    gdr_op_t o;
    gdr_type_t t;

    if (!find_op(op, &o) || (!find_c_type(dtype, &t) && !find_fortran_type(dtype, &t)))
        return false;
    /* Beyond the standard, Open MPI computes with bytes as with unsigned integers. */
    if (t == GDR_TYPE_BYTE && !gdr_optype_supported(o, t))
        t = GDR_TYPE_UINT8;
    if (t >= GDR_TYPE_COUNT || !gdr_optype_supported(o, t))
        return false;
    *gdr_op = o;
    *gdr_type = t;
    return true;
}
