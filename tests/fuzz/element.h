/*
 * Elements of the calls: predefined types with the operations of tests/mpi/types.h; derived types
 * with holes, negative bounds, mixed widths, and two operations of a user. The reference is plain
 * C of its own; nothing is asked of Open MPI's operations.
 */
#ifndef GDR_FUZZ_ELEMENT_H
#define GDR_FUZZ_ELEMENT_H

#include "tests/fuzz/generate.h"
#include "tests/mpi/types.h"

enum { FZ_UNITS = 6 };

/* An unsigned integer somewhere in an element. */
typedef struct fz_unit {
    ptrdiff_t at;
    int bytes; /* 2, 4 or 8 */
} fz_unit_t;

typedef struct fz_type {
    const char *name;
    MPI_Datatype mpi;
    ptrdiff_t extent;
    ptrdiff_t low, high;   /* the bytes of one element lie in [low, high) */
    size_t alignment;
    long most;             /* elements in one call */
    const t_type_t *plain; /* predefined with its own operations, or else: */
    int units;
    fz_unit_t unit[FZ_UNITS];
} fz_type_t;

typedef struct fz_op {
    fz_op_class_t class;
    t_op_t plain; /* predefined ones */
    bool inexact; /* inputs that are rounded: the result is compared with a tolerance */
    MPI_Op mpi;
    const char *name;
} fz_op_t;

typedef union fz_value {
    t_value_t plain;
    uint64_t unit[FZ_UNITS];
} fz_value_t;

/* After MPI_Init, and before MPI_Finalize. */
void fz_elements_open(void);
void fz_elements_close(void);
/* What a step stands for. */
const fz_type_t *fz_choose(const fz_step_t *step, fz_op_t *op);
/* How a step names predefined type number t and its operation number o; false: there is none. */
bool fz_plain(size_t t, size_t o, fz_step_t *step, const t_type_t **type, t_op_t *op);
const fz_type_t *fz_choose_moved(const fz_step_t *step); /* any type; nothing is computed */
size_t fz_moved_types(void); /* numbers of step->type that are different types there */

fz_value_t fz_input(const fz_type_t *type, const fz_op_t *op, uint64_t data, int rank, size_t i);
/* a op b, a from the lower rank. */
fz_value_t fz_combine(const fz_type_t *type, const fz_op_t *op, fz_value_t a, fz_value_t b);
/* `at` is where an element's displacement 0 lies. */
void fz_store(const fz_type_t *type, fz_value_t value, char *at);
/* magnitude: the sum of all absolute values, for the tolerance; n: how many operands. */
bool fz_matches(const fz_type_t *type, const fz_op_t *op, fz_value_t value, double magnitude, int n,
                const char *at);
/* The bytes of the type alone, no holes. */
void fz_copy_typed(const fz_type_t *type, const char *from, char *to);
double fz_magnitude(const fz_type_t *type, fz_value_t value);

#endif
