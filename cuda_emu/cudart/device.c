/* Device attributes and properties, limits, peers, versions, entry points of the driver. */
#include "cuda_emu/cudart/rt.h"

#include <string.h>

/* CUDA_EMU's answer for what no device here has: cudaDeviceGetCacheConfig and its like */
enum { CACHE_PREFER_NONE = 0, SHARED_BANK_DEFAULT = 0 };

static cudaError_t handle_of(int ordinal, CUdevice *device)
{
    return rt_drv.cuDeviceGet(device, ordinal) == CUDA_SUCCESS ? cudaSuccess
                                                               : cudaErrorInvalidDevice;
}

static cudaError_t get_attribute(int *value, int attribute, int ordinal)
{
    CUdevice device;
    cudaError_t status = handle_of(ordinal, &device);

    if (value == NULL)
        return cudaErrorInvalidValue;
    if (status != cudaSuccess)
        return status;
    return (cudaError_t)rt_drv.cuDeviceGetAttribute(value, (CUdevice_attribute)attribute, device);
}

static cudaError_t can_access(int *answer, int ordinal, int peer)
{
    CUdevice device, other;
    cudaError_t status = handle_of(ordinal, &device);

    if (answer == NULL)
        return cudaErrorInvalidValue;
    if (status == cudaSuccess)
        status = handle_of(peer, &other);
    if (status != cudaSuccess)
        return status;
    return (cudaError_t)rt_drv.cuDeviceCanAccessPeer(answer, device, other);
}

static cudaError_t p2p_attribute(int *value, int attribute, int ordinal, int peer)
{
    CUdevice device, other;
    cudaError_t status = handle_of(ordinal, &device);

    if (status == cudaSuccess)
        status = handle_of(peer, &other);
    if (status != cudaSuccess)
        return status;
    return (cudaError_t)rt_drv.cuDeviceGetP2PAttribute(value, (CUdevice_P2PAttribute)attribute,
                                                       device, other);
}

static cudaError_t enable_peer(int peer, unsigned flags)
{
    CUcontext context;
    cudaError_t status = flags == 0 ? rt_primary(peer, &context) : cudaErrorInvalidValue;

    return status == cudaSuccess ? (cudaError_t)rt_drv.cuCtxEnablePeerAccess(context, 0) : status;
}

static cudaError_t disable_peer(int peer)
{
    CUcontext context;
    cudaError_t status = rt_primary(peer, &context);

    return status == cudaSuccess ? (cudaError_t)rt_drv.cuCtxDisablePeerAccess(context) : status;
}

static cudaError_t pci_bus_id(char *text, int length, int ordinal)
{
    CUdevice device;
    cudaError_t status = handle_of(ordinal, &device);

    if (status != cudaSuccess)
        return status;
    return (cudaError_t)rt_drv.cuDeviceGetPCIBusId(text, length, device);
}

static cudaError_t by_pci_bus_id(int *ordinal, const char *text)
{
    CUdevice device, candidate;
    CUresult result = rt_drv.cuDeviceGetByPCIBusId(&device, text);
    int count = 0;

    if (result != CUDA_SUCCESS)
        return (cudaError_t)result;
    (void)rt_drv.cuDeviceGetCount(&count);
    for (int i = 0; i < count; i++) {
        if (rt_drv.cuDeviceGet(&candidate, i) == CUDA_SUCCESS && candidate == device) {
            *ordinal = i;
            return cudaSuccess;
        }
    }
    return cudaErrorInvalidDevice;
}

static cudaError_t constant(int *out, int value)
{
    if (out == NULL)
        return cudaErrorInvalidValue;
    *out = value;
    return cudaSuccess;
}

/* cudaFlushGPUDirectRDMAWrites: target is always the current device (0), scope a driver value */
static cudaError_t flush_writes(int target, int scope)
{
    return (cudaError_t)rt_drv.cuFlushGPUDirectRDMAWrites((CUflushGPUDirectRDMAWritesTarget)target,
                                                          (CUflushGPUDirectRDMAWritesScope)scope);
}

static cudaError_t entry_point(const char *symbol, void **function, unsigned version,
                               unsigned long long flags, int *found)
{
    CUdriverProcAddressQueryResult query = CU_GET_PROC_ADDRESS_SUCCESS;
    CUresult result;

    if (symbol == NULL || function == NULL)
        return cudaErrorInvalidValue;
    result = rt_drv.cuGetProcAddress(symbol, function, (int)version, flags, &query);
    if (found != NULL)
        *found = (int)query;
    /* A symbol that is not there is an answer when the caller has asked for one. */
    if (result == CUDA_ERROR_NOT_FOUND)
        return found != NULL ? cudaSuccess : cudaErrorSymbolNotFound;
    return (cudaError_t)result;
}

#if RT_MAJOR >= 13
#define RT_VERSION 13000
#else
#define RT_VERSION 12090
#endif
/* For per-thread default streams the driver is asked for its own per-thread variants. */
#define PER_THREAD_FLAG CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM

/* clang-format off */
RT_FN_DRIVER(cudaGetDriverEntryPoint,
             (const char *symbol, void **function, unsigned long long flags, int *found),
             entry_point(symbol, function, RT_VERSION, flags, found))
RT_FN_DRIVER(cudaGetDriverEntryPoint_ptsz,
             (const char *symbol, void **function, unsigned long long flags, int *found),
             entry_point(symbol, function, RT_VERSION,
                         flags == 0 ? (unsigned long long)PER_THREAD_FLAG : flags, found))
RT_FN_DRIVER(cudaGetDriverEntryPointByVersion,
             (const char *symbol, void **function, unsigned version, unsigned long long flags,
              int *found),
             entry_point(symbol, function, version, flags, found))
RT_FN_DRIVER(cudaGetDriverEntryPointByVersion_ptsz,
             (const char *symbol, void **function, unsigned version, unsigned long long flags,
              int *found),
             entry_point(symbol, function, version,
                         flags == 0 ? (unsigned long long)PER_THREAD_FLAG : flags, found))
/* clang-format on */

RT_EXPORT cudaError_t cudaRuntimeGetVersion(int *version);
cudaError_t cudaRuntimeGetVersion(int *version)
{
    return rt_record(constant(version, RT_VERSION));
}

/* 0 and success where no driver is installed */
RT_EXPORT cudaError_t cudaDriverGetVersion(int *version);
cudaError_t cudaDriverGetVersion(int *version)
{
    return rt_record(constant(version, rt_driver_version()));
}

static cudaError_t choose(int *ordinal, const void *wanted)
{
    return ordinal == NULL || wanted == NULL ? cudaErrorInvalidValue : constant(ordinal, 0);
}

/* The list orders devices for automatic choice; here the first one is taken anyway. */
static cudaError_t valid_devices(const int *list, int count)
{
    CUdevice device;

    for (int i = 0; list != NULL && i < count; i++) {
        if (handle_of(list[i], &device) != cudaSuccess)
            return cudaErrorInvalidDevice;
    }
    return count < 0 ? cudaErrorInvalidValue : cudaSuccess;
}

/* clang-format off */
RT_FN_DRIVER(cudaDeviceGetAttribute, (int *value, int attribute, int device),
             get_attribute(value, attribute, device))
RT_FN_DRIVER(cudaDeviceCanAccessPeer, (int *answer, int device, int peer),
             can_access(answer, device, peer))
RT_FN_DRIVER(cudaDeviceGetP2PAttribute, (int *value, int attribute, int device, int peer),
             p2p_attribute(value, attribute, device, peer))
RT_FN(cudaDeviceEnablePeerAccess, (int peer, unsigned flags), enable_peer(peer, flags))
RT_FN(cudaDeviceDisablePeerAccess, (int peer), disable_peer(peer))
RT_FN_DRIVER(cudaDeviceGetPCIBusId, (char *text, int length, int device),
             pci_bus_id(text, length, device))
RT_FN_DRIVER(cudaDeviceGetByPCIBusId, (int *device, const char *text), by_pci_bus_id(device, text))
RT_FN_DRIVER(cudaChooseDevice, (int *device, const void *properties), choose(device, properties))
RT_FN_DRIVER(cudaSetValidDevices, (const int *list, int count), valid_devices(list, count))

RT_FN(cudaDeviceGetLimit, (size_t *value, int limit), rt_drv.cuCtxGetLimit(value, (CUlimit)limit))
RT_FN(cudaDeviceSetLimit, (int limit, size_t value), rt_drv.cuCtxSetLimit((CUlimit)limit, value))
RT_FN(cudaDeviceFlushGPUDirectRDMAWrites, (int target, int scope), flush_writes(target, scope))
RT_FN(cudaDeviceGetCacheConfig, (int *config), constant(config, CACHE_PREFER_NONE))
RT_FN(cudaDeviceSetCacheConfig, (int config), config < 0 ? cudaErrorInvalidValue : cudaSuccess)
RT_FN(cudaDeviceGetSharedMemConfig, (int *config), constant(config, SHARED_BANK_DEFAULT))
RT_FN(cudaDeviceSetSharedMemConfig, (int config), config < 0 ? cudaErrorInvalidValue : cudaSuccess)
RT_FN(cudaCtxResetPersistingL2Cache, (void), cudaSuccess)
RT_FN(cudaProfilerStart, (void), cudaSuccess)
RT_FN(cudaProfilerStop, (void), cudaSuccess)
/* clang-format on */

static CUdeviceptr address(const void *pointer)
{
    return (CUdeviceptr)(uintptr_t)pointer;
}

#if RT_MAJOR < 13
/* The older forms name a device by its ordinal, -1 being the CPU. */
static CUmemLocation place(int device)
{
    CUmemLocation location;

    memset(&location, 0, sizeof(location));
    location.type = device < 0 ? (CUmemLocationType)2 /* host */ : CU_MEM_LOCATION_TYPE_DEVICE;
    location.id = device < 0 ? 0 : device;
    return location;
}

/* clang-format off */
RT_FN(cudaMemAdvise, (const void *pointer, size_t count, int advice, int device),
      rt_drv.advise(address(pointer), count, (CUmem_advise)advice, place(device)))
RT_FN_PTSZ(cudaMemPrefetchAsync,
           (const void *pointer, size_t count, int device, cudaStream_t stream),
           rt_drv.prefetch(address(pointer), count, place(device), 0, stream))
RT_FN(cudaMemAdvise_v2, (const void *pointer, size_t count, int advice, CUmemLocation location),
      rt_drv.advise(address(pointer), count, (CUmem_advise)advice, location))
RT_FN_PTSZ(cudaMemPrefetchAsync_v2,
           (const void *pointer, size_t count, CUmemLocation location, unsigned flags,
            cudaStream_t stream),
           rt_drv.prefetch(address(pointer), count, location, flags, stream))
/* clang-format on */
#else
/* clang-format off */
RT_FN(cudaMemAdvise, (const void *pointer, size_t count, int advice, CUmemLocation location),
      rt_drv.advise(address(pointer), count, (CUmem_advise)advice, location))
RT_FN_PTSZ(cudaMemPrefetchAsync,
           (const void *pointer, size_t count, CUmemLocation location, unsigned flags,
            cudaStream_t stream),
           rt_drv.prefetch(address(pointer), count, location, flags, stream))
/* clang-format on */
#endif
