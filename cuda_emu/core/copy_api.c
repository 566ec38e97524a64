/* cuMemcpy*: every form becomes one struct emu_copy. */
#include "cuda_emu/core/emu.h"

static CUresult enter_copy(struct emu_copy copy)
{
    struct emu_ctx *ctx;
    CUresult rc = emu_enter_ctx(copy.name, &ctx);

    if (rc != CUDA_SUCCESS)
        return rc;
    if (emu_tracing())
        emu_trace("%s %#lx <- %#lx, %zu bytes, stream %p", copy.name, copy.dst, copy.src,
                  copy.bytes, (void *)copy.stream);
    return emu_copy(ctx, &copy);
}

/*
 * One form, with its legacy and its per-thread entry: the synchronous calls work on the default
 * stream that the entry names.
 */
#define SYNC_FORM(symbol, dst_type, src_type, to, from)                                            \
    CUresult CUDAAPI symbol(dst_type dst, src_type src, size_t bytes);                             \
    CUresult CUDAAPI symbol(dst_type dst, src_type src, size_t bytes)                              \
    {                                                                                              \
        return enter_copy((struct emu_copy){.name = #symbol,                                       \
                                            .dst = (uintptr_t)dst,                                 \
                                            .src = (uintptr_t)src,                                 \
                                            .bytes = bytes,                                        \
                                            .to_device = to,                                       \
                                            .from_device = from});                                 \
    }                                                                                              \
    CUresult CUDAAPI symbol##_ptds(dst_type dst, src_type src, size_t bytes);                      \
    CUresult CUDAAPI symbol##_ptds(dst_type dst, src_type src, size_t bytes)                       \
    {                                                                                              \
        return enter_copy((struct emu_copy){.name = #symbol,                                       \
                                            .dst = (uintptr_t)dst,                                 \
                                            .src = (uintptr_t)src,                                 \
                                            .bytes = bytes,                                        \
                                            .stream = CU_STREAM_PER_THREAD,                        \
                                            .to_device = to,                                       \
                                            .from_device = from});                                 \
    }
#define ASYNC_FORM(symbol, dst_type, src_type, to, from)                                           \
    CUresult CUDAAPI symbol(dst_type dst, src_type src, size_t bytes, CUstream stream);            \
    CUresult CUDAAPI symbol(dst_type dst, src_type src, size_t bytes, CUstream stream)             \
    {                                                                                              \
        return enter_copy((struct emu_copy){.name = #symbol,                                       \
                                            .stream = stream,                                      \
                                            .async = true,                                         \
                                            .dst = (uintptr_t)dst,                                 \
                                            .src = (uintptr_t)src,                                 \
                                            .bytes = bytes,                                        \
                                            .to_device = to,                                       \
                                            .from_device = from});                                 \
    }

#undef cuMemcpy
#undef cuMemcpyAsync
SYNC_FORM(cuMemcpy, CUdeviceptr, CUdeviceptr, false, false)
SYNC_FORM(cuMemcpyHtoD_v2, CUdeviceptr, const void *, true, false)
SYNC_FORM(cuMemcpyDtoH_v2, void *, CUdeviceptr, false, true)
SYNC_FORM(cuMemcpyDtoD_v2, CUdeviceptr, CUdeviceptr, true, true)
ASYNC_FORM(cuMemcpyAsync, CUdeviceptr, CUdeviceptr, false, false)
ASYNC_FORM(cuMemcpyHtoDAsync_v2, CUdeviceptr, const void *, true, false)
ASYNC_FORM(cuMemcpyDtoHAsync_v2, void *, CUdeviceptr, false, true)
ASYNC_FORM(cuMemcpyDtoDAsync_v2, CUdeviceptr, CUdeviceptr, true, true)

/* Between contexts: the copy engine reaches both cards, whether peer access is enabled or not. */
static CUresult peer_copy(struct emu_copy copy, CUcontext dst_ctx, CUcontext src_ctx)
{
    CUresult rc;

    if (!emu_handle_is(dst_ctx, EMU_TYPE_CTX) || !emu_handle_is(src_ctx, EMU_TYPE_CTX))
        return emu_enter(copy.name) != CUDA_SUCCESS ? CUDA_ERROR_NOT_INITIALIZED
                                                    : CUDA_ERROR_INVALID_CONTEXT;
    copy.to_device = copy.from_device = true;
    if (copy.async)
        return enter_copy(copy);
    /* "Serialized with respect to all pending and future work" of the contexts involved. */
    emu_ctx_drain((struct emu_ctx *)src_ctx);
    emu_ctx_drain((struct emu_ctx *)dst_ctx);
    rc = enter_copy(copy);
    if (rc != CUDA_SUCCESS)
        return rc;
    emu_ctx_drain(emu_ctx_current());
    return atomic_load(&emu_ctx_current()->sticky);
}

#undef cuMemcpyPeer
#undef cuMemcpyPeerAsync
CUresult CUDAAPI cuMemcpyPeer(CUdeviceptr dst, CUcontext dst_ctx, CUdeviceptr src,
                              CUcontext src_ctx, size_t bytes)
{
    return peer_copy((struct emu_copy){.name = __func__, .dst = dst, .src = src, .bytes = bytes},
                     dst_ctx, src_ctx);
}

CUresult CUDAAPI cuMemcpyPeerAsync(CUdeviceptr dst, CUcontext dst_ctx, CUdeviceptr src,
                                   CUcontext src_ctx, size_t bytes, CUstream stream)
{
    return peer_copy((struct emu_copy){.name = __func__,
                                       .stream = stream,
                                       .async = true,
                                       .dst = dst,
                                       .src = src,
                                       .bytes = bytes},
                     dst_ctx, src_ctx);
}

static bool plane(CUmemorytype type, const void *host, CUdeviceptr device, size_t x, size_t y,
                  size_t pitch, uintptr_t *at)
{
    if (type == CU_MEMORYTYPE_HOST)
        *at = (uintptr_t)host + y * pitch + x;
    else
        *at = device + y * pitch + x;
    return type != CU_MEMORYTYPE_ARRAY;
}

/* Row by row: arrays are not emulated. */
static CUresult copy_rows(const char *name, const CUDA_MEMCPY2D *c, CUstream stream, bool async)
{
    struct emu_ctx *ctx;
    CUresult rc = emu_enter_ctx(name, &ctx);
    struct emu_copy row = {.name = name, .stream = stream, .async = async};
    size_t from_pitch, to_pitch;

    if (rc != CUDA_SUCCESS)
        return rc;
    if (c == NULL)
        return CUDA_ERROR_INVALID_VALUE;
    from_pitch = c->srcPitch == 0 ? c->WidthInBytes : c->srcPitch;
    to_pitch = c->dstPitch == 0 ? c->WidthInBytes : c->dstPitch;
    if (from_pitch < c->srcXInBytes + c->WidthInBytes ||
        to_pitch < c->dstXInBytes + c->WidthInBytes)
        return CUDA_ERROR_INVALID_VALUE;
    if (!plane(c->srcMemoryType, c->srcHost, c->srcDevice, c->srcXInBytes, c->srcY, from_pitch,
               &row.src) ||
        !plane(c->dstMemoryType, c->dstHost, c->dstDevice, c->dstXInBytes, c->dstY, to_pitch,
               &row.dst))
        return CUDA_ERROR_NOT_SUPPORTED;
    row.bytes = c->WidthInBytes;
    for (size_t y = 0; y < c->Height && rc == CUDA_SUCCESS; y++) {
        rc = emu_copy(ctx, &row);
        row.src += from_pitch;
        row.dst += to_pitch;
    }
    return rc;
}

CUresult CUDAAPI cuMemcpy2D(const CUDA_MEMCPY2D *c)
{
    return copy_rows(__func__, c, NULL, false);
}

CUresult CUDAAPI cuMemcpy2DUnaligned(const CUDA_MEMCPY2D *c)
{
    return copy_rows(__func__, c, NULL, false);
}

CUresult CUDAAPI cuMemcpy2DAsync(const CUDA_MEMCPY2D *c, CUstream stream)
{
    return copy_rows(__func__, c, stream, true);
}
