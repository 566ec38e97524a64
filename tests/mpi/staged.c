/* Collectives on device buffers, beyond one call at a time:  staged NAME... */
#include "harness.h"

#include <cuda_runtime_api.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_RANKS = 8 };

/* ---- outstanding calls ---------------------------------------------------------------------- */

/* Eight at once, of all kinds, device calls between staged ones, waited for in reverse. */
static void outstanding(void)
{
    enum { CALLS = 8, INTS = 64, ROUNDS = 10 };
    int *in[CALLS], *out[CALLS], host[INTS], last = t_size - 1;
    MPI_Request requests[CALLS];
    MPI_Comm comm;

    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    for (int i = 0; i < CALLS; i++) {
        in[i] = t_device_alloc(sizeof(host));
        out[i] = t_device_alloc(sizeof(host));
    }
    for (int round = 0; round < ROUNDS; round++) {
        int sum = t_size * round + t_size * last / 2;
        const int want[CALLS] = {sum,
                                 last + round, /* bcast from the last */
                                 sum,
                                 round, /* allgather: of rank 0 */
                                 (t_rank + 1) * round + t_rank * (t_rank + 1) / 2, /* scan */
                                 sum,
                                 round, /* alltoall: of rank 0 */
                                 sum};

        t_case("outstanding, round %d", round);
        for (int i = 0; i < CALLS; i++) {
            for (int k = 0; k < INTS; k++)
                host[k] = t_rank + round;
            t_upload(in[i], host, sizeof(host));
            if (i == 1 && t_rank == last)
                t_upload(out[i], host, sizeof(host));
        }
        MPI_Iallreduce(in[0], out[0], INTS, MPI_INT, MPI_SUM, comm, &requests[0]);
        MPI_Ibcast(out[1], INTS, MPI_INT, last, comm, &requests[1]);
        MPI_Iallreduce(in[2], out[2], INTS, MPI_INT, MPI_SUM, comm, &requests[2]);
        MPI_Iallgather(in[3], 4, MPI_INT, out[3], 4, MPI_INT, comm, &requests[3]);
        MPI_Iscan(in[4], out[4], INTS, MPI_INT, MPI_SUM, comm, &requests[4]);
        MPI_Iallreduce(in[5], out[5], INTS, MPI_INT, MPI_SUM, comm, &requests[5]);
        MPI_Ialltoall(in[6], 4, MPI_INT, out[6], 4, MPI_INT, comm, &requests[6]);
        MPI_Iallreduce(in[7], out[7], INTS, MPI_INT, MPI_SUM, comm, &requests[7]);
        for (int i = CALLS - 1; i >= 0; i--)
            MPI_Wait(&requests[i], MPI_STATUS_IGNORE);
        for (int i = 0; i < CALLS; i++) {
            t_download(host, out[i], sizeof(host));
            t_check(host[0] == want[i], "call %d gave %d, not %d", i, host[0], want[i]);
        }
    }
    MPI_Comm_free(&comm);
    for (int i = 0; i < CALLS; i++) {
        t_device_free(in[i]);
        t_device_free(out[i]);
    }
}

/* The communicator is freed before the calls are done. */
static void freed(void)
{
    int value, *device = t_device_alloc(4);
    MPI_Request request;
    MPI_Comm comm;

    for (int k = 0; k < 20; k++) {
        value = 100 * t_rank + k;
        t_upload(device, &value, 4);
        MPI_Comm_dup(MPI_COMM_WORLD, &comm);
        MPI_Ibcast(device, 1, MPI_INT, t_size - 1, comm, &request);
        MPI_Comm_free(&comm);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        t_download(&value, device, 4);
        t_check(value == 100 * (t_size - 1) + k, "call %d gave %d", k, value);
    }
    t_device_free(device);
}

/* What the NULL stream still has to write is sent; what comes is there for any stream. */
static void ordering(void)
{
    int *device = t_device_alloc(4), *pinned;
    MPI_Request request;
    cudaStream_t stream;

    if (cudaMallocHost((void **)&pinned, 4) != cudaSuccess)
        t_fatal("cudaMallocHost");
    cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking);
    for (int k = 0; k < 100; k++) {
        int root = k % t_size, value = 1000 * t_rank + k;

        t_case("ordering, round %d", k);
        cudaMemcpy(device, &value, 4, cudaMemcpyHostToDevice);
        if (k % 2 == 0) {
            MPI_Bcast(device, 1, MPI_INT, root, MPI_COMM_WORLD);
        } else {
            MPI_Ibcast(device, 1, MPI_INT, root, MPI_COMM_WORLD, &request);
            MPI_Wait(&request, MPI_STATUS_IGNORE);
        }
        cudaMemcpyAsync(pinned, device, 4, cudaMemcpyDeviceToHost, stream);
        cudaStreamSynchronize(stream);
        if (!t_check(*pinned == 1000 * root + k, "it is %d, not %d", *pinned, 1000 * root + k))
            break;
    }
    cudaStreamDestroy(stream);
    cudaFreeHost(pinned);
    t_device_free(device);
}

/* ---- strange buffers ------------------------------------------------------------------------ */

/* MPI_BOTTOM and addresses in the type: on the host, and on two pieces of device memory. */
static void bottom(void)
{
    int here = t_rank == 0 ? 5 : 0, host[8] = {0}, *first = t_device_alloc(32);
    int *second = t_device_alloc(32);
    const int lengths[3] = {1, 4, 2};
    MPI_Aint places[3];
    MPI_Request request;
    MPI_Datatype type;

    for (int k = 0; k < 8; k++)
        host[k] = t_rank == 0 ? 10 + k : -1;
    t_upload(first, host, 32);
    t_upload(second, host, 32);
    MPI_Get_address(&here, &places[0]);
    MPI_Get_address(first, &places[1]);
    MPI_Get_address(second + 3, &places[2]);
    MPI_Type_create_hindexed(3, lengths, places, MPI_INT, &type);
    MPI_Type_commit(&type);
    MPI_Bcast(MPI_BOTTOM, 1, type, 0, MPI_COMM_WORLD);
    t_check(here == 5, "the int on the host is %d", here);
    t_download(host, first, 32);
    t_check(host[0] == 10 && host[3] == 13 && host[4] == (t_rank == 0 ? 14 : -1),
            "the first piece is %d ... %d, %d", host[0], host[3], host[4]);
    t_download(host, second, 32);
    t_check(host[3] == 13 && host[4] == 14 && host[2] == (t_rank == 0 ? 12 : -1) &&
                host[5] == (t_rank == 0 ? 15 : -1),
            "the second piece is %d, %d ... %d, %d", host[2], host[3], host[4], host[5]);
    here += t_rank == 0;
    MPI_Ibcast(MPI_BOTTOM, 1, type, 0, MPI_COMM_WORLD, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    t_check(here == 6, "the int on the host has become %d", here);
    MPI_Type_free(&type);
    t_device_free(first);
    t_device_free(second);
}

/* One number here and one there. */
static ptrdiff_t here, there;

static void add_apart(void *in, void *inout, int *count, MPI_Datatype *type)
{
    (void)type;
    (void)count;
    *(int *)((char *)inout + here) += *(int *)((char *)in + here);
    *(int *)((char *)inout + there) += *(int *)((char *)in + there);
}

/* MPI_Allreduce of two numbers on the device, by their addresses. */
static void bottom_sum(void)
{
    int values[2] = {t_rank, 10 * t_rank}, sum = t_size * (t_size - 1) / 2;
    int *device[2] = {t_device_alloc(4), t_device_alloc(4)};
    const int ones[2] = {1, 1};
    MPI_Aint places[2];
    MPI_Datatype type;
    MPI_Op op;

    for (int i = 0; i < 2; i++) {
        t_upload(device[i], &values[i], 4);
        MPI_Get_address(device[i], &places[i]);
    }
    here = places[0];
    there = places[1];
    MPI_Type_create_hindexed(2, ones, places, MPI_INT, &type);
    MPI_Type_commit(&type);
    MPI_Op_create(add_apart, 1, &op);
    MPI_Allreduce(MPI_IN_PLACE, MPI_BOTTOM, 1, type, op, MPI_COMM_WORLD);
    for (int i = 0; i < 2; i++) {
        t_download(&values[i], device[i], 4);
        t_check(values[i] == (i == 0 ? 1 : 10) * sum, "sum %d is %d", i, values[i]);
        t_device_free(device[i]);
    }
    MPI_Op_free(&op);
    MPI_Type_free(&type);
}

/* Two calls at once on the columns of one matrix: neither writes the other's. */
static void columns(void)
{
    enum { ROWS = 100 };
    int host[2 * ROWS], *device = t_device_alloc(sizeof(host)), last = t_size - 1;
    MPI_Request requests[2];
    MPI_Datatype column;

    MPI_Type_vector(ROWS, 1, 2, MPI_INT, &column);
    MPI_Type_commit(&column);
    for (int i = 0; i < 2 * ROWS; i++)
        host[i] = 1000 * t_rank + i;
    t_upload(device, host, sizeof(host));
    MPI_Ibcast(device, 1, column, 0, MPI_COMM_WORLD, &requests[0]);
    MPI_Ibcast(device + 1, 1, column, last, MPI_COMM_WORLD, &requests[1]);
    MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    t_download(host, device, sizeof(host));
    for (int i = 0; i < 2 * ROWS; i++)
        if (!t_check(host[i] == (i % 2 == 0 ? 0 : 1000 * last) + i, "int %d is %d", i, host[i]))
            break;
    MPI_Type_free(&column);
    t_device_free(device);
}

/* Pieces that lie far apart: memory is taken for them alone, and what lies between is not read. */
static void far_apart(void)
{
    enum { STEP = 8 << 20 };
    size_t bytes = (size_t)STEP * (size_t)t_size + 64;
    char *send = t_device_alloc(bytes), *recv = t_device_alloc(bytes);
    int counts[MAX_RANKS], places[MAX_RANKS];
    uint64_t staged = t_pvar("staged_bytes");

    cudaMemset(send, 0, bytes);
    cudaMemset(recv, 0x5a, bytes);
    for (int i = 0; i < t_size; i++) {
        char value = (char)(10 * t_rank + i);

        counts[i] = 1;
        places[i] = STEP * i + i;
        t_upload(send + places[i], &value, 1);
    }
    MPI_Alltoallv(send, counts, places, MPI_CHAR, recv, counts, places, MPI_CHAR, MPI_COMM_WORLD);
    for (int i = 0; i < t_size; i++) {
        char got[2];

        t_download(got, recv + places[i], 2);
        t_check(got[0] == (char)(10 * i + t_rank) && got[1] == 0x5a, "from %d came %d, %d", i,
                got[0], got[1]);
    }
    t_check(t_pvar("staged_bytes") == staged + 2 * (uint64_t)t_size, "%d bytes were staged",
            (int)(t_pvar("staged_bytes") - staged));
    t_device_free(send);
    t_device_free(recv);
}

/* As Fortran's binding does: the types' array is gone when the call returns. */
static void short_lists(void)
{
    int host[MAX_RANKS], *send = t_device_alloc(sizeof(host)), *recv = t_device_alloc(sizeof(host));
    int ones[MAX_RANKS], places[MAX_RANKS];
    MPI_Datatype *types = malloc(MAX_RANKS * sizeof(MPI_Datatype));
    MPI_Request requests[2];
    MPI_Comm comm;

    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    for (int i = 0; i < MAX_RANKS; i++) {
        host[i] = 10 * t_rank + i;
        ones[i] = 1;
        places[i] = 4 * i;
        types[i] = MPI_INT;
    }
    t_upload(send, host, sizeof(host));
    if (t_rank == 0)
        for (double end = t_seconds() + 0.02; t_seconds() < end;)
            ;
    /* The second waits behind the first, of which nothing is known yet. */
    MPI_Iallreduce(MPI_IN_PLACE, recv, 1, MPI_INT, MPI_MAX, comm, &requests[0]);
    MPI_Ialltoallw(send, ones, places, types, recv, ones, places, types, comm, &requests[1]);
    memset(types, 0x11, MAX_RANKS * sizeof(MPI_Datatype));
    free(types);
    MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    t_download(host, recv, sizeof(host));
    for (int i = 1; i < t_size; i++)
        t_check(host[i] == 10 * i + t_rank, "from %d came %d", i, host[i]);
    MPI_Comm_free(&comm);
    t_device_free(send);
    t_device_free(recv);
}

/* ---- MPI_Reduce_local ----------------------------------------------------------------------- */

static void subtract(void *in, void *inout, int *count, MPI_Datatype *type)
{
    (void)type;
    for (size_t i = 0; i < (size_t)*count; i++)
        ((int *)inout)[2 * i] = ((int *)in)[2 * i] - ((int *)inout)[2 * i];
}

static void reduce_local(void)
{
    int in_host[8] = {100, 1, 200, 2, 300, 3, 400, 4}, host[8], sum[4];
    int *in_device = t_device_alloc(32), *device = t_device_alloc(32);
    MPI_Datatype holes;
    MPI_Op op;

    MPI_Type_create_resized(MPI_INT, 0, 8, &holes);
    MPI_Type_commit(&holes);
    MPI_Op_create(subtract, 0, &op);
    t_upload(in_device, in_host, 32);
    for (int way = 0; way < 3; way++) { /* both, the first, the second on the device */
        for (int i = 0; i < 8; i++)
            host[i] = i;
        t_upload(device, host, 32);
        MPI_Reduce_local(way == 2 ? in_host : in_device, way == 1 ? host : device, 4, holes, op);
        if (way != 1)
            t_download(host, device, 32);
        for (int i = 0; i < 8; i++)
            t_check(host[i] == (i % 2 == 0 ? in_host[i] - i : i), "way %d: int %d is %d", way, i,
                    host[i]);
        MPI_Reduce_local(in_device, device, 4, MPI_INT, MPI_SUM);
        t_download(sum, device, sizeof(sum));
        t_check(sum[1] == (way == 1 ? 1 : host[1]) + 1, "way %d: the sum is %d", way, sum[1]);
    }
    MPI_Op_free(&op);
    MPI_Type_free(&holes);
    t_device_free(in_device);
    t_device_free(device);
}

/* ---- threads -------------------------------------------------------------------------------- */

typedef struct worker {
    pthread_t thread;
    int number;
    MPI_Comm comm;
} worker_t;

static void *work(void *argument)
{
    enum { ROUNDS = 40 };
    const worker_t *worker = argument;
    int value, *a = t_device_alloc(4), *b = t_device_alloc(4), root = worker->number % t_size;
    MPI_Request requests[2];

    for (int k = 0; k < ROUNDS; k++) {
        value = 1000 * worker->number + 10 * k + t_rank;
        t_upload(a, &value, 4);
        t_upload(b, &value, 4);
        MPI_Ibcast(a, 1, MPI_INT, root, worker->comm, &requests[0]);
        MPI_Iallreduce(MPI_IN_PLACE, b, 1, MPI_INT, MPI_MAX, worker->comm, &requests[1]);
        MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
        t_download(&value, a, 4);
        t_check(value == 1000 * worker->number + 10 * k + root, "thread %d: %d came",
                worker->number, value);
        t_download(&value, b, 4);
        t_check(value == 1000 * worker->number + 10 * k + t_size - 1, "thread %d: maximum %d",
                worker->number, value);
        MPI_Bcast(b, 1, MPI_INT, root, worker->comm);
    }
    t_device_free(a);
    t_device_free(b);
    return NULL;
}

static void threads(void)
{
    enum { THREADS = 4 };
    worker_t workers[THREADS];

    for (int i = 0; i < THREADS; i++) {
        workers[i].number = i;
        MPI_Comm_dup(MPI_COMM_WORLD, &workers[i].comm);
    }
    for (int i = 0; i < THREADS; i++)
        if (pthread_create(&workers[i].thread, NULL, work, &workers[i]) != 0)
            t_fatal("no thread");
    for (int i = 0; i < THREADS; i++)
        pthread_join(workers[i].thread, NULL);
    for (int i = 0; i < THREADS; i++)
        MPI_Comm_free(&workers[i].comm);
}

/* With coll_gdr_collectives=pass: managed memory, which Open MPI can touch by itself. */
static void passed(void)
{
    int *managed;

    if (cudaMallocManaged((void **)&managed, 4, cudaMemAttachGlobal) != cudaSuccess)
        t_fatal("cudaMallocManaged");
    *managed = t_rank;
    MPI_Bcast(managed, 1, MPI_INT, t_size - 1, MPI_COMM_WORLD);
    t_check(*managed == t_size - 1, "it is %d", *managed);
    t_check(t_pvar("staged_calls") == 0, "it was staged");
    cudaFree(managed);
}

static const t_named_t table[] = {
    {"outstanding", outstanding}, {"freed", freed},
    {"ordering", ordering},       {"bottom", bottom},
    {"columns", columns},         {"far_apart", far_apart},
    {"short_lists", short_lists}, {"reduce_local", reduce_local},
    {"passed", passed},           {"threads", threads},
    {"bottom_sum", bottom_sum},
};

int main(int argc, char **argv)
{
    bool multiple = argc == 2 && strcmp(argv[1], "threads") == 0;

    t_init(&argc, &argv, multiple ? MPI_THREAD_MULTIPLE : MPI_THREAD_SINGLE);
    if (t_size > MAX_RANKS)
        t_fatal("not for more than %d ranks", MAX_RANKS);
    t_cases(argc, argv, table, sizeof(table) / sizeof(table[0]));
    return t_finish();
}
