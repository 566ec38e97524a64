/* Device memory: cuMemAlloc and its relatives. */
#include "cuda_emu/core/emu.h"

#include <string.h>

#define ALIGNMENT     512UL
#define POISON_ALWAYS (1UL << 20)
#define POISON        0xb5

static atomic_ullong last_buffer_id;

uint64_t emu_buffer_id(void)
{
    return atomic_fetch_add(&last_buffer_id, 1) + 1;
}

/* New device memory holds garbage: a program that expects zeros must not get away with it. */
void emu_mem_poison(const struct emu_alloc *alloc)
{
    if (alloc->size <= POISON_ALWAYS || emu_config()->poison)
        memset(emu_space_alias(alloc->base), POISON, alloc->size);
}

CUresult emu_mem_new(struct emu_alloc *wanted, size_t align)
{
    size_t size = (wanted->size + ALIGNMENT - 1) & ~(ALIGNMENT - 1);
    struct emu_alloc *made = NULL;

    if (wanted->size > emu_config()->memory)
        return CUDA_ERROR_OUT_OF_MEMORY;
    emu_lock();
    wanted->base = emu_space_take(wanted->device, size, align);
    if (wanted->base != 0) {
        wanted->buffer_id = emu_buffer_id();
        made = emu_space_add(wanted);
        if (made == NULL)
            emu_space_give(wanted->device, wanted->base, size);
        else
            emu_mem_poison(made);
    }
    emu_unlock();
    if (made == NULL)
        emu_verbose("device %d has no room for %zu bytes (%zu of %zu in use)", wanted->device,
                    wanted->size, emu_devices[wanted->device].used, emu_config()->memory);
    return made == NULL ? CUDA_ERROR_OUT_OF_MEMORY : CUDA_SUCCESS;
}

void emu_mem_release(struct emu_alloc *alloc)
{
    size_t size = (alloc->size + ALIGNMENT - 1) & ~(ALIGNMENT - 1);

    switch (alloc->kind) {
    case EMU_DEVICE:
        emu_ipc_revoke(alloc);
        emu_space_give(alloc->device, alloc->base, size);
        break;
    case EMU_POOL:
        emu_pool_drop(alloc);
        emu_space_give(alloc->device, alloc->base, size);
        break;
    case EMU_IPC:
        emu_ipc_drop(alloc);
        break;
    case EMU_VMM:
        emu_vmm_drop(alloc);
        break;
    case EMU_MANAGED:
    case EMU_PINNED:
        emu_host_drop(alloc);
        break;
    case EMU_REGISTERED:
    case EMU_PAGEABLE:
        break;
    }
    emu_space_remove(alloc);
}

void emu_mem_drop_ctx(struct emu_ctx *ctx)
{
    struct emu_alloc *alloc = emu_space_next(0), *next;

    for (; alloc != NULL; alloc = next) {
        next = emu_space_next(alloc->base);
        /* Pools belong to the device: they go with its primary context. */
        if ((alloc->ctx == ctx && alloc->ctx_id == ctx->id) ||
            (alloc->kind == EMU_POOL && ctx->primary && alloc->device == ctx->device))
            emu_mem_release(alloc);
    }
}

static CUresult alloc_in(struct emu_ctx *ctx, CUdeviceptr *out, size_t bytes, void *caller)
{
    struct emu_alloc wanted = {.size = bytes,
                               .kind = EMU_DEVICE,
                               .device = ctx->device,
                               .ctx = ctx,
                               .ctx_id = ctx->id,
                               .caller = caller};
    CUresult rc = emu_capture_forbids_unsafe();

    if (rc != CUDA_SUCCESS)
        return rc;
    if (out == NULL || bytes == 0)
        return CUDA_ERROR_INVALID_VALUE;
    emu_ctx_implicit_sync(ctx);
    rc = emu_mem_new(&wanted, ALIGNMENT);
    if (rc != CUDA_SUCCESS)
        return rc;
    emu_trace("allocated %zu bytes at %#lx", bytes, wanted.base);
    *out = wanted.base;
    return CUDA_SUCCESS;
}

CUresult CUDAAPI cuMemAlloc(CUdeviceptr *out, size_t bytes)
{
    struct emu_ctx *ctx;
    CUresult rc = emu_enter_ctx(__func__, &ctx);

    if (rc != CUDA_SUCCESS)
        return rc;
    emu_fault_arm();
    return alloc_in(ctx, out, bytes, EMU_CALLER);
}

CUresult CUDAAPI cuMemAllocPitch(CUdeviceptr *out, size_t *pitch, size_t width, size_t height,
                                 unsigned int element)
{
    struct emu_ctx *ctx;
    CUresult rc = emu_enter_ctx(__func__, &ctx);
    size_t row = (width + ALIGNMENT - 1) & ~(ALIGNMENT - 1);

    if (rc != CUDA_SUCCESS)
        return rc;
    if (pitch == NULL || width == 0 || height == 0 || row < width || height > SIZE_MAX / row ||
        (element != 4 && element != 8 && element != 16))
        return CUDA_ERROR_INVALID_VALUE;
    rc = alloc_in(ctx, out, row * height, EMU_CALLER);
    if (rc == CUDA_SUCCESS)
        *pitch = row;
    return rc;
}

/* Waits first: work that was submitted may still use the memory. */
static CUresult free_at(uintptr_t address)
{
    struct emu_alloc *alloc;
    struct emu_ctx *owner = NULL;

    emu_lock();
    alloc = emu_space_find(address);
    if (alloc != NULL && alloc->base == address &&
        (alloc->kind == EMU_DEVICE || alloc->kind == EMU_MANAGED ||
         (alloc->kind == EMU_POOL && alloc->refs == 0)))
        owner = alloc->ctx != NULL ? alloc->ctx : &emu_devices[alloc->device].primary;
    emu_unlock();
    if (owner == NULL)
        return CUDA_ERROR_INVALID_VALUE;
    if (owner->alive)
        emu_ctx_drain(owner);
    emu_lock();
    alloc = emu_space_find(address);
    if (alloc != NULL && alloc->base == address)
        emu_mem_release(alloc);
    emu_unlock();
    return alloc == NULL ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS;
}

CUresult CUDAAPI cuMemFree(CUdeviceptr address)
{
    struct emu_ctx *ctx;
    CUresult rc = emu_enter_ctx(__func__, &ctx);

    if (rc == CUDA_SUCCESS)
        rc = emu_capture_forbids_unsafe();
    if (rc != CUDA_SUCCESS)
        return rc;
    if (address == 0)
        return CUDA_SUCCESS;
    emu_trace("frees %#llx", address);
    rc = free_at(address);
    return rc != CUDA_SUCCESS ? rc : atomic_load(&ctx->sticky);
}

CUresult CUDAAPI cuMemGetInfo(size_t *available, size_t *total)
{
    struct emu_ctx *ctx;
    CUresult rc = emu_enter_ctx(__func__, &ctx);

    if (rc != CUDA_SUCCESS)
        return rc;
    if (available == NULL || total == NULL)
        return CUDA_ERROR_INVALID_VALUE;
    emu_lock();
    *total = emu_config()->memory;
    *available = *total - emu_devices[ctx->device].used;
    emu_unlock();
    return CUDA_SUCCESS;
}

CUresult CUDAAPI cuMemGetAddressRange(CUdeviceptr *base, size_t *size, CUdeviceptr address)
{
    struct emu_ctx *ctx;
    CUresult rc = emu_enter_ctx(__func__, &ctx);
    struct emu_alloc *alloc;

    if (rc != CUDA_SUCCESS)
        return rc;
    emu_lock();
    alloc = emu_space_find(address);
    if (alloc == NULL) {
        rc = CUDA_ERROR_NOT_FOUND;
    } else {
        if (base != NULL)
            *base = alloc->base;
        if (size != NULL)
            *size = alloc->size;
    }
    emu_unlock();
    return rc;
}
