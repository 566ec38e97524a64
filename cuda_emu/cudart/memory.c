/* Allocation, host memory, pools, IPC, and asking about pointers. */
#include "cuda_emu/cudart/rt.h"

#define PITCH 512u /* rows of cudaMallocPitch and cudaMalloc3D begin at multiples of this */

typedef struct {
    char reserved[CU_IPC_HANDLE_SIZE];
} rt_ipc_t;

typedef struct {
    void *ptr;
    size_t pitch, xsize, ysize;
} rt_pitched_t;

typedef struct {
    size_t width, height, depth;
} rt_extent_t;

struct rt_pointer_attributes {
    int type; /* cudaMemoryType */
    int device;
    void *device_pointer, *host_pointer;
#if RT_MAJOR >= 13
    long reserved[8];
#endif
};

enum { TYPE_UNREGISTERED = 0, TYPE_HOST = 1, TYPE_DEVICE = 2, TYPE_MANAGED = 3 };

static CUdeviceptr device_pointer(const void *pointer)
{
    return (CUdeviceptr)(uintptr_t)pointer;
}

/* Nothing is allocated for 0 bytes: NULL and success, where the driver has an error. */
static cudaError_t allocate(void **pointer, size_t size)
{
    CUdeviceptr address = 0;
    CUresult result = CUDA_SUCCESS;

    if (pointer == NULL)
        return cudaErrorInvalidValue;
    if (size > 0)
        result = rt_drv.cuMemAlloc(&address, size);
    if (result == CUDA_SUCCESS)
        *pointer = (void *)(uintptr_t)address;
    return (cudaError_t)result;
}

static cudaError_t release(void *pointer)
{
    return pointer == NULL ? cudaSuccess : (cudaError_t)rt_drv.cuMemFree(device_pointer(pointer));
}

/* cudaMemAttachGlobal 1, cudaMemAttachHost 2: the driver's values. */
static cudaError_t allocate_managed(void **pointer, size_t size, unsigned flags)
{
    CUdeviceptr address;
    CUresult result;

    if (pointer == NULL)
        return cudaErrorInvalidValue;
    result = rt_drv.cuMemAllocManaged(&address, size, flags);
    if (result == CUDA_SUCCESS)
        *pointer = (void *)(uintptr_t)address;
    return (cudaError_t)result;
}

static cudaError_t allocate_pitch(void **pointer, size_t *pitch, size_t width, size_t rows)
{
    size_t row = (width + PITCH - 1) / PITCH * PITCH;
    cudaError_t status;

    if (pointer == NULL || pitch == NULL || row < width || (rows > 0 && row > SIZE_MAX / rows))
        return cudaErrorInvalidValue;
    status = allocate(pointer, row * rows);
    if (status == cudaSuccess)
        *pitch = row;
    return status;
}

static cudaError_t allocate_3d(rt_pitched_t *pitched, rt_extent_t extent)
{
    cudaError_t status;

    if (pitched == NULL || (extent.depth > 0 && extent.height > SIZE_MAX / extent.depth))
        return cudaErrorInvalidValue;
    status =
        allocate_pitch(&pitched->ptr, &pitched->pitch, extent.width, extent.height * extent.depth);
    if (status == cudaSuccess) {
        pitched->xsize = extent.width;
        pitched->ysize = extent.height;
    }
    return status;
}

static cudaError_t allocate_host(void **pointer, size_t size, unsigned flags)
{
    if (pointer == NULL)
        return cudaErrorInvalidValue;
    if (size == 0) {
        *pointer = NULL;
        return cudaSuccess;
    }
    return (cudaError_t)rt_drv.cuMemHostAlloc(pointer, size, flags);
}

static cudaError_t release_host(void *pointer)
{
    return pointer == NULL ? cudaSuccess : (cudaError_t)rt_drv.cuMemFreeHost(pointer);
}

static cudaError_t host_device_pointer(void **device, void *host, unsigned flags)
{
    CUdeviceptr address;
    CUresult result;

    if (device == NULL)
        return cudaErrorInvalidValue;
    result = rt_drv.cuMemHostGetDevicePointer(&address, host, flags);
    if (result == CUDA_SUCCESS)
        *device = (void *)(uintptr_t)address;
    return (cudaError_t)result;
}

/* The attributes that matter, all in one call: it succeeds for unknown pointers too. */
struct facts {
    unsigned type, managed;
    CUdeviceptr device_address;
    void *host_address;
    int ordinal;
};

static CUresult ask(const void *pointer, struct facts *facts)
{
    CUpointer_attribute names[] = {
        CU_POINTER_ATTRIBUTE_MEMORY_TYPE, CU_POINTER_ATTRIBUTE_IS_MANAGED,
        CU_POINTER_ATTRIBUTE_DEVICE_POINTER, CU_POINTER_ATTRIBUTE_HOST_POINTER,
        CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL};
    void *values[] = {&facts->type, &facts->managed, &facts->device_address, &facts->host_address,
                      &facts->ordinal};

    return rt_drv.cuPointerGetAttributes(5, names, values, device_pointer(pointer));
}

static cudaError_t pointer_attributes(struct rt_pointer_attributes *out, const void *pointer)
{
    struct rt_pointer_attributes found = {.type = TYPE_UNREGISTERED};
    struct facts facts = {.ordinal = CU_DEVICE_INVALID};
    CUresult result;

    if (out == NULL)
        return cudaErrorInvalidValue;
    result = ask(pointer, &facts);
    if (result != CUDA_SUCCESS && result != CUDA_ERROR_INVALID_VALUE)
        return (cudaError_t)result;
    if (result != CUDA_SUCCESS || facts.type == 0) {
        found.device = CU_DEVICE_INVALID;
        found.host_pointer = (void *)(uintptr_t)pointer;
    } else {
        found.type = facts.managed                      ? TYPE_MANAGED
                     : facts.type == CU_MEMORYTYPE_HOST ? TYPE_HOST
                                                        : TYPE_DEVICE;
        found.device = facts.ordinal;
        found.device_pointer = (void *)(uintptr_t)facts.device_address;
        found.host_pointer = found.type == TYPE_DEVICE ? NULL : facts.host_address;
    }
    *out = found;
    return cudaSuccess;
}

static cudaError_t allocate_async(void **pointer, size_t size, cudaMemPool_t pool, int from_pool,
                                  cudaStream_t stream)
{
    CUdeviceptr address = 0;
    CUresult result = CUDA_SUCCESS;

    if (pointer == NULL)
        return cudaErrorInvalidValue;
    if (size > 0)
        result = from_pool ? rt_drv.cuMemAllocFromPoolAsync(&address, size, pool, stream)
                           : rt_drv.cuMemAllocAsync(&address, size, stream);
    if (result == CUDA_SUCCESS)
        *pointer = (void *)(uintptr_t)address;
    return (cudaError_t)result;
}

static cudaError_t release_async(void *pointer, cudaStream_t stream)
{
    return pointer == NULL ? cudaSuccess
                           : (cudaError_t)rt_drv.cuMemFreeAsync(device_pointer(pointer), stream);
}

static cudaError_t import_pointer(void **pointer, cudaMemPool_t pool, CUmemPoolPtrExportData *data)
{
    CUdeviceptr address;
    CUresult result;

    if (pointer == NULL)
        return cudaErrorInvalidValue;
    result = rt_drv.cuMemPoolImportPointer(&address, pool, data);
    if (result == CUDA_SUCCESS)
        *pointer = (void *)(uintptr_t)address;
    return (cudaError_t)result;
}

static cudaError_t ipc_open(void **pointer, rt_ipc_t handle, unsigned flags)
{
    CUipcMemHandle driver_handle;
    CUdeviceptr address;
    CUresult result;

    if (pointer == NULL)
        return cudaErrorInvalidValue;
    __builtin_memcpy(&driver_handle, &handle, sizeof(driver_handle));
    result = rt_drv.cuIpcOpenMemHandle(&address, driver_handle, flags);
    if (result == CUDA_SUCCESS)
        *pointer = (void *)(uintptr_t)address;
    return (cudaError_t)result;
}

static cudaError_t ipc_open_event(cudaEvent_t *event, rt_ipc_t handle)
{
    CUipcEventHandle driver_handle;

    __builtin_memcpy(&driver_handle, &handle, sizeof(driver_handle));
    return (cudaError_t)rt_drv.cuIpcOpenEventHandle(event, driver_handle);
}

/* Resolves an ordinal first: a device of the driver is a handle. */
static cudaError_t device_pool(cudaMemPool_t *pool, int ordinal, int current)
{
    CUdevice device;

    if (rt_drv.cuDeviceGet(&device, ordinal) != CUDA_SUCCESS)
        return cudaErrorInvalidDevice;
    return (cudaError_t)(current ? rt_drv.cuDeviceGetMemPool(pool, device)
                                 : rt_drv.cuDeviceGetDefaultMemPool(pool, device));
}

static cudaError_t set_device_pool(int ordinal, cudaMemPool_t pool)
{
    CUdevice device;

    if (rt_drv.cuDeviceGet(&device, ordinal) != CUDA_SUCCESS)
        return cudaErrorInvalidDevice;
    return (cudaError_t)rt_drv.cuDeviceSetMemPool(device, pool);
}

/* clang-format off */
RT_FN(cudaMalloc, (void **pointer, size_t size), allocate(pointer, size))
RT_FN(cudaFree, (void *pointer), release(pointer))
RT_FN(cudaMallocManaged, (void **pointer, size_t size, unsigned flags),
      allocate_managed(pointer, size, flags))
RT_FN(cudaMallocPitch, (void **pointer, size_t *pitch, size_t width, size_t height),
      allocate_pitch(pointer, pitch, width, height))
RT_FN(cudaMalloc3D, (rt_pitched_t *pitched, rt_extent_t extent), allocate_3d(pitched, extent))
RT_FN(cudaMemGetInfo, (size_t *available, size_t *total), rt_drv.cuMemGetInfo(available, total))

RT_FN(cudaMallocHost, (void **pointer, size_t size), allocate_host(pointer, size, 0))
RT_FN(cudaHostAlloc, (void **pointer, size_t size, unsigned flags),
      allocate_host(pointer, size, flags))
RT_FN(cudaFreeHost, (void *pointer), release_host(pointer))
RT_FN(cudaHostRegister, (void *pointer, size_t size, unsigned flags),
      rt_drv.cuMemHostRegister(pointer, size, flags))
RT_FN(cudaHostUnregister, (void *pointer), rt_drv.cuMemHostUnregister(pointer))
RT_FN(cudaHostGetDevicePointer, (void **device, void *host, unsigned flags),
      host_device_pointer(device, host, flags))
RT_FN(cudaHostGetFlags, (unsigned *flags, void *host), rt_drv.cuMemHostGetFlags(flags, host))

RT_FN(cudaPointerGetAttributes, (struct rt_pointer_attributes *attributes, const void *pointer),
      pointer_attributes(attributes, pointer))
RT_FN(cudaMemRangeGetAttribute,
      (void *data, size_t size, int attribute, const void *pointer, size_t count),
      rt_drv.cuMemRangeGetAttribute(data, size, (CUmem_range_attribute)attribute,
                                    device_pointer(pointer), count))

RT_FN_PTSZ(cudaMallocAsync, (void **pointer, size_t size, cudaStream_t stream),
           allocate_async(pointer, size, NULL, 0, stream))
RT_FN_PTSZ(cudaMallocFromPoolAsync,
           (void **pointer, size_t size, cudaMemPool_t pool, cudaStream_t stream),
           allocate_async(pointer, size, pool, 1, stream))
RT_FN_PTSZ(cudaFreeAsync, (void *pointer, cudaStream_t stream), release_async(pointer, stream))

RT_FN(cudaDeviceGetDefaultMemPool, (cudaMemPool_t *pool, int device), device_pool(pool, device, 0))
RT_FN(cudaDeviceGetMemPool, (cudaMemPool_t *pool, int device), device_pool(pool, device, 1))
RT_FN(cudaDeviceSetMemPool, (int device, cudaMemPool_t pool), set_device_pool(device, pool))
RT_FN(cudaMemPoolCreate, (cudaMemPool_t *pool, const CUmemPoolProps *properties),
      rt_drv.cuMemPoolCreate(pool, properties))
RT_FN(cudaMemPoolDestroy, (cudaMemPool_t pool), rt_drv.cuMemPoolDestroy(pool))
RT_FN(cudaMemPoolTrimTo, (cudaMemPool_t pool, size_t keep), rt_drv.cuMemPoolTrimTo(pool, keep))
RT_FN(cudaMemPoolGetAttribute, (cudaMemPool_t pool, int attribute, void *value),
      rt_drv.cuMemPoolGetAttribute(pool, (CUmemPool_attribute)attribute, value))
RT_FN(cudaMemPoolSetAttribute, (cudaMemPool_t pool, int attribute, void *value),
      rt_drv.cuMemPoolSetAttribute(pool, (CUmemPool_attribute)attribute, value))
RT_FN(cudaMemPoolSetAccess, (cudaMemPool_t pool, const CUmemAccessDesc *list, size_t count),
      rt_drv.cuMemPoolSetAccess(pool, list, count))
RT_FN(cudaMemPoolGetAccess, (CUmemAccess_flags *flags, cudaMemPool_t pool, CUmemLocation *location),
      rt_drv.cuMemPoolGetAccess(flags, pool, location))
RT_FN(cudaMemPoolExportToShareableHandle,
      (void *handle, cudaMemPool_t pool, int type, unsigned flags),
      rt_drv.cuMemPoolExportToShareableHandle(handle, pool, (CUmemAllocationHandleType)type, flags))
RT_FN(cudaMemPoolImportFromShareableHandle,
      (cudaMemPool_t *pool, void *handle, int type, unsigned flags),
      rt_drv.cuMemPoolImportFromShareableHandle(pool, handle, (CUmemAllocationHandleType)type,
                                                flags))
RT_FN(cudaMemPoolExportPointer, (CUmemPoolPtrExportData *data, void *pointer),
      rt_drv.cuMemPoolExportPointer(data, device_pointer(pointer)))
RT_FN(cudaMemPoolImportPointer, (void **pointer, cudaMemPool_t pool, CUmemPoolPtrExportData *data),
      import_pointer(pointer, pool, data))

RT_FN(cudaIpcGetMemHandle, (CUipcMemHandle *handle, void *pointer),
      rt_drv.cuIpcGetMemHandle(handle, device_pointer(pointer)))
RT_FN(cudaIpcOpenMemHandle, (void **pointer, rt_ipc_t handle, unsigned flags),
      ipc_open(pointer, handle, flags))
RT_FN(cudaIpcCloseMemHandle, (void *pointer), rt_drv.cuIpcCloseMemHandle(device_pointer(pointer)))
RT_FN(cudaIpcGetEventHandle, (CUipcEventHandle *handle, cudaEvent_t event),
      rt_drv.cuIpcGetEventHandle(handle, event))
RT_FN(cudaIpcOpenEventHandle, (cudaEvent_t *event, rt_ipc_t handle), ipc_open_event(event, handle))
/* clang-format on */
