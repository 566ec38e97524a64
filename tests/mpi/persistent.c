/* Persistent collectives: on the device, staged, in any order:  persistent NAME... */
#include "harness.h"

#include <cuda_runtime_api.h>

#include <stdlib.h>
#include <string.h>

#if OMPI_MAJOR_VERSION >= 5
#define ALLREDUCE_INIT MPI_Allreduce_init
#define BCAST_INIT     MPI_Bcast_init
#else
#include <mpi-ext.h>
#define ALLREDUCE_INIT MPIX_Allreduce_init
#define BCAST_INIT     MPIX_Bcast_init
#endif

enum { N = 1000, STARTS = 5 };

/* The checker does not know persistent collectives: NOLINTBEGIN(clang-analyzer-optin.mpi*) */

static void put(int *device, int value)
{
    int host[N];

    for (int i = 0; i < N; i++)
        host[i] = value + i;
    t_upload(device, host, sizeof(host));
}

/* The sum over all ranks of what they put, with `value` growing by their rank. */
static void check_sum(const int *device, int value)
{
    int host[N];

    t_download(host, device, sizeof(host));
    for (int i = 0; i < N; i++) {
        int sum = t_size * (value + i) + t_size * (t_size - 1) / 2;

        if (!t_check(host[i] == sum, "element %d is %d, not %d", i, host[i], sum))
            return;
    }
}

/* Many times, in place and not; with other calls of the communicator in between. */
static void device(void)
{
    int *send = t_device_alloc(sizeof(int[N])), *recv = t_device_alloc(sizeof(int[N]));
    uint64_t calls = t_pvar("calls");
    MPI_Request requests[2];

    ALLREDUCE_INIT(send, recv, N, MPI_INT, MPI_SUM, MPI_COMM_WORLD, MPI_INFO_NULL, &requests[0]);
    ALLREDUCE_INIT(MPI_IN_PLACE, send, N, MPI_INT, MPI_SUM, MPI_COMM_WORLD, MPI_INFO_NULL,
                   &requests[1]);
    for (int k = 0; k < STARTS; k++) {
        t_case("device, start %d", k);
        put(send, 10 * k + t_rank);
        MPI_Start(&requests[0]);
        t_float_sum(MPI_COMM_WORLD, 1, (float)t_size, k % 2 != 0);
        MPI_Wait(&requests[0], MPI_STATUS_IGNORE);
        check_sum(recv, 10 * k);
        MPI_Start(&requests[1]);
        MPI_Wait(&requests[1], MPI_STATUS_IGNORE);
        check_sum(send, 10 * k);
    }
    t_check(t_pvar("calls") == calls + (uint64_t)3 * STARTS, "%d calls were served on the device",
            (int)(t_pvar("calls") - calls));
    MPI_Request_free(&requests[0]);
    MPI_Request_free(&requests[1]);
    t_device_free(send);
    t_device_free(recv);
}

/* Starts in another order on each rank, and waits in another one; more of them than lanes. */
static void orders(void)
{
    enum { REQUESTS = 12 };
    int *send[REQUESTS], *recv[REQUESTS];
    MPI_Request requests[REQUESTS];

    for (int i = 0; i < REQUESTS; i++) {
        send[i] = t_device_alloc(sizeof(int[N]));
        recv[i] = t_device_alloc(sizeof(int[N]));
        ALLREDUCE_INIT(send[i], recv[i], N, MPI_INT, MPI_SUM, MPI_COMM_WORLD, MPI_INFO_NULL,
                       &requests[i]);
    }
    for (int k = 0; k < STARTS; k++) {
        t_case("orders, round %d", k);
        for (int i = 0; i < REQUESTS; i++)
            put(send[i], 100 * i + k + t_rank);
        if (k % 2 == 0)
            for (int i = 0; i < REQUESTS; i++)
                MPI_Start(&requests[(i + 5 * t_rank) % REQUESTS]);
        else
            MPI_Startall(REQUESTS, requests);
        for (int i = REQUESTS - 1; i >= 0; i--)
            MPI_Wait(&requests[(i + 7 * t_rank) % REQUESTS], MPI_STATUS_IGNORE);
        for (int i = 0; i < REQUESTS; i++)
            check_sum(recv[i], 100 * i + k);
    }
    for (int i = 0; i < REQUESTS; i++) {
        MPI_Request_free(&requests[i]);
        t_device_free(send[i]);
        t_device_free(recv[i]);
    }
}

/* Host memory on one rank: staged on the others, who find out when it is made. */
static void mixed(void)
{
    int *device_send = t_device_alloc(sizeof(int[N])),
        *device_recv = t_device_alloc(sizeof(int[N]));
    int host_send[N], host_recv[N];
    bool host = t_rank == t_size - 1;
    uint64_t staged = t_pvar("staged_calls");
    MPI_Request request;

    ALLREDUCE_INIT(host ? host_send : device_send, host ? host_recv : device_recv, N, MPI_INT,
                   MPI_SUM, MPI_COMM_WORLD, MPI_INFO_NULL, &request);
    for (int k = 0; k < STARTS; k++) {
        t_case("mixed, start %d", k);
        put(device_send, k + t_rank);
        t_download(host_send, device_send, sizeof(host_send));
        MPI_Start(&request);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        if (host)
            t_upload(device_recv, host_recv, sizeof(host_recv));
        check_sum(device_recv, k);
    }
    MPI_Request_free(&request);
    t_check(t_pvar("staged_calls") == staged + (host ? 0 : STARTS), "%d calls were staged",
            (int)(t_pvar("staged_calls") - staged));
    t_device_free(device_send);
    t_device_free(device_recv);
}

static void add_first(void *in, void *inout, int *count, MPI_Datatype *type)
{
    (void)type;
    for (size_t i = 0; i < (size_t)*count; i++)
        ((int *)inout)[2 * i] += ((int *)in)[2 * i];
}

/* Type, operation and communicator are freed as soon as the request is made. */
static void freed(void)
{
    int host[2 * N], *buffer = t_device_alloc(sizeof(host));
    MPI_Request requests[2];
    MPI_Datatype pair, holes;
    MPI_Comm comm;
    MPI_Op op;

    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    MPI_Type_create_resized(MPI_INT, 0, 8, &holes);
    MPI_Type_contiguous(2, MPI_INT, &pair);
    MPI_Type_commit(&holes);
    MPI_Type_commit(&pair);
    MPI_Op_create(add_first, 1, &op);
    ALLREDUCE_INIT(MPI_IN_PLACE, buffer, N, holes, op, comm, MPI_INFO_NULL, &requests[0]);
    BCAST_INIT(buffer, N, pair, 0, comm, MPI_INFO_NULL, &requests[1]);
    MPI_Op_free(&op);
    MPI_Type_free(&holes);
    MPI_Type_free(&pair);
    MPI_Comm_free(&comm);
    for (int k = 0; k < STARTS; k++) {
        t_case("freed, start %d", k);
        for (int i = 0; i < 2 * N; i++)
            host[i] = t_rank * 1000 + i;
        t_upload(buffer, host, sizeof(host));
        MPI_Start(&requests[0]);
        MPI_Wait(&requests[0], MPI_STATUS_IGNORE);
        MPI_Start(&requests[1]);
        MPI_Wait(&requests[1], MPI_STATUS_IGNORE);
        t_download(host, buffer, sizeof(host));
        for (int i = 0; i < 2 * N; i++) {
            int want = i % 2 == 0 ? 1000 * t_size * (t_size - 1) / 2 + t_size * i : i;

            if (!t_check(host[i] == want, "int %d is %d, not %d", i, host[i], want))
                break;
        }
    }
    MPI_Request_free(&requests[0]);
    MPI_Request_free(&requests[1]);
    t_device_free(buffer);
}

/* Made behind a nonblocking device call that rank 0 posts late: numbers stay in step. */
static void behind(void)
{
    int *buffer = t_device_alloc(sizeof(int[N])), *other = t_device_alloc(sizeof(int[N]));
    MPI_Request made, posted;
    MPI_Comm comm;

    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    put(buffer, t_rank);
    put(other, t_rank == 1 % t_size ? 7 : 0);
    if (t_rank == 0)
        for (double end = t_seconds() + 0.05; t_seconds() < end;)
            ;
    MPI_Iallreduce(MPI_IN_PLACE, buffer, N, MPI_INT, MPI_SUM, comm, &posted);
    BCAST_INIT(other, N, MPI_INT, 1 % t_size, comm, MPI_INFO_NULL, &made);
    MPI_Start(&made);
    MPI_Wait(&made, MPI_STATUS_IGNORE);
    MPI_Wait(&posted, MPI_STATUS_IGNORE);
    check_sum(buffer, 0);
    put(buffer, 7);
    for (int i = 0; i < N; i++) {
        int got, want;

        t_download(&got, other + i, 4);
        t_download(&want, buffer + i, 4);
        if (!t_check(got == want, "element %d is %d, not %d", i, got, want))
            break;
    }
    MPI_Request_free(&made);
    MPI_Comm_free(&comm);
    t_device_free(buffer);
    t_device_free(other);
}

/* Filled by copies that were made while another device was current than at the init. */
static void elsewhere(void)
{
    int *buffer = t_device_alloc(sizeof(int[N])), devices;
    MPI_Request request;

    cudaGetDeviceCount(&devices);
    ALLREDUCE_INIT(MPI_IN_PLACE, buffer, N, MPI_INT, MPI_SUM, MPI_COMM_WORLD, MPI_INFO_NULL,
                   &request);
    for (int k = 0; k < 8 * STARTS; k++) {
        t_case("elsewhere, start %d", k);
        cudaSetDevice(k % devices);
        put(buffer, 3 * k + t_rank);
        MPI_Start(&request);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        check_sum(buffer, 3 * k);
    }
    MPI_Request_free(&request);
    t_device_free(buffer);
}

/* The communicator's device is 0; managed memory is said to be the other's. */
static void managed(void)
{
    int *send, *recv = NULL;
    MPI_Request request;

    cudaSetDevice(0);
    send = t_device_alloc(sizeof(int[N]));
    t_float_sum(MPI_COMM_WORLD, 1, (float)t_size, false);
    cudaSetDevice(1);
    cudaMallocManaged((void **)&recv, sizeof(int[N]), cudaMemAttachGlobal);
    cudaSetDevice(0);
    ALLREDUCE_INIT(send, recv, N, MPI_INT, MPI_SUM, MPI_COMM_WORLD, MPI_INFO_NULL, &request);
    for (int k = 0; k < STARTS; k++) {
        t_case("managed, start %d", k);
        put(send, 3 * k + t_rank);
        MPI_Start(&request);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        check_sum(recv, 3 * k);
    }
    MPI_Request_free(&request);
    cudaFree(recv);
    t_device_free(send);
}

static int fill_device(void **pieces, int n, size_t bytes)
{
    int taken = 0;

    while (taken < n && cudaMalloc(&pieces[taken], bytes) == cudaSuccess)
        taken++;
    cudaGetLastError();
    return taken;
}

/* One rank has no memory for its copy in some starts: these are served in host memory on all. */
static void no_room(void)
{
    enum { PIECES = 256, BYTES = 32 << 20 };
    void *pieces[PIECES];
    uint64_t calls;
    int *buffer;
    MPI_Request request;

    cudaSetDevice(0);
    t_float_sum(MPI_COMM_WORLD, 1, (float)t_size, false);
    cudaSetDevice(1);
    buffer = t_device_alloc(BYTES);
    cudaMemset(buffer, 0, BYTES);
    cudaDeviceSynchronize();
    cudaSetDevice(0);
    ALLREDUCE_INIT(MPI_IN_PLACE, buffer, BYTES / 4, MPI_INT, MPI_SUM, MPI_COMM_WORLD, MPI_INFO_NULL,
                   &request);
    for (int k = 0; k < 2 * STARTS; k++) {
        int taken = k < STARTS && t_rank == k % t_size ? fill_device(pieces, PIECES, BYTES) : 0;

        t_case("no_room, start %d", k);
        calls = t_pvar("calls");
        put(buffer, 3 * k + t_rank);
        MPI_Start(&request);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        check_sum(buffer, 3 * k);
        t_check(k != 0 || t_pvar("calls") == calls, "it was served on the device");
        t_check(k < STARTS || t_pvar("calls") == calls + 1, "it was not served on the device");
        while (taken > 0)
            cudaFree(pieces[--taken]);
    }
    MPI_Request_free(&request);
    t_device_free(buffer);
}

static void counts(void)
{
    int *buffer = t_device_alloc(4);
    MPI_Request request;

    ALLREDUCE_INIT(MPI_IN_PLACE, NULL, 0, MPI_INT, MPI_SUM, MPI_COMM_WORLD, MPI_INFO_NULL,
                   &request);
    MPI_Start(&request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    MPI_Request_free(&request);
    BCAST_INIT(buffer, 0, MPI_INT, 0, MPI_COMM_WORLD, MPI_INFO_NULL, &request);
    MPI_Start(&request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    MPI_Request_free(&request);
    /* Never started. */
    ALLREDUCE_INIT(MPI_IN_PLACE, buffer, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD, MPI_INFO_NULL,
                   &request);
    MPI_Request_free(&request);
    ALLREDUCE_INIT(MPI_IN_PLACE, buffer, 1, MPI_INT, MPI_SUM, MPI_COMM_SELF, MPI_INFO_NULL,
                   &request);
    t_upload(buffer, &t_size, 4);
    MPI_Start(&request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    MPI_Request_free(&request);
    t_check(true, "came to an end");
    t_device_free(buffer);
}

static const t_named_t table[] = {
    {"device", device},       {"orders", orders},   {"mixed", mixed},
    {"freed", freed},         {"behind", behind},   {"counts", counts},
    {"elsewhere", elsewhere}, {"managed", managed}, {"no_room", no_room},
};

int main(int argc, char **argv)
{
    t_init(&argc, &argv, MPI_THREAD_SINGLE);
    t_cases(argc, argv, table, sizeof(table) / sizeof(table[0]));
    return t_finish();
}

/* NOLINTEND(clang-analyzer-optin.mpi*) */
