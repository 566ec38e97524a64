/*
 * mpi_assert_memory_alloc_kinds. The buffers are managed memory, which counts as device memory and
 * which the CPU can read: that shows what gdr takes them for. (As a promise it is broken.)
 */
#include "harness.h"

#include <cuda_runtime_api.h>
#include <stdio.h>
#include <string.h>

static int *buffer; /* managed */

static void expect(MPI_Comm comm, const char *path)
{
    char text[64];
    int rc;

    *buffer = 1;
    rc = MPI_Allreduce(MPI_IN_PLACE, buffer, 1, MPI_INT, MPI_SUM, comm);
    t_check(rc == MPI_SUCCESS, "returned %d", rc);
    cudaDeviceSynchronize();
    t_check(*buffer == t_size, "%d is not %d", *buffer, t_size);
    t_pvar_text("last_path", text, sizeof(text));
    t_check(strncmp(text, path, strlen(path)) == 0, "path \"%s\", not \"%s\"", text, path);
}

static MPI_Info info_of(const char *value)
{
    MPI_Info info;

    MPI_Info_create(&info);
    MPI_Info_set(info, "mpi_assert_memory_alloc_kinds", value);
    return info;
}

/* After MPI_Comm_set_info: Open MPI 4.1 forgets a key there that nobody has subscribed to. */
static void expect_set(MPI_Comm comm, MPI_Info info, const char *path)
{
    MPI_Comm_set_info(comm, info);
    expect(comm, OMPI_MAJOR_VERSION >= 5 ? path : "gdr/");
}

static void expect_with(const char *value, const char *path)
{
    MPI_Info info = info_of(value);
    MPI_Comm made, set;

    MPI_Comm_dup_with_info(MPI_COMM_WORLD, info, &made);
    t_case("\"%s\", with it", value);
    expect(made, path);
    MPI_Comm_dup(MPI_COMM_WORLD, &set);
    t_case("\"%s\", before it", value);
    expect(set, "gdr/");
    t_case("\"%s\", set", value);
    expect_set(set, info, path);
    MPI_Info_free(&info);
    MPI_Comm_free(&set);
    MPI_Comm_free(&made);
}

/* A promise that is taken back, and one that a duplicate must not have. */
static void taken_back(void)
{
    MPI_Info promise = info_of("mpi,system"), other = info_of("mpi,system,cuda");
    MPI_Comm comm, copy;

    MPI_Comm_dup_with_info(MPI_COMM_WORLD, promise, &comm);
    MPI_Comm_dup(comm, &copy);
    t_case("a duplicate");
    expect(copy, "gdr/");
    t_case("taken back");
    expect(comm, "host");
    expect_set(comm, other, "gdr/");
    expect_set(comm, promise, "host");
    MPI_Info_free(&promise);
    MPI_Info_free(&other);
    MPI_Comm_free(&copy);
    MPI_Comm_free(&comm);
}

int main(int argc, char **argv)
{
    t_init(&argc, &argv, argc > 1 ? MPI_THREAD_MULTIPLE : MPI_THREAD_SINGLE); /* -t */
    if (cudaMallocManaged((void **)&buffer, sizeof(*buffer), cudaMemAttachGlobal) != cudaSuccess)
        t_fatal("no managed memory");
    expect_with("mpi,system", "host");
    expect_with("system,cuda:host", "host");
    expect_with("mpi,system,cuda", "gdr/");
    expect_with("cuda:device", "gdr/");
    expect_with("no such kind", "gdr/");
    taken_back();
    cudaFree(buffer);
    return t_finish();
}
