/*
 * Communicators, requests and error handlers in every order that MPI allows, and some that it does
 * not:  lifecycle NAME...
 */
#include "harness.h"

#include <cuda_runtime_api.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { N = 50000 };

static bool on_device(MPI_Comm comm)
{
    char path[64];

    t_float_sum(comm, 1, (float)t_size, false);
    t_pvar_text("last_path", path, sizeof(path));
    return strcmp(path, "staged") != 0 && strcmp(path, "host") != 0;
}

/* More live communicators than lanes: the later ones are staged; what is freed serves new ones.
 * Needs coll_gdr_window_size=4m. */
static void lanes(void)
{
    enum { MANY = 12 };
    MPI_Comm comms[MANY];
    int served = 0, again = 0;

    for (int i = 0; i < MANY; i++) {
        MPI_Comm_dup(MPI_COMM_WORLD, &comms[i]);
        served += on_device(comms[i]);
    }
    t_check(served > 0 && served < MANY, "%d of %d are on the device", served, MANY);
    for (int i = 0; i < MANY; i++)
        t_check(on_device(comms[i]) == (i < served), "communicator %d has changed its way", i);
    for (int i = 0; i < served; i++)
        MPI_Comm_free(&comms[i]);
    for (int i = 0; i < served; i++) {
        MPI_Comm_dup(MPI_COMM_WORLD, &comms[i]);
        again += on_device(comms[i]);
    }
    t_check(again == served, "%d of %d new ones are on the device", again, served);
    for (int i = 0; i < MANY; i++)
        MPI_Comm_free(&comms[i]);
}

/* Made before and after the first device call, used in another order. */
static void before_and_after(void)
{
    MPI_Comm comms[6];

    for (int i = 0; i < 3; i++)
        MPI_Comm_dup(MPI_COMM_WORLD, &comms[i]);
    t_check(on_device(comms[2]), "made before, used first");
    for (int i = 3; i < 6; i++)
        MPI_Comm_dup(comms[i - 2], &comms[i]);
    for (int i = 5; i >= 0; i--)
        t_check(on_device(comms[i]), "number %d", i);
    for (int i = 0; i < 6; i++)
        MPI_Comm_free(&comms[i]);
}

/* Another device in each call, of one communicator and of two, blocking and not. */
static void alternating_devices(void)
{
    MPI_Comm comms[2];
    int devices;

    cudaGetDeviceCount(&devices);
    for (int i = 0; i < 2; i++)
        MPI_Comm_dup(MPI_COMM_WORLD, &comms[i]);
    for (int round = 0; round < 20; round++) {
        t_case("alternating_devices, round %d", round);
        cudaSetDevice(round % devices);
        t_float_sum(comms[round / 3 % 2], (float)round, (float)(t_size * round), round % 4 < 2);
    }
    for (int i = 0; i < 2; i++)
        MPI_Comm_free(&comms[i]);
    cudaSetDevice(0);
}

static int handled;
static MPI_Comm handled_comm;

static void handler(MPI_Comm *comm, int *code, ...)
{
    (void)code;
    handled++;
    handled_comm = *comm;
}

/* An error reaches the handler of the call's communicator, once. Needs coll_gdr_staging=error. */
static void error_handlers(void)
{
    long double *device = t_device_alloc(sizeof(*device));
    MPI_Errhandler errhandler;
    MPI_Request request = MPI_REQUEST_NULL;
    MPI_Comm comm;
    int rc;

    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    MPI_Comm_create_errhandler(handler, &errhandler);
    MPI_Comm_set_errhandler(comm, errhandler);
    rc = MPI_Allreduce(MPI_IN_PLACE, device, 1, MPI_LONG_DOUBLE, MPI_SUM, comm);
    t_check(rc != MPI_SUCCESS && handled == 1 && handled_comm == comm,
            "returned %d, the handler was called %d times", rc, handled);
    /* There is none to wait for after an error. NOLINTNEXTLINE(clang-analyzer-optin.mpi*) */
    rc = MPI_Iallreduce(MPI_IN_PLACE, device, 1, MPI_LONG_DOUBLE, MPI_SUM, comm, &request);
    t_check(rc != MPI_SUCCESS && handled == 2 && handled_comm == comm,
            "nonblocking: returned %d, the handler was called %d times", rc, handled);
    MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
    rc = MPI_Allreduce(MPI_IN_PLACE, device, 1, MPI_LONG_DOUBLE, MPI_SUM, comm);
    t_check(rc != MPI_SUCCESS && handled == 2, "MPI_ERRORS_RETURN: returned %d", rc);
    t_check(on_device(comm), "the communicator does not serve any more");
    MPI_Errhandler_free(&errhandler);
    MPI_Comm_free(&comm);
    t_device_free(device);
}

static float *filled(void)
{
    static float host[N];
    float *device = t_device_alloc(sizeof(host));

    for (int i = 0; i < N; i++)
        host[i] = (float)(t_rank + 1);
    t_upload(device, host, sizeof(host));
    return device;
}

/* The sum of what the ranks first .. end - 1 have filled. */
static void check_sum(float *device, int first, int end)
{
    static float host[N];
    int bad = 0;

    t_download(host, device, sizeof(host));
    for (int i = 0; i < N; i++)
        bad += 2 * host[i] != (float)(end * (end + 1) - first * (first + 1));
    t_check(bad == 0, "%d of %d elements are wrong", bad, N);
    t_device_free(device);
}

static void check_filled(float *device)
{
    check_sum(device, 0, t_size);
}

/* MPI forbids to cancel or to free the request of a nonblocking collective: it goes on. */
static void forbidden(void)
{
    MPI_Request request;
    MPI_Comm comm;

    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN); /* that of requests */
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    for (int round = 0; round < 10; round++) {
        float *device = filled();

        t_case("forbidden, round %d", round);
        /* What is forbidden leaves it or ends it. NOLINTNEXTLINE(clang-analyzer-optin.mpi*) */
        MPI_Iallreduce(MPI_IN_PLACE, device, N, MPI_FLOAT, MPI_SUM, comm, &request);
        if (round % 2 == 0)
            MPI_Cancel(&request);
        else
            MPI_Request_free(&request);
        t_check(request != MPI_REQUEST_NULL || round % 2 == 1, "no request is left");
        if (request != MPI_REQUEST_NULL)
            MPI_Wait(&request, MPI_STATUS_IGNORE);
        MPI_Barrier(comm);
        check_filled(device);
    }
    MPI_Comm_free(&comm);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
}

/* Several on several communicators that are freed at once, completed in any order. */
static void freed_while_pending(void)
{
    enum { COMMS = 4, EACH = 3, ALL = COMMS * EACH };
    MPI_Request requests[ALL];
    float *device[ALL];
    int index;

    for (int i = 0; i < ALL; i += EACH) {
        MPI_Comm comm;

        MPI_Comm_dup(MPI_COMM_WORLD, &comm);
        for (int k = i; k < i + EACH; k++) {
            device[k] = filled();
            MPI_Iallreduce(MPI_IN_PLACE, device[k], N, MPI_FLOAT, MPI_SUM, comm, &requests[k]);
        }
        MPI_Comm_free(&comm);
    }
    for (int i = 0; i < ALL; i++) {
        /* Posted in the other loop. NOLINTNEXTLINE(clang-analyzer-optin.mpi*) */
        MPI_Waitany(ALL, requests, &index, MPI_STATUS_IGNORE);
        check_filled(device[index]);
    }
}

/* A duplicate of an inter-communicator whose number is below that one's: Open MPI counts it
 * otherwise. Communicators that are made while its call is pending stay what they are. */
static void freed_inter(void)
{
    enum { LOW = 4, NEXT = 6 };
    int middle = t_size / 2, upper = t_rank >= middle;
    MPI_Comm low[LOW], half, inter, copy, next[NEXT];
    float *send = filled(), *recv = filled();
    MPI_Request request;

    for (int i = 0; i < LOW; i++)
        MPI_Comm_dup(MPI_COMM_WORLD, &low[i]);
    MPI_Comm_split(MPI_COMM_WORLD, upper, t_rank, &half);
    MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, upper ? 0 : middle, 1, &inter);
    for (int i = 0; i < LOW; i++)
        MPI_Comm_free(&low[i]);
    MPI_Comm_dup(inter, &copy);
    MPI_Iallreduce(send, recv, N, MPI_FLOAT, MPI_SUM, copy, &request);
    MPI_Comm_free(&copy);
    for (int i = 0; i < NEXT; i++)
        MPI_Comm_dup(MPI_COMM_WORLD, &next[i]);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    check_sum(recv, upper ? 0 : middle, upper ? middle : t_size);
    t_device_free(send);
    for (int i = 0; i < NEXT; i++) {
        float *device = filled();

        MPI_Allreduce(MPI_IN_PLACE, device, N, MPI_FLOAT, MPI_SUM, next[i]);
        check_filled(device);
        MPI_Comm_free(&next[i]);
    }
    MPI_Comm_free(&inter);
    MPI_Comm_free(&half);
}

/* One rank ends the job while the others are in their calls. */
static void aborted(void)
{
    float *device = filled();

    t_float_sum(MPI_COMM_WORLD, 1, (float)t_size, false);
    if (t_rank == t_size - 1) {
        usleep(200000);
        MPI_Abort(MPI_COMM_WORLD, 3);
    }
    MPI_Allreduce(MPI_IN_PLACE, device, N, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
    t_fatal("a call of a rank that has ended has ended");
}

/* Host memory is host memory, registered or not, and afterwards. */
static void registered(void)
{
    enum { BYTES = N * sizeof(int) / 4096 * 4096 + 4096 };
    int *memory = aligned_alloc(4096, BYTES);
    uint64_t calls = t_pvar("calls");

    for (int round = 0; round < 6; round++) {
        t_case("registered, round %d", round);
        for (int i = 0; i < N; i++)
            memory[i] = t_rank + 1;
        if (round % 2 == 0)
            cudaHostRegister(memory, BYTES, cudaHostRegisterDefault);
        MPI_Allreduce(MPI_IN_PLACE, memory, N, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
        t_check(memory[0] == t_size * (t_size + 1) / 2 && memory[N - 1] == memory[0], "sum is %d",
                memory[0]);
        if (round % 2 == 0)
            cudaHostUnregister(memory);
    }
    t_check(t_pvar("calls") == calls, "host memory went to the device");
    free(memory);
}

static void add_ints(void *in, void *inout, int *len, MPI_Datatype *type)
{
    (void)type;
    for (int i = 0; i < *len; i++)
        ((int *)inout)[i] += ((int *)in)[i];
}

/* Managed memory of one device that another one is still writing, on the device and staged. */
static void managed_elsewhere(void)
{
    const int one = 0x01010101;
    int *memory;
    MPI_Op op;

    MPI_Op_create(add_ints, 1, &op);
    cudaSetDevice(0);
    t_check(cudaMallocManaged((void **)&memory, N * sizeof(int), cudaMemAttachGlobal) ==
                cudaSuccess,
            "cudaMallocManaged");
    for (int round = 0; round < 6; round++) {
        int bad = 0;

        t_case("managed_elsewhere, %s", round % 2 == 0 ? "device" : "staged");
        cudaSetDevice(1);
        for (int i = 0; i < 4; i++)
            cudaMemsetAsync(memory, 0xff, N * sizeof(int), NULL);
        cudaMemsetAsync(memory, 1, N * sizeof(int), NULL);
        MPI_Allreduce(MPI_IN_PLACE, memory, N, MPI_INT, round % 2 == 0 ? MPI_SUM : op,
                      MPI_COMM_WORLD);
        cudaDeviceSynchronize();
        for (int i = 0; i < N; i++)
            bad += memory[i] != t_size * one;
        t_check(bad == 0, "%d of %d elements are wrong, the first is %x", bad, N,
                (unsigned)memory[0]);
    }
    cudaFree(memory);
    MPI_Op_free(&op);
    cudaSetDevice(0);
}

static const t_named_t table[] = {
    {"lanes", lanes},
    {"before_and_after", before_and_after},
    {"alternating_devices", alternating_devices},
    {"error_handlers", error_handlers},
    {"forbidden", forbidden},
    {"freed_while_pending", freed_while_pending},
    {"freed_inter", freed_inter},
    {"aborted", aborted},
    {"registered", registered},
    {"managed_elsewhere", managed_elsewhere},
};

int main(int argc, char **argv)
{
    t_init(&argc, &argv, MPI_THREAD_SINGLE);
    t_cases(argc, argv, table, sizeof(table) / sizeof(table[0]));
    return t_finish();
}
