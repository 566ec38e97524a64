#include "tests/fuzz/element.h"

#include "tests/fuzz/user_types.h"
#include "tests/mpi/harness.h"

#include <float.h>
#include <math.h>
#include <string.h>

enum { MAX_PLAIN = 64, MAX_EXTENT = 32 };

static fz_type_t plain[MAX_PLAIN];
static t_op_t ops[MAX_PLAIN][T_OPS]; /* that are defined for it */
static size_t plain_types, op_count[MAX_PLAIN];

/*
 * Whether this MPI takes the operation: it rejects some on Fortran and multi-language types. And
 * does it right on the host, where staged calls end up: Open MPI 4.1 compares MPI_UNSIGNED_LONG as
 * if it had a sign and MPI_OFFSET as if it had none.
 */
static bool accepted(t_op_t op, const t_type_t *type, MPI_Comm self)
{
    enum { TRIALS = 64 };
    _Alignas(16) char in[MAX_EXTENT] = {0}, out[MAX_EXTENT], wanted[MAX_EXTENT];

    if (!t_applies(op, type) ||
        MPI_Allreduce(in, out, 1, type->mpi, t_mpi_op(op), self) != MPI_SUCCESS)
        return false;
    for (size_t i = 0; i < TRIALS; i++) {
        t_value_t a = t_input(op, type, 0, i), b = t_input(op, type, 1, i);

        t_store(type, a, in);
        t_store(type, b, out);
        t_store(type, t_combine(op, type, a, b), wanted);
        MPI_Reduce_local(in, out, 1, type->mpi, t_mpi_op(op));
        if (!t_same(type, out, wanted))
            return false;
    }
    return true;
}

static void describe(fz_type_t *out, const t_type_t *type)
{
    int size;

    MPI_Type_size(type->mpi, &size);
    out->name = type->name;
    out->mpi = type->mpi;
    out->plain = type;
    out->extent = (ptrdiff_t)type->extent;
    out->high = type->kind == T_PAIR ? (ptrdiff_t)type->extent : size;
    out->alignment = type->kind == T_PAIR || type->kind == T_COMPLEX ? type->bytes : type->extent;
    out->most = 1L << 30;
}

void fz_elements_open(void)
{
    size_t n;
    const t_type_t *all = t_types(&n);
    MPI_Comm self;

    fz_user_open();
    MPI_Comm_dup(MPI_COMM_SELF, &self);
    MPI_Comm_set_errhandler(self, MPI_ERRORS_RETURN);
    for (size_t t = 0; t < n && plain_types < MAX_PLAIN; t++) {
        size_t found = 0;

        for (int op = 0; op < T_OPS; op++)
            if (accepted(op, &all[t], self))
                ops[plain_types][found++] = op;
        if (found == 0)
            continue;
        describe(&plain[plain_types], &all[t]);
        op_count[plain_types++] = found;
    }
    MPI_Comm_free(&self);
}

void fz_elements_close(void)
{
    fz_user_close();
}

const fz_type_t *fz_choose(const fz_step_t *step, fz_op_t *op)
{
    size_t n, t = step->type % plain_types;
    const fz_type_t *user = fz_user_types(&n), *type = &plain[t];

    memset(op, 0, sizeof(*op));
    op->class = step->op_class;
    if (op->class != FZ_PREDEFINED) {
        op->mpi = fz_user_op(op->class);
        op->name = op->class == FZ_COMMUTATIVE ? "a user's sum" : "a user's ordered operation";
        return &user[step->type % n];
    }
    op->plain = ops[t][step->op % op_count[t]];
    op->mpi = t_mpi_op(op->plain);
    op->name = t_op_name(op->plain);
    op->inexact = step->inexact && type->plain->bytes <= 8 && op->plain == T_SUM &&
                  (type->plain->kind == T_FLOAT || type->plain->kind == T_COMPLEX);
    return type;
}

bool fz_plain(size_t t, size_t o, fz_step_t *step, const t_type_t **type, t_op_t *op)
{
    if (t >= plain_types || o >= op_count[t])
        return false;
    step->type = t;
    step->op = o;
    *type = plain[t].plain;
    *op = ops[t][o];
    return true;
}

size_t fz_moved_types(void)
{
    size_t n;

    fz_user_types(&n);
    return plain_types + n;
}

const fz_type_t *fz_choose_moved(const fz_step_t *step)
{
    size_t n;
    const fz_type_t *user = fz_user_types(&n);
    uint64_t t = step->type % (plain_types + n);

    return t < n ? &user[t] : &plain[t - n];
}

/* ---- values --------------------------------------------------------------------------------- */

/* Between -1 and 1, of several magnitudes. */
static double rounded(uint64_t random)
{
    return ldexp((double)(int64_t)random, -63 - (int)(random % 11));
}

fz_value_t fz_input(const fz_type_t *type, const fz_op_t *op, uint64_t data, int rank, size_t i)
{
    uint64_t random = fz_hash(data, (uint64_t)rank, i);
    fz_value_t value;

    memset(&value, 0, sizeof(value));
    if (type->plain != NULL) {
        value.plain = t_input(op->plain, type->plain, rank, i + (size_t)(data % 100003));
        if (op->inexact) {
            value.plain.real = rounded(random);
            value.plain.imaginary = rounded(fz_hash(random, 1, 1));
            if (type->plain->bytes == 4) { /* what is summed is what the type holds */
                value.plain.real = (double)(float)value.plain.real;
                value.plain.imaginary = (double)(float)value.plain.imaginary;
            }
        }
        return value;
    }
    for (int u = 0; u < type->units; u++)
        value.unit[u] = fz_hash(random, (uint64_t)u, 0);
    return value;
}

fz_value_t fz_combine(const fz_type_t *type, const fz_op_t *op, fz_value_t a, fz_value_t b)
{
    fz_value_t value;

    memset(&value, 0, sizeof(value));
    if (type->plain != NULL) {
        value.plain = t_combine(op->plain, type->plain, a.plain, b.plain);
        return value;
    }
    for (int u = 0; u < type->units; u++)
        value.unit[u] = fz_user_combine(op->class, type->unit[u].bytes, a.unit[u], b.unit[u]);
    return value;
}

double fz_magnitude(const fz_type_t *type, fz_value_t value)
{
    return type->plain == NULL ? 0 : fabs(value.plain.real) + fabs(value.plain.imaginary);
}

/* ---- bytes ---------------------------------------------------------------------------------- */

void fz_store(const fz_type_t *type, fz_value_t value, char *at)
{
    if (type->plain != NULL)
        t_store(type->plain, value.plain, at);
    for (int u = 0; u < type->units; u++)
        fz_user_store(at + type->unit[u].at, type->unit[u].bytes, value.unit[u]);
}

static double loaded(size_t bytes, const char *at)
{
    double wide;
    float narrow;

    if (bytes == 8) {
        memcpy(&wide, at, sizeof(wide));
        return wide;
    }
    memcpy(&narrow, at, sizeof(narrow));
    return (double)narrow;
}

static bool near(const t_type_t *type, fz_value_t value, double magnitude, int n, const char *at)
{
    double step = type->bytes == 4 ? (double)FLT_EPSILON : DBL_EPSILON;
    double most = magnitude * step * n;

    if (!(fabs(loaded(type->bytes, at) - value.plain.real) <= most))
        return false;
    return type->kind != T_COMPLEX ||
           fabs(loaded(type->bytes, at + type->bytes) - value.plain.imaginary) <= most;
}

bool fz_matches(const fz_type_t *type, const fz_op_t *op, fz_value_t value, double magnitude, int n,
                const char *at)
{
    _Alignas(16) char wanted[MAX_EXTENT];

    if (type->plain != NULL) {
        if (op->inexact)
            return near(type->plain, value, magnitude, n, at);
        t_store(type->plain, value.plain, wanted);
        return t_same(type->plain, wanted, at);
    }
    for (int u = 0; u < type->units; u++) {
        int bytes = type->unit[u].bytes;

        fz_user_store(wanted, bytes, value.unit[u]);
        if (memcmp(wanted, at + type->unit[u].at, (size_t)bytes) != 0)
            return false;
    }
    return true;
}

void fz_copy_typed(const fz_type_t *type, const char *from, char *to)
{
    if (type->plain != NULL)
        memcpy(to, from, (size_t)type->extent);
    for (int u = 0; u < type->units; u++)
        memcpy(to + type->unit[u].at, from + type->unit[u].at, (size_t)type->unit[u].bytes);
}
