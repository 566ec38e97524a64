/*
 * An application with many streams of its own: a card has few queues for them all, and what shares
 * one with a stream that waits, waits with it.  queues STREAMS: so many are made between the first
 * nonblocking and the first blocking call.
 */
#include "harness.h"

#include <cuda_runtime_api.h>
#include <stdio.h>
#include <stdlib.h>

enum { ROUNDS = 4, CALLS = 3, N = 40000 };

static void check(const float *device, int round)
{
    static float host[N];
    int bad = 0;

    t_download(host, device, sizeof(host));
    for (int i = 0; i < N; i++)
        bad += host[i] != (float)(t_size * (round + 1));
    t_check(bad == 0, "round %d: %d of %d elements are wrong", round, bad, N);
}

/* Blocking calls, alone and while nonblocking ones on another communicator are outstanding, which
 * the other ranks may wait for first. */
static void round_of_calls(float **device, MPI_Comm other, int round)
{
    static float host[N];
    MPI_Request requests[CALLS];

    for (int i = 0; i < N; i++)
        host[i] = (float)(round + 1);
    for (int c = 0; c <= CALLS; c++)
        t_upload(device[c], host, sizeof(host));
    for (int c = 0; c < CALLS; c++)
        MPI_Iallreduce(MPI_IN_PLACE, device[c], N, MPI_FLOAT, MPI_SUM, other, &requests[c]);
    if (t_rank % 2 == round % 2)
        MPI_Waitall(CALLS, requests, MPI_STATUSES_IGNORE);
    MPI_Allreduce(MPI_IN_PLACE, device[CALLS], N, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
    MPI_Waitall(CALLS, requests, MPI_STATUSES_IGNORE);
    for (int c = 0; c <= CALLS; c++)
        check(device[c], round);
}

int main(int argc, char **argv)
{
    float *device[CALLS + 1];
    MPI_Comm other;
    int streams;

    t_init(&argc, &argv, MPI_THREAD_SINGLE);
    streams = argc > 1 ? atoi(argv[1]) : 0;
    MPI_Comm_dup(MPI_COMM_WORLD, &other);
    for (int c = 0; c <= CALLS; c++)
        device[c] = t_device_alloc(N * sizeof(float));
    t_float_sum(other, 1, (float)t_size, true);
    for (int i = 0; i < streams; i++) {
        cudaStream_t stream;

        cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking); /* kept */
    }
    for (int round = 0; round < ROUNDS; round++) {
        t_case("%d streams, round %d", streams, round);
        round_of_calls(device, other, round);
    }
    for (int c = 0; c <= CALLS; c++)
        t_device_free(device[c]);
    MPI_Comm_free(&other);
    return t_finish();
}
