/*
 * What happens to a rank's devices beside and between its calls:  devices NAME...
 */
#include "harness.h"

#include <cuda_runtime_api.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { LARGE = 300000 };

static void sum(void)
{
    t_float_sum(MPI_COMM_WORLD, 1, (float)t_size, false);
}

/* What waits in the default stream of the receive buffer's device comes before the result. */
static void recv_elsewhere(void)
{
    enum { COUNT = 100000 };
    static float host[COUNT];
    float *send, *recv;
    int devices;
    size_t bad = 0;

    cudaGetDeviceCount(&devices);
    if (devices < 2)
        return;
    sum(); /* the first call takes longer than all that is pending below */
    send = t_device_alloc(sizeof(host));
    for (int i = 0; i < COUNT; i++)
        host[i] = (float)t_rank;
    t_upload(send, host, sizeof(host));
    cudaSetDevice((t_rank + 1) % devices);
    recv = t_device_alloc(sizeof(host));
    for (int i = 0; i < 8; i++)
        cudaMemsetAsync(recv, 0xff, sizeof(host), NULL);
    MPI_Allreduce(send, recv, COUNT, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
    cudaDeviceSynchronize();
    t_download(host, recv, sizeof(host));
    for (int i = 0; i < COUNT; i++)
        bad += 2 * host[i] != (float)(t_size * (t_size - 1));
    t_check(bad == 0, "%zu of %d elements are wrong, the first is %g", bad, COUNT, (double)host[0]);
    t_device_free(recv);
    cudaSetDevice(t_rank % devices);
    t_device_free(send);
}

/* Copies to a device that is not current are in the current one's default stream, and may be under
 * way when the call begins. */
static void upload_from_elsewhere(MPI_Datatype type, size_t bytes)
{
    enum { ROUNDS = 40, COUNT = 64 };
    long double wide[COUNT];
    float narrow[COUNT];
    void *host = type == MPI_FLOAT ? (void *)narrow : (void *)wide, *device;
    int devices;

    cudaGetDeviceCount(&devices);
    if (devices < 2)
        return;
    cudaSetDevice((t_rank + 1) % devices);
    device = t_device_alloc(COUNT * bytes);
    cudaSetDevice(t_rank % devices);
    for (int k = 0; k < ROUNDS; k++) {
        bool right;

        for (int i = 0; i < COUNT; i++) {
            narrow[i] = (float)(k + t_rank);
            wide[i] = k + t_rank;
        }
        t_upload(device, host, COUNT * bytes);
        MPI_Allreduce(MPI_IN_PLACE, device, COUNT, type, MPI_SUM, MPI_COMM_WORLD);
        t_download(host, device, COUNT * bytes);
        right = true;
        for (int i = 0; i < COUNT; i++)
            right = right && 2 * (type == MPI_FLOAT ? (long double)narrow[i] : wide[i]) ==
                                 (long double)(t_size * (2 * k + t_size - 1));
        if (!t_check(right, "round %d of %zu bytes an element is wrong", k, bytes))
            break;
    }
    t_device_free(device);
}

static void copies_from_elsewhere(void)
{
    sum();
    upload_from_elsewhere(MPI_FLOAT, sizeof(float));
    upload_from_elsewhere(MPI_LONG_DOUBLE, sizeof(long double));
}

/* A call that is copied through the host long after it was posted: the last rank has its buffers
 * there. What it reads, and what its result overwrites, was copied while the device was current
 * that was so at the call, and is not any more. */
static void mixed_elsewhere(int round)
{
    enum { COUNT = 64 };
    int devices, own, other;
    bool on_host = t_rank == t_size - 1, right = true;
    float host[2][COUNT], *send = host[0], *recv = host[1];
    MPI_Request request;

    cudaGetDeviceCount(&devices);
    own = t_rank % devices;
    other = (t_rank + 1) % devices;
    for (int i = 0; i < COUNT; i++)
        host[0][i] = (float)(round + t_rank);
    if (!on_host) {
        cudaSetDevice(other);
        send = t_device_alloc(sizeof(host[0]));
        recv = t_device_alloc(sizeof(host[0]));
        cudaSetDevice(own);
        t_upload(send, host[0], sizeof(host[0]));
        memset(host[1], 0x7f, sizeof(host[1]));
        t_upload(recv, host[1], sizeof(host[1]));
    }
    MPI_Iallreduce(send, recv, COUNT, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD, &request);
    cudaSetDevice(other);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    cudaSetDevice(own);
    if (!on_host)
        t_download(host[1], recv, sizeof(host[1]));
    for (int i = 0; i < COUNT; i++)
        right = right && 2 * host[1][i] == (float)(t_size * (2 * round + t_size - 1));
    t_check(right, "round %d of sums is wrong: it begins with %g", round, (double)host[1][0]);
    if (!on_host) {
        t_device_free(send);
        t_device_free(recv);
    }
}

/* Likewise a call that reads nothing of the buffer that it writes. */
static void received_elsewhere(int round)
{
    enum { COUNT = 64 };
    int devices, own, other;
    float host[COUNT], *device;
    MPI_Request request;

    cudaGetDeviceCount(&devices);
    own = t_rank % devices;
    other = (t_rank + 1) % devices;
    for (int i = 0; i < COUNT; i++)
        host[i] = (float)(t_rank == 0 ? round : -1);
    cudaSetDevice(other);
    device = t_device_alloc(sizeof(host));
    cudaSetDevice(own);
    t_upload(device, host, sizeof(host));
    MPI_Ibcast(device, COUNT, MPI_FLOAT, 0, MPI_COMM_WORLD, &request);
    cudaSetDevice(other);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    cudaSetDevice(own);
    t_download(host, device, sizeof(host));
    t_check(host[0] == (float)round && host[COUNT - 1] == (float)round,
            "round %d received %g ... %g", round, (double)host[0], (double)host[COUNT - 1]);
    t_device_free(device);
}

static void current_device_changes(void)
{
    for (int round = 0; round < 10; round++) {
        mixed_elsewhere(round);
        received_elsewhere(round);
    }
}

/* The others keep theirs. What UCX mapped of their windows in the old context is gone, so nothing
 * may be put any more: from then on the calls are staged on all ranks. */
static void one_device_reset(void)
{
    uint64_t staged;

    sum();
    staged = t_pvar("staged_calls");
    MPI_Barrier(MPI_COMM_WORLD);
    if (t_rank == t_size - 1)
        cudaDeviceReset();
    MPI_Barrier(MPI_COMM_WORLD);
    if (t_rank == t_size - 1) /* the others begin, and would put into memory that is gone */
        usleep(50000);
    sum();
    sum();
    t_check(t_pvar("staged_calls") == staged + 2, "%llu calls were staged",
            (unsigned long long)(t_pvar("staged_calls") - staged));
}

/* The device that was used first goes while a call runs on the other: that one ends well. */
static void first_device_reset(void)
{
    float *device, value = 0;
    MPI_Request request;
    MPI_Comm comm;

    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    cudaSetDevice(0);
    sum();
    cudaSetDevice(1);
    t_float_sum(comm, 1, (float)t_size, false);
    device = t_device_alloc(LARGE * sizeof(float));
    cudaMemset(device, 0, LARGE * sizeof(float));
    MPI_Barrier(MPI_COMM_WORLD);
    if (t_rank == 0) /* the others' calls are under way by then */
        usleep(100000);
    MPI_Iallreduce(MPI_IN_PLACE, device, LARGE, MPI_FLOAT, MPI_SUM, comm, &request);
    cudaSetDevice(0);
    cudaDeviceReset();
    t_check(MPI_Wait(&request, MPI_STATUS_IGNORE) == MPI_SUCCESS, "the call has failed");
    cudaSetDevice(1);
    t_download(&value, device + LARGE - 1, sizeof(value));
    t_check(value == 0, "the last element is %g", (double)value);
    t_float_sum(comm, 1, (float)t_size, false);
    t_device_free(device);
    MPI_Comm_free(&comm);
}

/* Large enough for several segments, so that streams wait for words. */
static int large_sum(float *device)
{
    return MPI_Allreduce(MPI_IN_PLACE, device, LARGE, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
}

/* The last rank dies before its second call; the others' calls end with an error, none hangs. */
static void peer_dies(void)
{
    float *device = t_device_alloc(LARGE * sizeof(float));
    int status;

    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    large_sum(device);
    if (t_rank == t_size - 1) {
        usleep(100000); /* the others are in their calls */
        raise(SIGKILL);
    }
    status = large_sum(device);
    printf("rank %d survives, with %s\n", t_rank, status == MPI_SUCCESS ? "a result" : "an error");
    fflush(stdout);
    _exit(0); /* MPI_Finalize would wait for the dead */
}

static const t_named_t cases[] = {
    {"recv_elsewhere", recv_elsewhere},
    {"copies_from_elsewhere", copies_from_elsewhere},
    {"current_device_changes", current_device_changes},
    {"one_device_reset", one_device_reset},
    {"first_device_reset", first_device_reset},
    {"peer_dies", peer_dies},
};

int main(int argc, char **argv)
{
    t_init(&argc, &argv, MPI_THREAD_SINGLE);
    t_cases(argc, argv, cases, sizeof(cases) / sizeof(cases[0]));
    return t_finish();
}
