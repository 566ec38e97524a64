/* Few of them: NOLINTBEGIN(clang-analyzer-optin.performance.Padding) */
/*
 * Every op and type of MPI, with a reference of its own: values are kept in one
 * wide form, combined in rank order by plain C, and written back in the type's width.
 */
#ifndef GDR_TEST_TYPES_H
#define GDR_TEST_TYPES_H

#include <mpi.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef enum t_op {
    T_SUM,
    T_PROD,
    T_MIN,
    T_MAX,
    T_LAND,
    T_LOR,
    T_LXOR,
    T_BAND,
    T_BOR,
    T_BXOR,
    T_MINLOC,
    T_MAXLOC,
    T_OPS
} t_op_t;

typedef enum t_kind { T_SIGNED, T_UNSIGNED, T_FLOAT, T_COMPLEX, T_TRUTH, T_BITS, T_PAIR } t_kind_t;

typedef struct t_type {
    const char *name;
    MPI_Datatype mpi;
    t_kind_t kind;
    size_t bytes;   /* of the value; of a pair's first part; of one part of a complex number */
    size_t extent;  /* of an element */
    bool primary;   /* others are further names of the same device type */
    t_kind_t first; /* pairs: SIGNED or FLOAT */
    size_t second, index_bytes; /* pairs: offset and size of the second part */
    bool staged;    /* not for the device */
} t_type_t;

typedef struct t_value {
    int64_t whole; /* integers, truth values, bits, a pair's integral first part */
    double real, imaginary;
    int64_t index; /* pairs */
} t_value_t;

/* The table; fills what must be asked of MPI (after MPI_Init). */
const t_type_t *t_types(size_t *n);
MPI_Op t_mpi_op(t_op_t op);
const char *t_op_name(t_op_t op);
bool t_applies(t_op_t op, const t_type_t *type);

/* Input number `i` of `rank`: exact in any order of reduction. */
t_value_t t_input(t_op_t op, const t_type_t *type, int rank, size_t i);
t_value_t t_combine(t_op_t op, const t_type_t *type, t_value_t a, t_value_t b);
/* Writes one element; padding becomes 0. */
void t_store(const t_type_t *type, t_value_t value, void *element);
bool t_same(const t_type_t *type, const void *a, const void *b);

#endif
/* NOLINTEND(clang-analyzer-optin.performance.Padding) */
