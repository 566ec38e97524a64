/*
 * One float, as the very first call after MPI_Init, and which path it took:
 *   path [-i] [-c COUNT] [-h] EXPECTED
 * EXPECTED: the text of the performance variable last_path, or its beginning. -i: MPI_Iallreduce;
 * -h: host buffers; -c: more elements, all 1.
 */
#include "harness.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static bool nonblocking, host_buffers;
static size_t count = 1;

static void check_all(const float *result)
{
    for (size_t i = 0; i < count; i++)
        if (result[i] != (float)t_size) {
            t_check(false, "element %zu is %g, not %d", i, (double)result[i], t_size);
            return;
        }
    t_check(true, "right");
}

static void reduce(const void *send, void *recv)
{
    MPI_Request request;
    int rc;

    if (nonblocking) {
        rc = MPI_Iallreduce(send, recv, (int)count, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD, &request);
        t_check(rc == MPI_SUCCESS, "MPI_Iallreduce returned %d", rc);
        rc = MPI_Wait(&request, MPI_STATUS_IGNORE);
    } else {
        rc = MPI_Allreduce(send, recv, (int)count, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
    }
    t_check(rc == MPI_SUCCESS, "returned %d", rc);
}

int main(int argc, char **argv)
{
    char path[64];
    float *host, *send, *recv;
    int option;

    t_init(&argc, &argv, MPI_THREAD_SINGLE);
    while ((option = getopt(argc, argv, "ihc:")) != -1) {
        nonblocking = nonblocking || option == 'i';
        host_buffers = host_buffers || option == 'h';
        if (option == 'c')
            count = strtoul(optarg, NULL, 10);
    }
    if (optind >= argc || count == 0)
        t_fatal("usage: path [-i] [-h] [-c COUNT] EXPECTED");
    host = malloc(2 * count * sizeof(float));
    if (host == NULL)
        t_fatal("no memory");
    for (size_t i = 0; i < count; i++)
        host[i] = 1;
    send = host_buffers ? host : t_device_alloc(count * sizeof(float));
    recv = host_buffers ? host + count : t_device_alloc(count * sizeof(float));
    if (!host_buffers)
        t_upload(send, host, count * sizeof(float));
    reduce(send, recv);
    t_pvar_text("last_path", path, sizeof(path));
    if (!host_buffers) {
        t_download(host + count, recv, count * sizeof(float));
        t_device_free(send);
        t_device_free(recv);
    }
    check_all(host + count);
    t_check(strncmp(path, argv[optind], strlen(argv[optind])) == 0 &&
                (path[0] == '\0') == (argv[optind][0] == '\0'),
            "path is \"%s\", not \"%s\"", path, argv[optind]);
    if (t_rank == 0)
        printf("path \"%s\"\n", path);
    free(host);
    return t_finish();
}
