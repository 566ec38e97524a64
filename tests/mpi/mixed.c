/*
 * Staged calls and calls on another device's buffers, among device calls whose streams wait for
 * peers:  mixed NAME...
 */
#include "harness.h"

#include <cuda_runtime_api.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { CALLS = 8, ROUNDS = 6 };

/* Blocking device calls, whose streams wait for the peers' words. */
static void device_calls(int *send, int *recv)
{
    for (int k = 0; k < 5; k++)
        MPI_Allreduce(send, recv, 1 << (10 + k), MPI_INT, MPI_SUM, MPI_COMM_WORLD);
}

/*
 * A staged call is over while this rank's streams wait for the last rank, which comes to the device
 * call when it has seen the staged one to its end: what the staged call held falls out of use in
 * the middle of the device call.
 */
static void staged_behind_late(int *send, int *recv, const long double *in, long double *out)
{
    MPI_Request request;

    t_case("a staged call is over in a device call that waits for a late rank");
    MPI_Iallreduce(in, out, 1, MPI_LONG_DOUBLE, MPI_SUM, MPI_COMM_WORLD, &request);
    if (t_rank == t_size - 1) {
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        usleep(20000);
    }
    device_calls(send, recv);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
}

/* Staged calls of many sizes end while device calls run: host memory falls out of use there. */
static void staged(void)
{
    int *send = t_device_alloc(1 << 16), *recv = t_device_alloc(1 << 16);
    long double one = 1, *in[CALLS], *out[CALLS];
    MPI_Request requests[CALLS];

    cudaMemset(send, 0, 1 << 16);
    for (int i = 0; i < CALLS; i++) {
        in[i] = t_device_alloc((size_t)sizeof(one) << (8 + i));
        out[i] = t_device_alloc((size_t)sizeof(one) << (8 + i));
        cudaMemset(in[i], 0, (size_t)sizeof(one) << (8 + i));
        t_upload(in[i], &one, sizeof(one));
    }
    device_calls(send, recv);
    for (int round = 0; round < ROUNDS; round++)
        staged_behind_late(send, recv, in[0], out[0]);
    for (int round = 0; round < ROUNDS; round++) {
        t_case("staged, round %d", round);
        for (int i = 0; i < CALLS; i++)
            MPI_Iallreduce(in[i], out[i], (1 + round % 3) << (6 + i), MPI_LONG_DOUBLE, MPI_SUM,
                           MPI_COMM_WORLD, &requests[i]);
        device_calls(send, recv);
        MPI_Waitall(CALLS, requests, MPI_STATUSES_IGNORE);
        for (int i = 0; i < CALLS; i++) {
            long double sum = 0;

            t_download(&sum, out[i], sizeof(sum));
            t_check(sum == (long double)t_size, "sum %d is %Lg", i, sum);
        }
    }
    for (int i = 0; i < CALLS; i++) {
        t_device_free(in[i]);
        t_device_free(out[i]);
    }
    t_device_free(send);
    t_device_free(recv);
}

/* The same with buffers of a device that the lane's cannot reach: copies in device memory. */
static void away(void)
{
    enum { AWAY = 4, BYTES = 1 << 17 };
    int *send, *recv, *in[AWAY], *out[AWAY], one = 1, sum;
    MPI_Request requests[AWAY];
    MPI_Comm comm;

    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    cudaSetDevice(1);
    for (int i = 0; i < AWAY; i++) {
        in[i] = t_device_alloc(BYTES);
        out[i] = t_device_alloc(BYTES);
        t_upload(in[i], &one, sizeof(one));
    }
    cudaSetDevice(0);
    send = t_device_alloc(1 << 16);
    recv = t_device_alloc(1 << 16);
    MPI_Allreduce(send, recv, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    MPI_Allreduce(send, recv, 1, MPI_INT, MPI_SUM, comm);
    for (int round = 0; round < ROUNDS; round++) {
        t_case("away, round %d", round);
        for (int i = 0; i < AWAY; i++)
            MPI_Iallreduce(in[i], out[i], 1000 + 4000 * round, MPI_INT, MPI_SUM, comm,
                           &requests[i]);
        device_calls(send, recv);
        MPI_Waitall(AWAY, requests, MPI_STATUSES_IGNORE);
        for (int i = 0; i < AWAY; i++) {
            t_download(&sum, out[i], sizeof(sum));
            t_check(sum == t_size, "sum %d is %d", i, sum);
        }
    }
    for (int i = 0; i < AWAY; i++) {
        t_device_free(in[i]);
        t_device_free(out[i]);
    }
    t_device_free(send);
    t_device_free(recv);
    MPI_Comm_free(&comm);
}

/* Takes what memory there is on the current device; the number of pieces. */
static int fill_device(void **pieces, int n)
{
    int taken = 0;

    for (size_t bytes = (size_t)64 << 20; bytes >= (size_t)1 << 20; bytes /= 2)
        while (taken < n && cudaMalloc(&pieces[taken], bytes) == cudaSuccess)
            taken++;
    cudaGetLastError();
    return taken;
}

static void sum_is_there(int rc, const int *out, size_t bytes)
{
    int first = 0, last = 0;

    t_check(rc == MPI_SUCCESS, "an error, %d", rc);
    t_download(&first, out, sizeof(first));
    t_download(&last, out + bytes / sizeof(last) - 1, sizeof(last));
    t_check(first == t_size * 0x01010101 && last == first, "%x, %x", first, last);
}

/* One rank has no memory for its copies: the call is served in host memory on all. */
static void no_room(void)
{
    enum { PIECES = 256, BYTES = 32 << 20 };
    void *pieces[PIECES];
    int taken = 0, rc, *in, *out, *small;
    MPI_Request request;
    MPI_Comm comms[2];

    cudaSetDevice(1);
    in = t_device_alloc(BYTES);
    out = t_device_alloc(BYTES);
    cudaMemset(in, 1, BYTES);
    cudaDeviceSynchronize();
    cudaSetDevice(0);
    small = t_device_alloc(sizeof(int));
    for (int i = 0; i < 2; i++) {
        MPI_Comm_dup(MPI_COMM_WORLD, &comms[i]);
        MPI_Allreduce(MPI_IN_PLACE, small, 1, MPI_INT, MPI_SUM, comms[i]);
    }
    if (t_rank == 0)
        taken = fill_device(pieces, PIECES);
    t_case("no_room, blocking");
    rc = MPI_Allreduce(in, out, BYTES / 4, MPI_INT, MPI_SUM, comms[0]);
    sum_is_there(rc, out, BYTES);
    cudaMemset(out, 0, BYTES);
    t_case("no_room, nonblocking");
    rc = MPI_Iallreduce(in, out, BYTES / 4, MPI_INT, MPI_SUM, comms[1], &request);
    if (rc == MPI_SUCCESS)
        rc = MPI_Wait(&request, MPI_STATUS_IGNORE);
    /* There is none to wait for after an error. NOLINTNEXTLINE(clang-analyzer-optin.mpi*) */
    sum_is_there(rc, out, BYTES);
    t_check(t_pvar("mixed_calls") > 0, "nothing was mixed");
    while (taken > 0)
        cudaFree(pieces[--taken]);
    MPI_Comm_free(&comms[0]);
    MPI_Comm_free(&comms[1]);
    t_device_free(small);
    t_device_free(in);
    t_device_free(out);
}

/* ---- holes ---------------------------------------------------------------------------------- */

enum { ROWS = 100 };

static void add_column(void *in, void *inout, int *len, MPI_Datatype *type)
{
    (void)type;
    (void)len;
    for (size_t i = 0; i < ROWS; i++)
        ((double *)inout)[2 * i] += ((double *)in)[2 * i];
}

/* Two calls at once on the two columns of one matrix: neither may write the other's. */
static void columns(void)
{
    double host[2 * ROWS], *device = t_device_alloc(sizeof(host));
    double sum = t_size * (t_size + 1) / 2.0;
    MPI_Request requests[2];
    MPI_Datatype column;
    MPI_Op op;

    MPI_Type_vector(ROWS, 1, 2, MPI_DOUBLE, &column);
    MPI_Type_commit(&column);
    MPI_Op_create(add_column, 1, &op);
    for (int i = 0; i < 2 * ROWS; i++)
        host[i] = (t_rank + 1) * (i % 2 == 0 ? 1 : 10);
    t_upload(device, host, sizeof(host));
    for (int i = 0; i < 2; i++)
        MPI_Iallreduce(MPI_IN_PLACE, device + i, 1, column, op, MPI_COMM_WORLD, &requests[i]);
    MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    t_download(host, device, sizeof(host));
    for (int i = 0; i < 2 * ROWS; i++)
        if (!t_check(host[i] == sum * (i % 2 == 0 ? 1 : 10), "number %d is %g", i, host[i]))
            break;
    MPI_Op_free(&op);
    MPI_Type_free(&column);
    t_device_free(device);
}

typedef struct record {
    int hole;
    int whole;
    int64_t hole_too;
    long double wide;
    char tail[16];
} record_t;

static int aligned;

static void add_records(void *in, void *inout, int *len, MPI_Datatype *type)
{
    (void)type;
    aligned += (uintptr_t)in % _Alignof(record_t) == 0;
    aligned += (uintptr_t)inout % _Alignof(record_t) == 0;
    for (int i = 0; i < *len; i++) {
        ((record_t *)inout)[i].whole += ((record_t *)in)[i].whole;
        ((record_t *)inout)[i].wide += ((record_t *)in)[i].wide;
    }
}

/*
 * Records with holes, which keep their bytes. Open MPI's own copies, one operand of each reduction,
 * are not aligned, ours are. The last rank reduces in any case.
 */
static void records(void)
{
    enum { N = 40 };
    const MPI_Aint places[2] = {offsetof(record_t, whole), offsetof(record_t, wide)};
    const MPI_Datatype parts[2] = {MPI_INT, MPI_LONG_DOUBLE};
    const int ones[2] = {1, 1};
    record_t host[N], *device = t_device_alloc(sizeof(host));
    MPI_Datatype bare, type;
    MPI_Op op;

    MPI_Type_create_struct(2, ones, places, parts, &bare);
    MPI_Type_create_resized(bare, 0, sizeof(record_t), &type);
    MPI_Type_commit(&type);
    MPI_Op_create(add_records, 1, &op);
    memset(host, 0x5a, sizeof(host));
    for (int i = 0; i < N; i++) {
        host[i].whole = i;
        host[i].wide = i;
    }
    t_upload(device, host, sizeof(host));
    MPI_Allreduce(MPI_IN_PLACE, device, N, type, op, MPI_COMM_WORLD);
    t_download(host, device, sizeof(host));
    for (int i = 0; i < N; i++)
        t_check(host[i].whole == t_size * i && host[i].wide == (long double)t_size * i &&
                    host[i].hole == 0x5a5a5a5a && host[i].tail[15] == 0x5a,
                "record %d is %d, %Lg", i, host[i].whole, host[i].wide);
    t_check(t_rank < t_size - 1 || aligned > 0, "no operand was aligned");
    MPI_Op_free(&op);
    MPI_Type_free(&bare);
    MPI_Type_free(&type);
    t_device_free(device);
}

static void add_below(void *in, void *inout, int *len, MPI_Datatype *type)
{
    (void)type;
    for (int e = 0; e < *len; e++)
        for (int i = -2; i < 3; i += 3)
            ((int *)inout)[4 * e + i] += ((int *)in)[4 * e + i];
}

/* Elements that begin below the buffer's address. */
static void below(void)
{
    enum { N = 100, WORDS = 4 * N };
    const MPI_Aint places[2] = {-8, 4};
    const int ones[2] = {1, 1};
    int host[WORDS], *device = t_device_alloc(sizeof(host));
    MPI_Datatype bare, type;
    MPI_Op op;

    MPI_Type_create_hindexed(2, ones, places, MPI_INT, &bare);
    MPI_Type_create_resized(bare, -8, 16, &type);
    MPI_Type_commit(&type);
    MPI_Op_create(add_below, 1, &op);
    for (int i = 0; i < WORDS; i++)
        host[i] = i;
    t_upload(device, host, sizeof(host));
    MPI_Allreduce(MPI_IN_PLACE, device + 2, N, type, op, MPI_COMM_WORLD);
    t_download(host, device, sizeof(host));
    for (int i = 0; i < WORDS; i++)
        t_check(host[i] == (i % 4 % 3 == 0 ? t_size * i : i), "int %d is %d", i, host[i]);
    MPI_Op_free(&op);
    MPI_Type_free(&bare);
    MPI_Type_free(&type);
    t_device_free(device);
}

static void touch_nothing(void *in, void *inout, int *len, MPI_Datatype *type)
{
    (void)in;
    (void)inout;
    (void)len;
    (void)type;
}

static void no_bytes(void)
{
    char guard = 7, *device = t_device_alloc(1);
    MPI_Request request;
    MPI_Datatype type;
    MPI_Op op;

    MPI_Type_contiguous(0, MPI_INT, &type);
    MPI_Type_commit(&type);
    MPI_Op_create(touch_nothing, 1, &op);
    t_upload(device, &guard, 1);
    t_check(MPI_Allreduce(MPI_IN_PLACE, device, 5, type, op, MPI_COMM_WORLD) == MPI_SUCCESS,
            "blocking");
    t_check(MPI_Iallreduce(MPI_IN_PLACE, device, 5, type, op, MPI_COMM_WORLD, &request) ==
                MPI_SUCCESS,
            "nonblocking");
    t_check(MPI_Wait(&request, MPI_STATUS_IGNORE) == MPI_SUCCESS, "MPI_Wait");
    guard = 0;
    t_download(&guard, device, 1);
    t_check(guard == 7, "guard is %d", guard);
    MPI_Op_free(&op);
    MPI_Type_free(&type);
    t_device_free(device);
}

static const t_named_t table[] = {
    {"staged", staged},   {"away", away},   {"no_room", no_room},   {"columns", columns},
    {"records", records}, {"below", below}, {"no_bytes", no_bytes},
};

int main(int argc, char **argv)
{
    t_init(&argc, &argv, MPI_THREAD_SINGLE);
    t_cases(argc, argv, table, sizeof(table) / sizeof(table[0]));
    return t_finish();
}
