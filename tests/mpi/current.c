/*
 * Whatever CUDA context is current in the caller, calls go from the device that the buffers lie on:
 * current NAME, one process for each, since connections are made but once.  Two devices; with
 * coll_gdr_window_size=4m every communicator has windows of its own.
 */
#include "harness.h"

#include <cuda.h>
#include <cuda_runtime_api.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

enum { N = 60000, DEVICES = 2 };

/* cuda.h knows an older or newer signature by the plain name. */
typedef CUresult create_t(CUcontext *, unsigned int, CUdevice);

static struct {
    create_t *create;
    __typeof__(cuCtxDestroy) *destroy;
    __typeof__(cuCtxSetCurrent) *set;
    __typeof__(cuCtxGetCurrent) *get;
} cu;

static void find_driver(void)
{
    t_driver_function("cuCtxCreate_v2", &cu.create);
    t_driver_function("cuCtxDestroy_v2", &cu.destroy);
    t_driver_function("cuCtxSetCurrent", &cu.set);
    t_driver_function("cuCtxGetCurrent", &cu.get);
}

static void must(CUresult result, const char *what)
{
    if (result != CUDA_SUCCESS)
        t_fatal("%s: CUDA error %d", what, (int)result);
}

static atomic_ullong copied; /* by this program, between host and device memory */

/* Where devices reach each other nothing passes through host memory, but for checks of a few bytes
 * that are made with the first put to a peer. */
static void check_host_bytes(void)
{
    uint64_t bytes = t_emu_host_bytes();

    t_case("all of it");
    t_check(bytes == 0 || bytes - copied < N, "%llu bytes have passed through host memory",
            (unsigned long long)(bytes - copied));
}

static float *buffer_on(int device)
{
    float *host = malloc(N * sizeof(*host)), *memory;

    cudaSetDevice(device);
    memory = t_device_alloc(N * sizeof(*memory));
    for (int i = 0; i < N; i++)
        host[i] = (float)(t_rank + i % 1000);
    t_upload(memory, host, N * sizeof(*host));
    copied += N * sizeof(*host);
    free(host);
    return memory;
}

static void check(const float *memory, int count)
{
    float *host = malloc(N * sizeof(*host));
    int bad = 0;

    t_download(host, memory, N * sizeof(*host));
    copied += N * sizeof(*host);
    for (int i = 0; i < N; i++) {
        int sum = t_size * (i % 1000) + t_size * (t_size - 1) / 2;

        bad += host[i] != (float)(i < count ? sum : t_rank + i % 1000);
    }
    t_check(bad == 0, "%d of %d elements are wrong", bad, N);
    free(host);
}

/* Makes current what shall be in the call with buffers on `device`. */
typedef void make_current_t(int device);

/* The context is current in every MPI call of the communicator's life, and still is after it. */
static void call(MPI_Comm parent, int device, int count, make_current_t *make_current)
{
    uint64_t staged = t_pvar("staged_bytes");
    float *memory = buffer_on(device);
    CUcontext before = NULL, after = NULL;
    CUresult result;
    MPI_Comm comm;
    int rc;

    make_current(device);
    result = cu.get(&before);
    MPI_Comm_dup(parent, &comm);
    rc = MPI_Allreduce(MPI_IN_PLACE, memory, count, MPI_FLOAT, MPI_SUM, comm);
    t_check(rc == MPI_SUCCESS, "returned %d", rc);
    t_check(cu.get(&after) == result && after == before, "another context is current");
    MPI_Comm_free(&comm);
    t_check(t_pvar("staged_bytes") == staged, "it was staged");
    cudaSetDevice(device);
    check(memory, count);
    t_device_free(memory);
}

/* Buffers alike on all ranks, and not. */
static void all(MPI_Comm parent, make_current_t *make_current)
{
    for (int number = 0; number < 2 * DEVICES; number++) {
        int device = number < DEVICES ? (t_rank + number) % DEVICES : number % DEVICES;

        t_case("communicator %d, buffers on device %d", number, device);
        call(parent, device, 1, make_current);
        call(parent, device, N, make_current);
    }
}

static void first_device(int device)
{
    (void)device;
    cudaSetDevice(0);
}

static void other_device(int device)
{
    cudaSetDevice((device + 1) % DEVICES);
}

static void no_context(int device)
{
    (void)device;
    must(cu.set(NULL), "cuCtxSetCurrent");
}

static void own_context(int device)
{
    CUcontext context;

    must(cu.create(&context, 0, (device + 1) % DEVICES), "cuCtxCreate");
}

static void *destroy(void *context)
{
    must(cu.destroy(context), "cuCtxDestroy");
    return NULL;
}

/* By another thread: in this one it would no longer be current. */
static void destroyed_context(int device)
{
    CUcontext context;
    pthread_t thread;

    must(cu.create(&context, 0, (device + 1) % DEVICES), "cuCtxCreate");
    if (pthread_create(&thread, NULL, destroy, context) != 0)
        t_fatal("pthread_create");
    pthread_join(thread, NULL);
}

static void first(void)
{
    all(MPI_COMM_WORLD, first_device);
}

static void other(void)
{
    all(MPI_COMM_WORLD, other_device);
}

static void none(void)
{
    all(MPI_COMM_WORLD, no_context);
}

static void own(void)
{
    all(MPI_COMM_WORLD, own_context);
}

static void destroyed(void)
{
    all(MPI_COMM_WORLD, destroyed_context);
}

typedef struct job {
    pthread_t thread;
    MPI_Comm parent;
    make_current_t *make_current;
} job_t;

static void *work(void *argument)
{
    const job_t *job = argument;

    all(job->parent, job->make_current);
    return NULL;
}

/* At the same time: each makes progress for the other. */
static void threads(void)
{
    job_t jobs[] = {{.make_current = no_context},
                    {.make_current = other_device},
                    {.make_current = destroyed_context}};
    enum { JOBS = sizeof(jobs) / sizeof(jobs[0]) };

    for (int i = 0; i < JOBS; i++)
        MPI_Comm_dup(MPI_COMM_WORLD, &jobs[i].parent);
    for (int i = 0; i < JOBS; i++)
        if (pthread_create(&jobs[i].thread, NULL, work, &jobs[i]) != 0)
            t_fatal("pthread_create");
    for (int i = 0; i < JOBS; i++)
        pthread_join(jobs[i].thread, NULL);
    for (int i = 0; i < JOBS; i++)
        MPI_Comm_free(&jobs[i].parent);
}

static const t_named_t table[] = {
    {"first", first}, {"other", other},         {"none", none},
    {"own", own},     {"destroyed", destroyed}, {"threads", threads},
};

int main(int argc, char **argv)
{
    t_init(&argc, &argv, MPI_THREAD_MULTIPLE);
    find_driver();
    t_cases(argc, argv, table, sizeof(table) / sizeof(table[0]));
    if (getenv("CUDA_EMU_PEERS") == NULL)
        check_host_bytes();
    return t_finish();
}
