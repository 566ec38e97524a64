/*
 * Every kind of memory that an application may have, each filled by work that still waits in a NULL
 * stream when the call is made:  memory NAME...  Two devices, or the parts that need two are left
 * out.
 */
#include "harness.h"

#include <cuda.h>
#include <cuda_runtime_api.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { N = 60000 };
#define BYTES ((size_t)N * sizeof(int))

static int devices;
static int host[N + 8];

/* cuda.h knows an older or newer signature by the plain name. */
typedef CUresult create_t(CUcontext *, unsigned int, CUdevice);

#define DRIVER(X)                                                                                  \
    X(create, create_t, "cuCtxCreate_v2")                                                          \
    X(destroy, __typeof__(cuCtxDestroy), "cuCtxDestroy_v2")                                        \
    X(pop, __typeof__(cuCtxPopCurrent), "cuCtxPopCurrent_v2")                                      \
    X(push, __typeof__(cuCtxPushCurrent), "cuCtxPushCurrent_v2")                                   \
    X(set, __typeof__(cuCtxSetCurrent), "cuCtxSetCurrent")                                         \
    X(alloc, __typeof__(cuMemAlloc), "cuMemAlloc_v2")                                              \
    X(free, __typeof__(cuMemFree), "cuMemFree_v2")                                                 \
    X(fill, __typeof__(cuMemsetD32Async), "cuMemsetD32Async")                                      \
    X(make, __typeof__(cuMemCreate), "cuMemCreate")                                                \
    X(release, __typeof__(cuMemRelease), "cuMemRelease")                                           \
    X(reserve, __typeof__(cuMemAddressReserve), "cuMemAddressReserve")                             \
    X(unreserve, __typeof__(cuMemAddressFree), "cuMemAddressFree")                                 \
    X(map, __typeof__(cuMemMap), "cuMemMap")                                                       \
    X(unmap, __typeof__(cuMemUnmap), "cuMemUnmap")                                                 \
    X(allow, __typeof__(cuMemSetAccess), "cuMemSetAccess")                                         \
    X(granularity, __typeof__(cuMemGetAllocationGranularity), "cuMemGetAllocationGranularity")

static struct {
#define MEMBER(name, type, symbol) type *name;
    DRIVER(MEMBER)
} cu;

static void find_driver(void)
{
#define FIND(name, type, symbol) t_driver_function(symbol, &cu.name);
    DRIVER(FIND)
}

static void must(CUresult result, const char *what)
{
    if (result != CUDA_SUCCESS)
        t_fatal("%s: CUDA error %d", what, (int)result);
}

static void rt(cudaError_t error, const char *what)
{
    if (error != cudaSuccess)
        t_fatal("%s: %s", what, cudaGetErrorString(error));
}

/* Behind other work in the NULL stream of the current context. */
static void fill(void *memory, int value)
{
    CUdeviceptr at = (CUdeviceptr)(uintptr_t)memory;

    for (int i = 0; i < 4; i++)
        must(cu.fill(at, 0xffffffffU, N, NULL), "cuMemsetD32Async");
    must(cu.fill(at, (unsigned int)value, N, NULL), "cuMemsetD32Async");
}

static void check(const void *memory)
{
    int expected = t_size * (t_size + 1) / 2, bad = 0;

    rt(cudaMemcpy(host, memory, BYTES, cudaMemcpyDefault), "cudaMemcpy");
    for (int i = 0; i < N; i++)
        bad += host[i] != expected;
    t_check(bad == 0, "%d of %d elements are not %d, the first is %d", bad, N, expected, host[0]);
}

/* What was filled last is `send`; `recv` waits behind a fill, too. */
static void sum(const void *send, void *recv, MPI_Comm comm)
{
    uint64_t staged = t_pvar("staged_bytes");
    int rc = MPI_Allreduce(send == recv ? MPI_IN_PLACE : send, recv, N, MPI_INT, MPI_SUM, comm);

    t_check(rc == MPI_SUCCESS, "returned %d", rc);
    t_check(t_pvar("staged_bytes") == staged, "it was staged");
}

/* The communicator's lane is on device 0 on every rank, whatever the buffers of the test. */
static MPI_Comm lane_on(int device)
{
    float *memory;
    MPI_Comm comm;

    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    cudaSetDevice(device);
    memory = t_device_alloc(sizeof(float));
    MPI_Allreduce(MPI_IN_PLACE, memory, 1, MPI_FLOAT, MPI_SUM, comm);
    t_device_free(memory);
    return comm;
}

/* Both buffers made and filled on device `device`, the call made with device `current`. */
static void use(void *send, void *recv, int device, int current)
{
    MPI_Comm comm = lane_on(0);

    for (int round = 0; round < 4; round++) {
        cudaSetDevice(device);
        fill(recv, -1);
        fill(send, t_rank + 1);
        cudaSetDevice(current);
        sum(send, recv, comm);
        check(recv);
    }
    cudaSetDevice(device);
    fill(recv, t_rank + 1);
    cudaSetDevice(current);
    sum(recv, recv, comm);
    check(recv);
    MPI_Comm_free(&comm);
}

static cudaMemPool_t pool_on(int device, int access)
{
    struct cudaMemPoolProps props = {.allocType = cudaMemAllocationTypePinned,
                                     .location = {.type = cudaMemLocationTypeDevice, .id = device}};
    struct cudaMemAccessDesc desc = {{.type = cudaMemLocationTypeDevice, .id = access},
                                     cudaMemAccessFlagsProtReadWrite};
    cudaMemPool_t pool;

    rt(cudaMemPoolCreate(&pool, &props), "cudaMemPoolCreate");
    if (access != device)
        rt(cudaMemPoolSetAccess(pool, &desc, 1), "cudaMemPoolSetAccess");
    return pool;
}

static void pool_case(int device, int access, int current)
{
    cudaMemPool_t pool;
    void *send, *recv;

    t_case("pool on device %d, for device %d, call on device %d", device, access, current);
    cudaSetDevice(device);
    pool = pool_on(device, access);
    rt(cudaMallocFromPoolAsync(&send, BYTES, pool, NULL), "cudaMallocFromPoolAsync");
    rt(cudaMallocFromPoolAsync(&recv, BYTES, pool, NULL), "cudaMallocFromPoolAsync");
    use(send, recv, device, current);
    cudaSetDevice(device);
    rt(cudaFreeAsync(send, NULL), "cudaFreeAsync");
    rt(cudaFreeAsync(recv, NULL), "cudaFreeAsync");
    rt(cudaDeviceSynchronize(), "cudaDeviceSynchronize");
    rt(cudaMemPoolDestroy(pool), "cudaMemPoolDestroy");
}

static void pools(void)
{
    pool_case(0, 0, 0);
    if (devices < 2)
        return;
    pool_case(0, 0, 1);
    pool_case(1, 1, 0);
    pool_case(1, 1, 1);
    if (getenv("CUDA_EMU_PEERS") == NULL)
        pool_case(1, 0, 0);
}

/* Freed in stream order right behind the call, and taken again by the next one. */
static void default_pools(void)
{
    MPI_Comm comm = lane_on(0);

    for (int device = 0; device < devices && device < 2; device++) {
        t_case("default pool of device %d", device);
        for (int round = 0; round < 10; round++) {
            void *send, *recv;

            cudaSetDevice(device);
            rt(cudaMallocAsync(&send, BYTES, NULL), "cudaMallocAsync");
            rt(cudaMallocAsync(&recv, BYTES, NULL), "cudaMallocAsync");
            fill(recv, -1);
            fill(send, t_rank + 1);
            cudaSetDevice(0);
            sum(send, recv, comm);
            cudaSetDevice(device);
            rt(cudaFreeAsync(send, NULL), "cudaFreeAsync");
            check(recv);
            rt(cudaFreeAsync(recv, NULL), "cudaFreeAsync");
        }
    }
    MPI_Comm_free(&comm);
}

typedef struct mapping {
    CUdeviceptr at;
    size_t unit;
    CUmemGenericAllocationHandle handles[2];
} mapping_t;

static CUmemAllocationProp vmm_on(int device)
{
    return (CUmemAllocationProp){.type = CU_MEM_ALLOCATION_TYPE_PINNED,
                                 .location = {.type = CU_MEM_LOCATION_TYPE_DEVICE, .id = device}};
}

/* Two pieces side by side, of device first and second; `access`: bit per device. */
static mapping_t vmm_map(int first, int second, unsigned access)
{
    CUmemAllocationProp props[2] = {vmm_on(first), vmm_on(second)};
    mapping_t m;

    must(cu.granularity(&m.unit, &props[0], CU_MEM_ALLOC_GRANULARITY_MINIMUM), "granularity");
    while (m.unit < BYTES)
        m.unit *= 2;
    must(cu.reserve(&m.at, 2 * m.unit, 0, 0, 0), "cuMemAddressReserve");
    for (int i = 0; i < 2; i++) {
        must(cu.make(&m.handles[i], m.unit, &props[i], 0), "cuMemCreate");
        must(cu.map(m.at + (size_t)i * m.unit, m.unit, 0, m.handles[i], 0), "cuMemMap");
    }
    for (int device = 0; device < 2; device++) {
        CUmemAccessDesc desc = {{.type = CU_MEM_LOCATION_TYPE_DEVICE, .id = device},
                                CU_MEM_ACCESS_FLAGS_PROT_READWRITE};

        if (access >> device & 1)
            must(cu.allow(m.at, 2 * m.unit, &desc, 1), "cuMemSetAccess");
    }
    return m;
}

/* Right behind a call: nothing of it may be in use. */
static void vmm_unmap(mapping_t *m)
{
    must(cu.unmap(m->at, 2 * m->unit), "cuMemUnmap");
    must(cu.release(m->handles[0]), "cuMemRelease");
    must(cu.release(m->handles[1]), "cuMemRelease");
    must(cu.unreserve(m->at, 2 * m->unit), "cuMemAddressFree");
}

static void vmm_case(int first, int second, unsigned access, int device, int current)
{
    mapping_t m, n;

    t_case("VMM on devices %d and %d, access %u, call on device %d", first, second, access,
           current);
    cudaSetDevice(device);
    m = vmm_map(first, second, access);
    n = vmm_map(first, second, access);
    /* Over the seam, at an address that is a multiple of 4 only. */
    use((char *)(uintptr_t)m.at + m.unit - BYTES / 2 + 4,
        (char *)(uintptr_t)n.at + n.unit - BYTES / 2 + 8, device, current);
    vmm_unmap(&m);
    vmm_unmap(&n);
}

static void vmm(void)
{
    vmm_case(0, 0, 1, 0, 0);
    if (devices < 2)
        return;
    vmm_case(1, 1, 2, 1, 0);
    vmm_case(1, 1, 2, 1, 1);
    if (getenv("CUDA_EMU_PEERS") != NULL)
        return;
    vmm_case(1, 1, 3, 1, 0);
    vmm_case(0, 1, 3, 0, 0);
    vmm_case(0, 1, 3, 1, 1);
}

/* Every rank sums into a buffer of the rank before it. */
static void imported(void)
{
    int from = (t_rank + t_size - 1) % t_size, to = (t_rank + 1) % t_size;
    cudaIpcMemHandle_t mine, theirs;
    MPI_Comm comm = lane_on(0);

    for (int device = 0; device < devices && device < 2; device++) {
        void *send, *own, *recv;

        t_case("imported on device %d", device);
        cudaSetDevice(device);
        send = t_device_alloc(BYTES);
        own = t_device_alloc(BYTES);
        rt(cudaIpcGetMemHandle(&mine, own), "cudaIpcGetMemHandle");
        MPI_Sendrecv(&mine, sizeof(mine), MPI_BYTE, to, 1, &theirs, sizeof(theirs), MPI_BYTE, from,
                     1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        rt(cudaIpcOpenMemHandle(&recv, theirs, cudaIpcMemLazyEnablePeerAccess),
           "cudaIpcOpenMemHandle");
        for (int current = 0; current < devices && current < 2; current++) {
            cudaSetDevice(device);
            fill(recv, -1);
            fill(send, t_rank + 1);
            cudaSetDevice(current);
            sum(send, recv, comm);
            check(recv);
        }
        cudaSetDevice(device);
        rt(cudaIpcCloseMemHandle(recv), "cudaIpcCloseMemHandle");
        MPI_Barrier(MPI_COMM_WORLD);
        t_device_free(send);
        t_device_free(own);
    }
    MPI_Comm_free(&comm);
}

static void context_case(CUdevice device, bool current)
{
    MPI_Comm comm = lane_on(0);
    CUcontext context;
    CUdeviceptr send, recv;

    t_case("a context of its own on device %d, %scurrent", device, current ? "" : "not ");
    must(cu.create(&context, 0, device), "cuCtxCreate");
    must(cu.alloc(&send, BYTES), "cuMemAlloc");
    must(cu.alloc(&recv, BYTES), "cuMemAlloc");
    for (int round = 0; round < 3; round++) {
        fill((void *)(uintptr_t)recv, -1);
        fill((void *)(uintptr_t)send, t_rank + 1);
        if (!current)
            must(cu.pop(&context), "cuCtxPopCurrent");
        sum((void *)(uintptr_t)send, (void *)(uintptr_t)recv, comm);
        if (!current)
            must(cu.push(context), "cuCtxPushCurrent");
        check((void *)(uintptr_t)recv);
    }
    must(cu.free(send), "cuMemFree");
    must(cu.free(recv), "cuMemFree");
    must(cu.destroy(context), "cuCtxDestroy");
    cudaSetDevice(0);
    MPI_Comm_free(&comm);
}

/* Memory that no context owns, filled in a context that is neither's primary one. */
static void caller_case(void)
{
    MPI_Comm comm = lane_on(0);
    CUcontext context;
    void *send, *recv;

    t_case("a pool's memory, filled in a context of the application's own");
    rt(cudaMallocAsync(&send, BYTES, NULL), "cudaMallocAsync");
    rt(cudaMallocAsync(&recv, BYTES, NULL), "cudaMallocAsync");
    rt(cudaDeviceSynchronize(), "cudaDeviceSynchronize");
    must(cu.create(&context, 0, 0), "cuCtxCreate");
    for (int round = 0; round < 5; round++) {
        fill(recv, -1);
        fill(send, t_rank + 1);
        sum(send, recv, comm);
        check(recv);
    }
    must(cu.destroy(context), "cuCtxDestroy");
    cudaSetDevice(0);
    rt(cudaFreeAsync(send, NULL), "cudaFreeAsync");
    rt(cudaFreeAsync(recv, NULL), "cudaFreeAsync");
    rt(cudaDeviceSynchronize(), "cudaDeviceSynchronize");
    MPI_Comm_free(&comm);
}

typedef struct other_thread {
    CUcontext context;
    CUdeviceptr memory;
} other_thread_t;

static void *make_in_thread(void *argument)
{
    other_thread_t *other = argument;

    must(cu.create(&other->context, 0, devices > 1 ? 1 : 0), "cuCtxCreate");
    must(cu.alloc(&other->memory, BYTES), "cuMemAlloc");
    fill((void *)(uintptr_t)other->memory, t_rank + 1);
    return NULL;
}

static void contexts(void)
{
    other_thread_t other;
    pthread_t thread;
    MPI_Comm comm;

    for (int device = 0; device < devices && device < 2; device++) {
        context_case(device, true);
        context_case(device, false);
    }
    caller_case();
    comm = lane_on(0);
    t_case("another thread's context");
    if (pthread_create(&thread, NULL, make_in_thread, &other) != 0)
        t_fatal("pthread_create");
    pthread_join(thread, NULL);
    must(cu.set(NULL), "cuCtxSetCurrent");
    sum((void *)(uintptr_t)other.memory, (void *)(uintptr_t)other.memory, comm);
    must(cu.push(other.context), "cuCtxPushCurrent");
    check((void *)(uintptr_t)other.memory);
    must(cu.destroy(other.context), "cuCtxDestroy");
    cudaSetDevice(0);
    MPI_Comm_free(&comm);
}

/* At any byte: a member of a packed record. */
static void odd(void)
{
    char *send = t_device_alloc(BYTES + 32), *recv = t_device_alloc(BYTES + 32);

    for (int shift = 0; shift < 16; shift++) {
        int send_at = shift, recv_at = 5 * shift % 16, bad = 0;

        t_case("send + %d, receive + %d", send_at, recv_at);
        for (int i = 0; i < N; i++)
            host[i] = t_rank + i;
        t_upload(send + send_at, host, BYTES);
        rt(cudaMemset(recv, 0x5a, BYTES + 32), "cudaMemset");
        MPI_Allreduce(send + send_at, recv + recv_at, N, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
        t_download(host, recv + recv_at, BYTES + 4);
        for (int i = 0; i < N; i++)
            bad += host[i] != t_size * i + t_size * (t_size - 1) / 2;
        t_check(bad == 0 && host[N] == 0x5a5a5a5a, "%d of %d elements are wrong", bad, N);
    }
    t_device_free(send);
    t_device_free(recv);
}

/* The same address, as whatever kind of memory the allocator gives it to next. */
static void reused(void)
{
    MPI_Comm comm = lane_on(0);
    void *before = NULL, *memory;
    int again = 0;

    for (int round = 0; round < 24; round++) {
        int device = devices > 1 ? round / 2 % 2 : 0;

        t_case("reused, round %d", round);
        cudaSetDevice(device);
        if (round % 4 == 3)
            rt(cudaMallocManaged(&memory, BYTES, cudaMemAttachGlobal), "cudaMallocManaged");
        else
            rt(cudaMalloc(&memory, BYTES), "cudaMalloc");
        again += memory == before;
        before = memory;
        fill(memory, t_rank + 1);
        cudaSetDevice(round % 3 == 0 ? 0 : device);
        sum(memory, memory, comm);
        check(memory);
        rt(cudaFree(memory), "cudaFree");
    }
    if (t_rank == 0)
        printf("the same address %d times\n", again);
    MPI_Comm_free(&comm);
}

static const t_named_t table[] = {
    {"pools", pools},       {"default_pools", default_pools}, {"vmm", vmm},
    {"imported", imported}, {"contexts", contexts},           {"odd", odd},
    {"reused", reused},
};

int main(int argc, char **argv)
{
    t_init(&argc, &argv, MPI_THREAD_SINGLE);
    find_driver();
    rt(cudaGetDeviceCount(&devices), "cudaGetDeviceCount");
    t_cases(argc, argv, table, sizeof(table) / sizeof(table[0]));
    return t_finish();
}
