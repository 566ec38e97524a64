/*
 * Blocking calls that went wrong elsewhere, one function a case:  cases NAME...
 */
#include "harness.h"

#include <cuda_runtime_api.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static char *program;

static void *zeroed(size_t bytes)
{
    void *memory = calloc(1, bytes);

    if (memory == NULL)
        t_fatal("no memory for %zu bytes", bytes);
    return memory;
}

static void min_in_place(void)
{
    static const double values[3] = {10, -300, -150};
    double value = values[t_rank % 3], *device = t_device_alloc(sizeof(value));

    t_upload(device, &value, sizeof(value));
    MPI_Allreduce(MPI_IN_PLACE, device, 1, MPI_DOUBLE, MPI_MIN, MPI_COMM_WORLD);
    t_download(&value, device, sizeof(value));
    t_check(value == -300 || t_size < 2, "minimum is %g", value);
    t_device_free(device);
}

/* Every rank contributes its number, in place. */
static void rank_sum(size_t count)
{
    int *host = zeroed(count * sizeof(int)), *device = t_device_alloc(count * sizeof(int));
    int expected = t_size * (t_size - 1) / 2;
    size_t bad = 0;

    for (size_t i = 0; i < count; i++)
        host[i] = t_rank;
    t_upload(device, host, count * sizeof(int));
    MPI_Allreduce(MPI_IN_PLACE, device, (int)count, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    t_download(host, device, count * sizeof(int));
    for (size_t i = 0; i < count; i++)
        bad += host[i] != expected;
    t_check(bad == 0, "%zu of %zu elements are not %d", bad, count, expected);
    t_device_free(device);
    free(host);
}

static void large(void)
{
    rank_sum((size_t)1 << 20);
}

static void sizes(void)
{
    for (size_t bytes = 4; bytes <= (size_t)64 << 20; bytes *= 8) {
        t_case("sizes, %zu bytes", bytes);
        rank_sum(bytes / sizeof(int));
    }
    rank_sum((size_t)16 << 20);
}

static void odd_counts(void)
{
    static const int counts[] = {1, 2, 3, 5, 7, 1023, 1025};
    int host[1025 + 8], *device = t_device_alloc(sizeof(host));

    for (size_t c = 0; c < sizeof(counts) / sizeof(counts[0]); c++) {
        int n = counts[c], bad = 0;

        t_case("odd_counts, %d", n);
        for (int i = 0; i < n + 8; i++)
            host[i] = i < n ? 1000 * t_rank + i : -77;
        t_upload(device, host, sizeof(host));
        MPI_Allreduce(MPI_IN_PLACE, device, n, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
        t_download(host, device, sizeof(host));
        for (int i = 0; i < n; i++)
            bad += host[i] != 1000 * t_size * (t_size - 1) / 2 + t_size * i;
        t_check(bad == 0, "%d of %d elements are wrong", bad, n);
        for (int i = n; i < n + 8; i++)
            t_check(host[i] == -77, "guard word %d is %d", i - n, host[i]);
    }
    t_device_free(device);
}

static void count_zero(void)
{
    int guard = -77, *device = t_device_alloc(sizeof(int));

    t_upload(device, &guard, sizeof(guard));
    t_check(MPI_Allreduce(NULL, NULL, 0, MPI_INT, MPI_SUM, MPI_COMM_WORLD) == MPI_SUCCESS, "NULL");
    t_check(MPI_Allreduce(device, device + 1, 0, MPI_INT, MPI_SUM, MPI_COMM_WORLD) == MPI_SUCCESS,
            "device pointers");
    t_check(cudaGetLastError() == cudaSuccess, "a CUDA error was left behind");
    t_download(&guard, device, sizeof(guard));
    t_check(guard == -77, "guard word is %d", guard);
    t_device_free(device);
}

static void alloc_loop(void)
{
    size_t before, after, total;
    int *host = zeroed((size_t)2 << 20);

    rank_sum(1024);
    cudaMemGetInfo(&before, &total);
    for (int i = 0; i < 100; i++) {
        size_t bytes = (size_t)(1 + i % 2) << 20, n = bytes / sizeof(int);
        int *send = t_device_alloc(bytes), *recv = t_device_alloc(bytes);
        int expected = t_size * i + t_size * (t_size - 1) / 2;

        t_case("alloc_loop, round %d", i);
        for (size_t k = 0; k < n; k++)
            host[k] = t_rank + i;
        t_upload(send, host, bytes);
        MPI_Allreduce(send, recv, (int)n, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
        t_download(host, recv, bytes);
        t_check(host[0] == expected && host[n / 2] == expected && host[n - 1] == expected,
                "sum is %d, %d, %d, not %d", host[0], host[n / 2], host[n - 1], expected);
        t_device_free(send);
        t_device_free(recv);
    }
    cudaMemGetInfo(&after, &total);
    t_check(before - after <= (size_t)32 << 20 || after > before,
            "%zu bytes of device memory are gone", before - after);
    free(host);
}

static bool same_bytes(const void *a, const void *b, size_t bytes)
{
    return memcmp(a, b, bytes) == 0;
}

/* The same bytes everywhere, and again. */
static void same_bits(void)
{
    enum { N = 4 * 1025 };
    static const float parts[4] = {1e8F, 1, -1e8F, 1};
    float *host = zeroed(N * sizeof(float)), *first = zeroed(N * sizeof(float));
    float *send = t_device_alloc(N * sizeof(float)), *recv = t_device_alloc(N * sizeof(float));

    for (int i = 0; i < N; i++)
        host[i] = parts[(t_rank + i) % 4] * (float)(1 + i % 3) / 3;
    t_upload(send, host, N * sizeof(float));
    for (int run = 0; run < 2; run++) {
        MPI_Allreduce(send, recv, N, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
        t_download(run == 0 ? first : host, recv, N * sizeof(float));
    }
    t_check(same_bytes(host, first, N * sizeof(float)), "two runs differ");
    MPI_Bcast(first, N, MPI_FLOAT, 0, MPI_COMM_WORLD);
    t_check(same_bytes(host, first, N * sizeof(float)), "bytes differ from rank 0's");
    t_device_free(send);
    t_device_free(recv);
    free(host);
    free(first);
}

static void one_nan(void)
{
    float host[5], first[5], *device = t_device_alloc(sizeof(host));

    for (int i = 0; i < 5; i++)
        host[i] = i == 2 && t_rank == t_size - 1 ? NAN : (float)(t_rank + i);
    t_upload(device, host, sizeof(host));
    MPI_Allreduce(MPI_IN_PLACE, device, 5, MPI_FLOAT, MPI_MAX, MPI_COMM_WORLD);
    t_download(host, device, sizeof(host));
    memcpy(first, host, sizeof(host));
    MPI_Bcast(first, 5, MPI_FLOAT, 0, MPI_COMM_WORLD);
    t_check(same_bytes(host, first, sizeof(host)), "bytes differ from rank 0's");
    t_check(host[0] == (float)(t_size - 1), "maximum is %g", (double)host[0]);
    t_device_free(device);
}

/* Result read at once by work on a fresh non-blocking stream; input by a pageable copy. */
static void ordering(void)
{
    int *device = t_device_alloc(sizeof(int)), *pinned;

    if (cudaMallocHost((void **)&pinned, sizeof(int)) != cudaSuccess)
        t_fatal("cudaMallocHost");
    for (int k = 0; k < 1000; k++) {
        cudaStream_t stream;

        t_case("ordering, round %d", k);
        cudaMemcpy(device, &k, sizeof(k), cudaMemcpyHostToDevice);
        MPI_Allreduce(MPI_IN_PLACE, device, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
        cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking);
        cudaMemcpyAsync(pinned, device, sizeof(int), cudaMemcpyDeviceToHost, stream);
        cudaStreamSynchronize(stream);
        cudaStreamDestroy(stream);
        if (!t_check(*pinned == t_size * k, "sum is %d, not %d", *pinned, t_size * k))
            break;
    }
    cudaFreeHost(pinned);
    t_device_free(device);
}

static void other_device(void)
{
    int devices, current = -1, value = 1, *device;

    cudaGetDeviceCount(&devices);
    if (devices < 2)
        return;
    cudaSetDevice(1);
    device = t_device_alloc(sizeof(int));
    t_upload(device, &value, sizeof(value));
    cudaSetDevice(0);
    MPI_Allreduce(MPI_IN_PLACE, device, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    cudaGetDevice(&current);
    t_check(current == 0, "the current device has become %d", current);
    t_download(&value, device, sizeof(value));
    t_check(value == t_size, "sum is %d", value);
    t_device_free(device);
    cudaSetDevice(t_rank % devices);
}

static void self(void)
{
    float value = 3, *send = t_device_alloc(4), *recv = t_device_alloc(4);

    t_upload(send, &value, sizeof(value));
    MPI_Allreduce(send, recv, 1, MPI_FLOAT, MPI_SUM, MPI_COMM_SELF);
    value = 0;
    t_download(&value, recv, sizeof(value));
    t_check(value == 3, "result is %g", (double)value);
    MPI_Allreduce(MPI_IN_PLACE, recv, 1, MPI_FLOAT, MPI_SUM, MPI_COMM_SELF);
    t_download(&value, recv, sizeof(value));
    t_check(value == 3, "result in place is %g", (double)value);
    t_device_free(send);
    t_device_free(recv);
}

static void communicators(void)
{
    for (int i = 0; i < 30; i++) {
        MPI_Comm dup, split;
        int size;

        t_case("communicators, round %d", i);
        MPI_Comm_dup(MPI_COMM_WORLD, &dup);
        t_float_sum(dup, 1, (float)t_size, i % 2 == 1);
        MPI_Comm_split(dup, i % 3 == 0 && t_rank == 0 ? MPI_UNDEFINED : t_rank % 2, -t_rank,
                       &split);
        MPI_Comm_free(&dup);
        if (split == MPI_COMM_NULL)
            continue;
        MPI_Comm_size(split, &size);
        t_float_sum(split, 1, (float)size, i % 2 == 0);
        MPI_Comm_free(&split);
    }
}

/* More live communicators than lanes. */
static void many_communicators(void)
{
    enum { MANY = 24 };
    MPI_Comm comms[MANY];

    for (int i = 0; i < MANY; i++)
        MPI_Comm_dup(MPI_COMM_WORLD, &comms[i]);
    for (int round = 0; round < 2; round++)
        for (int i = 0; i < MANY; i++) {
            t_case("many_communicators, round %d, number %d", round, i);
            t_float_sum(comms[i], 1, (float)t_size, false);
        }
    for (int i = 0; i < MANY; i++)
        MPI_Comm_free(&comms[i]);
}

static void managed(void)
{
    int *memory;

    if (cudaMallocManaged((void **)&memory, 2 * sizeof(int), cudaMemAttachGlobal) != cudaSuccess)
        t_fatal("cudaMallocManaged");
    memory[1] = t_rank + 1;
    MPI_Allreduce(MPI_IN_PLACE, memory + 1, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    t_check(memory[1] == t_size * (t_size + 1) / 2, "sum is %d", memory[1]);
    cudaFree(memory);
}

/* ---- through the host ------------------------------------------------------------------------ */

static void long_double(void)
{
    long double value = 1.5L * (t_rank + 1), *device = t_device_alloc(sizeof(value));
    uint64_t before = t_pvar("staged_bytes");

    t_upload(device, &value, sizeof(value));
    MPI_Allreduce(MPI_IN_PLACE, device, 1, MPI_LONG_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    t_download(&value, device, sizeof(value));
    t_check(value == 1.5L * t_size * (t_size + 1) / 2, "sum is %Lg", value);
    t_check(t_pvar("staged_bytes") > before, "nothing was staged");
    t_device_free(device);
}

static void add_ints(void *in, void *inout, int *len, MPI_Datatype *type)
{
    (void)type;
    for (int e = 0; e < *len; e++)
        for (int i = 0; i < 3; i++)
            ((int *)inout)[5 * e + 2 * i] += ((int *)in)[5 * e + 2 * i];
}

/* A user's operation on a vector type with holes: the holes keep their bytes. */
static void user_op(bool nonblocking)
{
    enum { N = 8, INTS = 5 * N };
    int host[INTS], *send = t_device_alloc(sizeof(host)), *recv = t_device_alloc(sizeof(host));
    MPI_Datatype vector;
    MPI_Request request;
    MPI_Op op;

    MPI_Type_vector(3, 1, 2, MPI_INT, &vector);
    MPI_Type_commit(&vector);
    MPI_Op_create(add_ints, 1, &op);
    for (int i = 0; i < INTS; i++)
        host[i] = t_rank + i;
    t_upload(send, host, sizeof(host));
    for (int i = 0; i < INTS; i++)
        host[i] = -1000 - i;
    t_upload(recv, host, sizeof(host));
    if (nonblocking) {
        MPI_Iallreduce(send, recv, N, vector, op, MPI_COMM_WORLD, &request);
        MPI_Op_free(&op);
        MPI_Type_free(&vector);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
    } else {
        MPI_Allreduce(send, recv, N, vector, op, MPI_COMM_WORLD);
        MPI_Op_free(&op);
        MPI_Type_free(&vector);
    }
    t_download(host, recv, sizeof(host));
    for (int i = 0; i < INTS; i++) {
        int expected = i % 5 % 2 == 0 ? t_size * i + t_size * (t_size - 1) / 2 : -1000 - i;

        if (!t_check(host[i] == expected, "int %d is %d, not %d", i, host[i], expected))
            break;
    }
    t_device_free(send);
    t_device_free(recv);
}

static void user_ops(void)
{
    user_op(false);
    user_op(true);
}

/* Send and receive buffer of different kinds, alike on all ranks. */
static void mixed_kinds(void)
{
    int value = 1, result = 0, *device = t_device_alloc(sizeof(int));

    t_upload(device, &value, sizeof(value));
    MPI_Allreduce(device, &result, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    t_check(result == t_size, "device to host: sum is %d", result);
    MPI_Allreduce(&value, device, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    t_download(&result, device, sizeof(result));
    t_check(result == t_size, "host to device: sum is %d", result);
    t_device_free(device);
}

static void intercommunicator(void)
{
    MPI_Comm half, inter;
    int value = 1, half_size, *send, *recv;

    if (t_size < 2)
        return;
    send = t_device_alloc(sizeof(int));
    recv = t_device_alloc(sizeof(int));
    MPI_Comm_split(MPI_COMM_WORLD, t_rank % 2, t_rank, &half);
    MPI_Comm_size(half, &half_size);
    MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, 1 - t_rank % 2, 0, &inter);
    t_upload(send, &value, sizeof(value));
    MPI_Allreduce(send, recv, 1, MPI_INT, MPI_SUM, inter);
    t_download(&value, recv, sizeof(value));
    t_check(value == t_size - half_size, "sum over the other group is %d", value);
    MPI_Comm_free(&inter);
    MPI_Comm_free(&half);
    t_device_free(send);
    t_device_free(recv);
}

/* A communicator that reaches beyond MPI_COMM_WORLD; the child is this program without a case. */
static void merged_sum(MPI_Comm inter, int high)
{
    int value = 1, size, *device = t_device_alloc(sizeof(int));
    MPI_Comm merged;

    MPI_Intercomm_merge(inter, high, &merged);
    MPI_Comm_size(merged, &size);
    t_upload(device, &value, sizeof(value));
    MPI_Allreduce(MPI_IN_PLACE, device, 1, MPI_INT, MPI_SUM, merged);
    t_download(&value, device, sizeof(value));
    t_check(value == size && size > t_size, "sum is %d of %d ranks", value, size);
    MPI_Comm_free(&merged);
    t_device_free(device);
}

static void spawn(void)
{
    MPI_Comm inter;

    MPI_Comm_spawn(program, MPI_ARGV_NULL, 1, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &inter,
                   MPI_ERRCODES_IGNORE);
    merged_sum(inter, 0);
    MPI_Comm_disconnect(&inter);
}

/* Left for MPI_Finalize to clean up. */
static void leaked_communicator(void)
{
    MPI_Comm comm;

    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    t_float_sum(comm, 1, (float)t_size, false);
}

/* Nothing may be touched after it. */
static void device_reset(void)
{
    rank_sum(1000);
    cudaDeviceReset();
}

static const t_named_t table[] = {
    {"min_in_place", min_in_place},
    {"large", large},
    {"sizes", sizes},
    {"odd_counts", odd_counts},
    {"count_zero", count_zero},
    {"alloc_loop", alloc_loop},
    {"same_bits", same_bits},
    {"one_nan", one_nan},
    {"ordering", ordering},
    {"other_device", other_device},
    {"self", self},
    {"communicators", communicators},
    {"many_communicators", many_communicators},
    {"managed", managed},
    {"long_double", long_double},
    {"user_ops", user_ops},
    {"mixed_kinds", mixed_kinds},
    {"intercommunicator", intercommunicator},
    {"device_reset", device_reset},
    {"spawn", spawn},
    {"leaked_communicator", leaked_communicator},
};

int main(int argc, char **argv)
{
    MPI_Comm parent;

    t_init(&argc, &argv, MPI_THREAD_SINGLE);
    program = argv[0];
    MPI_Comm_get_parent(&parent);
    if (parent != MPI_COMM_NULL) {
        t_case("spawned");
        merged_sum(parent, 1);
        MPI_Comm_disconnect(&parent);
    }
    t_cases(argc, argv, table, sizeof(table) / sizeof(table[0]));
    return t_finish();
}
