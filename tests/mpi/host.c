/* A program that knows nothing of CUDA, on host buffers; it must print nothing but its own line. */
#include <mpi.h>

#include <stdio.h>

static int check(MPI_Comm comm)
{
    MPI_Request request;
    float one = 1, sum = 0;
    long double wide = 1, wide_sum = 0;
    int size, bad = 0;

    MPI_Comm_size(comm, &size);
    MPI_Allreduce(&one, &sum, 1, MPI_FLOAT, MPI_SUM, comm);
    bad += sum != (float)size;
    sum = 1;
    MPI_Allreduce(MPI_IN_PLACE, &sum, 1, MPI_FLOAT, MPI_SUM, comm);
    bad += sum != (float)size;
    MPI_Allreduce(&wide, &wide_sum, 1, MPI_LONG_DOUBLE, MPI_SUM, comm);
    bad += wide_sum != (long double)size;
    sum = 0;
    MPI_Iallreduce(&one, &sum, 1, MPI_FLOAT, MPI_SUM, comm, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    return bad + (sum != (float)size);
}

int main(int argc, char **argv)
{
    int rank, bad;
    MPI_Comm other;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    bad = check(MPI_COMM_WORLD) + check(MPI_COMM_SELF);
    for (int i = 0; i < 20; i++) {
        MPI_Comm_split(MPI_COMM_WORLD, rank % 2, rank, &other);
        bad += check(other);
        MPI_Comm_free(&other);
    }
    MPI_Finalize();
    if (rank == 0)
        printf("host %s\n", bad == 0 ? "ok" : "wrong");
    return bad == 0 ? 0 : 1;
}
