/* Which context a runtime call runs in: the current one, else the device's primary context. */
#include "cuda_emu/cudart/rt.h"
#include "cuda_emu/emu_device.h"

#include <pthread.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static CUcontext primaries[EMU_DEVICE_MAX]; /* retained once each; NULL = not yet */
static __thread int chosen_device;

static int active(CUdevice device)
{
    unsigned flags;
    int is_active = 0;

    if (rt_drv.cuDevicePrimaryCtxGetState(device, &flags, &is_active) != CUDA_SUCCESS)
        return 0;
    return is_active;
}

static cudaError_t retain(int ordinal, CUcontext *context)
{
    CUdevice device;
    CUresult result = CUDA_SUCCESS;

    if (ordinal < 0 || ordinal >= EMU_DEVICE_MAX ||
        rt_drv.cuDeviceGet(&device, ordinal) != CUDA_SUCCESS)
        return cudaErrorInvalidDevice;
    pthread_mutex_lock(&lock);
    if (primaries[ordinal] == NULL || !active(device))
        result = rt_drv.cuDevicePrimaryCtxRetain(&primaries[ordinal], device);
    *context = primaries[ordinal];
    pthread_mutex_unlock(&lock);
    return (cudaError_t)result;
}

/* Is this one of our primary contexts, and has it been reset since? */
static int stale(CUcontext context)
{
    CUdevice device;
    int is_stale = 0;

    pthread_mutex_lock(&lock);
    for (int i = 0; i < EMU_DEVICE_MAX && !is_stale; i++) {
        if (primaries[i] == context && rt_drv.cuDeviceGet(&device, i) == CUDA_SUCCESS)
            is_stale = !active(device);
    }
    pthread_mutex_unlock(&lock);
    return is_stale;
}

static cudaError_t bind_primary(int ordinal)
{
    CUcontext context;
    cudaError_t status = retain(ordinal, &context);

    return status == cudaSuccess ? (cudaError_t)rt_drv.cuCtxSetCurrent(context) : status;
}

cudaError_t rt_enter(void)
{
    CUcontext current = NULL;
    cudaError_t status = rt_driver_enter();

    if (status != cudaSuccess)
        return status;
    if (rt_drv.cuCtxGetCurrent(&current) == CUDA_SUCCESS && current != NULL && !stale(current))
        return cudaSuccess;
    return bind_primary(chosen_device);
}

cudaError_t rt_primary(int device, CUcontext *context)
{
    return retain(device, context);
}

cudaError_t rt_push_device(int device)
{
    CUcontext context;
    cudaError_t status = retain(device, &context);

    return status == cudaSuccess ? (cudaError_t)rt_drv.cuCtxPushCurrent(context) : status;
}

void rt_pop_device(void)
{
    CUcontext context;

    (void)rt_drv.cuCtxPopCurrent(&context);
}

cudaError_t rt_current_device(int *device)
{
    CUcontext current = NULL;
    CUdevice handle;
    int count, ordinal = chosen_device;

    (void)rt_drv.cuCtxGetCurrent(&current);
    if (current != NULL && rt_drv.cuCtxGetDevice(&handle) == CUDA_SUCCESS &&
        rt_drv.cuDeviceGetCount(&count) == CUDA_SUCCESS) {
        for (int i = 0; i < count; i++) {
            CUdevice candidate;

            if (rt_drv.cuDeviceGet(&candidate, i) == CUDA_SUCCESS && candidate == handle)
                ordinal = i;
        }
    }
    *device = ordinal;
    return cudaSuccess;
}

static cudaError_t set_device(int device)
{
    cudaError_t status = bind_primary(device);

    if (status == cudaSuccess)
        chosen_device = device;
    return status;
}

static cudaError_t get_device(int *device)
{
    return device == NULL ? cudaErrorInvalidValue : rt_current_device(device);
}

/* Flags of cudaInitDevice apply when cudaInitDeviceFlagsAreValid (1) is given. */
static cudaError_t init_device(int ordinal, unsigned device_flags, unsigned flags)
{
    CUcontext context;
    CUdevice device;

    if (flags > 1)
        return cudaErrorInvalidValue;
    if (rt_drv.cuDeviceGet(&device, ordinal) != CUDA_SUCCESS)
        return cudaErrorInvalidDevice;
    if (flags == 1 && rt_drv.cuDevicePrimaryCtxSetFlags(device, device_flags) != CUDA_SUCCESS)
        return cudaErrorInvalidValue;
    return retain(ordinal, &context);
}

static cudaError_t reset(void)
{
    CUdevice device;
    CUresult result;
    int ordinal;

    (void)rt_current_device(&ordinal);
    result = rt_drv.cuDeviceGet(&device, ordinal);
    if (result == CUDA_SUCCESS && active(device))
        result = rt_drv.cuDevicePrimaryCtxReset(device);
    if (result == CUDA_SUCCESS)
        rt_clear_error();
    return (cudaError_t)result;
}

static cudaError_t set_flags(unsigned flags)
{
    CUdevice device;
    int ordinal;

    (void)rt_current_device(&ordinal);
    if (rt_drv.cuDeviceGet(&device, ordinal) != CUDA_SUCCESS)
        return cudaErrorInvalidDevice;
    return (cudaError_t)rt_drv.cuDevicePrimaryCtxSetFlags(device, flags);
}

#define DEVICE_MAP_HOST 8u /* cudaDeviceMapHost is always in force */

static cudaError_t get_flags(unsigned *flags)
{
    unsigned found;
    CUresult result;

    if (flags == NULL)
        return cudaErrorInvalidValue;
    result = rt_drv.cuCtxGetFlags(&found);
    if (result == CUDA_SUCCESS)
        *flags = found | DEVICE_MAP_HOST;
    return (cudaError_t)result;
}

/* Without any device the count is 0 and the answer cudaErrorNoDevice. */
RT_EXPORT cudaError_t cudaGetDeviceCount(int *count);
cudaError_t cudaGetDeviceCount(int *count)
{
    cudaError_t status = count == NULL ? cudaErrorInvalidValue : rt_driver_enter();

    if (status == cudaErrorNoDevice)
        *count = 0;
    if (status == cudaSuccess)
        status = (cudaError_t)rt_drv.cuDeviceGetCount(count);
    if (status == cudaSuccess && *count == 0)
        status = cudaErrorNoDevice;
    return rt_record(status);
}

/* clang-format off */
RT_FN_DRIVER(cudaSetDevice, (int device), set_device(device))
RT_FN_DRIVER(cudaGetDevice, (int *device), get_device(device))
RT_FN_DRIVER(cudaInitDevice, (int device, unsigned device_flags, unsigned flags),
             init_device(device, device_flags, flags))
RT_FN_DRIVER(cudaDeviceReset, (void), reset())
RT_FN_DRIVER(cudaSetDeviceFlags, (unsigned flags), set_flags(flags))
RT_FN(cudaGetDeviceFlags, (unsigned *flags), get_flags(flags))
RT_FN(cudaDeviceSynchronize, (void), rt_drv.cuCtxSynchronize())
/* clang-format on */
#if RT_MAJOR < 13
/* clang-format off */
RT_FN(cudaThreadSynchronize, (void), rt_drv.cuCtxSynchronize())
RT_FN_DRIVER(cudaThreadExit, (void), reset())
/* clang-format on */
#endif
