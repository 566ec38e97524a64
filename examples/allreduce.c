/*
 * The smallest program that gains from coll/gdr: each rank fills device memory, MPI reduces it.
 *
 *   mpicc -I$CUDA_HOME/include allreduce.c -o allreduce -L$CUDA_HOME/lib64 -lcudart
 *   mpirun -np 3 --mca coll gdr ./allreduce
 *
 * (With nvcc: nvcc -cudart shared -ccbin mpicc allreduce.c -o allreduce.) On a machine without a
 * GPU the same binary runs under the emulated driver: cuda-emu mpirun -np 3 ...; it must link the
 * CUDA runtime as a shared library for that.
 */
#include <cuda_runtime_api.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

enum { COUNT = 1000000 };

static void check(cudaError_t error, const char *what)
{
    if (error == cudaSuccess)
        return;
    fprintf(stderr, "%s: %s\n", what, cudaGetErrorString(error));
    MPI_Abort(MPI_COMM_WORLD, 1);
}

/* One device for each rank of a node, as far as there are devices. */
static void choose_device(void)
{
    MPI_Comm node;
    int rank, devices;

    MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &node);
    MPI_Comm_rank(node, &rank);
    MPI_Comm_free(&node);
    check(cudaGetDeviceCount(&devices), "cudaGetDeviceCount");
    check(cudaSetDevice(rank % devices), "cudaSetDevice");
}

/* Number of elements of `got` that are not the sum over all ranks of (rank + 1) * (i % 100). */
static int count_wrong(const float *got, int ranks)
{
    int ranks_sum = ranks * (ranks + 1) / 2, wrong = 0;

    for (int i = 0; i < COUNT; i++)
        wrong += got[i] != (float)(ranks_sum * (i % 100));
    return wrong;
}

int main(int argc, char *argv[])
{
    int rank, ranks, wrong, all_wrong;
    float *host = malloc(COUNT * sizeof(*host)), *device;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    choose_device();
    if (host == NULL)
        return MPI_Abort(MPI_COMM_WORLD, 1);

    for (int i = 0; i < COUNT; i++)
        host[i] = (float)((rank + 1) * (i % 100));
    check(cudaMalloc((void **)&device, COUNT * sizeof(*device)), "cudaMalloc");
    check(cudaMemcpy(device, host, COUNT * sizeof(*host), cudaMemcpyHostToDevice), "cudaMemcpy");

    MPI_Allreduce(MPI_IN_PLACE, device, COUNT, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);

    check(cudaMemcpy(host, device, COUNT * sizeof(*host), cudaMemcpyDeviceToHost), "cudaMemcpy");
    wrong = count_wrong(host, ranks);
    MPI_Reduce(&wrong, &all_wrong, 1, MPI_INT, MPI_SUM, 0, MPI_COMM_WORLD);
    if (rank == 0 && all_wrong == 0)
        printf("the sum over %d ranks of %d floats on the device is right\n", ranks, COUNT);
    else if (rank == 0)
        printf("WRONG: %d elements\n", all_wrong);

    check(cudaFree(device), "cudaFree");
    free(host);
    MPI_Finalize();
    return wrong != 0;
}
