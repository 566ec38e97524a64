#include "bench_cuda.h"

#include "cuda_emu/include/cuda_emu.h"

#include <cuda.h>
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

/* Name in the library (versioned by hand: cuda.h does it with macros) and its type. */
#define DRIVER_FUNCTIONS(F)                                                                        \
    F(cuInit, "cuInit", (unsigned flags))                                                          \
    F(count, "cuDeviceGetCount", (int *count))                                                     \
    F(device, "cuDeviceGet", (CUdevice * device, int ordinal))                                     \
    F(name, "cuDeviceGetName", (char *name, int size, CUdevice device))                            \
    F(retain, "cuDevicePrimaryCtxRetain", (CUcontext * context, CUdevice device))                  \
    F(current, "cuCtxSetCurrent", (CUcontext context))                                             \
    F(alloc, "cuMemAlloc_v2", (CUdeviceptr * address, size_t bytes))                               \
    F(free, "cuMemFree_v2", (CUdeviceptr address))                                                 \
    F(alloc_host, "cuMemAllocHost_v2", (void **address, size_t bytes))                             \
    F(free_host, "cuMemFreeHost", (void *address))                                                 \
    F(to_device, "cuMemcpyHtoD_v2", (CUdeviceptr to, const void *from, size_t bytes))              \
    F(to_host, "cuMemcpyDtoH_v2", (void *to, CUdeviceptr from, size_t bytes))                      \
    F(synchronize, "cuCtxSynchronize", (void))                                                     \
    F(error_name, "cuGetErrorName", (CUresult result, const char **text))

static struct {
#define FIELD(field, symbol, arguments) CUresult(*field) arguments;
    DRIVER_FUNCTIONS(FIELD)
#undef FIELD
    cuda_emu_counters_fn counters; /* NULL: a real driver */
    char device_name[128];
    char error[256];
} driver;

static int failed(const char *what, CUresult result)
{
    const char *text = "unknown error";

    if (driver.error_name != NULL)
        driver.error_name(result, &text);
    snprintf(driver.error, sizeof(driver.error), "%s: %s (%d)", what, text, (int)result);
    return -1;
}

static int load(void)
{
    void *library = dlopen("libcuda.so.1", RTLD_NOW);
    const char *missing = NULL;

    if (library == NULL) {
        snprintf(driver.error, sizeof(driver.error), "%s", dlerror());
        return -1;
    }
#define LOAD(field, symbol, arguments)                                                             \
    *(void **)&driver.field = dlsym(library, symbol);                                              \
    if (driver.field == NULL)                                                                      \
        missing = symbol;
    DRIVER_FUNCTIONS(LOAD)
#undef LOAD
    *(void **)&driver.counters = dlsym(library, "cuda_emu_counters");
    if (missing != NULL) {
        snprintf(driver.error, sizeof(driver.error), "libcuda.so.1 has no %s", missing);
        return -1;
    }
    return 0; /* stays loaded: contexts live until the process ends */
}

int bench_cuda_open(int number)
{
    int count = 0;
    CUdevice device;
    CUcontext context;
    CUresult result;

    if (load() != 0)
        return -1;
    if ((result = driver.cuInit(0)) != CUDA_SUCCESS)
        return failed("cuInit", result);
    if ((result = driver.count(&count)) != CUDA_SUCCESS || count == 0)
        return failed("cuDeviceGetCount", count == 0 ? CUDA_ERROR_NO_DEVICE : result);
    if ((result = driver.device(&device, number % count)) != CUDA_SUCCESS)
        return failed("cuDeviceGet", result);
    if ((result = driver.name(driver.device_name, sizeof(driver.device_name), device)) !=
        CUDA_SUCCESS)
        return failed("cuDeviceGetName", result);
    if ((result = driver.retain(&context, device)) != CUDA_SUCCESS)
        return failed("cuDevicePrimaryCtxRetain", result);
    if ((result = driver.current(context)) != CUDA_SUCCESS)
        return failed("cuCtxSetCurrent", result);
    return 0;
}

bool bench_cuda_emulated(void)
{
    return driver.counters != NULL;
}

const char *bench_cuda_name(void)
{
    return bench_cuda_emulated() ? "emulated GPU" : driver.device_name;
}

const char *bench_cuda_error(void)
{
    return driver.error;
}

int bench_cuda_alloc(size_t bytes, void **address)
{
    CUdeviceptr pointer;
    CUresult result = driver.alloc(&pointer, bytes);

    if (result != CUDA_SUCCESS)
        return failed("cuMemAlloc", result);
    *address = (void *)(uintptr_t)pointer;
    return 0;
}

void bench_cuda_free(void *address)
{
    if (address != NULL)
        driver.free((CUdeviceptr)(uintptr_t)address);
}

int bench_cuda_alloc_host(size_t bytes, void **address)
{
    CUresult result = driver.alloc_host(address, bytes);

    return result == CUDA_SUCCESS ? 0 : failed("cuMemAllocHost", result);
}

void bench_cuda_free_host(void *address)
{
    if (address != NULL)
        driver.free_host(address);
}

/* Synchronised: a copy from pageable memory may return before it has arrived. */
int bench_cuda_to_device(void *to, const void *from, size_t bytes)
{
    CUresult result = driver.to_device((CUdeviceptr)(uintptr_t)to, from, bytes);

    if (result == CUDA_SUCCESS)
        result = driver.synchronize();
    return result == CUDA_SUCCESS ? 0 : failed("cuMemcpyHtoD", result);
}

int bench_cuda_to_host(void *to, const void *from, size_t bytes)
{
    CUresult result = driver.to_host(to, (CUdeviceptr)(uintptr_t)from, bytes);

    return result == CUDA_SUCCESS ? 0 : failed("cuMemcpyDtoH", result);
}

uint64_t bench_cuda_host_bytes(void)
{
    struct cuda_emu_counters counters = {0};

    if (driver.counters == NULL)
        return 0;
    driver.counters(&counters, sizeof(counters));
    return cuda_emu_host_bytes(&counters);
}
