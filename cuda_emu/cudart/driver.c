/* Finding the driver: libcuda.so.1 is opened at the first call, never linked. */
#include "cuda_emu/cudart/rt.h"

#include <dlfcn.h>
#include <pthread.h>

struct rt_driver rt_drv;

static pthread_once_t load_once = PTHREAD_ONCE_INIT;
static pthread_once_t init_once = PTHREAD_ONCE_INIT;
static void *library;
static int version;
static cudaError_t init_status;

static CUresult missing(void)
{
    return CUDA_ERROR_NOT_SUPPORTED;
}

/* A data pointer from dlsym, stored as the function pointer that it is. */
static void find(const char *name, void *slot)
{
    void *symbol = dlsym(library, name);
    CUresult (*stand_in)(void) = missing;

    if (symbol != NULL)
        *(void **)slot = symbol;
    else
        *(CUresult(**)(void))slot = stand_in;
}

#define STRING_(name) #name
#define STRING(name)  STRING_(name)

static void load(void)
{
    library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
    if (library == NULL) {
        rt_verbose("cudart: libcuda.so.1 cannot be opened: %s", dlerror());
        return;
    }
#define X(name) find(STRING(name), &rt_drv.name);
#include "driver.def"
#undef X
    find("cuDeviceGetUuid_v2", &rt_drv.device_uuid);
    find("cuMemAdvise_v2", &rt_drv.advise);
    find("cuMemPrefetchAsync_v2", &rt_drv.prefetch);
    find("cuStreamGetCaptureInfo_v2", &rt_drv.capture_info);
    if (rt_drv.cuDriverGetVersion(&version) != CUDA_SUCCESS)
        version = 0;
}

static void initialise(void)
{
    if (version / 1000 < RT_MAJOR)
        init_status = cudaErrorInsufficientDriver;
    else
        init_status = (cudaError_t)rt_drv.cuInit(0);
}

int rt_driver_version(void)
{
    pthread_once(&load_once, load);
    return version;
}

cudaError_t rt_driver_enter(void)
{
    pthread_once(&load_once, load);
    pthread_once(&init_once, initialise);
    return init_status;
}
