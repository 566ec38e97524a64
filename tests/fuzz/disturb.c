/* Requests are made elsewhere: NOLINTBEGIN(clang-analyzer-optin.mpi*) */
#include "tests/fuzz/disturb.h"

#include "tests/fuzz/memory.h"
#include "tests/mpi/harness.h"

#include <cuda_runtime_api.h>
#include <unistd.h>

/* Work on a stream of the program's own, which nobody waits for here. */
static void stream_work(void)
{
    cudaStream_t stream;
    void *memory = t_device_alloc(1 << 16);

    fz_cuda(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), "cudaStreamCreate");
    fz_cuda(cudaMemsetAsync(memory, 1, 1 << 16, stream), "cudaMemsetAsync");
    fz_cuda(cudaStreamDestroy(stream), "cudaStreamDestroy");
    t_device_free(memory);
}

static void pinned_memory(void)
{
    void *memory;

    fz_cuda(cudaMallocHost(&memory, 1 << 16), "cudaMallocHost");
    fz_cuda(cudaFreeHost(memory), "cudaFreeHost");
}

static void other_device(uint64_t random)
{
    int devices;

    fz_cuda(cudaGetDeviceCount(&devices), "cudaGetDeviceCount");
    fz_cuda(cudaSetDevice((int)(random % (uint64_t)devices)), "cudaSetDevice");
}

void fz_disturb(uint64_t random)
{
    int flag;

    t_case("doing something else, %d", (int)(random % 9));
    switch (random % 9) {
    case 0:
        usleep((useconds_t)(random / 9 % 3000));
        break;
    case 1:
        fz_cuda(cudaDeviceSynchronize(), "cudaDeviceSynchronize");
        break;
    case 2:
        t_device_free(t_device_alloc(1 << 20));
        break;
    case 3:
        pinned_memory();
        break;
    case 4:
        stream_work();
        break;
    case 5:
        other_device(random / 9);
        break;
    case 6:
        MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE);
        break;
    default: /* nothing: other ranks do */
        break;
    }
}

void fz_messages(uint64_t random)
{
    int next = (t_rank + 1) % t_size, out[2] = {t_rank, (int)(random % 1000)}, in[2] = {-1, -1};
    int before = (t_rank + t_size - 1) % t_size;
    MPI_Request requests[3];

    t_case("messages around the ring, %llx", (unsigned long long)random);
    MPI_Irecv(in, 2, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &requests[0]);
    MPI_Isend(out, 2, MPI_INT, next, out[1], MPI_COMM_WORLD, &requests[1]);
    requests[2] = MPI_REQUEST_NULL;
    if (random % 3 == 0)
        MPI_Ibarrier(MPI_COMM_WORLD, &requests[2]);
    MPI_Waitall(3, requests, MPI_STATUSES_IGNORE);
    t_check(in[0] == before && in[1] == out[1], "received %d, %d from %d", in[0], in[1], before);
}
/* NOLINTEND(clang-analyzer-optin.mpi*) */
