/* Memory that the CPU and the cards share: pinned, registered, managed. */
#include "cuda_emu/core/emu.h"

#include <string.h>
#include <sys/mman.h>

static size_t pages(size_t bytes)
{
    return (bytes + EMU_PAGE - 1) & ~(EMU_PAGE - 1);
}

void emu_host_drop(struct emu_alloc *alloc)
{
    munmap((void *)alloc->base, pages(alloc->size));
}

static CUresult make(struct emu_ctx *ctx, size_t bytes, enum emu_kind kind, unsigned flags,
                     void *caller, uintptr_t *out)
{
    struct emu_alloc wanted = {.size = bytes,
                               .kind = kind,
                               .device = ctx->device,
                               .ctx = ctx,
                               .ctx_id = ctx->id,
                               .flags = flags,
                               .caller = caller};
    struct emu_alloc *made;
    void *at;

    if (bytes == 0 || bytes > SIZE_MAX - EMU_PAGE)
        return CUDA_ERROR_INVALID_VALUE;
    emu_ctx_implicit_sync(ctx);
    at = mmap(NULL, pages(bytes), PROT_READ | PROT_WRITE,
              MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (at == MAP_FAILED)
        return CUDA_ERROR_OUT_OF_MEMORY;
    wanted.base = (uintptr_t)at;
    emu_lock();
    wanted.buffer_id = emu_buffer_id();
    made = emu_space_add(&wanted);
    emu_unlock();
    if (made == NULL) {
        munmap(at, pages(bytes));
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    *out = wanted.base;
    return CUDA_SUCCESS;
}

static CUresult host_alloc(const char *function, void **out, size_t bytes, unsigned flags,
                           void *caller)
{
    const unsigned known =
        CU_MEMHOSTALLOC_PORTABLE | CU_MEMHOSTALLOC_DEVICEMAP | CU_MEMHOSTALLOC_WRITECOMBINED;
    struct emu_ctx *ctx;
    CUresult rc = emu_enter_ctx(function, &ctx);
    uintptr_t at;

    if (rc == CUDA_SUCCESS)
        rc = emu_capture_forbids_unsafe();
    if (rc != CUDA_SUCCESS)
        return rc;
    if (out == NULL || (flags & ~known) != 0)
        return CUDA_ERROR_INVALID_VALUE;
    rc = make(ctx, bytes, EMU_PINNED, flags, caller, &at);
    if (rc == CUDA_SUCCESS)
        *out = (void *)at;
    return rc;
}

CUresult CUDAAPI cuMemHostAlloc(void **out, size_t bytes, unsigned int flags)
{
    return host_alloc(__func__, out, bytes, flags, EMU_CALLER);
}

CUresult CUDAAPI cuMemAllocHost(void **out, size_t bytes)
{
    return host_alloc(__func__, out, bytes, CU_MEMHOSTALLOC_PORTABLE, EMU_CALLER);
}

CUresult CUDAAPI cuMemAllocManaged(CUdeviceptr *out, size_t bytes, unsigned int flags)
{
    struct emu_ctx *ctx;
    CUresult rc = emu_enter_ctx(__func__, &ctx);
    uintptr_t at;

    if (rc == CUDA_SUCCESS)
        rc = emu_capture_forbids_unsafe();
    if (rc != CUDA_SUCCESS)
        return rc;
    if (out == NULL || (flags != CU_MEM_ATTACH_GLOBAL && flags != CU_MEM_ATTACH_HOST))
        return CUDA_ERROR_INVALID_VALUE;
    rc = make(ctx, bytes, EMU_MANAGED, flags, EMU_CALLER, &at);
    if (rc == CUDA_SUCCESS)
        *out = at;
    return rc;
}

static CUresult drop_at(struct emu_ctx *ctx, uintptr_t address, enum emu_kind kind,
                        CUresult unknown)
{
    struct emu_alloc *alloc;

    emu_lock();
    alloc = emu_space_find(address);
    emu_unlock();
    if (alloc == NULL || alloc->kind != kind || alloc->base != address)
        return unknown;
    emu_ctx_drain(ctx);
    emu_lock();
    alloc = emu_space_find(address);
    if (alloc != NULL && alloc->base == address)
        emu_mem_release(alloc);
    emu_unlock();
    return CUDA_SUCCESS;
}

CUresult CUDAAPI cuMemFreeHost(void *address)
{
    struct emu_ctx *ctx;
    CUresult rc = emu_enter_ctx(__func__, &ctx);

    if (rc == CUDA_SUCCESS)
        rc = emu_capture_forbids_unsafe();
    if (rc != CUDA_SUCCESS || address == NULL)
        return rc;
    return drop_at(ctx, (uintptr_t)address, EMU_PINNED, CUDA_ERROR_INVALID_VALUE);
}

/* Under emu_lock. */
static bool overlaps(uintptr_t base, size_t bytes)
{
    struct emu_alloc *next = emu_space_next(base);

    return emu_space_find(base) != NULL || (next != NULL && next->base < base + bytes);
}

static bool mapped(uintptr_t base, size_t bytes)
{
    uintptr_t first = base & ~(EMU_PAGE - 1);
    unsigned char state[64];
    size_t step = sizeof(state) * EMU_PAGE;

    for (uintptr_t at = first; at < base + bytes; at += step) {
        size_t length = base + bytes - at < step ? base + bytes - at : step;

        if (mincore((void *)at, length, state) != 0)
            return false;
    }
    return true;
}

CUresult CUDAAPI cuMemHostRegister(void *address, size_t bytes, unsigned int flags)
{
    const unsigned known = CU_MEMHOSTREGISTER_PORTABLE | CU_MEMHOSTREGISTER_DEVICEMAP |
                           CU_MEMHOSTREGISTER_IOMEMORY | CU_MEMHOSTREGISTER_READ_ONLY;
    struct emu_ctx *ctx;
    CUresult rc = emu_enter_ctx(__func__, &ctx);
    uintptr_t base = (uintptr_t)address;
    struct emu_alloc wanted = {
        .base = base, .size = bytes, .kind = EMU_REGISTERED, .flags = flags, .caller = EMU_CALLER};

    if (rc == CUDA_SUCCESS)
        rc = emu_capture_forbids_unsafe();
    if (rc != CUDA_SUCCESS)
        return rc;
    if (address == NULL || bytes == 0 || base + bytes < base || (flags & ~known) != 0 ||
        emu_space_visible(base) || !mapped(base, bytes))
        return CUDA_ERROR_INVALID_VALUE;
    emu_ctx_implicit_sync(ctx);
    wanted.device = ctx->device;
    wanted.ctx = ctx;
    wanted.ctx_id = ctx->id;
    emu_lock();
    wanted.buffer_id = emu_buffer_id();
    if (overlaps(base, bytes))
        rc = CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED;
    else if (emu_space_add(&wanted) == NULL)
        rc = CUDA_ERROR_OUT_OF_MEMORY;
    emu_unlock();
    return rc;
}

CUresult CUDAAPI cuMemHostUnregister(void *address)
{
    struct emu_ctx *ctx;
    CUresult rc = emu_enter_ctx(__func__, &ctx);

    if (rc == CUDA_SUCCESS)
        rc = emu_capture_forbids_unsafe();
    if (rc != CUDA_SUCCESS)
        return rc;
    if (address == NULL)
        return CUDA_ERROR_INVALID_VALUE;
    return drop_at(ctx, (uintptr_t)address, EMU_REGISTERED, CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED);
}

/* Under unified addressing a host pointer is its own device pointer. */
CUresult CUDAAPI cuMemHostGetDevicePointer(CUdeviceptr *out, void *address, unsigned int flags)
{
    struct emu_ctx *ctx;
    CUresult rc = emu_enter_ctx(__func__, &ctx);
    struct emu_alloc *alloc;

    if (rc != CUDA_SUCCESS)
        return rc;
    if (out == NULL || flags != 0)
        return CUDA_ERROR_INVALID_VALUE;
    emu_lock();
    alloc = emu_space_find((uintptr_t)address);
    if (alloc == NULL || (alloc->kind != EMU_PINNED && alloc->kind != EMU_REGISTERED))
        rc = CUDA_ERROR_INVALID_VALUE;
    emu_unlock();
    if (rc == CUDA_SUCCESS)
        *out = (uintptr_t)address;
    return rc;
}

CUresult CUDAAPI cuMemHostGetFlags(unsigned int *flags, void *address)
{
    struct emu_ctx *ctx;
    CUresult rc = emu_enter_ctx(__func__, &ctx);
    struct emu_alloc *alloc;

    if (rc != CUDA_SUCCESS)
        return rc;
    emu_lock();
    alloc = emu_space_find((uintptr_t)address);
    if (flags == NULL || alloc == NULL || alloc->kind != EMU_PINNED)
        rc = CUDA_ERROR_INVALID_VALUE;
    else
        *flags = alloc->flags | CU_MEMHOSTALLOC_DEVICEMAP;
    emu_unlock();
    return rc;
}

static CUresult managed_hint(const char *function, CUdeviceptr address, size_t bytes)
{
    CUresult rc = emu_enter(function);
    enum emu_kind kind;

    if (rc != CUDA_SUCCESS)
        return rc;
    if (bytes == 0 || emu_access(address, bytes, NULL, false, &kind) == NULL || kind != EMU_MANAGED)
        return CUDA_ERROR_INVALID_VALUE;
    return CUDA_SUCCESS;
}

static CUresult check_device(CUdevice device)
{
    return device == CU_DEVICE_CPU || emu_device_valid(device) ? CUDA_SUCCESS
                                                               : CUDA_ERROR_INVALID_DEVICE;
}

static CUresult check_location(CUmemLocation location)
{
    switch (location.type) {
    case CU_MEM_LOCATION_TYPE_DEVICE:
        return emu_device_valid(location.id) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_DEVICE;
    case CU_MEM_LOCATION_TYPE_HOST:
    case CU_MEM_LOCATION_TYPE_HOST_NUMA:
    case CU_MEM_LOCATION_TYPE_HOST_NUMA_CURRENT:
        return CUDA_SUCCESS;
    default:
        return CUDA_ERROR_INVALID_VALUE;
    }
}

/* Hints change nothing here: managed memory is where both sides reach it. */
CUresult CUDAAPI cuMemPrefetchAsync_v2(CUdeviceptr address, size_t bytes, CUmemLocation location,
                                       unsigned int flags, CUstream stream);
CUresult CUDAAPI cuMemPrefetchAsync_v2(CUdeviceptr address, size_t bytes, CUmemLocation location,
                                       unsigned int flags, CUstream stream)
{
    CUresult rc = managed_hint("cuMemPrefetchAsync", address, bytes);

    (void)stream;
    if (rc != CUDA_SUCCESS)
        return rc;
    return flags != 0 ? CUDA_ERROR_INVALID_VALUE : check_location(location);
}

#undef cuMemPrefetchAsync
CUresult CUDAAPI cuMemPrefetchAsync(CUdeviceptr address, size_t bytes, CUdevice to, CUstream on);
CUresult CUDAAPI cuMemPrefetchAsync(CUdeviceptr address, size_t bytes, CUdevice to, CUstream on)
{
    CUresult rc = managed_hint("cuMemPrefetchAsync", address, bytes);

    (void)on;
    return rc != CUDA_SUCCESS ? rc : check_device(to);
}

CUresult CUDAAPI cuMemAdvise_v2(CUdeviceptr address, size_t bytes, CUmem_advise advice,
                                CUmemLocation location);
CUresult CUDAAPI cuMemAdvise_v2(CUdeviceptr address, size_t bytes, CUmem_advise advice,
                                CUmemLocation location)
{
    CUresult rc = managed_hint("cuMemAdvise", address, bytes);

    if (rc != CUDA_SUCCESS)
        return rc;
    /* These two are about the memory alone; the location is not looked at. */
    if (advice == CU_MEM_ADVISE_SET_READ_MOSTLY || advice == CU_MEM_ADVISE_UNSET_READ_MOSTLY)
        return CUDA_SUCCESS;
    return check_location(location);
}

#undef cuMemAdvise
CUresult CUDAAPI cuMemAdvise(CUdeviceptr address, size_t bytes, CUmem_advise advice, CUdevice on);
CUresult CUDAAPI cuMemAdvise(CUdeviceptr address, size_t bytes, CUmem_advise advice, CUdevice on)
{
    CUresult rc = managed_hint("cuMemAdvise", address, bytes);

    if (rc != CUDA_SUCCESS || advice == CU_MEM_ADVISE_SET_READ_MOSTLY ||
        advice == CU_MEM_ADVISE_UNSET_READ_MOSTLY)
        return rc;
    return check_device(on);
}
