/* Small signed numbers, not characters: NOLINTBEGIN(bugprone-signed-char-misuse) */
#include "tests/fuzz/call.h"

#include "tests/mpi/harness.h"

#include <cuda_runtime_api.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    PERIOD = 251, /* inputs repeat: prime, so that a chunk at a wrong place is seen */
    GUARD = 64,
    MOST_BYTES = 8 << 20
};

typedef struct table {
    fz_value_t input[FZ_RANKS][PERIOD], reduced[PERIOD];
    double magnitude[PERIOD];
} table_t;

/* ---- what is called ------------------------------------------------------------------------- */

static bool reduces(fz_coll_t coll)
{
    return coll == FZ_ALLREDUCE || coll == FZ_REDUCE || coll == FZ_SCAN || coll == FZ_EXSCAN ||
           coll == FZ_REDUCE_SCATTER_BLOCK;
}

static void view(fz_call_t *c, const fz_comm_t *comm)
{
    int group = comm->group[t_rank], members[FZ_RANKS];
    const fz_step_t *step = &c->step;
    fz_view_t *v = &c->view;
    long most;

    v->coll = step->coll;
    v->in_place = step->in_place;
    v->size = fz_members(comm, group, members);
    v->rank = comm->rank[t_rank];
    v->root = (int)(step->random / 7 % (uint64_t)v->size);
    c->contributors =
        fz_members(comm, comm->inter ? comm->remote[group] : group, c->contributor);
    if (reduces(step->coll))
        c->type = fz_choose(step, &c->op);
    else
        c->type = fz_choose_moved(step);
    v->count = fz_count(step, (size_t)c->type->extent);
    most = MOST_BYTES / c->type->extent < c->type->most ? MOST_BYTES / c->type->extent
                                                        : c->type->most;
    if (step->coll != FZ_ALLREDUCE && step->coll != FZ_SCAN && step->coll != FZ_EXSCAN)
        most /= v->size; /* a block for each */
    if (v->count > most)
        v->count = most;
    c->shape = fz_shape(v);
    if (comm->inter)
        c->shape.last = c->contributors;
}

/* ---- buffers -------------------------------------------------------------------------------- */

static uint64_t chance(const fz_call_t *c, uint64_t what)
{
    return fz_hash(c->step.random, (uint64_t)t_rank, what);
}

/* Mixed: in a third of the calls each buffer of each rank is where it likes. */
static fz_memory_t memory_kind(const fz_call_t *c, int buffer, bool mixed)
{
    uint64_t random = chance(c, 100 + (uint64_t)buffer);
    bool host = c->step.on_host;

    if (c->step.memory[buffer] > 0)
        return (fz_memory_t)(c->step.memory[buffer] - 1);
    if (mixed && c->step.random / 11 % 3 == 0)
        host = random / 64 % 2 == 0;
    if (host)
        return FZ_FIRST_HOST + random % (FZ_MEMORIES - FZ_FIRST_HOST);
    return random % 8 < 4 ? FZ_MALLOC : (fz_memory_t)(random % 8 - 4) % FZ_FIRST_HOST;
}

static void make_buffer(fz_call_t *c, int which, bool mixed, long elements, fz_buffer_t *buffer,
                        size_t *origin)
{
    uint64_t random = chance(c, 200 + (uint64_t)which);
    fz_memory_t kind = memory_kind(c, which, mixed);
    size_t span = elements > 0 ? (size_t)((elements - 1) * c->type->extent + c->type->high) : 0;
    size_t before = c->type->low < 0 ? (size_t)-c->type->low : 0;
    size_t step = kind < FZ_FIRST_HOST && c->type->alignment < 16 && random % 8 == 0
                      ? 1
                      : c->type->alignment;
    int devices, current;

    cudaGetDeviceCount(&devices);
    cudaGetDevice(&current);
    if (random / 8 % 6 == 0)
        current = (int)(random / 64 % (uint64_t)devices);
    *origin = GUARD + (before + 15) / 16 * 16;
    fz_buffer_make(buffer, kind, current, *origin + span + GUARD, random / 4096 % 8 * step);
}

static char *room_for(const fz_buffer_t *buffer)
{
    char *image = malloc(buffer->bytes);

    if (image == NULL)
        t_fatal("no memory for %zu bytes", buffer->bytes);
    return image;
}

static void pattern(char *image, size_t bytes)
{
    for (size_t i = 0; i < bytes; i++)
        image[i] = (char)(0xa5 ^ 7 * i);
}

static void put_inputs(const fz_call_t *c, char *at, long n)
{
    fz_value_t own[PERIOD];

    for (long i = 0; i < n && i < PERIOD; i++)
        own[i] = fz_input(c->type, &c->op, c->data, t_rank, (size_t)i);
    for (long i = 0; i < n; i++)
        fz_store(c->type, own[i % PERIOD], at + i * c->type->extent);
}

static void fill(fz_call_t *c)
{
    c->data = fz_hash(c->step.random, (uint64_t)c->starts, 3);
    if (c->send_image != NULL) {
        pattern(c->send_image, c->send.bytes);
        put_inputs(c, c->send_image + c->send_origin, c->shape.send);
        fz_buffer_write(&c->send, c->send_image);
    }
    if (c->recv_image != NULL) {
        pattern(c->recv_image, c->recv.bytes);
        put_inputs(c, c->recv_image + c->recv_origin + c->shape.own_at * c->type->extent,
                   c->shape.own);
        fz_buffer_write(&c->recv, c->recv_image);
    }
}

static void make_buffers(fz_call_t *c, bool mixed)
{
    if (c->shape.sends) {
        make_buffer(c, 0, mixed, c->shape.send, &c->send, &c->send_origin);
        c->send_image = room_for(&c->send);
    }
    if (c->shape.receives) {
        make_buffer(c, 1, mixed, c->shape.recv, &c->recv, &c->recv_origin);
        c->recv_image = room_for(&c->recv);
    }
    fill(c);
}

/* ---- words ---------------------------------------------------------------------------------- */

static size_t buffer_words(char *at, size_t room, const char *name, const fz_buffer_t *b,
                           size_t origin)
{
    if (b->block == NULL)
        return 0;
    return (size_t)snprintf(at, room, ", %s %s on device %d at %p", name, fz_memory_name(b->kind),
                            b->device, (void *)(b->data + origin));
}

static void describe(fz_call_t *c, const fz_comm_t *comm)
{
    static const char *const ways[] = {"", "nonblocking ", "persistent "};
    const fz_step_t *s = &c->step;
    size_t n = 0, room = sizeof(c->words);
    char op[64] = "";

    if (reduces(s->coll))
        snprintf(op, sizeof(op), " %s%s of", c->op.name, c->op.inexact ? " (rounded)" : "");
    n = (size_t)snprintf(c->words, room,
                         "call %ld: %s%s,%s %ld of %s%s, communicator %d%s, rank %d of %d, root %d",
                         s->number, ways[s->way], fz_call_name(s), op, c->view.count,
                         c->type->name, s->in_place ? ", in place" : "", s->comm,
                         comm->inter ? " (inter)" : "", c->view.rank, c->view.size, c->view.root);
    n += buffer_words(c->words + n, room - n, "send", &c->send, c->send_origin);
    buffer_words(c->words + n, room - n, "recv", &c->recv, c->recv_origin);
}

/* ---- begin, check, end ---------------------------------------------------------------------- */

static void post(fz_call_t *c)
{
    const void *send = c->send_image == NULL ? NULL : c->send.data + c->send_origin;
    void *recv = c->recv_image == NULL ? NULL : c->recv.data + c->recv_origin;
    int rc;

    if (c->shape.own > 0 || (c->view.in_place && !c->shape.sends && c->shape.receives))
        send = MPI_IN_PLACE;
    if (c->view.coll == FZ_SCATTER && !c->shape.receives)
        recv = MPI_IN_PLACE;
    if (c->view.count == 0 && send != MPI_IN_PLACE && recv != MPI_IN_PLACE && chance(c, 5) % 2 == 0)
        send = recv = NULL;
    rc = fz_post(c, send, recv);
    t_check(rc == MPI_SUCCESS, "returned %d", rc);
}

void fz_call_begin(fz_call_t *c, const fz_step_t *step, const fz_comm_t *comm, MPI_Comm handle,
                   bool mixed)
{
    memset(c, 0, sizeof(*c));
    c->step = *step;
    c->comm = handle;
    c->request = MPI_REQUEST_NULL;
    view(c, comm);
    if (step->way == FZ_PERSISTENT)
        c->starts = (int)(step->random / 13 % 3);
    t_case("call %ld: making its buffers", step->number);
    make_buffers(c, mixed);
    describe(c, comm);
    t_case("%s", c->words);
    post(c);
}

void fz_call_restart(fz_call_t *c)
{
    int rc;

    c->starts--;
    fill(c);
    t_case("again, %s", c->words);
    rc = MPI_Start(&c->request);
    t_check(rc == MPI_SUCCESS, "MPI_Start returned %d", rc);
}

static void make_table(const fz_call_t *c, table_t *table, long most)
{
    long n = most < PERIOD ? most : PERIOD;

    for (long i = 0; i < n; i++)
        for (int r = 0; r < c->contributors; r++)
            table->input[r][i] =
                fz_input(c->type, &c->op, c->data, c->contributor[r], (size_t)i);
    for (long i = 0; i < n && reduces(c->view.coll); i++)
        for (int r = c->shape.first; r < c->shape.last; r++) {
            fz_value_t value = table->input[r][i];

            table->magnitude[i] = fz_magnitude(c->type, value) +
                                  (r == c->shape.first ? 0 : table->magnitude[i]);
            table->reduced[i] =
                r == c->shape.first
                    ? value
                    : fz_combine(c->type, &c->op, table->reduced[i], value);
        }
}

static bool right(const fz_call_t *c, const table_t *table, long element, const char *at)
{
    fz_part_t part = fz_part(&c->view, element);
    long i = part.index % PERIOD;
    fz_op_t exact = c->op;

    if (part.what == FZ_ANYTHING)
        return true;
    if (part.what == FZ_REDUCED)
        return fz_matches(c->type, &c->op, table->reduced[i], table->magnitude[i], c->contributors,
                          at);
    exact.inexact = false;
    return fz_matches(c->type, &exact, table->input[part.from][i], 0, 1, at);
}

/* The first byte of a that b has otherwise. */
static void check_rest(const char *a, const char *b, size_t bytes, const char *what)
{
    size_t i = 0;

    if (memcmp(a, b, bytes) != 0)
        while (a[i] == b[i])
            i++;
    t_check(memcmp(a, b, bytes) == 0, "%s: byte %zu of %zu is %02x, not %02x", what, i, bytes,
            (unsigned char)a[i], (unsigned char)b[i]);
}

static uint64_t check_recv(const fz_call_t *c)
{
    table_t *table = malloc(sizeof(*table));
    char *after = room_for(&c->recv);
    long bad = 0, first = 0;
    uint64_t hash = 0;

    if (table == NULL)
        t_fatal("no memory");
    fz_buffer_read(&c->recv, after);
    make_table(c, table, c->view.count * c->view.size);
    for (long e = 0; e < c->shape.recv; e++) {
        size_t at = c->recv_origin + (size_t)(e * c->type->extent);

        if (!right(c, table, e, after + at)) {
            first = bad == 0 ? e : first;
            bad++;
        }
        fz_copy_typed(c->type, after + at, c->recv_image + at);
    }
    t_check(bad == 0, "%ld of %ld elements are wrong, the first is %ld", bad, c->shape.recv, first);
    check_rest(after, c->recv_image, c->recv.bytes, "outside of the result's elements");
    for (size_t i = 0; c->op.inexact && i + 8 <= c->recv.bytes; i += 8) {
        uint64_t word;

        memcpy(&word, after + i, sizeof(word));
        hash = fz_hash(hash, word, i);
    }
    free(table);
    free(after);
    return hash;
}

uint64_t fz_call_check(const fz_call_t *c)
{
    uint64_t hash = 0;

    t_case("checking, %s", c->words);
    if (c->recv_image != NULL)
        hash = check_recv(c);
    if (c->send_image != NULL) {
        char *after = room_for(&c->send);

        fz_buffer_read(&c->send, after);
        check_rest(after, c->send_image, c->send.bytes, "the send buffer has changed");
        free(after);
    }
    t_check(cudaGetLastError() == cudaSuccess, "a CUDA error was left behind");
    return c->view.coll == FZ_ALLREDUCE ? hash : 0;
}

void fz_call_end(fz_call_t *c)
{
    t_case("freeing the buffers, %s", c->words);
    if (c->request != MPI_REQUEST_NULL)
        MPI_Request_free(&c->request);
    if (c->send_image != NULL)
        fz_buffer_free(&c->send);
    if (c->recv_image != NULL)
        fz_buffer_free(&c->recv);
    free(c->send_image);
    free(c->recv_image);
    memset(c, 0, sizeof(*c));
    c->request = MPI_REQUEST_NULL;
}
/* NOLINTEND(bugprone-signed-char-misuse) */
