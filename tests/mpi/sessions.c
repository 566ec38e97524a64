/*
 * Sessions: communicators that do not descend from MPI_COMM_WORLD, without MPI_Init, beside it, and
 * after MPI_Finalize. One case a run.
 */
#include "harness.h"

#include <cuda_runtime_api.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#if OMPI_MAJOR_VERSION >= 5
typedef struct opened {
    MPI_Session session;
    MPI_Comm comm; /* of all processes */
} opened_t;

static opened_t open_session(const char *tag)
{
    opened_t opened;
    MPI_Group group;

    MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &opened.session);
    MPI_Group_from_session_pset(opened.session, "mpi://WORLD", &group);
    MPI_Comm_create_from_group(group, tag, MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &opened.comm);
    MPI_Group_free(&group);
    MPI_Comm_rank(opened.comm, &t_rank);
    MPI_Comm_size(opened.comm, &t_size);
    return opened;
}

static void close_session(opened_t *opened)
{
    MPI_Comm_free(&opened->comm);
    MPI_Session_finalize(&opened->session);
}

static void sums(MPI_Comm comm)
{
    float expected = (float)(t_size * (t_size + 1) / 2);
    MPI_Comm other, half;
    int size;

    t_float_sum(comm, (float)(t_rank + 1), expected, false);
    t_float_sum(comm, (float)(t_rank + 1), expected, true);
    MPI_Comm_dup(comm, &other);
    t_float_sum(other, (float)(t_rank + 1), expected, false);
    MPI_Comm_split(comm, t_rank % 2, 0, &half);
    MPI_Comm_size(half, &size);
    t_float_sum(half, 1, (float)size, true);
    t_float_sum(comm, 2, (float)(2 * t_size), true);
    MPI_Comm_free(&half);
    MPI_Comm_free(&other);
}

/* They overlap: Open MPI 5.0.7 itself does not always survive a session after the last one. */
static int alone(void)
{
    opened_t first = open_session("coll-gdr.first"), second;

    sums(first.comm);
    second = open_session("coll-gdr.second");
    sums(second.comm);
    sums(first.comm);
    close_session(&first);
    sums(second.comm);
    close_session(&second);
    if (t_rank == 0)
        printf("done\n");
    return t_status();
}

static int beside_world(void)
{
    opened_t opened;
    char path[64];

    t_init(NULL, NULL, MPI_THREAD_SINGLE);
    t_float_sum(MPI_COMM_WORLD, 1, (float)t_size, false);
    opened = open_session("coll-gdr.beside");
    sums(opened.comm);
    t_float_sum(MPI_COMM_WORLD, 1, (float)t_size, true);
    t_pvar_text("last_path", path, sizeof(path));
    t_check(strncmp(path, "gdr/", 4) == 0, "MPI_COMM_WORLD's path is \"%s\"", path);
    sums(opened.comm);
    close_session(&opened);
    sums(MPI_COMM_WORLD);
    return t_finish();
}

static int after_world(void)
{
    opened_t opened, later;

    t_init(NULL, NULL, MPI_THREAD_SINGLE);
    t_float_sum(MPI_COMM_WORLD, 1, (float)t_size, false);
    opened = open_session("coll-gdr.after");
    MPI_Finalize();
    sums(opened.comm);
    later = open_session("coll-gdr.later"); /* may lie where MPI_COMM_WORLD's instance was */
    sums(later.comm);
    close_session(&opened);
    sums(later.comm);
    close_session(&later);
    if (t_rank == 0)
        printf("done\n");
    return t_status();
}

static int before_world(void)
{
    opened_t opened = open_session("coll-gdr.before");

    sums(opened.comm);
    t_init(NULL, NULL, MPI_THREAD_SINGLE);
    sums(MPI_COMM_WORLD);
    sums(opened.comm);
    close_session(&opened);
    return t_finish();
}

static void choose_device(void)
{
    const char *rank = getenv("OMPI_COMM_WORLD_LOCAL_RANK");
    int devices = 0;

    if (rank != NULL && cudaGetDeviceCount(&devices) == cudaSuccess && devices > 0)
        cudaSetDevice(atoi(rank) % devices);
}

int main(int argc, char **argv)
{
    static const struct {
        const char *name;
        int (*run)(void);
    } table[] = {{"alone", alone},
                 {"beside_world", beside_world},
                 {"after_world", after_world},
                 {"before_world", before_world}};

    t_guard();
    choose_device();
    for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++)
        if (argc == 2 && strcmp(argv[1], table[i].name) == 0) {
            t_case("%s", argv[1]);
            return table[i].run();
        }
    fprintf(stderr, "usage: sessions CASE\n");
    return 2;
}
#else
int main(void)
{
    printf("Open MPI %d.%d has no Sessions\n", OMPI_MAJOR_VERSION, OMPI_MINOR_VERSION);
    return 77;
}
#endif
