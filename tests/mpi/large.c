/*
 * More bytes in one call than an int counts, in place:  large NAME...
 */
#include "harness.h"

#include <cuda_runtime_api.h>
#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The inputs repeat, so that a period of them tells what every byte must be; it is prime to every
 * size of a block, so that data of another place shows. */
enum { PERIOD = 1000003, WORDS = 65521 };

static uint8_t pattern_of(uint64_t i)
{
    return (uint8_t)((i * 2654435761U) >> 13);
}

/* Every rank has some bits of each byte. */
static uint8_t mask_of(int rank)
{
    return (uint8_t)(t_size == 2 ? 0x0f << 4 * rank : 0xff >> (8 - 8 / t_size) << rank);
}

static void put_pieces(char *device, const void *piece, size_t piece_bytes, size_t bytes)
{
    for (size_t at = 0; at < bytes; at += piece_bytes)
        t_upload(device + at, piece, bytes - at < piece_bytes ? bytes - at : piece_bytes);
}

static void check_pieces(const char *device, const void *piece, size_t piece_bytes, size_t bytes)
{
    char *host = malloc(piece_bytes);
    size_t bad = 0, first = 0;

    if (host == NULL)
        t_fatal("no memory");
    for (size_t at = 0; at < bytes; at += piece_bytes) {
        size_t n = bytes - at < piece_bytes ? bytes - at : piece_bytes;

        t_download(host, device + at, n);
        if (memcmp(host, piece, n) != 0 && bad++ == 0)
            first = at;
    }
    t_check(bad == 0, "%zu pieces are wrong, the first begins at byte %zu", bad, first);
    free(host);
}

/* As many bytes as an int counts. */
static void bytes(void)
{
    uint8_t *piece = malloc(PERIOD), all = 0, guard = 0x77;
    size_t n = INT_MAX;
    char *device = t_device_alloc(n + 1);

    if (piece == NULL)
        t_fatal("no memory");
    for (int i = 0; i < PERIOD; i++)
        piece[i] = pattern_of((uint64_t)i) & mask_of(t_rank);
    put_pieces(device, piece, PERIOD, n);
    t_upload(device + n, &guard, 1);
    MPI_Allreduce(MPI_IN_PLACE, device, INT_MAX, MPI_BYTE, MPI_BOR, MPI_COMM_WORLD);
    for (int r = 0; r < t_size; r++)
        all |= mask_of(r);
    for (int i = 0; i < PERIOD; i++)
        piece[i] = pattern_of((uint64_t)i) & all;
    check_pieces(device, piece, PERIOD, n);
    t_download(&guard, device + n, 1);
    t_check(guard == 0x77, "the byte behind it was written");
    t_device_free(device);
    free(piece);
}

/* More than 2^31 bytes. */
static void doubles(void)
{
    double *piece = malloc(WORDS * sizeof(double)), guard = -7;
    size_t n = ((size_t)1 << 28) + 3;
    double *device = t_device_alloc((n + 1) * sizeof(double));

    if (piece == NULL)
        t_fatal("no memory");
    for (int i = 0; i < WORDS; i++)
        piece[i] = (double)(t_rank + i);
    put_pieces((char *)device, piece, WORDS * sizeof(double), n * sizeof(double));
    t_upload(device + n, &guard, sizeof(guard));
    MPI_Allreduce(MPI_IN_PLACE, device, (int)n, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    for (int i = 0; i < WORDS; i++)
        piece[i] = t_size * (t_size - 1) / 2.0 + t_size * i;
    check_pieces((const char *)device, piece, WORDS * sizeof(double), n * sizeof(double));
    t_download(&guard, device + n, sizeof(guard));
    t_check(guard == -7, "the element behind it was written");
    t_device_free(device);
    free(piece);
}

static void first_of(void *in, void *inout, int *len, MPI_Datatype *type)
{
    (void)in;
    (void)inout;
    (void)len;
    (void)type;
}

/* Staged, on one rank: an extent of its own for each of many elements. */
static void strided(void)
{
    enum { COUNT = 600, EXTENT = 4 << 20 };
    const size_t n = (size_t)COUNT * EXTENT;
    uint64_t staged = t_pvar("staged_bytes");
    int value = 0;
    MPI_Datatype type;
    MPI_Op op;
    char *device = t_device_alloc(n);

    MPI_Type_create_resized(MPI_INT, 0, EXTENT, &type);
    MPI_Type_commit(&type);
    MPI_Op_create(first_of, 1, &op);
    for (int i = 0; i < COUNT; i++)
        t_upload(device + (size_t)i * EXTENT, &i, sizeof(i));
    t_check(MPI_Allreduce(MPI_IN_PLACE, device, COUNT, type, op, MPI_COMM_SELF) == MPI_SUCCESS,
            "it failed");
    t_download(&value, device + (size_t)(COUNT - 1) * EXTENT, sizeof(value));
    t_check(value == COUNT - 1, "the last element is %d", value);
    t_check(t_pvar("staged_bytes") - staged > (UINT64_C(1) << 31), "%llu bytes were staged",
            (unsigned long long)(t_pvar("staged_bytes") - staged));
    MPI_Op_free(&op);
    MPI_Type_free(&type);
    t_device_free(device);
}

static const t_named_t table[] = {{"bytes", bytes}, {"doubles", doubles}, {"strided", strided}};

int main(int argc, char **argv)
{
    t_init(&argc, &argv, MPI_THREAD_SINGLE);
    t_cases(argc, argv, table, sizeof(table) / sizeof(table[0]));
    return t_finish();
}
