/*
 * The CUDA runtime, both major versions. Sections of the CUDA Runtime API reference: "Device
 * Management", "Error Handling", "Stream Management", "Event Management", "Execution Control",
 * "Memory Management", "Unified Addressing", "Interactions with the CUDA Driver API".
 */
#include "cuda_emu/tests/rt_api.h"

#include <stdatomic.h>

static int major;
static void both(body_fn *body, const char *const *env)
{
    for (major = 12; major <= 13; major++)
        expect_ok_silent(body, env);
}

/* Device Management, Version Management */
static void devices(void)
{
    int value, device;

    rt_open(major);
    OK(rt.cudaRuntimeGetVersion(&value));
    IS(value / 1000, major);
    OK(rt.cudaDriverGetVersion(&value));
    IS(value, 13000);
    OK(rt.cudaGetDeviceCount(&value));
    IS(value, 3);
    OK(rt.cudaGetDevice(&device));
    IS(device, 0);
    OK(rt.cudaSetDevice(2));
    OK(rt.cudaGetDevice(&device));
    IS(device, 2);
    IS(rt.cudaSetDevice(3), 101);
    IS(rt.cudaSetDevice(-1), 101);
    OK(rt.cudaGetDevice(&device));
    IS(device, 2);
    OK(rt.cudaDeviceCanAccessPeer(&value, 2, 0));
    IS(value, 1);
    OK(rt.cudaDeviceEnablePeerAccess(0, 0));
    IS(rt.cudaDeviceEnablePeerAccess(0, 0), 704);
}

static void no_device(void)
{
    int count = 5;
    void *p;

    rt_open(major);
    IS(rt.cudaGetDeviceCount(&count), 100);
    IS(count, 0);
    IS(rt.cudaMalloc(&p, 64), 100);
    CHECK(strcmp(rt.cudaGetErrorString(100), "no CUDA-capable device is detected") == 0);
}

static void test_devices(void **state)
{
    (void)state;
    both(devices, ENV("CUDA_EMU_DEVICES=3"));
    both(no_device, ENV("CUDA_EMU_DEVICES=0"));
}

/* cudaDeviceProp: nothing is written behind the structure; fields are where the header says. */
static void properties(void)
{
    const size_t size = major < 13 ? 1032 : 1008, bus = major < 13 ? 584 : 568;
    unsigned char bytes[1100];
    int expected, found;

    rt_open(major);
    memset(bytes, 0xee, sizeof(bytes));
    OK(rt.properties(bytes, 1));
    for (size_t i = size; i < sizeof(bytes); i++)
        CHECK(bytes[i] == 0xee);
    CHECK(strstr((char *)bytes, "mulated") != NULL);
    OK(rt.cudaDeviceGetAttribute(&expected, CU_DEVICE_ATTRIBUTE_PCI_BUS_ID, 1));
    memcpy(&found, bytes + bus, sizeof(found));
    IS(found, expected);
    IS(rt.properties(bytes, 9), 101);
}

/* cudaPointerAttributes */
struct attributes {
    int type, device;
    void *device_pointer, *host_pointer;
    long more[16];
};

static void pointers(void)
{
    const size_t reserved = major < 13 ? 0 : 8;
    struct attributes a;
    void *p;
    int local;

    rt_open(major);
    OK(rt.cudaSetDevice(1));
    memset(&a, 0xee, sizeof(a));
    OK(rt.cudaMalloc(&p, 100));
    OK(rt.cudaPointerGetAttributes(&a, (char *)p + 10));
    IS(a.type, 2);
    IS(a.device, 1);
    CHECK(a.device_pointer == (char *)p + 10 && a.host_pointer == NULL);
    CHECK(a.more[reserved] == (long)0xeeeeeeeeeeeeeeee);
    CHECK(reserved == 0 || a.more[0] == 0);
    OK(rt.cudaMallocHost(&p, 100));
    OK(rt.cudaPointerGetAttributes(&a, p));
    IS(a.type, 1);
    CHECK(a.device_pointer == p && a.host_pointer == p);
    OK(rt.cudaMallocManaged(&p, 100, 1));
    OK(rt.cudaPointerGetAttributes(&a, p));
    IS(a.type, 3);
    OK(rt.cudaPointerGetAttributes(&a, &local)); /* since CUDA 11: no error */
    IS(a.type, 0);
    IS(a.device, -2);
    CHECK(a.device_pointer == NULL);
    OK(rt.cudaGetLastError());
}

static void test_structures(void **state)
{
    (void)state;
    both(properties, ENV("CUDA_EMU_DEVICES=2"));
    both(pointers, ENV("CUDA_EMU_DEVICES=2"));
}

/* Memory Management */
static void memory(void)
{
    char in[300], out[300];
    void *p, *q, *pinned;
    size_t pitch, available, total;

    rt_open(major);
    OK(rt.cudaFree(NULL));
    OK(rt.cudaMalloc(&p, 0));
    CHECK(p == NULL);
    OK(rt.cudaMalloc(&p, 300));
    OK(rt.cudaMalloc(&q, 300));
    for (int i = 0; i < 300; i++)
        in[i] = (char)i;
    OK(rt.cudaMemcpy(p, in, 300, HOST_TO_DEVICE));
    OK(rt.cudaMemcpy(q, p, 300, DEVICE_TO_DEVICE));
    OK(rt.cudaMemcpy(out, q, 300, BY_POINTER));
    CHECK(memcmp(in, out, 300) == 0);
    OK(rt.cudaMemcpy(out, in, 300, HOST_TO_HOST));
    IS(rt.cudaMemcpy(p, in, 300, 7), 21);
    IS(rt.cudaMemcpy(NULL, in, 300, HOST_TO_DEVICE), 1);
    IS(rt.cudaMemcpy(out, in, 300, HOST_TO_DEVICE), 1);
    OK(rt.cudaMemset(p, 9, 300));
    OK(rt.cudaMemcpy(out, p, 300, DEVICE_TO_HOST));
    CHECK(out[299] == 9);
    OK(rt.cudaMallocPitch(&q, &pitch, 100, 3));
    CHECK(pitch >= 100);
    OK(rt.cudaMemcpy2D(q, pitch, in, 100, 100, 3, HOST_TO_DEVICE));
    memset(out, 0, sizeof(out));
    OK(rt.cudaMemcpy2D(out, 100, q, pitch, 100, 3, DEVICE_TO_HOST));
    CHECK(memcmp(in, out, 300) == 0);
    IS(rt.cudaMemcpy2D(out, 50, q, pitch, 100, 3, DEVICE_TO_HOST), 12);
    OK(rt.cudaMallocHost(&pinned, 300));
    OK(rt.cudaFreeHost(pinned));
    IS(rt.cudaFree(in), 1);
    OK(rt.cudaMemGetInfo(&available, &total));
    IS(rt.cudaMalloc(&q, total + 1), 2);
    OK(rt.cudaFree(p));
}

static void pools_and_peers(void)
{
    void *p, *q;
    CUstream stream;
    char byte;

    rt_open(major);
    OK(rt.cudaStreamCreateWithFlags(&stream, 1));
    OK(rt.cudaMallocAsync(&p, 1000, stream));
    OK(rt.cudaMemsetAsync(p, 3, 1000, stream));
    OK(rt.cudaSetDevice(1));
    OK(rt.cudaMalloc(&q, 1000));
    OK(rt.cudaSetDevice(0));
    OK(rt.cudaStreamSynchronize(stream));
    OK(rt.cudaMemcpyPeer(q, 1, p, 0, 1000));
    OK(rt.cudaMemcpy(&byte, (char *)q + 999, 1, BY_POINTER));
    IS(byte, 3);
    OK(rt.cudaFreeAsync(p, stream));
    OK(rt.cudaStreamDestroy(stream));
}

static void test_memory(void **state)
{
    (void)state;
    both(memory, ENV("CUDA_EMU_MEM=64M"));
    both(memory, ENV("CUDA_EMU_MEM=64M", "CUDA_EMU_SYNC=1"));
    both(pools_and_peers, ENV("CUDA_EMU_DEVICES=2", "CUDA_EMU_DELAY=1000"));
}

/* Error Handling: the last error is per thread, cudaGetLastError forgets it. */
static void errors(void)
{
    void *p;

    rt_open(major);
    OK(rt.cudaGetLastError());
    IS(rt.cudaSetDevice(77), 101);
    OK(rt.cudaMalloc(&p, 64));
    IS(rt.cudaPeekAtLastError(), 101);
    IS(rt.cudaGetLastError(), 101);
    OK(rt.cudaGetLastError());
    CHECK(strcmp(rt.cudaGetErrorName(101), "cudaErrorInvalidDevice") == 0);
    CHECK(strcmp(rt.cudaGetErrorString(101), "invalid device ordinal") == 0);
    CHECK(strcmp(rt.cudaGetErrorString(0), "no error") == 0);
    CHECK(strcmp(rt.cudaGetErrorString(98765), "unrecognized error code") == 0);
}

static void unimplemented(void)
{
    rt_open(major);
    IS(rt.cudaGraphLaunch(NULL, NULL), 801);
    IS(rt.cudaGetLastError(), 801);
}

static void test_errors(void **state)
{
    (void)state;
    both(errors, NO_ENV);
    both(unimplemented, NO_ENV);
    major = 13;
    expect_ok_saying(unimplemented, ENV("CUDA_EMU_VERBOSE=1"), "cudaGraphLaunch");
}

/* Interactions with the driver: the runtime uses the primary context, and a current one. */
static void with_driver(void)
{
    CUcontext primary, current, own;
    CUdevice device;
    void *p;
    CUcontext of_pointer;
    void *entry = NULL;
    int found = -1;

    rt_open(major);
    OK(rt.cudaMalloc(&p, 64));
    OK(cuDeviceGet(&device, 0));
    OK(cuDevicePrimaryCtxRetain(&primary, device));
    OK(cuCtxGetCurrent(&current));
    CHECK(current == primary);
    own = new_context(1);
    OK(rt.cudaGetDevice(&device));
    IS(device, 1);
    OK(rt.cudaMalloc(&p, 64));
    OK(cuPointerGetAttribute(&of_pointer, CU_POINTER_ATTRIBUTE_CONTEXT, (CUdeviceptr)(uintptr_t)p));
    CHECK(of_pointer == own);
    OK(rt.cudaSetDevice(0));
    OK(cuCtxGetCurrent(&current));
    CHECK(current == primary);
    OK(rt.cudaGetDriverEntryPointByVersion("cuMemAlloc", &entry, 12000, 0, &found));
    IS(found, 0);
    CHECK(entry == (void *)(uintptr_t)cuMemAlloc);
    OK(rt.cudaGetDriverEntryPointByVersion("cuNoSuchThing", &entry, 12000, 0, &found));
    IS(found, CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND);
}

/* cudaDeviceReset: everything of the device is gone; the next call begins anew. */
static void reset(void)
{
    CUdevice device;
    CUstream stream;
    unsigned flags;
    void *p, *q;
    int active;

    rt_open(major);
    OK(rt.cudaMalloc(&p, 64));
    OK(rt.cudaStreamCreate(&stream));
    OK(rt.cudaDeviceReset());
    OK(cuDeviceGet(&device, 0));
    OK(cuDevicePrimaryCtxGetState(device, &flags, &active));
    IS(active, 0);
    IS(rt.cudaFree(p), 1);
    OK(rt.cudaMalloc(&q, 64));
    OK(cuDevicePrimaryCtxGetState(device, &flags, &active));
    IS(active, 1);
    IS(rt.cudaStreamSynchronize(stream), 400);
    OK(rt.cudaFree(q));
    OK(rt.cudaDeviceReset());
    OK(rt.cudaDeviceReset());
}

static void test_contexts(void **state)
{
    (void)state;
    both(with_driver, ENV("CUDA_EMU_DEVICES=2"));
    both(reset, NO_ENV);
}

static atomic_int go;

static void wait_for_go(void *data)
{
    while (!atomic_load(&go))
        usleep(1000);
    usleep(30000);
    atomic_fetch_add((atomic_int *)data, 1);
}

static void add_status(CUstream stream, int status, void *data)
{
    (void)stream;
    atomic_fetch_add((atomic_int *)data, status == 0 ? 10 : 1000);
}

/* Stream Management, Event Management */
static void streams(void)
{
    CUstream blocking, other;
    CUevent start, end;
    atomic_int count = 0;
    float ms;
    void *p;
    int device;

    rt_open(major);
    OK(rt.cudaSetDevice(1));
    OK(rt.cudaMalloc(&p, 64));
    OK(rt.cudaStreamCreate(&blocking));
    OK(rt.cudaStreamCreateWithFlags(&other, 1));
    OK(rt.cudaEventCreate(&start));
    OK(rt.cudaEventCreate(&end));
    OK(rt.cudaEventRecord(start, blocking));
    OK(rt.cudaLaunchHostFunc(blocking, wait_for_go, &count));
    OK(rt.cudaStreamAddCallback(blocking, add_status, &count, 0));
    OK(rt.cudaEventRecord(end, blocking));
    IS(rt.cudaStreamQuery(blocking), 600);
    IS(rt.cudaEventQuery(end), 600);
    OK(rt.cudaStreamQuery(other));
    OK(rt.cudaStreamWaitEvent(other, end, 0));
    OK(rt.cudaMemsetAsync(p, 0, 64, NULL)); /* legacy: behind the blocking stream */
    OK(rt.cudaStreamQuery_ptsz(NULL));      /* per-thread: nothing in it */
    atomic_store(&go, 1);
    OK(rt.cudaDeviceSynchronize());
    IS(count, 11);
    OK(rt.cudaEventElapsedTime(&ms, start, end));
    CHECK(ms >= 25 && ms < 20000);
    OK(rt.cudaStreamGetDevice(other, &device));
    IS(device, 1);
    OK(rt.cudaEventDestroy(start));
    OK(rt.cudaStreamDestroy(blocking));
    IS(rt.cudaStreamSynchronize(blocking), 400);
}

/* cudaStreamBeginCapture: what follows is recorded, not run. */
static void capture(void)
{
    CUstream stream;
    void *graph = NULL, *p;
    int status;
    char byte;

    rt_open(major);
    OK(rt.cudaMalloc(&p, 64));
    OK(rt.cudaMemset(p, 1, 64));
    OK(rt.cudaStreamCreateWithFlags(&stream, 1));
    OK(rt.cudaStreamBeginCapture(stream, 1)); /* thread local */
    OK(rt.cudaStreamIsCapturing(stream, &status));
    IS(status, 1);
    OK(rt.cudaMemsetAsync(p, 2, 64, stream));
    OK(rt.cudaStreamEndCapture(stream, &graph));
    CHECK(graph != NULL);
    OK(rt.cudaGraphDestroy(graph));
    OK(rt.cudaMemcpy(&byte, p, 1, DEVICE_TO_HOST));
    IS(byte, 1);
}

/* cudaMemPrefetchAsync: a device ordinal in 12, a location in 13; -1 and type 2 are the host. */
static void prefetch(void)
{
    CUmemLocation device = {.type = CU_MEM_LOCATION_TYPE_DEVICE};
    void *p;
    int *words;

    rt_open(major);
    OK(rt.cudaMallocManaged(&p, 4096, 1));
    words = p;
    words[7] = 3;
    if (major < 13) {
        OK(rt.prefetch_12(p, 4096, 0, NULL));
        OK(rt.prefetch_12(p, 4096, -1, NULL));
        IS(rt.prefetch_12(p, 4096, 55, NULL), 101);
    } else {
        OK(rt.prefetch_13(p, 4096, device, 0, NULL));
        device.id = 55;
        IS(rt.prefetch_13(p, 4096, device, 0, NULL), 101);
    }
    OK(rt.cudaDeviceSynchronize());
    IS(words[7], 3);
}

static void test_streams(void **state)
{
    (void)state;
    both(capture, NO_ENV);
    both(prefetch, NO_ENV);
    both(streams, ENV("CUDA_EMU_DEVICES=2"));
}

/* IPC between processes through the runtime. */
static void exports(int fd)
{
    struct rt_ipc handle;
    void *p;
    char answer;

    rt_open(major);
    OK(rt.cudaMalloc(&p, 4096));
    OK(rt.cudaMemset(p, 0, 4096));
    OK(rt.cudaDeviceSynchronize());
    OK(rt.cudaIpcGetMemHandle(&handle, p));
    send_bytes(fd, &handle, sizeof(handle));
    receive_bytes(fd, &answer, 1);
    OK(rt.cudaMemcpy(&answer, (char *)p + 4095, 1, DEVICE_TO_HOST));
    IS(answer, 6);
}

static void imports(int fd)
{
    struct rt_ipc handle;
    void *p;

    rt_open(major);
    receive_bytes(fd, &handle, sizeof(handle));
    OK(rt.cudaIpcOpenMemHandle(&p, handle, 1));
    OK(rt.cudaMemset(p, 6, 4096));
    OK(rt.cudaDeviceSynchronize());
    OK(rt.cudaIpcCloseMemHandle(p));
    send_bytes(fd, "x", 1);
}

static void ipc(void)
{
    run_pair(exports, imports);
}

static void test_ipc(void **state)
{
    (void)state;
    both(ipc, NO_ENV);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_devices),  cmocka_unit_test(test_structures),
        cmocka_unit_test(test_memory),   cmocka_unit_test(test_errors),
        cmocka_unit_test(test_contexts), cmocka_unit_test(test_streams),
        cmocka_unit_test(test_ipc),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
