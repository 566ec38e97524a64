/*
 * Every operation on every type that the device serves, in place and not, with guard words around
 * both buffers:  matrix [COUNT...]
 */
#include "harness.h"
#include "types.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    PERIOD = 251, /* inputs repeat: prime, so that a chunk at a wrong place is seen */
    GUARD = 64,
    GUARD_BYTE = 0xa5,
    MAX_COUNT = 262147,
    MAX_EXTENT = 32,
    REGION = MAX_COUNT * MAX_EXTENT + 3 * GUARD
};

static char *host, *image; /* REGION bytes each */
static char *device_send, *device_recv;
static char input[PERIOD * MAX_EXTENT], expected[PERIOD * MAX_EXTENT];

static void make_reference(t_op_t op, const t_type_t *type)
{
    for (size_t i = 0; i < PERIOD; i++) {
        t_value_t value = t_input(op, type, 0, i);

        t_store(type, t_input(op, type, t_rank, i), input + i * type->extent);
        for (int rank = 1; rank < t_size; rank++)
            value = t_combine(op, type, value, t_input(op, type, rank, i));
        t_store(type, value, expected + i * type->extent);
    }
}

/* guard, count elements of the pattern, guard. */
static size_t fill(char *region, size_t start, const char *pattern, size_t extent, size_t count)
{
    size_t period = PERIOD * extent, bytes = count * extent;

    memset(region, GUARD_BYTE, start);
    for (size_t done = 0; done < bytes; done += period)
        memcpy(region + start + done, pattern, bytes - done < period ? bytes - done : period);
    memset(region + start + bytes, GUARD_BYTE, GUARD);
    return start + bytes + GUARD;
}

static bool guards_intact(const char *region, size_t start, size_t bytes)
{
    for (size_t i = 0; i < start; i++)
        if ((unsigned char)region[i] != GUARD_BYTE)
            return false;
    for (size_t i = 0; i < GUARD; i++)
        if ((unsigned char)region[start + bytes + i] != GUARD_BYTE)
            return false;
    return true;
}

static void compare(const t_type_t *type, const char *data, const char *pattern, size_t count,
                    const char *what)
{
    size_t bad = 0, first = 0;

    for (size_t i = 0; i < count; i++)
        if (!t_same(type, data + i * type->extent, pattern + i % PERIOD * type->extent)) {
            first = bad == 0 ? i : first;
            bad++;
        }
    t_check(bad == 0, "%s: %zu of %zu elements are wrong, the first is %zu", what, bad, count,
            first);
}

static void one(t_op_t op, const t_type_t *type, size_t count, bool in_place)
{
    /* Every other case at an address that is aligned for the element only. */
    size_t start = GUARD + (count % 2 == 1 ? type->extent : 0);
    size_t bytes = count * type->extent, length;
    const void *send = in_place ? MPI_IN_PLACE : device_send + start;
    int rc;

    t_case("%s %s count %zu%s", t_op_name(op), type->name, count, in_place ? " in place" : "");
    length = fill(host, start, input, type->extent, count);
    t_upload(in_place ? device_recv : device_send, host, length);
    if (!in_place) {
        memset(image, GUARD_BYTE, length);
        t_upload(device_recv, image, length);
    }
    rc = MPI_Allreduce(send, device_recv + start, (int)count, type->mpi, t_mpi_op(op),
                       MPI_COMM_WORLD);
    t_check(rc == MPI_SUCCESS, "returned %d", rc);
    t_download(image, device_recv, length);
    t_check(guards_intact(image, start, bytes), "a guard word of the result was overwritten");
    compare(type, image + start, expected, count, "result");
    if (!in_place) {
        t_download(image, device_send, length);
        t_check(memcmp(image, host, length) == 0, "the send buffer has changed");
    }
}

/* MPI leaves some operations undefined on multi-language and Fortran types: ask it. */
static bool accepted(t_op_t op, const t_type_t *type, MPI_Comm self)
{
    char in[MAX_EXTENT] = {0}, out[MAX_EXTENT];

    return type->primary || MPI_Allreduce(in, out, 1, type->mpi, t_mpi_op(op), self) == MPI_SUCCESS;
}

static void all(const size_t *counts, size_t n)
{
    static const size_t few[] = {7, 1025};
    size_t ntypes;
    const t_type_t *types = t_types(&ntypes);
    MPI_Comm self;

    MPI_Comm_dup(MPI_COMM_SELF, &self);
    MPI_Comm_set_errhandler(self, MPI_ERRORS_RETURN);
    for (size_t t = 0; t < ntypes; t++)
        for (int op = 0; op < T_OPS; op++) {
            const size_t *c = types[t].primary ? counts : few;
            size_t nc = types[t].primary ? n : 2;

            if (types[t].staged || !t_applies(op, &types[t]) || !accepted(op, &types[t], self))
                continue;
            make_reference(op, &types[t]);
            for (size_t i = 0; i < nc; i++) {
                one(op, &types[t], c[i], false);
                one(op, &types[t], c[i], true);
            }
        }
    MPI_Comm_free(&self);
}

int main(int argc, char **argv)
{
    size_t counts[16] = {0, 1, 2, 7, 1023, 1025, MAX_COUNT}, n = 7;
    double begin = t_seconds();

    t_init(&argc, &argv, MPI_THREAD_SINGLE);
    if (argc > 1)
        for (n = 0; n < 16 && (int)n + 1 < argc; n++)
            counts[n] = strtoul(argv[n + 1], NULL, 10);
    host = malloc(REGION);
    image = malloc(REGION);
    if (host == NULL || image == NULL)
        t_fatal("no memory");
    device_send = t_device_alloc(REGION);
    device_recv = t_device_alloc(REGION);
    all(counts, n);
    t_case("counters");
    t_check(t_pvar("staged_bytes") == 0, "%llu bytes were staged",
            (unsigned long long)t_pvar("staged_bytes"));
    t_check(t_pvar("declined") == 0, "calls were declined");
    t_check(t_pvar("calls") > 0, "the device served nothing");
    t_device_free(device_send);
    t_device_free(device_recv);
    free(host);
    free(image);
    if (t_rank == 0)
        printf("%d ranks, %.1f s\n", t_size, t_seconds() - begin);
    return t_finish();
}
