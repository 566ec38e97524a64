/* What a pointer is. */
#include "cuda_emu/core/emu.h"

#include <string.h>

/* CUDA writes outputs of different types through void *; so does this. */
#define PUT(type, value) (*(type *)data = (type)(value))

static CUresult host_or_device(CUpointer_attribute attribute, const struct emu_alloc *a,
                               uintptr_t address, void *data)
{
    bool device_only = emu_kind_is_device(a->kind);

    if (attribute == CU_POINTER_ATTRIBUTE_DEVICE_POINTER) {
        PUT(CUdeviceptr, address);
        return CUDA_SUCCESS;
    }
    if (device_only)
        return CUDA_ERROR_INVALID_VALUE;
    PUT(void *, address);
    return CUDA_SUCCESS;
}

/* Of the device that the current context is on. */
static unsigned access_flags(uintptr_t address)
{
    const struct emu_ctx *viewer = emu_ctx_current();
    enum emu_kind kind;

    if (emu_access_locked(address, 1, viewer, true, &kind) != NULL)
        return CU_POINTER_ATTRIBUTE_ACCESS_FLAG_READWRITE;
    return emu_access_locked(address, 1, viewer, false, &kind) != NULL
               ? CU_POINTER_ATTRIBUTE_ACCESS_FLAG_READ
               : CU_POINTER_ATTRIBUTE_ACCESS_FLAG_NONE;
}

static CUresult identity(CUpointer_attribute attribute, const struct emu_alloc *a,
                         uintptr_t address, void *data)
{
    bool host = a->kind == EMU_PINNED || a->kind == EMU_REGISTERED;

    switch (attribute) {
    case CU_POINTER_ATTRIBUTE_CONTEXT:
        PUT(CUcontext, a->ctx);
        return CUDA_SUCCESS;
    case CU_POINTER_ATTRIBUTE_MEMORY_TYPE:
        PUT(CUmemorytype, host ? CU_MEMORYTYPE_HOST : CU_MEMORYTYPE_DEVICE);
        return CUDA_SUCCESS;
    case CU_POINTER_ATTRIBUTE_SYNC_MEMOPS:
        PUT(unsigned, a->sync_memops);
        return CUDA_SUCCESS;
    case CU_POINTER_ATTRIBUTE_BUFFER_ID:
        PUT(unsigned long long, a->buffer_id);
        return CUDA_SUCCESS;
    case CU_POINTER_ATTRIBUTE_IS_MANAGED:
        PUT(unsigned, a->kind == EMU_MANAGED);
        return CUDA_SUCCESS;
    case CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL:
        PUT(int, a->device);
        return CUDA_SUCCESS;
    case CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE:
        PUT(unsigned, a->kind == EMU_DEVICE);
        return CUDA_SUCCESS;
    case CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE:
        PUT(CUmemoryPool, a->kind == EMU_POOL ? a->owner : NULL);
        return CUDA_SUCCESS;
    case CU_POINTER_ATTRIBUTE_ACCESS_FLAGS:
        PUT(unsigned, access_flags(address));
        return CUDA_SUCCESS;
    case CU_POINTER_ATTRIBUTE_IS_GPU_DIRECT_RDMA_CAPABLE:
        PUT(unsigned, emu_kind_is_device(a->kind));
        return CUDA_SUCCESS;
    case CU_POINTER_ATTRIBUTE_ALLOWED_HANDLE_TYPES:
        PUT(unsigned long long, a->kind == EMU_VMM ? a->flags : 0);
        return CUDA_SUCCESS;
    default:
        return CUDA_ERROR_NOT_SUPPORTED;
    }
}

static CUresult attribute_of(CUpointer_attribute attribute, const struct emu_alloc *a,
                             uintptr_t address, void *data)
{
    switch (attribute) {
    case CU_POINTER_ATTRIBUTE_DEVICE_POINTER:
    case CU_POINTER_ATTRIBUTE_HOST_POINTER:
        return host_or_device(attribute, a, address, data);
    case CU_POINTER_ATTRIBUTE_RANGE_START_ADDR:
    case CU_POINTER_ATTRIBUTE_MAPPING_BASE_ADDR:
        PUT(CUdeviceptr, a->base);
        return CUDA_SUCCESS;
    case CU_POINTER_ATTRIBUTE_RANGE_SIZE:
    case CU_POINTER_ATTRIBUTE_MAPPING_SIZE:
        PUT(size_t, a->size);
        return CUDA_SUCCESS;
    case CU_POINTER_ATTRIBUTE_MAPPED:
        PUT(unsigned, 1);
        return CUDA_SUCCESS;
    default:
        return identity(attribute, a, address, data);
    }
}

CUresult CUDAAPI cuPointerGetAttribute(void *data, CUpointer_attribute attribute,
                                       CUdeviceptr address)
{
    CUresult rc = emu_enter(__func__);
    struct emu_alloc *alloc;

    if (rc != CUDA_SUCCESS)
        return rc;
    if (data == NULL)
        return CUDA_ERROR_INVALID_VALUE;
    emu_lock();
    alloc = emu_space_find(address);
    rc = alloc == NULL ? CUDA_ERROR_INVALID_VALUE : attribute_of(attribute, alloc, address, data);
    emu_unlock();
    return rc;
}

static size_t width_of(CUpointer_attribute attribute)
{
    switch (attribute) {
    case CU_POINTER_ATTRIBUTE_MEMORY_TYPE:
    case CU_POINTER_ATTRIBUTE_SYNC_MEMOPS:
    case CU_POINTER_ATTRIBUTE_IS_MANAGED:
    case CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL:
    case CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE:
    case CU_POINTER_ATTRIBUTE_MAPPED:
    case CU_POINTER_ATTRIBUTE_IS_GPU_DIRECT_RDMA_CAPABLE:
    case CU_POINTER_ATTRIBUTE_ACCESS_FLAGS:
        return 4;
    default:
        return 8;
    }
}

/* Attributes that a pointer does not have are 0 or NULL, its ordinal is -2; no error. */
static void put_nothing(CUpointer_attribute attribute, void *data)
{
    memset(data, 0, width_of(attribute));
    if (attribute == CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL)
        *(int *)data = -2;
}

CUresult CUDAAPI cuPointerGetAttributes(unsigned int count, CUpointer_attribute *attributes,
                                        void **data, CUdeviceptr address)
{
    CUresult rc = emu_enter(__func__);
    struct emu_alloc *alloc;

    if (rc != CUDA_SUCCESS)
        return rc;
    if (count == 0 || attributes == NULL || data == NULL)
        return CUDA_ERROR_INVALID_VALUE;
    emu_lock();
    alloc = emu_space_find(address);
    for (unsigned i = 0; i < count; i++) {
        if (alloc == NULL || attribute_of(attributes[i], alloc, address, data[i]) != CUDA_SUCCESS)
            put_nothing(attributes[i], data[i]);
    }
    emu_unlock();
    return CUDA_SUCCESS;
}

CUresult CUDAAPI cuPointerSetAttribute(const void *value, CUpointer_attribute attribute,
                                       CUdeviceptr address)
{
    CUresult rc = emu_enter(__func__);
    struct emu_alloc *alloc;

    if (rc != CUDA_SUCCESS)
        return rc;
    if (value == NULL || attribute != CU_POINTER_ATTRIBUTE_SYNC_MEMOPS)
        return CUDA_ERROR_INVALID_VALUE;
    emu_lock();
    alloc = emu_space_find(address);
    if (alloc == NULL || !emu_kind_is_device(alloc->kind))
        rc = CUDA_ERROR_INVALID_VALUE;
    else
        alloc->sync_memops = *(const unsigned *)value != 0;
    emu_unlock();
    return rc;
}
