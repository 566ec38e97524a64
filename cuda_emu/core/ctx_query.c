/* What a context can be asked, and its settings. */
#include "cuda_emu/core/emu.h"

#undef cuCtxGetDevice
#undef cuCtxSynchronize
CUresult CUDAAPI cuCtxGetDevice(CUdevice *device);
CUresult CUDAAPI cuCtxSynchronize(void);
CUresult CUDAAPI cuCtxGetDevice_v2(CUdevice *device, CUcontext handle);
CUresult CUDAAPI cuCtxSynchronize_v2(CUcontext handle);

/* A context argument: NULL means the current one. */
static CUresult named_ctx(const char *function, CUcontext handle, struct emu_ctx **ctx)
{
    CUresult rc;

    if (handle == NULL)
        return emu_enter_ctx(function, ctx);
    rc = emu_enter(function);
    if (rc != CUDA_SUCCESS)
        return rc;
    if (!emu_handle_is(handle, EMU_TYPE_CTX))
        return CUDA_ERROR_INVALID_CONTEXT;
    *ctx = (struct emu_ctx *)handle;
    return CUDA_SUCCESS;
}

/* Asking is allowed after a sticky error. */
static CUresult query_ctx(const char *function, CUcontext handle, struct emu_ctx **ctx)
{
    CUresult rc = named_ctx(function, handle, ctx);

    if (rc != CUDA_SUCCESS && *ctx != NULL && (*ctx)->alive && rc == atomic_load(&(*ctx)->sticky))
        return CUDA_SUCCESS;
    return rc;
}

CUresult CUDAAPI cuCtxGetDevice_v2(CUdevice *device, CUcontext handle)
{
    struct emu_ctx *ctx = NULL;
    CUresult rc = query_ctx("cuCtxGetDevice", handle, &ctx);

    if (rc != CUDA_SUCCESS)
        return rc;
    if (device == NULL)
        return CUDA_ERROR_INVALID_VALUE;
    *device = ctx->device;
    return CUDA_SUCCESS;
}

CUresult CUDAAPI cuCtxGetDevice(CUdevice *device)
{
    return cuCtxGetDevice_v2(device, NULL);
}

CUresult CUDAAPI cuCtxGetId(CUcontext handle, unsigned long long *id)
{
    struct emu_ctx *ctx = NULL;
    CUresult rc = query_ctx(__func__, handle, &ctx);

    if (rc != CUDA_SUCCESS)
        return rc;
    if (id == NULL)
        return CUDA_ERROR_INVALID_VALUE;
    *id = ctx->id;
    return CUDA_SUCCESS;
}

CUresult CUDAAPI cuCtxGetFlags(unsigned int *flags)
{
    struct emu_ctx *ctx = NULL;
    CUresult rc = query_ctx(__func__, NULL, &ctx);

    if (rc != CUDA_SUCCESS)
        return rc;
    if (flags == NULL)
        return CUDA_ERROR_INVALID_VALUE;
    *flags = ctx->flags;
    return CUDA_SUCCESS;
}

CUresult CUDAAPI cuCtxSetFlags(unsigned int flags)
{
    struct emu_ctx *ctx = NULL;
    CUresult rc = emu_enter_ctx(__func__, &ctx);

    if (rc != CUDA_SUCCESS)
        return rc;
    if ((flags & ~(unsigned)CU_CTX_FLAGS_MASK) != 0)
        return CUDA_ERROR_INVALID_VALUE;
    ctx->flags = flags;
    return CUDA_SUCCESS;
}

CUresult CUDAAPI cuCtxGetApiVersion(CUcontext handle, unsigned int *version)
{
    struct emu_ctx *ctx = NULL;
    CUresult rc = query_ctx(__func__, handle, &ctx);

    if (rc != CUDA_SUCCESS)
        return rc;
    if (version == NULL)
        return CUDA_ERROR_INVALID_VALUE;
    *version = 3020;
    return CUDA_SUCCESS;
}

CUresult CUDAAPI cuCtxSynchronize_v2(CUcontext handle)
{
    struct emu_ctx *ctx = NULL;
    CUresult rc = named_ctx("cuCtxSynchronize", handle, &ctx);

    if (rc == CUDA_SUCCESS)
        rc = emu_capture_forbids_unsafe();
    if (rc != CUDA_SUCCESS)
        return rc;
    emu_ctx_drain(ctx);
    return atomic_load(&ctx->sticky);
}

CUresult CUDAAPI cuCtxSynchronize(void)
{
    return cuCtxSynchronize_v2(NULL);
}

CUresult CUDAAPI cuCtxGetLimit(size_t *value, CUlimit limit)
{
    struct emu_ctx *ctx = NULL;
    CUresult rc = query_ctx(__func__, NULL, &ctx);

    if (rc != CUDA_SUCCESS)
        return rc;
    if (value == NULL)
        return CUDA_ERROR_INVALID_VALUE;
    if ((unsigned)limit >= CU_LIMIT_MAX)
        return CUDA_ERROR_UNSUPPORTED_LIMIT;
    *value = ctx->limits[limit];
    return CUDA_SUCCESS;
}

CUresult CUDAAPI cuCtxSetLimit(CUlimit limit, size_t value)
{
    struct emu_ctx *ctx = NULL;
    CUresult rc = emu_enter_ctx(__func__, &ctx);

    if (rc != CUDA_SUCCESS)
        return rc;
    if ((unsigned)limit >= CU_LIMIT_MAX)
        return CUDA_ERROR_UNSUPPORTED_LIMIT;
    ctx->limits[limit] = value;
    return CUDA_SUCCESS;
}

CUresult CUDAAPI cuCtxGetCacheConfig(CUfunc_cache *config)
{
    struct emu_ctx *ctx = NULL;
    CUresult rc = query_ctx(__func__, NULL, &ctx);

    if (rc != CUDA_SUCCESS)
        return rc;
    if (config == NULL)
        return CUDA_ERROR_INVALID_VALUE;
    *config = ctx->cache_config;
    return CUDA_SUCCESS;
}

CUresult CUDAAPI cuCtxSetCacheConfig(CUfunc_cache config)
{
    struct emu_ctx *ctx = NULL;
    CUresult rc = emu_enter_ctx(__func__, &ctx);

    if (rc == CUDA_SUCCESS)
        ctx->cache_config = config;
    return rc;
}

CUresult CUDAAPI cuCtxGetStreamPriorityRange(int *least, int *greatest)
{
    struct emu_ctx *ctx = NULL;
    CUresult rc = query_ctx(__func__, NULL, &ctx);

    if (rc != CUDA_SUCCESS)
        return rc;
    if (least != NULL)
        *least = 0;
    if (greatest != NULL)
        *greatest = -5;
    return CUDA_SUCCESS;
}
