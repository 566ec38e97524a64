/* MPI_Iallreduce: many outstanding, waited for late, in any order, around CUDA calls that block. */
#include "harness.h"

#include <cuda_runtime_api.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { N = 5000, OUTSTANDING = 8 };

typedef struct call {
    int *send, *recv;
    MPI_Request request;
    int base;
} call_t;

static void post(call_t *call, MPI_Comm comm, int base)
{
    static int host[N];

    call->base = base;
    call->send = t_device_alloc(N * sizeof(int));
    call->recv = t_device_alloc(N * sizeof(int));
    for (int i = 0; i < N; i++)
        host[i] = base + t_rank + i;
    t_upload(call->send, host, sizeof(host));
    MPI_Iallreduce(call->send, call->recv, N, MPI_INT, MPI_SUM, comm, &call->request);
    t_check(call->request != MPI_REQUEST_NULL, "no request");
}

static void check(call_t *call)
{
    static int host[N];
    int bad = 0;

    t_download(host, call->recv, sizeof(host));
    for (int i = 0; i < N; i++)
        bad += host[i] != t_size * (call->base + i) + t_size * (t_size - 1) / 2;
    t_check(bad == 0, "%d of %d elements are wrong", bad, N);
    t_device_free(call->send);
    t_device_free(call->recv);
}

static void wait_for(call_t *call)
{
    /* Posted by post(), out of the checker's sight. NOLINTNEXTLINE(clang-analyzer-optin.mpi*) */
    t_check(MPI_Wait(&call->request, MPI_STATUS_IGNORE) == MPI_SUCCESS, "MPI_Wait");
    check(call);
}

static void reverse(void)
{
    call_t calls[OUTSTANDING];

    for (int i = 0; i < OUTSTANDING; i++)
        post(&calls[i], MPI_COMM_WORLD, 100 * i);
    for (int i = OUTSTANDING; i-- > 0;)
        wait_for(&calls[i]);
}

static void test_and_waitall(void)
{
    MPI_Request requests[OUTSTANDING];
    call_t calls[OUTSTANDING];
    int done = 0;

    post(&calls[0], MPI_COMM_WORLD, 7);
    while (!done)
        MPI_Test(&calls[0].request, &done, MPI_STATUS_IGNORE);
    check(&calls[0]);
    for (int i = 0; i < OUTSTANDING; i++) {
        post(&calls[i], MPI_COMM_WORLD, i);
        requests[i] = calls[i].request;
    }
    MPI_Waitall(OUTSTANDING, requests, MPI_STATUSES_IGNORE);
    for (int i = 0; i < OUTSTANDING; i++)
        check(&calls[i]);
}

/* The device must not wait for what only another process's CPU can bring about. */
static void blocking_cuda(void)
{
    call_t call;
    void *memory, *spare = t_device_alloc(1 << 20);

    for (int i = 0; i < 2; i++) /* the first ones begin together: engine/begin.c */
        t_float_sum(MPI_COMM_WORLD, 1, (float)t_size, false);
    t_case("cudaDeviceSynchronize before MPI_Wait");
    post(&call, MPI_COMM_WORLD, 1);
    cudaDeviceSynchronize();
    wait_for(&call);
    t_case("cudaFree before MPI_Wait");
    post(&call, MPI_COMM_WORLD, 2);
    cudaFree(spare);
    wait_for(&call);
    t_case("cudaMalloc before MPI_Wait");
    post(&call, MPI_COMM_WORLD, 3);
    memory = t_device_alloc(3 << 20);
    wait_for(&call);
    t_device_free(memory);
}

/* Even ranks use one communicator first, odd ranks the other. */
static void opposite_order(void)
{
    MPI_Comm comms[2];
    call_t calls[2];

    MPI_Comm_dup(MPI_COMM_WORLD, &comms[0]);
    MPI_Comm_dup(MPI_COMM_WORLD, &comms[1]);
    for (int round = 0; round < 10; round++) {
        int first = t_rank % 2;

        t_case("opposite_order, round %d", round);
        post(&calls[first], comms[first], round);
        post(&calls[1 - first], comms[1 - first], round);
        wait_for(&calls[first]);
        wait_for(&calls[1 - first]);
    }
    MPI_Comm_free(&comms[0]);
    MPI_Comm_free(&comms[1]);
}

/* Posted, never tested, while the rank is busy in other MPI calls. */
static void other_mpi_calls(void)
{
    double end = t_seconds() + 2;
    call_t call;
    int go_on = 1;

    post(&call, MPI_COMM_WORLD, 11);
    while (go_on) {
        int token = t_rank, got;

        MPI_Sendrecv(&token, 1, MPI_INT, (t_rank + 1) % t_size, 5, &got, 1, MPI_INT,
                     (t_rank + t_size - 1) % t_size, 5, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        t_check(got == (t_rank + t_size - 1) % t_size, "token is %d", got);
        go_on = t_seconds() < end;
        MPI_Bcast(&go_on, 1, MPI_INT, 0, MPI_COMM_WORLD);
    }
    wait_for(&call);
}

/* Host calls, device calls and staged calls in turn: each goes its way, in order. */
static void interleaved(void)
{
    enum { ROUNDS = 6 };
    MPI_Comm comm;
    call_t calls[ROUNDS];
    MPI_Request requests[2 * ROUNDS];
    int ones[ROUNDS], sums[ROUNDS];
    long double wide = 1, *wide_send[ROUNDS];

    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    for (int i = 0; i < ROUNDS; i++) {
        ones[i] = i + 1;
        sums[i] = -1;
        wide_send[i] = t_device_alloc(sizeof(wide));
        t_upload(wide_send[i], &wide, sizeof(wide));
        post(&calls[i], comm, i);
        MPI_Iallreduce(&ones[i], &sums[i], 1, MPI_INT, MPI_SUM, comm, &requests[(size_t)2 * i]);
        MPI_Iallreduce(MPI_IN_PLACE, wide_send[i], 1, MPI_LONG_DOUBLE, MPI_SUM, comm,
                       &requests[(size_t)2 * i + 1]);
    }
    MPI_Waitall(2 * ROUNDS, requests, MPI_STATUSES_IGNORE);
    for (int i = 0; i < ROUNDS; i++) {
        long double got = 0;

        wait_for(&calls[i]);
        t_check(sums[i] == t_size * (i + 1), "host sum %d is %d", i, sums[i]);
        t_download(&got, wide_send[i], sizeof(got));
        t_check(got == (long double)t_size, "staged sum %d is %Lg", i, got);
        t_device_free(wide_send[i]);
    }
    MPI_Comm_free(&comm);
}

static void freed_communicator(void)
{
    MPI_Comm comm;
    call_t call;

    for (int i = 0; i < 5; i++) {
        MPI_Comm_dup(MPI_COMM_WORLD, &comm);
        post(&call, comm, i);
        MPI_Comm_free(&comm);
        wait_for(&call);
    }
}

static const struct {
    const char *name;
    void (*run)(void);
} table[] = {
    {"reverse", reverse},
    {"test_and_waitall", test_and_waitall},
    {"blocking_cuda", blocking_cuda},
    {"opposite_order", opposite_order},
    {"other_mpi_calls", other_mpi_calls},
    {"interleaved", interleaved},
    {"freed_communicator", freed_communicator},
};

int main(int argc, char **argv)
{
    t_init(&argc, &argv, MPI_THREAD_SINGLE);
    for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
        if (argc > 1 && strcmp(argv[1], table[i].name) != 0)
            continue;
        t_case("%s", table[i].name);
        table[i].run();
    }
    return t_finish();
}
