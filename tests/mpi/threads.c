/* MPI_THREAD_MULTIPLE: a communicator per thread, in any order; one for two threads' nonblocking.
 */
#include "harness.h"

#include <cuda_runtime_api.h>
#include <pthread.h>
#include <stdio.h>

enum { THREADS = 4, ROUNDS = 10 };

typedef struct work {
    MPI_Comm comm;
    int number;
    bool nonblocking;
} work_t;

/* No cudaSetDevice in the thread: its buffer is on device 0. */
static void *own_communicator(void *argument)
{
    const work_t *work = argument;

    for (int round = 0; round < ROUNDS; round++)
        t_float_sum(work->comm, (float)(work->number + 1), (float)(t_size * (work->number + 1)),
                    work->nonblocking);
    return NULL;
}

static void run(work_t *work, int n)
{
    pthread_t threads[THREADS];

    for (int t = 0; t < n; t++)
        if (pthread_create(&threads[t], NULL, own_communicator, &work[t]) != 0)
            t_fatal("pthread_create");
    for (int t = 0; t < n; t++)
        pthread_join(threads[t], NULL);
}

static void communicator_per_thread(bool nonblocking)
{
    work_t work[THREADS];

    for (int t = 0; t < THREADS; t++) {
        work[t] = (work_t){.number = t, .nonblocking = nonblocking};
        MPI_Comm_dup(MPI_COMM_WORLD, &work[t].comm);
    }
    run(work, THREADS);
    for (int t = 0; t < THREADS; t++)
        MPI_Comm_free(&work[t].comm);
}

/* The barrier makes the second thread's call come first on every other rank. */
typedef struct turn {
    pthread_barrier_t *barrier;
    MPI_Comm comm;
    bool first;
} turn_t;

static void *take_turn(void *argument)
{
    const turn_t *turn = argument;

    for (int round = 0; round < ROUNDS; round++) {
        double until = t_seconds() + (turn->first ? 0 : 0.002);

        pthread_barrier_wait(turn->barrier);
        while (t_seconds() < until)
            ;
        t_float_sum(turn->comm, 1, (float)t_size, false);
    }
    return NULL;
}

static void opposite_order(void)
{
    pthread_barrier_t barrier;
    pthread_t threads[2];
    turn_t turns[2];

    pthread_barrier_init(&barrier, NULL, 2);
    for (int t = 0; t < 2; t++) {
        turns[t] = (turn_t){.barrier = &barrier, .first = t == t_rank % 2};
        MPI_Comm_dup(MPI_COMM_WORLD, &turns[t].comm);
    }
    for (int t = 0; t < 2; t++)
        if (pthread_create(&threads[t], NULL, take_turn, &turns[t]) != 0)
            t_fatal("pthread_create");
    for (int t = 0; t < 2; t++) {
        pthread_join(threads[t], NULL);
        MPI_Comm_free(&turns[t].comm);
    }
    pthread_barrier_destroy(&barrier);
}

/* Equal contributions, so that it does not matter whose call meets whose. */
static void shared_communicator(void)
{
    work_t work[2];
    MPI_Comm comm;

    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    for (int t = 0; t < 2; t++)
        work[t] = (work_t){.comm = comm, .number = 0, .nonblocking = true};
    run(work, 2);
    MPI_Comm_free(&comm);
}

/* Communicators come and go in every thread, with several calls of each outstanding. */
static void *make_and_free(void *argument)
{
    enum { OUTSTANDING = 3, N = 3000 };
    const work_t *work = argument;
    static const float zero;

    for (int round = 0; round < ROUNDS; round++) {
        MPI_Request requests[OUTSTANDING];
        float *device[OUTSTANDING], last;
        MPI_Comm comm;

        MPI_Comm_dup(work->comm, &comm);
        for (int i = 0; i < OUTSTANDING; i++) {
            float value = (float)(work->number + i + 1);

            device[i] = t_device_alloc(N * sizeof(float));
            t_upload(device[i], &zero, sizeof(zero));
            t_upload(device[i] + N - 1, &value, sizeof(value));
            MPI_Iallreduce(MPI_IN_PLACE, device[i], N, MPI_FLOAT, MPI_SUM, comm, &requests[i]);
        }
        if (round % 2 == 0)
            t_float_sum(comm, 1, (float)t_size, false);
        MPI_Comm_free(&comm);
        MPI_Waitall(OUTSTANDING, requests, MPI_STATUSES_IGNORE);
        for (int i = 0; i < OUTSTANDING; i++) {
            t_download(&last, device[i] + N - 1, sizeof(last));
            t_check(last == (float)(t_size * (work->number + i + 1)), "sum %d is %g", i,
                    (double)last);
            t_device_free(device[i]);
        }
    }
    return NULL;
}

static void comings_and_goings(void)
{
    pthread_t threads[THREADS];
    work_t work[THREADS];

    for (int t = 0; t < THREADS; t++) {
        work[t] = (work_t){.number = 10 * t};
        MPI_Comm_dup(MPI_COMM_WORLD, &work[t].comm);
    }
    for (int t = 0; t < THREADS; t++)
        if (pthread_create(&threads[t], NULL, make_and_free, &work[t]) != 0)
            t_fatal("pthread_create");
    for (int t = 0; t < THREADS; t++) {
        pthread_join(threads[t], NULL);
        MPI_Comm_free(&work[t].comm);
    }
}

int main(int argc, char **argv)
{
    t_init(&argc, &argv, MPI_THREAD_MULTIPLE);
    cudaSetDevice(0);
    t_case("communicator per thread, first calls of the process");
    communicator_per_thread(false);
    t_case("communicator per thread, nonblocking");
    communicator_per_thread(true);
    t_case("opposite order, blocking");
    opposite_order();
    t_case("one communicator, two threads, nonblocking");
    shared_communicator();
    t_case("communicators that come and go in each thread");
    comings_and_goings();
    return t_finish();
}
