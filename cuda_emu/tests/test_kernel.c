/*
 * Modules, launches, sticky errors, capture. Sections: Driver API "Module Management", "Execution
 * Control", "Stream Management"; Programming Guide "Error Checking", "Creating a Graph Using
 * Stream Capture". Kernels run as the twins of twins.c (cuda_emu_twin.h).
 */
#include "cuda_emu/tests/emu_test.h"

#define TWINS_FILE "cuda_emu/tests/.libs/emu_test_twins.so"

static char twins_variable[4200];

static const char *twins(void)
{
    snprintf(twins_variable, sizeof(twins_variable), "CUDA_EMU_TWINS=%s", built(TWINS_FILE));
    return twins_variable;
}

/* Any image will do: the emulator looks for twins, not for machine code. */
static CUfunction kernel(const char *name)
{
    static const char image[] = ".version 7.0\n.target sm_70\n.address_size 64\n";
    CUmodule module;
    CUfunction function;

    OK(cuModuleLoadData(&module, image));
    OK(cuModuleGetFunction(&function, module, name));
    return function;
}

/* cuLaunchKernel: arguments are copied when it is called; stream order. */
static void launch(void)
{
    CUfunction add;
    CUdeviceptr p;
    CUstream stream;
    int n = 100, value = 3, out[100];
    void *args[] = {&p, &n, &value};

    use_device(0);
    add = kernel("emu_test_add");
    OK(cuMemAlloc(&p, sizeof(out)));
    OK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    OK(cuMemsetD32Async(p, 10, 100, stream));
    OK(cuLaunchKernel(add, 1, 1, 1, 32, 1, 1, 0, stream, args, NULL));
    value = 1000;
    n = 1;
    OK(cuStreamSynchronize(stream));
    OK(cuMemcpyDtoH(out, p, sizeof(out)));
    CHECK(out[0] == 13 && out[99] == 13);
}

static void geometry(void)
{
    CUfunction blocks;
    CUdeviceptr p;
    uint32_t out[8];
    void *args[] = {&p};

    use_device(0);
    blocks = kernel("emu_test_blocks");
    OK(cuMemAlloc(&p, sizeof(out)));
    OK(cuLaunchKernel(blocks, 4, 3, 2, 32, 2, 1, 96, NULL, args, NULL));
    OK(cuMemcpyDtoH(out, p, sizeof(out)));
    CHECK(out[0] == 1 && out[1] == 4 && out[2] == 3 && out[3] == 2);
    CHECK(out[4] == 32 && out[5] == 2 && out[6] == 1 && out[7] == 96);
    IS(cuLaunchKernel(blocks, 0, 1, 1, 32, 1, 1, 0, NULL, args, NULL), CUDA_ERROR_INVALID_VALUE);
    IS(cuLaunchKernel(blocks, 1, 1, 1, 2048, 1, 1, 0, NULL, args, NULL), CUDA_ERROR_INVALID_VALUE);
    IS(cuLaunchKernel(NULL, 1, 1, 1, 1, 1, 1, 0, NULL, args, NULL), CUDA_ERROR_INVALID_HANDLE);
}

static void test_launch(void **state)
{
    (void)state;
    expect_ok(launch, ENV(twins(), "CUDA_EMU_DELAY=2000"));
    expect_ok(launch, ENV(twins(), "CUDA_EMU_SYNC=1"));
    expect_ok(geometry, ENV(twins()));
}

/*
 * A kernel without a twin: the emulator cannot know what an image holds, so it is found; launching
 * it says its name and gives CUDA_ERROR_NO_BINARY_FOR_GPU.
 */
static void unknown_kernel(void)
{
    CUmodule module;
    CUfunction function;
    void *args[] = {NULL};

    use_device(0);
    OK(cuModuleLoadData(&module, ".version 7.0\n"));
    OK(cuModuleGetFunction(&function, module, "emu_test_nowhere"));
    IS(cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, NULL, args, NULL),
       CUDA_ERROR_NO_BINARY_FOR_GPU);
    OK(cuCtxSynchronize());
    OK(cuModuleUnload(module));
    IS(cuModuleUnload(module), CUDA_ERROR_INVALID_HANDLE);
    IS(cuModuleLoadData(&module, "no image at all"), CUDA_ERROR_INVALID_IMAGE);
}

static void test_unknown_kernel(void **state)
{
    (void)state;
    expect_ok_saying(unknown_kernel, ENV(twins()), "emu_test_nowhere");
    expect_ok_saying(unknown_kernel, ENV("CUDA_EMU_TWINS="), "emu_test_nowhere");
}

/*
 * An illegal address: CUDA_ERROR_ILLEGAL_ADDRESS when work is next waited for, then from every
 * call ("this leaves the process in an inconsistent state"); another context goes on.
 */
static void illegal_address(void)
{
    CUfunction add;
    CUcontext other, broken = use_device(0);
    CUdeviceptr p, later;
    int n = 5000, value = 1;
    void *args[] = {&p, &n, &value};

    add = kernel("emu_test_add");
    OK(cuMemAlloc(&p, 64)); /* 5000 ints do not fit */
    OK(cuLaunchKernel(add, 1, 1, 1, 32, 1, 1, 0, NULL, args, NULL));
    IS(cuCtxSynchronize(), CUDA_ERROR_ILLEGAL_ADDRESS);
    IS(cuMemAlloc(&later, 64), CUDA_ERROR_ILLEGAL_ADDRESS);
    IS(cuStreamSynchronize(NULL), CUDA_ERROR_ILLEGAL_ADDRESS);
    IS(cuCtxSynchronize(), CUDA_ERROR_ILLEGAL_ADDRESS);
    other = new_context(1);
    OK(cuMemAlloc(&later, 64));
    OK(cuCtxSynchronize());
    OK(cuCtxSetCurrent(broken));
    IS(cuMemAlloc(&later, 64), CUDA_ERROR_ILLEGAL_ADDRESS);
    OK(cuCtxSetCurrent(other));
    OK(cuMemFree(later));
}

/* Memory of another device without peer access, and plain host memory, are illegal for kernels. */
static void illegal_peer(void)
{
    CUcontext first, second = use_device(1);
    CUfunction add;
    CUdeviceptr far;
    int n = 4, value = 1;
    void *args[] = {&far, &n, &value};

    OK(cuMemAlloc(&far, 64));
    OK(cuMemsetD32(far, 1, 16));
    first = use_device(0);
    add = kernel("emu_test_add");
    OK(cuCtxEnablePeerAccess(second, 0));
    OK(cuLaunchKernel(add, 1, 1, 1, 32, 1, 1, 0, NULL, args, NULL));
    OK(cuCtxSynchronize());
    OK(cuCtxDisablePeerAccess(second));
    OK(cuLaunchKernel(add, 1, 1, 1, 32, 1, 1, 0, NULL, args, NULL));
    IS(cuCtxSynchronize(), CUDA_ERROR_ILLEGAL_ADDRESS);
    CHECK(first != second);
}

/*
 * Context Management, "each context has its own distinct address space": on the same device too.
 */
static void illegal_context(void)
{
    CUcontext first = use_device(0);
    CUfunction add = kernel("emu_test_add");
    CUdeviceptr other;
    int n = 4, value = 1;
    void *args[] = {&other, &n, &value};

    new_context(0);
    OK(cuMemAlloc(&other, 64));
    OK(cuCtxSetCurrent(first));
    OK(cuLaunchKernel(add, 1, 1, 1, 32, 1, 1, 0, NULL, args, NULL));
    IS(cuCtxSynchronize(), CUDA_ERROR_ILLEGAL_ADDRESS);
}

/*
 * Peer Context Memory Access, cuCtxEnablePeerAccess: access is to the allocations of a context; it
 * goes with that context, and has to be enabled for the one that comes after a reset.
 */
static void peer_after_reset(void)
{
    CUcontext first = use_device(0), second = use_device(1);
    CUfunction add;
    CUdeviceptr far;
    int n = 4, value = 1;
    void *args[] = {&far, &n, &value};

    OK(cuCtxSetCurrent(first));
    add = kernel("emu_test_add");
    OK(cuCtxEnablePeerAccess(second, 0));
    OK(cuDevicePrimaryCtxReset(1));
    second = use_device(1);
    OK(cuMemAlloc(&far, 64));
    OK(cuCtxSetCurrent(first));
    IS(cuCtxDisablePeerAccess(second), CUDA_ERROR_PEER_ACCESS_NOT_ENABLED);
    OK(cuCtxEnablePeerAccess(second, 0));
    OK(cuLaunchKernel(add, 1, 1, 1, 32, 1, 1, 0, NULL, args, NULL));
    OK(cuCtxSynchronize());
    OK(cuDevicePrimaryCtxReset(1));
    use_device(1);
    OK(cuMemAlloc(&far, 64));
    OK(cuCtxSetCurrent(first));
    OK(cuLaunchKernel(add, 1, 1, 1, 32, 1, 1, 0, NULL, args, NULL));
    IS(cuCtxSynchronize(), CUDA_ERROR_ILLEGAL_ADDRESS);
}

static void illegal_host(void)
{
    CUfunction add;
    int plain[4] = {0}, n = 4, value = 1;
    CUdeviceptr p = (CUdeviceptr)(uintptr_t)plain;
    void *args[] = {&p, &n, &value};

    use_device(0);
    add = kernel("emu_test_add");
    OK(cuLaunchKernel(add, 1, 1, 1, 32, 1, 1, 0, NULL, args, NULL));
    IS(cuCtxSynchronize(), CUDA_ERROR_ILLEGAL_ADDRESS);
}

/* Pinned and managed memory are fine. */
static void legal_host(void)
{
    CUfunction add;
    CUdeviceptr p;
    void *pinned;
    int n = 4, value = 2;
    void *args[] = {&p, &n, &value};

    use_device(0);
    add = kernel("emu_test_add");
    OK(cuMemHostAlloc(&pinned, 64, 0));
    ((int *)pinned)[3] = 40;
    OK(cuMemHostGetDevicePointer(&p, pinned, 0));
    OK(cuLaunchKernel(add, 1, 1, 1, 32, 1, 1, 0, NULL, args, NULL));
    OK(cuCtxSynchronize());
    IS(((int *)pinned)[3], 42);
    OK(cuMemAllocManaged(&p, 64, CU_MEM_ATTACH_GLOBAL));
    ((int *)(uintptr_t)p)[3] = 50;
    OK(cuLaunchKernel(add, 1, 1, 1, 32, 1, 1, 0, NULL, args, NULL));
    OK(cuCtxSynchronize());
    IS(((int *)(uintptr_t)p)[3], 52);
}

static void test_addresses(void **state)
{
    (void)state;
    expect_ok(illegal_address, ENV(twins(), "CUDA_EMU_DEVICES=2"));
    expect_ok(illegal_peer, ENV(twins(), "CUDA_EMU_DEVICES=2"));
    expect_ok(illegal_context, ENV(twins()));
    expect_ok(peer_after_reset, ENV(twins(), "CUDA_EMU_DEVICES=2"));
    expect_ok(illegal_host, ENV(twins()));
    expect_ok(legal_host, ENV(twins()));
}

/* Stream Capture: what is enqueued does not run; waiting is an error; it ends in a graph. */
static void capture(void)
{
    CUstream stream;
    CUdeviceptr p;
    CUstreamCaptureStatus status;
    CUgraph graph = NULL;
    char byte;

    use_device(0);
    OK(cuMemAlloc(&p, 64));
    OK(cuMemsetD8(p, 1, 64));
    OK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    OK(cuStreamIsCapturing(stream, &status));
    IS(status, CU_STREAM_CAPTURE_STATUS_NONE);
    IS(cuStreamBeginCapture(NULL, CU_STREAM_CAPTURE_MODE_RELAXED),
       CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
    OK(cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL));
    OK(cuStreamIsCapturing(stream, &status));
    IS(status, CU_STREAM_CAPTURE_STATUS_ACTIVE);
    OK(cuMemsetD8Async(p, 2, 64, stream));
    OK(cuStreamEndCapture(stream, &graph));
    CHECK(graph != NULL);
    OK(cuStreamSynchronize(stream));
    OK(cuMemcpyDtoH(&byte, p, 1));
    IS(byte, 1); /* captured, not run */
    OK(cuGraphDestroy(graph));
}

static void capture_forbids(void)
{
    CUstream stream;
    CUgraph graph = (CUgraph)1;

    use_device(0);
    OK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    OK(cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_GLOBAL));
    IS(cuStreamSynchronize(stream), CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
    /* ... which invalidates the capture. */
    IS(cuStreamEndCapture(stream, &graph), CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
    CHECK(graph == NULL);
}

/* "Potentially unsafe" calls are errors under a capture, but not in relaxed mode. */
static void unsafe_calls(void)
{
    CUstream stream;
    CUgraph graph = NULL;
    CUevent event;
    CUdeviceptr p;

    use_device(0);
    OK(cuEventCreate(&event, CU_EVENT_DISABLE_TIMING));
    OK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    OK(cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_RELAXED));
    OK(cuEventQuery(event));
    OK(cuMemAlloc(&p, 64));
    OK(cuStreamEndCapture(stream, &graph));
    OK(cuGraphDestroy(graph));
    OK(cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL));
    IS(cuEventQuery(event), CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
    (void)cuStreamEndCapture(stream, &graph);
    OK(cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_GLOBAL));
    IS(cuMemAlloc(&p, 64), CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
    (void)cuStreamEndCapture(stream, &graph);
    OK(cuMemAlloc(&p, 64));
}

static void test_capture(void **state)
{
    (void)state;
    expect_ok(unsafe_calls, NO_ENV);
    expect_ok(capture, NO_ENV);
    expect_ok(capture_forbids, NO_ENV);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_launch),
        cmocka_unit_test(test_unknown_kernel),
        cmocka_unit_test(test_addresses),
        cmocka_unit_test(test_capture),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
