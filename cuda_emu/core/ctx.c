/* Contexts: primary and created ones, the stack of each thread, peer access, what dies with them.
 */
#include "cuda_emu/core/emu.h"

#include <string.h>

#define STACK_DEPTH 64
#define MAX_CREATED 256

static __thread struct emu_ctx *stack[STACK_DEPTH];
static __thread int depth;

static atomic_ullong last_id;

/* Created contexts; a destroyed one stays in memory, because threads may have it on their stack. */
static struct emu_ctx *created[MAX_CREATED];
static int created_count;

struct emu_ctx *emu_ctx_current(void)
{
    return depth == 0 ? NULL : stack[depth - 1];
}

void emu_ctx_fail(struct emu_ctx *ctx, CUresult error)
{
    CUresult none = CUDA_SUCCESS;

    atomic_compare_exchange_strong(&ctx->sticky, &none, error);
}

void emu_ctx_each(void (*visit)(struct emu_ctx *ctx, void *arg), void *arg)
{
    for (int i = 0; i < emu_visible_count(); i++) {
        if (emu_devices[i].primary.alive)
            visit(&emu_devices[i].primary, arg);
    }
    for (int i = 0; i < created_count; i++) {
        if (created[i]->alive)
            visit(created[i], arg);
    }
}

static void set_limits(struct emu_ctx *ctx)
{
    memset(ctx->limits, 0, sizeof(ctx->limits));
    ctx->limits[CU_LIMIT_STACK_SIZE] = 1024;
    ctx->limits[CU_LIMIT_PRINTF_FIFO_SIZE] = 7 << 20;
    ctx->limits[CU_LIMIT_MALLOC_HEAP_SIZE] = 8 << 20;
    ctx->limits[CU_LIMIT_DEV_RUNTIME_SYNC_DEPTH] = 2;
    ctx->limits[CU_LIMIT_DEV_RUNTIME_PENDING_LAUNCH_COUNT] = 2048;
    ctx->limits[CU_LIMIT_MAX_L2_FETCH_GRANULARITY] = 64;
}

/* Under emu_lock. */
static CUresult activate(struct emu_ctx *ctx, int device, bool primary)
{
    if (!emu_space_ready(device))
        return CUDA_ERROR_OUT_OF_MEMORY;
    ctx->device = device;
    ctx->primary = primary;
    memset(ctx->peers, 0, sizeof(ctx->peers));
    ctx->stream_ordinal = 0;
    ctx->streams = NULL;
    ctx->cache_config = CU_FUNC_CACHE_PREFER_NONE;
    atomic_store(&ctx->sticky, CUDA_SUCCESS);
    set_limits(ctx);
    if (ctx->id == 0) {
        pthread_mutex_init(&ctx->submit, NULL);
        pthread_cond_init(&ctx->idle, NULL);
    }
    ctx->id = atomic_fetch_add(&last_id, 1) + 1;
    ctx->legacy = emu_stream_new(ctx, CU_STREAM_DEFAULT, 0);
    if (ctx->legacy == NULL || !emu_handle_add(ctx, EMU_TYPE_CTX))
        return CUDA_ERROR_OUT_OF_MEMORY;
    ctx->alive = true;
    emu_fault_arm();
    return CUDA_SUCCESS;
}

/* Without a lock held: waits for the threads of the context's streams. */
static void tear_down(struct emu_ctx *ctx)
{
    emu_handle_remove(ctx);
    ctx->alive = false;
    emu_ctx_kill_streams(ctx);
    emu_event_drop_ctx(ctx);
    emu_module_drop_ctx(ctx);
    emu_lock();
    emu_ctx_forget(ctx);
    emu_mem_drop_ctx(ctx);
    emu_unlock();
    ctx->legacy = NULL;
}

CUresult CUDAAPI cuDevicePrimaryCtxRetain(CUcontext *out, CUdevice device)
{
    CUresult rc = emu_enter_device(__func__, device);
    struct emu_ctx *ctx;

    if (rc != CUDA_SUCCESS)
        return rc;
    if (out == NULL)
        return CUDA_ERROR_INVALID_VALUE;
    ctx = &emu_devices[device].primary;
    emu_lock();
    if (!ctx->alive)
        rc = activate(ctx, device, true);
    if (rc == CUDA_SUCCESS) {
        ctx->retained++;
        *out = (CUcontext)ctx;
    }
    emu_unlock();
    return rc;
}

CUresult CUDAAPI cuDevicePrimaryCtxRelease(CUdevice device)
{
    CUresult rc = emu_enter_device(__func__, device);
    struct emu_ctx *ctx;
    bool last;

    if (rc != CUDA_SUCCESS)
        return rc;
    ctx = &emu_devices[device].primary;
    emu_lock();
    if (ctx->retained == 0) {
        emu_unlock();
        return CUDA_ERROR_INVALID_CONTEXT;
    }
    last = --ctx->retained == 0 && ctx->alive;
    emu_unlock();
    if (last)
        tear_down(ctx);
    return CUDA_SUCCESS;
}

CUresult CUDAAPI cuDevicePrimaryCtxReset(CUdevice device)
{
    CUresult rc = emu_enter_device(__func__, device);

    if (rc != CUDA_SUCCESS)
        return rc;
    if (emu_devices[device].primary.alive)
        tear_down(&emu_devices[device].primary);
    return CUDA_SUCCESS;
}

CUresult CUDAAPI cuDevicePrimaryCtxGetState(CUdevice device, unsigned int *flags, int *active)
{
    CUresult rc = emu_enter_device(__func__, device);

    if (rc != CUDA_SUCCESS)
        return rc;
    if (flags == NULL || active == NULL)
        return CUDA_ERROR_INVALID_VALUE;
    *flags = emu_devices[device].primary.flags;
    *active = emu_devices[device].primary.alive;
    return CUDA_SUCCESS;
}

static bool flags_valid(unsigned flags)
{
    unsigned schedule = flags & CU_CTX_SCHED_MASK;

    return (flags & ~(unsigned)CU_CTX_FLAGS_MASK) == 0 && (schedule & (schedule - 1)) == 0;
}

CUresult CUDAAPI cuDevicePrimaryCtxSetFlags(CUdevice device, unsigned int flags)
{
    CUresult rc = emu_enter_device(__func__, device);

    if (rc != CUDA_SUCCESS)
        return rc;
    if (!flags_valid(flags))
        return CUDA_ERROR_INVALID_VALUE;
    emu_devices[device].primary.flags = flags;
    return CUDA_SUCCESS;
}

static CUresult create(CUcontext *out, unsigned flags, CUdevice device)
{
    struct emu_ctx *ctx;
    CUresult rc = CUDA_ERROR_OUT_OF_MEMORY;

    if (out == NULL || !flags_valid(flags))
        return CUDA_ERROR_INVALID_VALUE;
    if (depth == STACK_DEPTH)
        return CUDA_ERROR_OUT_OF_MEMORY;
    ctx = calloc(1, sizeof(*ctx));
    if (ctx == NULL)
        return rc;
    ctx->flags = flags;
    emu_lock();
    if (created_count < MAX_CREATED)
        rc = activate(ctx, device, false);
    if (rc == CUDA_SUCCESS)
        created[created_count++] = ctx;
    emu_unlock();
    if (rc != CUDA_SUCCESS) {
        free(ctx);
        return rc;
    }
    stack[depth++] = ctx;
    *out = (CUcontext)ctx;
    return CUDA_SUCCESS;
}

CUresult CUDAAPI cuCtxCreate_v2(CUcontext *out, unsigned int flags, CUdevice device);
CUresult CUDAAPI cuCtxCreate_v2(CUcontext *out, unsigned int flags, CUdevice device)
{
    CUresult rc = emu_enter_device(__func__, device);

    return rc != CUDA_SUCCESS ? rc : create(out, flags, device);
}

#if CUDA_VERSION >= 12050
CUresult CUDAAPI cuCtxCreate_v4(CUcontext *out, CUctxCreateParams *params, unsigned int flags,
                                CUdevice device);
CUresult CUDAAPI cuCtxCreate_v4(CUcontext *out, CUctxCreateParams *params, unsigned int flags,
                                CUdevice device)
{
    CUresult rc = emu_enter_device(__func__, device);

    if (rc != CUDA_SUCCESS)
        return rc;
    if (params != NULL && (params->numExecAffinityParams != 0 || params->cigParams != NULL))
        return CUDA_ERROR_NOT_SUPPORTED;
    return create(out, flags, device);
}
#endif

CUresult CUDAAPI cuCtxDestroy(CUcontext handle)
{
    struct emu_ctx *ctx = (struct emu_ctx *)handle;
    CUresult rc = emu_enter(__func__);

    if (rc != CUDA_SUCCESS)
        return rc;
    if (!emu_handle_is(ctx, EMU_TYPE_CTX) || ctx->primary)
        return CUDA_ERROR_INVALID_CONTEXT;
    tear_down(ctx);
    if (emu_ctx_current() == ctx)
        depth--;
    return CUDA_SUCCESS;
}

CUresult CUDAAPI cuCtxPushCurrent(CUcontext handle)
{
    CUresult rc = emu_enter(__func__);

    if (rc != CUDA_SUCCESS)
        return rc;
    if (!emu_handle_is(handle, EMU_TYPE_CTX))
        return CUDA_ERROR_INVALID_CONTEXT;
    if (depth == STACK_DEPTH)
        return CUDA_ERROR_OUT_OF_MEMORY;
    stack[depth++] = (struct emu_ctx *)handle;
    return CUDA_SUCCESS;
}

CUresult CUDAAPI cuCtxPopCurrent(CUcontext *out)
{
    CUresult rc = emu_enter(__func__);

    if (rc != CUDA_SUCCESS)
        return rc;
    if (depth == 0)
        return CUDA_ERROR_INVALID_CONTEXT;
    depth--;
    if (out != NULL)
        *out = (CUcontext)stack[depth];
    return CUDA_SUCCESS;
}

CUresult CUDAAPI cuCtxSetCurrent(CUcontext handle)
{
    CUresult rc = emu_enter(__func__);

    if (rc != CUDA_SUCCESS)
        return rc;
    if (handle == NULL) {
        depth -= depth > 0;
        return CUDA_SUCCESS;
    }
    if (!emu_handle_is(handle, EMU_TYPE_CTX))
        return CUDA_ERROR_INVALID_CONTEXT;
    depth += depth == 0;
    stack[depth - 1] = (struct emu_ctx *)handle;
    return CUDA_SUCCESS;
}

CUresult CUDAAPI cuCtxGetCurrent(CUcontext *out)
{
    CUresult rc = emu_enter(__func__);

    if (rc != CUDA_SUCCESS)
        return rc;
    if (out == NULL)
        return CUDA_ERROR_INVALID_VALUE;
    *out = (CUcontext)emu_ctx_current();
    return CUDA_SUCCESS;
}
