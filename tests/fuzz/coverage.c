/* Requests are made elsewhere: NOLINTBEGIN(clang-analyzer-optin.mpi*) */
/*
 * Runs a call for every cell of (call, class of operation, class of type, kind of memory), checks
 * its result, reads which way it went, and prints the table that is docs/coverage.md.
 */
#include "tests/fuzz/call.h"
#include "tests/mpi/harness.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- rows: classes of operations and types -------------------------------------------------- */

typedef struct row {
    const char *ops, *types;
    fz_op_class_t class;
    int plain; /* user's operations: on a predefined type */
    unsigned op_set, kind_set;
    bool wide; /* types of 16-byte floating point */
} row_t;

#define BIT(n) (1U << (n))
#define ARITHMETIC (BIT(T_SUM) | BIT(T_PROD))
#define ORDER (BIT(T_MIN) | BIT(T_MAX))
#define LOGICAL (BIT(T_LAND) | BIT(T_LOR) | BIT(T_LXOR))
#define BITWISE (BIT(T_BAND) | BIT(T_BOR) | BIT(T_BXOR))
#define LOCATION (BIT(T_MINLOC) | BIT(T_MAXLOC))
#define INTEGERS (BIT(T_SIGNED) | BIT(T_UNSIGNED))

static const row_t rows[] = {
    {"SUM, PROD", "integers", FZ_PREDEFINED, 0, ARITHMETIC, INTEGERS, false},
    {"MIN, MAX", "integers", FZ_PREDEFINED, 0, ORDER, INTEGERS, false},
    {"LAND, LOR, LXOR", "integers", FZ_PREDEFINED, 0, LOGICAL, INTEGERS, false},
    {"BAND, BOR, BXOR", "integers", FZ_PREDEFINED, 0, BITWISE, INTEGERS, false},
    {"SUM, PROD", "floating point", FZ_PREDEFINED, 0, ARITHMETIC, BIT(T_FLOAT), false},
    {"MIN, MAX", "floating point", FZ_PREDEFINED, 0, ORDER, BIT(T_FLOAT), false},
    {"SUM, PROD", "complex", FZ_PREDEFINED, 0, ARITHMETIC, BIT(T_COMPLEX), false},
    {"LAND, LOR, LXOR", "bool, LOGICAL", FZ_PREDEFINED, 0, LOGICAL, BIT(T_TRUTH), false},
    {"BAND, BOR, BXOR", "MPI_BYTE", FZ_PREDEFINED, 0, BITWISE, BIT(T_BITS), false},
    {"MINLOC, MAXLOC", "pairs", FZ_PREDEFINED, 0, LOCATION, BIT(T_PAIR), false},
    {"SUM, PROD, MIN, MAX, MINLOC, MAXLOC", "long double, its complex, its pair", FZ_PREDEFINED, 0,
     ARITHMETIC | ORDER | LOCATION, BIT(T_FLOAT) | BIT(T_COMPLEX) | BIT(T_PAIR), true},
    {"a user's, commutative", "predefined", FZ_COMMUTATIVE, 1, 0, 0, false},
    {"a user's, commutative", "derived", FZ_COMMUTATIVE, 0, 0, 0, false},
    {"a user's, not commutative", "predefined", FZ_ORDERED, 1, 0, 0, false},
    {"a user's, not commutative", "derived", FZ_ORDERED, 0, 0, 0, false},
};

/* ---- columns: memory ------------------------------------------------------------------------ */

static const struct {
    const char *name;
    fz_memory_t send, recv;
} columns[] = {
    {"cudaMalloc", FZ_MALLOC, FZ_MALLOC},
    {"managed", FZ_MANAGED, FZ_MANAGED},
    {"pool", FZ_POOL, FZ_POOL},
    {"VMM", FZ_VMM, FZ_VMM},
    {"device to host", FZ_MALLOC, FZ_HEAP},
    {"host to device", FZ_HEAP, FZ_MALLOC},
    {"registered", FZ_REGISTERED, FZ_REGISTERED},
    {"pinned", FZ_PINNED, FZ_PINNED},
    {"malloc", FZ_HEAP, FZ_HEAP},
};
enum { COLUMNS = sizeof(columns) / sizeof(columns[0]) };

static const struct {
    const char *name;
    fz_way_t way;
    bool in_place;
} calls[] = {
    {"MPI_Allreduce", FZ_BLOCKING, false},
    {"MPI_Allreduce in place", FZ_BLOCKING, true},
    {"MPI_Iallreduce", FZ_NONBLOCKING, false},
    {"MPI_Iallreduce in place", FZ_NONBLOCKING, true},
    {"MPI_Allreduce_init", FZ_PERSISTENT, false},
    {"MPI_Allreduce_init in place", FZ_PERSISTENT, true},
};

/* The other collectives: all operations and types in one cell, every kind of memory for both. */
static const struct {
    const char *names[2]; /* blocking, nonblocking */
    fz_coll_t coll;
    bool reduces;
} others[] = {
    {{"MPI_Reduce", "MPI_Ireduce"}, FZ_REDUCE, true},
    {{"MPI_Reduce_scatter_block", "MPI_Ireduce_scatter_block"}, FZ_REDUCE_SCATTER_BLOCK, true},
    {{"MPI_Scan", "MPI_Iscan"}, FZ_SCAN, true},
    {{"MPI_Exscan", "MPI_Iexscan"}, FZ_EXSCAN, true},
    {{"MPI_Bcast", "MPI_Ibcast"}, FZ_BCAST, false},
    {{"MPI_Gather", "MPI_Igather"}, FZ_GATHER, false},
    {{"MPI_Scatter", "MPI_Iscatter"}, FZ_SCATTER, false},
    {{"MPI_Allgather", "MPI_Iallgather"}, FZ_ALLGATHER, false},
    {{"MPI_Alltoall", "MPI_Ialltoall"}, FZ_ALLTOALL, false},
};

/* ---- a cell --------------------------------------------------------------------------------- */

typedef struct cell {
    char path[16]; /* of its calls so far */
    int runs;
} cell_t;

/* Of other collectives only those that are staged are counted. */
static const char *way_of(const fz_step_t *step, uint64_t staged_before)
{
    char path[64];

    if (step->coll != FZ_ALLREDUCE)
        return t_pvar("staged_calls") > staged_before ? "staged" : "host";
    t_pvar_text("last_path", path, sizeof(path));
    return strncmp(path, "gdr/", 4) == 0     ? "device"
           : strcmp(path, "staged") == 0     ? "staged"
           : strcmp(path, "host") == 0       ? "host"
                                             : "unknown";
}

static void one(const fz_step_t *step, const fz_comm_t *comm, cell_t *cell)
{
    uint64_t staged = t_pvar("staged_calls");
    const char *path;
    fz_call_t call;

    fz_call_begin(&call, step, comm, MPI_COMM_WORLD, false);
    MPI_Wait(&call.request, MPI_STATUS_IGNORE);
    path = way_of(step, staged);
    fz_call_check(&call);
    fz_call_end(&call);
    if (cell->runs++ == 0)
        snprintf(cell->path, sizeof(cell->path), "%.15s", path);
    t_check(strcmp(cell->path, path) == 0, "way \"%s\" among \"%s\"", path, cell->path);
}

static bool in_row(const row_t *row, const t_type_t *type, t_op_t op)
{
    return (row->op_set & BIT(op)) != 0 && (row->kind_set & BIT(type->kind)) != 0 &&
           (type->bytes > 8) == row->wide;
}

static void plain_cell(const row_t *row, fz_step_t *step, const fz_comm_t *comm, cell_t *cell)
{
    const t_type_t *type;
    t_op_t op;

    for (size_t t = 0; fz_plain(t, 0, step, &type, &op); t++)
        for (size_t o = 0; fz_plain(t, o, step, &type, &op); o++)
            if (in_row(row, type, op))
                one(step, comm, cell);
}

static void user_cell(const row_t *row, fz_step_t *step, const fz_comm_t *comm, cell_t *cell)
{
    enum { USER_TYPES = 10, PLAIN = 3 };

    for (step->type = row->plain ? 0 : PLAIN; step->type < (row->plain ? PLAIN : USER_TYPES);
         step->type++)
        one(step, comm, cell);
}

static void run_cell(const row_t *row, fz_step_t *step, const fz_comm_t *comm, cell_t *cell)
{
    step->op_class = row->class;
    step->random = fz_hash(step->random, 1, 1);
    if (row->class == FZ_PREDEFINED)
        plain_cell(row, step, comm, cell);
    else
        user_cell(row, step, comm, cell);
    t_check(cell->runs > 0, "no call for %s on %s", row->ops, row->types);
}

/* ---- the page ------------------------------------------------------------------------------- */

static void say(const char *text)
{
    if (t_rank == 0)
        fputs(text, stdout);
}

static void heading(const char *name)
{
    say("\n## ");
    say(name);
    say("\n\n| operation | type |");
    for (int c = 0; c < COLUMNS; c++) {
        say(" ");
        say(columns[c].name);
        say(" |");
    }
    say("\n|---|---|");
    for (int c = 0; c < COLUMNS; c++)
        say("---|");
    say("\n");
}

static void table(size_t number, const fz_comm_t *comm)
{
    fz_step_t step = {.kind = FZ_CALL, .coll = FZ_ALLREDUCE, .count = 67, .random = number + 1};

    step.way = calls[number].way;
    step.in_place = calls[number].in_place;
    heading(calls[number].name);
    for (size_t r = 0; r < sizeof(rows) / sizeof(rows[0]); r++) {
        say("| ");
        say(rows[r].ops);
        say(" | ");
        say(rows[r].types);
        say(" |");
        for (int c = 0; c < COLUMNS; c++) {
            cell_t cell = {0};

            step.memory[0] = (int)columns[c].send + 1;
            step.memory[1] = (int)columns[c].recv + 1;
            run_cell(&rows[r], &step, comm, &cell);
            say(" ");
            say(cell.path);
            say(" |");
        }
        say("\n");
    }
}

/* All classes of operations and types; for collectives that only move bytes every type once. */
static void run_all_rows(bool reduces, fz_step_t *step, const fz_comm_t *comm, cell_t *cell)
{
    size_t n = reduces ? 0 : fz_moved_types();

    step->random = fz_hash(step->random, 1, 1);
    for (step->type = 0; step->type < n; step->type++)
        one(step, comm, cell);
    for (size_t r = 0; reduces && r < sizeof(rows) / sizeof(rows[0]); r++)
        run_cell(&rows[r], step, comm, cell);
}

static void others_row(size_t number, bool nonblocking, bool in_place, const fz_comm_t *comm)
{
    say("| ");
    say(others[number].names[nonblocking]);
    say(in_place ? " in place |" : " |");
    for (int c = 0; c < COLUMNS; c++) {
        fz_step_t step = {.kind = FZ_CALL, .count = 67, .random = number + 1};
        cell_t cell = {0};

        if (columns[c].send != columns[c].recv)
            continue;
        step.coll = others[number].coll;
        step.way = nonblocking ? FZ_NONBLOCKING : FZ_BLOCKING;
        step.in_place = in_place;
        step.memory[0] = step.memory[1] = (int)columns[c].send + 1;
        run_all_rows(others[number].reduces, &step, comm, &cell);
        say(" ");
        say(cell.path);
        say(" |");
    }
    say("\n");
}

static void others_table(const fz_comm_t *comm)
{
    say("\n## The other collectives\n\nAll operations and types, derived and users', in each "
        "cell.\n\n| call |");
    for (int c = 0; c < COLUMNS; c++) {
        if (columns[c].send != columns[c].recv)
            continue;
        say(" ");
        say(columns[c].name);
        say(" |");
    }
    say("\n|---|");
    for (int c = 0; c < COLUMNS; c++)
        if (columns[c].send == columns[c].recv)
            say("---|");
    say("\n");
    for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++)
        for (int way = 0; way < 4; way++)
            if (way < 2 || others[i].coll != FZ_BCAST)
                others_row(i, way % 2 != 0, way >= 2, comm);
}

static const char introduction[] =
    "# Which way a call goes\n"
    "\n"
    "Generated by `make docs-coverage`, which runs every cell and checks every result; do not\n"
    "edit. A cell stands for all operations and all types of its row (but pairs that this Open\n"
    "MPI itself gets wrong on the host), 67 elements, on every rank alike. *device*: CUDA kernels\n"
    "and one-sided puts, no payload in host memory. *staged*: copied through host memory.\n"
    "*host*: Open MPI's own call, untouched. In place the receive buffer counts. Pairs of\n"
    "operation and type: [optypes.md](optypes.md).\n";

int main(int argc, char **argv)
{
    fz_generator_t world;

    t_init(&argc, &argv, MPI_THREAD_SINGLE);
    t_stall(120);
    fz_elements_open();
    fz_start(&world, 1, t_size, false);
    say(introduction);
    for (size_t c = 0; c < sizeof(calls) / sizeof(calls[0]); c++)
        table(c, &world.comms[0]);
    others_table(&world.comms[0]);
    fz_elements_close();
    fflush(stdout);
    if (t_failures() == 0 && freopen("/dev/null", "w", stdout) == NULL)
        return 1;
    return t_finish();
}
/* NOLINTEND(clang-analyzer-optin.mpi*) */
