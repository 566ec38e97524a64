/*
 * Communicators by the thousand: what each of them took comes back.  churn [-n ROUNDS] NAME...
 */
#include "harness.h"

#include <cuda_runtime_api.h>
#include <dirent.h>
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { LARGE = 20000, WARM_UP = 200 };

/* May grow by so much whatever the number of rounds: caches, the allocator's own fragments. */
static const size_t slack = (size_t)512 << 10;

static int rounds = 2000;
static float *device;

typedef struct usage {
    size_t device, descriptors, resident, heap;
} usage_t;

static size_t descriptors(void)
{
    DIR *dir = opendir("/proc/self/fd");
    size_t n = 0;

    while (dir != NULL && readdir(dir) != NULL)
        n++;
    if (dir != NULL)
        closedir(dir);
    return n;
}

static size_t resident(void)
{
    FILE *file = fopen("/proc/self/statm", "r");
    unsigned long total, pages = 0;

    if (file == NULL || fscanf(file, "%lu %lu", &total, &pages) != 2)
        t_fatal("/proc/self/statm cannot be read");
    fclose(file);
    return pages * (size_t)sysconf(_SC_PAGESIZE);
}

static usage_t measure(void)
{
    size_t left, total;
    usage_t usage;

    MPI_Barrier(MPI_COMM_WORLD);
    cudaMemGetInfo(&left, &total);
    usage.device = total - left;
    usage.descriptors = descriptors();
    usage.resident = resident();
    usage.heap = mallinfo2().uordblks;
    return usage;
}

static void call(MPI_Comm comm, int round)
{
    MPI_Allreduce(MPI_IN_PLACE, device, round % 10 == 9 ? LARGE : 1, MPI_FLOAT, MPI_SUM, comm);
}

static void dup_free(int round)
{
    MPI_Comm comm;

    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    call(comm, round);
    MPI_Comm_free(&comm);
}

/* Other members, other orders, and ranks that are left out. */
static void split_free(int round)
{
    int color = round % 3 == 0 ? t_rank % 2 : round % 3 == 1 && t_rank == 0 ? MPI_UNDEFINED : 0;
    MPI_Comm comm;

    MPI_Comm_split(MPI_COMM_WORLD, color, round % 2 == 0 ? t_rank : -t_rank, &comm);
    if (comm == MPI_COMM_NULL)
        return;
    call(comm, round);
    MPI_Comm_free(&comm);
}

static void pending_free(int round)
{
    MPI_Request request;
    MPI_Comm comm;

    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    MPI_Iallreduce(MPI_IN_PLACE, device, round % 10 == 9 ? LARGE : 1, MPI_FLOAT, MPI_SUM, comm,
                   &request);
    MPI_Comm_free(&comm);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
}

static void disconnect(int round)
{
    MPI_Comm comm;

    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    call(comm, round);
    MPI_Comm_disconnect(&comm);
}

/* Staged: every second one finds no lane, or a type that the device lacks. */
static void staged(int round)
{
    MPI_Comm comm;

    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    MPI_Allreduce(MPI_IN_PLACE, device, 1 + round % 7, MPI_LONG_DOUBLE, MPI_SUM, comm);
    MPI_Comm_free(&comm);
}

static const struct {
    const char *name;
    void (*run)(int round);
} table[] = {
    {"dup_free", dup_free},     {"split_free", split_free}, {"pending_free", pending_free},
    {"disconnect", disconnect}, {"staged", staged},
};

static void flat(const char *what, size_t before, size_t after, size_t allowed)
{
    t_check(after <= before + allowed, "%s has grown from %zu to %zu in %d rounds", what, before,
            after, rounds);
}

static void churn(void (*run)(int round))
{
    usage_t before, after;

    for (int i = 0; i < WARM_UP; i++)
        run(i);
    before = measure();
    for (int i = 0; i < rounds; i++)
        run(i);
    after = measure();
    flat("device memory", before.device, after.device, 0);
    flat("the number of descriptors", before.descriptors, after.descriptors, 0);
    flat("resident memory", before.resident, after.resident, slack);
    if (t_rank == 0)
        printf("device %zu -> %zu, descriptors %zu -> %zu, resident %zu -> %zu, heap %zu -> %zu\n",
               before.device, after.device, before.descriptors, after.descriptors, before.resident,
               after.resident, before.heap, after.heap);
}

int main(int argc, char **argv)
{
    int first = 1;

    t_init(&argc, &argv, MPI_THREAD_SINGLE);
    if (argc > 2 && strcmp(argv[1], "-n") == 0) {
        rounds = atoi(argv[2]);
        first = 3;
    }
    device = t_device_alloc(LARGE * sizeof(float));
    cudaMemset(device, 0, LARGE * sizeof(float));
    for (int a = first; a < argc; a++)
        for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++)
            if (strcmp(argv[a], table[i].name) == 0) {
                t_case("%s", table[i].name);
                churn(table[i].run);
            }
    t_device_free(device);
    return t_finish();
}
