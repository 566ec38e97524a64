/*
 * Allreduce of 1 B to 4 MiB: blocking and not, in place and not, every element checked. The last
 * line says what went over the network:
 *     sweep [-l LARGEST]
 */
#include "../mpi/harness.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { PERIOD = 127, LARGE = 300000 };

static const size_t sizes[] = {1,     3,     8,      60,      1000,    4096,    20000,
                               65535, 65536, 262144, 1000000, 1048576, 4194300, 4194304};
static signed char *host, *image, *send, *recv;
static uint64_t calls, host_bytes;

static signed char input(int rank, size_t i)
{
    return (signed char)((i % PERIOD + (size_t)rank * 3) % 31);
}

static signed char expected(size_t i)
{
    int sum = 0;

    for (int rank = 0; rank < t_size; rank++)
        sum += input(rank, i);
    return (signed char)sum;
}

static void call(const void *from, size_t bytes, bool nonblocking)
{
    uint64_t before = t_emu_host_bytes();
    MPI_Request request;
    int rc;

    if (nonblocking) {
        rc = MPI_Iallreduce(from, recv, (int)bytes, MPI_SIGNED_CHAR, MPI_SUM, MPI_COMM_WORLD,
                            &request);
        t_check(rc == MPI_SUCCESS, "MPI_Iallreduce returned %d", rc);
        rc = MPI_Wait(&request, MPI_STATUS_IGNORE);
    } else {
        rc = MPI_Allreduce(from, recv, (int)bytes, MPI_SIGNED_CHAR, MPI_SUM, MPI_COMM_WORLD);
    }
    t_check(rc == MPI_SUCCESS, "returned %d", rc);
    /* The first call makes the connections and looks whether puts arrive. */
    if (calls++ != 0)
        host_bytes += t_emu_host_bytes() - before;
}

static void one(size_t bytes, bool nonblocking, bool in_place)
{
    signed char table[PERIOD];
    size_t bad = 0;

    t_case("%zu bytes%s%s", bytes, nonblocking ? ", nonblocking" : "",
           in_place ? ", in place" : "");
    for (size_t i = 0; i < bytes; i++)
        host[i] = input(t_rank, i);
    memset(image, 0x5a, bytes + 1);
    t_upload(send, host, bytes);
    t_upload(recv, image, bytes + 1);
    if (in_place)
        t_upload(recv, host, bytes);
    call(in_place ? MPI_IN_PLACE : (void *)send, bytes, nonblocking);
    t_download(image, recv, bytes + 1);
    for (size_t i = 0; i < PERIOD; i++)
        table[i] = expected(i);
    for (size_t i = 0; i < bytes; i++)
        bad += image[i] != table[i % PERIOD];
    t_check(bad == 0, "%zu of %zu elements are wrong", bad, bytes);
    t_check(image[bytes] == 0x5a, "the byte behind the result has changed");
}

static void all(size_t last)
{
    for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++)
        for (int how = 0; how < 4; how += sizes[i] < LARGE ? 1 : 3)
            if (sizes[i] <= last)
                one(sizes[i], (how & 1) != 0, (how & 2) != 0);
}

static void say(void)
{
    unsigned long long own[4] = {t_pvar("puts"), t_pvar("put_bytes"), host_bytes,
                                 t_pvar("staged_bytes")};
    unsigned long long sum[4];
    char path[64];
    int length;
    char node[MPI_MAX_PROCESSOR_NAME];
    MPI_Comm here;

    MPI_Get_processor_name(node, &length);
    t_pvar_text("last_path", path, sizeof(path));
    MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &here);
    MPI_Reduce(own, sum, 4, MPI_UNSIGNED_LONG_LONG, MPI_SUM, 0, here);
    MPI_Comm_rank(here, &length);
    if (length == 0)
        printf("node %s: puts %llu put_bytes %llu host_bytes %llu staged_bytes %llu path %s\n",
               node, sum[0], sum[1], sum[2], sum[3], path);
    MPI_Comm_free(&here);
    t_case("path");
    t_check(own[3] == 0 && strncmp(path, "gdr/", 4) == 0, "path %s, %llu bytes staged", path,
            own[3]);
}

int main(int argc, char **argv)
{
    size_t last = 4194304;
    int option;

    t_init(&argc, &argv, MPI_THREAD_SINGLE);
    while ((option = getopt(argc, argv, "l:")) != -1)
        last = option == 'l' ? strtoul(optarg, NULL, 10) : last;
    host = malloc(last + 1);
    image = malloc(last + 1);
    if (host == NULL || image == NULL)
        t_fatal("no memory");
    send = t_device_alloc(last + 1);
    recv = t_device_alloc(last + 1);
    all(last);
    say();
    t_device_free(send);
    t_device_free(recv);
    free(host);
    free(image);
    return t_finish();
}
