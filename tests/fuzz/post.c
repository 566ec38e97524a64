/* Requests are made elsewhere: NOLINTBEGIN(clang-analyzer-optin.mpi*) */
/* The MPI calls themselves. */
#include "tests/fuzz/call.h"

#include "tests/mpi/harness.h"

/* Open MPI 5.0 has it as MPI 4.0 does, though it still calls itself 3.1. */
#if MPI_VERSION >= 4 || (defined(OMPI_MAJOR_VERSION) && OMPI_MAJOR_VERSION >= 5)
#define ALLREDUCE_INIT MPI_Allreduce_init
#else
#include <mpi-ext.h>
#define ALLREDUCE_INIT MPIX_Allreduce_init
#endif

static const char *const names[FZ_COLLS] = {
    "allreduce", "reduce", "bcast", "allgather", "gather",
    "scatter",   "alltoall", "scan", "exscan",   "reduce_scatter_block"};

const char *fz_call_name(const fz_step_t *step)
{
    return names[step->coll];
}

static int blocking(const fz_call_t *c, const void *send, void *recv)
{
    int n = (int)c->view.count, root = c->view.root;
    MPI_Datatype type = c->type->mpi;
    MPI_Op op = c->op.mpi;

    switch (c->step.coll) {
    case FZ_ALLREDUCE:
        return MPI_Allreduce(send, recv, n, type, op, c->comm);
    case FZ_REDUCE:
        return MPI_Reduce(send, recv, n, type, op, root, c->comm);
    case FZ_BCAST:
        return MPI_Bcast(recv, n, type, root, c->comm);
    case FZ_ALLGATHER:
        return MPI_Allgather(send, n, type, recv, n, type, c->comm);
    case FZ_GATHER:
        return MPI_Gather(send, n, type, recv, n, type, root, c->comm);
    case FZ_SCATTER:
        return MPI_Scatter(send, n, type, recv, n, type, root, c->comm);
    case FZ_ALLTOALL:
        return MPI_Alltoall(send, n, type, recv, n, type, c->comm);
    case FZ_SCAN:
        return MPI_Scan(send, recv, n, type, op, c->comm);
    case FZ_EXSCAN:
        return MPI_Exscan(send, recv, n, type, op, c->comm);
    case FZ_REDUCE_SCATTER_BLOCK:
        return MPI_Reduce_scatter_block(send, recv, n, type, op, c->comm);
    case FZ_COLLS:
        break;
    }
    return MPI_ERR_ARG;
}

static int nonblocking(fz_call_t *c, const void *send, void *recv)
{
    int n = (int)c->view.count, root = c->view.root;
    MPI_Datatype type = c->type->mpi;
    MPI_Request *request = &c->request;
    MPI_Op op = c->op.mpi;

    switch (c->step.coll) {
    case FZ_ALLREDUCE:
        return MPI_Iallreduce(send, recv, n, type, op, c->comm, request);
    case FZ_REDUCE:
        return MPI_Ireduce(send, recv, n, type, op, root, c->comm, request);
    case FZ_BCAST:
        return MPI_Ibcast(recv, n, type, root, c->comm, request);
    case FZ_ALLGATHER:
        return MPI_Iallgather(send, n, type, recv, n, type, c->comm, request);
    case FZ_GATHER:
        return MPI_Igather(send, n, type, recv, n, type, root, c->comm, request);
    case FZ_SCATTER:
        return MPI_Iscatter(send, n, type, recv, n, type, root, c->comm, request);
    case FZ_ALLTOALL:
        return MPI_Ialltoall(send, n, type, recv, n, type, c->comm, request);
    case FZ_SCAN:
        return MPI_Iscan(send, recv, n, type, op, c->comm, request);
    case FZ_EXSCAN:
        return MPI_Iexscan(send, recv, n, type, op, c->comm, request);
    case FZ_REDUCE_SCATTER_BLOCK:
        return MPI_Ireduce_scatter_block(send, recv, n, type, op, c->comm, request);
    case FZ_COLLS:
        break;
    }
    return MPI_ERR_ARG;
}

static int persistent(fz_call_t *c, const void *send, void *recv)
{
    int rc = ALLREDUCE_INIT(send, recv, (int)c->view.count, c->type->mpi, c->op.mpi, c->comm,
                            MPI_INFO_NULL, &c->request);

    return rc == MPI_SUCCESS ? MPI_Start(&c->request) : rc;
}

int fz_post(fz_call_t *call, const void *send, void *recv)
{
    switch (call->step.way) {
    case FZ_BLOCKING:
        return blocking(call, send, recv);
    case FZ_NONBLOCKING:
        return nonblocking(call, send, recv);
    case FZ_PERSISTENT:
        break;
    }
    return persistent(call, send, recv);
}
/* NOLINTEND(clang-analyzer-optin.mpi*) */
