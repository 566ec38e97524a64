/* Memory pools and stream-ordered allocation. */
#include "cuda_emu/core/emu.h"

#include <string.h>

#define ALIGNMENT 512UL

struct emu_pool {
    int device;
    bool is_default;
    unsigned access, readonly; /* by ordinal */
    cuuint64_t threshold;
    int reuse[3];
    uint64_t used, used_high; /* under emu_lock */
    CUmemPoolProps props;
};

static struct emu_pool defaults[EMU_DEVICE_MAX];

static struct emu_pool *default_pool(int device)
{
    struct emu_pool *pool = &defaults[device];

    emu_lock();
    if (!pool->is_default && emu_handle_add(pool, EMU_TYPE_POOL)) {
        pool->is_default = true;
        pool->device = device;
        pool->access = 1U << device;
        pool->reuse[0] = pool->reuse[1] = pool->reuse[2] = 1;
    }
    emu_unlock();
    return pool->is_default ? pool : NULL;
}

static struct emu_pool *current_pool(int device)
{
    struct emu_pool *chosen = (struct emu_pool *)emu_devices[device].pool;

    return chosen != NULL ? chosen : default_pool(device);
}

static CUresult give_pool(const char *function, CUmemoryPool *out, CUdevice device, bool current)
{
    CUresult rc = emu_enter_device(function, device);
    struct emu_pool *pool;

    if (rc != CUDA_SUCCESS)
        return rc;
    if (out == NULL)
        return CUDA_ERROR_INVALID_VALUE;
    pool = current ? current_pool(device) : default_pool(device);
    if (pool == NULL)
        return CUDA_ERROR_OUT_OF_MEMORY;
    *out = (CUmemoryPool)pool;
    return CUDA_SUCCESS;
}

CUresult CUDAAPI cuDeviceGetDefaultMemPool(CUmemoryPool *out, CUdevice device)
{
    return give_pool(__func__, out, device, false);
}

CUresult CUDAAPI cuDeviceGetMemPool(CUmemoryPool *out, CUdevice device)
{
    return give_pool(__func__, out, device, true);
}

static CUresult enter_pool(const char *function, CUmemoryPool handle, struct emu_pool **pool)
{
    CUresult rc = emu_enter(function);

    if (rc != CUDA_SUCCESS)
        return rc;
    if (!emu_handle_is(handle, EMU_TYPE_POOL))
        return CUDA_ERROR_INVALID_VALUE;
    *pool = (struct emu_pool *)handle;
    return CUDA_SUCCESS;
}

CUresult CUDAAPI cuDeviceSetMemPool(CUdevice device, CUmemoryPool handle)
{
    struct emu_pool *pool;
    CUresult rc = enter_pool(__func__, handle, &pool);

    if (rc != CUDA_SUCCESS)
        return rc;
    if (!emu_device_valid(device))
        return CUDA_ERROR_INVALID_DEVICE;
    if (pool->device != device)
        return CUDA_ERROR_INVALID_VALUE;
    emu_devices[device].pool = handle;
    return CUDA_SUCCESS;
}

CUresult CUDAAPI cuMemPoolCreate(CUmemoryPool *out, const CUmemPoolProps *props)
{
    CUresult rc = emu_enter(__func__);
    struct emu_pool *pool;

    if (rc != CUDA_SUCCESS)
        return rc;
    if (out == NULL || props == NULL || props->allocType != CU_MEM_ALLOCATION_TYPE_PINNED ||
        props->location.type != CU_MEM_LOCATION_TYPE_DEVICE ||
        !emu_device_valid(props->location.id))
        return CUDA_ERROR_INVALID_VALUE;
    if (props->handleTypes != CU_MEM_HANDLE_TYPE_NONE)
        return CUDA_ERROR_NOT_SUPPORTED;
    pool = calloc(1, sizeof(*pool));
    if (pool == NULL || !emu_handle_add(pool, EMU_TYPE_POOL)) {
        free(pool);
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    pool->device = props->location.id;
    pool->access = 1U << pool->device;
    pool->reuse[0] = pool->reuse[1] = pool->reuse[2] = 1;
    pool->props = *props;
    *out = (CUmemoryPool)pool;
    return CUDA_SUCCESS;
}

/* Memory that is still allocated from it stays valid until it is freed. */
CUresult CUDAAPI cuMemPoolDestroy(CUmemoryPool handle)
{
    struct emu_pool *pool;
    CUresult rc = enter_pool(__func__, handle, &pool);

    if (rc != CUDA_SUCCESS)
        return rc;
    if (pool->is_default)
        return CUDA_ERROR_INVALID_VALUE;
    emu_lock();
    emu_handle_remove(pool);
    if (emu_devices[pool->device].pool == handle)
        emu_devices[pool->device].pool = NULL;
    for (struct emu_alloc *a = emu_space_next(0); a != NULL; a = emu_space_next(a->base)) {
        if (a->kind == EMU_POOL && a->owner == pool)
            a->owner = NULL;
    }
    emu_unlock();
    free(pool);
    return CUDA_SUCCESS;
}

static int *reuse_of(struct emu_pool *pool, CUmemPool_attribute attribute)
{
    switch (attribute) {
    case CU_MEMPOOL_ATTR_REUSE_FOLLOW_EVENT_DEPENDENCIES:
        return &pool->reuse[0];
    case CU_MEMPOOL_ATTR_REUSE_ALLOW_OPPORTUNISTIC:
        return &pool->reuse[1];
    case CU_MEMPOOL_ATTR_REUSE_ALLOW_INTERNAL_DEPENDENCIES:
        return &pool->reuse[2];
    default:
        return NULL;
    }
}

CUresult CUDAAPI cuMemPoolSetAttribute(CUmemoryPool handle, CUmemPool_attribute attribute,
                                       void *value)
{
    struct emu_pool *pool;
    CUresult rc = enter_pool(__func__, handle, &pool);
    int *reuse;

    if (rc != CUDA_SUCCESS)
        return rc;
    if (value == NULL)
        return CUDA_ERROR_INVALID_VALUE;
    reuse = reuse_of(pool, attribute);
    if (reuse != NULL)
        *reuse = *(const int *)value;
    else if (attribute == CU_MEMPOOL_ATTR_RELEASE_THRESHOLD)
        pool->threshold = *(const cuuint64_t *)value;
    else if ((attribute == CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH ||
              attribute == CU_MEMPOOL_ATTR_USED_MEM_HIGH) &&
             *(const cuuint64_t *)value == 0)
        pool->used_high = pool->used;
    else
        rc = CUDA_ERROR_INVALID_VALUE;
    return rc;
}

CUresult CUDAAPI cuMemPoolGetAttribute(CUmemoryPool handle, CUmemPool_attribute attribute,
                                       void *value)
{
    struct emu_pool *pool;
    CUresult rc = enter_pool(__func__, handle, &pool);
    int *reuse;

    if (rc != CUDA_SUCCESS)
        return rc;
    if (value == NULL)
        return CUDA_ERROR_INVALID_VALUE;
    reuse = reuse_of(pool, attribute);
    if (reuse != NULL)
        *(int *)value = *reuse;
    else if (attribute == CU_MEMPOOL_ATTR_RELEASE_THRESHOLD)
        *(cuuint64_t *)value = pool->threshold;
    else if (attribute == CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT ||
             attribute == CU_MEMPOOL_ATTR_USED_MEM_CURRENT)
        *(cuuint64_t *)value = pool->used;
    else if (attribute == CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH ||
             attribute == CU_MEMPOOL_ATTR_USED_MEM_HIGH)
        *(cuuint64_t *)value = pool->used_high;
    else
        rc = CUDA_ERROR_INVALID_VALUE;
    return rc;
}

/* Freed memory goes back to the card at once: there is never anything to trim. */
CUresult CUDAAPI cuMemPoolTrimTo(CUmemoryPool handle, size_t keep)
{
    struct emu_pool *pool;

    (void)keep;
    return enter_pool(__func__, handle, &pool);
}

/* Under emu_lock: what the pool has given out follows. */
static void spread_access(const struct emu_pool *pool)
{
    for (struct emu_alloc *a = emu_space_next(0); a != NULL; a = emu_space_next(a->base)) {
        if (a->kind == EMU_POOL && a->owner == pool) {
            a->access = pool->access;
            a->readonly = pool->readonly;
        }
    }
}

static CUresult check_access(const struct emu_pool *pool, const CUmemAccessDesc *desc)
{
    if (desc->location.type != CU_MEM_LOCATION_TYPE_DEVICE || !emu_device_valid(desc->location.id))
        return CUDA_ERROR_INVALID_VALUE;
    if (desc->location.id == pool->device)
        return desc->flags == CU_MEM_ACCESS_FLAGS_PROT_READWRITE ? CUDA_SUCCESS
                                                                 : CUDA_ERROR_INVALID_VALUE;
    return emu_device_peers(desc->location.id, pool->device) ? CUDA_SUCCESS
                                                             : CUDA_ERROR_INVALID_DEVICE;
}

CUresult CUDAAPI cuMemPoolSetAccess(CUmemoryPool handle, const CUmemAccessDesc *map, size_t count)
{
    struct emu_pool *pool;
    CUresult rc = enter_pool(__func__, handle, &pool);

    if (rc == CUDA_SUCCESS && map == NULL)
        rc = CUDA_ERROR_INVALID_VALUE;
    for (size_t i = 0; i < count && rc == CUDA_SUCCESS; i++)
        rc = check_access(pool, &map[i]);
    if (rc != CUDA_SUCCESS)
        return rc;
    emu_lock();
    for (size_t i = 0; i < count; i++) {
        unsigned bit = 1U << map[i].location.id;

        pool->access &= ~bit;
        pool->readonly &= ~bit;
        if (map[i].flags == CU_MEM_ACCESS_FLAGS_PROT_READWRITE)
            pool->access |= bit;
        else if (map[i].flags == CU_MEM_ACCESS_FLAGS_PROT_READ)
            pool->readonly |= bit;
    }
    spread_access(pool);
    emu_unlock();
    return CUDA_SUCCESS;
}

CUresult CUDAAPI cuMemPoolGetAccess(CUmemAccess_flags *flags, CUmemoryPool handle,
                                    CUmemLocation *location)
{
    struct emu_pool *pool;
    CUresult rc = enter_pool(__func__, handle, &pool);

    if (rc != CUDA_SUCCESS)
        return rc;
    if (flags == NULL || location == NULL || location->type != CU_MEM_LOCATION_TYPE_DEVICE ||
        !emu_device_valid(location->id))
        return CUDA_ERROR_INVALID_VALUE;
    *flags = emu_access_flags(pool->access, pool->readonly, location->id);
    return CUDA_SUCCESS;
}

static CUresult alloc_from(struct emu_pool *pool, size_t bytes, void *caller, CUdeviceptr *out)
{
    struct emu_alloc wanted = {.size = bytes,
                               .kind = EMU_POOL,
                               .device = pool->device,
                               .owner = pool,
                               .caller = caller,
                               .access = pool->access,
                               .readonly = pool->readonly};
    CUresult rc;

    if (!emu_space_ready(pool->device))
        return CUDA_ERROR_OUT_OF_MEMORY;
    rc = emu_mem_new(&wanted, ALIGNMENT);
    if (rc != CUDA_SUCCESS)
        return rc;
    emu_lock();
    pool->used += bytes;
    if (pool->used > pool->used_high)
        pool->used_high = pool->used;
    emu_unlock();
    *out = wanted.base;
    return CUDA_SUCCESS;
}

void emu_pool_drop(struct emu_alloc *alloc)
{
    struct emu_pool *pool = alloc->owner;

    if (pool != NULL)
        pool->used -= alloc->size;
}

/* The address is there at once; what the stream orders is when it may be used. */
static CUresult alloc_async(const char *function, CUdeviceptr *out, size_t bytes,
                            struct emu_pool *pool, CUstream handle, void *caller)
{
    struct emu_ctx *ctx;
    struct emu_stream *stream;
    CUresult rc = emu_enter_ctx(function, &ctx);

    if (rc != CUDA_SUCCESS)
        return rc;
    if (out == NULL || bytes == 0)
        return CUDA_ERROR_INVALID_VALUE;
    rc = emu_stream_get(ctx, handle, &stream);
    if (rc != CUDA_SUCCESS)
        return rc;
    rc = emu_capture_forbids(stream);
    if (pool == NULL)
        pool = current_pool(ctx->device);
    if (rc == CUDA_SUCCESS)
        rc = pool == NULL ? CUDA_ERROR_OUT_OF_MEMORY : alloc_from(pool, bytes, caller, out);
    emu_stream_put(stream);
    return rc;
}

CUresult CUDAAPI cuMemAllocAsync(CUdeviceptr *out, size_t bytes, CUstream stream)
{
    return alloc_async(__func__, out, bytes, NULL, stream, EMU_CALLER);
}

CUresult CUDAAPI cuMemAllocFromPoolAsync(CUdeviceptr *out, size_t bytes, CUmemoryPool handle,
                                         CUstream stream)
{
    struct emu_pool *pool;
    CUresult rc = enter_pool(__func__, handle, &pool);

    if (rc != CUDA_SUCCESS)
        return rc;
    return alloc_async(__func__, out, bytes, pool, stream, EMU_CALLER);
}

struct free_op {
    struct emu_op op;
    uint64_t buffer_id;
    uintptr_t base;
};

static CUresult run_free(struct emu_op *op, struct emu_stream *stream)
{
    struct free_op *f = (struct free_op *)op;
    struct emu_alloc *alloc;

    (void)stream;
    emu_lock();
    alloc = emu_space_find(f->base);
    if (alloc != NULL && alloc->buffer_id == f->buffer_id)
        emu_mem_release(alloc);
    emu_unlock();
    return CUDA_SUCCESS;
}

/* Under emu_lock: `refs` marks memory whose end has been submitted. */
static CUresult doom(uintptr_t address, uint64_t *buffer_id)
{
    struct emu_alloc *alloc = emu_space_find(address);

    if (alloc == NULL || alloc->kind != EMU_POOL || alloc->base != address || alloc->refs != 0)
        return CUDA_ERROR_INVALID_VALUE;
    alloc->refs = 1;
    *buffer_id = alloc->buffer_id;
    return CUDA_SUCCESS;
}

static CUresult free_on(struct emu_stream *stream, CUdeviceptr address)
{
    struct free_op *op = emu_op_new(sizeof(*op), "cuMemFreeAsync", run_free);
    CUresult rc;

    if (op == NULL)
        return CUDA_ERROR_OUT_OF_MEMORY;
    op->base = address;
    emu_lock();
    rc = doom(address, &op->buffer_id);
    emu_unlock();
    if (rc != CUDA_SUCCESS) {
        free(op);
        return rc;
    }
    return emu_submit(stream, &op->op, NULL);
}

CUresult CUDAAPI cuMemFreeAsync(CUdeviceptr address, CUstream handle)
{
    struct emu_ctx *ctx;
    struct emu_stream *stream;
    CUresult rc = emu_enter_ctx(__func__, &ctx);

    if (rc != CUDA_SUCCESS)
        return rc;
    rc = emu_stream_get(ctx, handle, &stream);
    if (rc != CUDA_SUCCESS)
        return rc;
    rc = free_on(stream, address);
    emu_stream_put(stream);
    return rc;
}
