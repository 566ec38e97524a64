/* cuStream*: handles, and the calls that make, ask and end streams. */
#include "cuda_emu/core/emu.h"

#include <string.h>

#define PER_THREAD_CACHE 16

/* The calling thread's own default streams, by context. They live as long as the context. */
static __thread struct {
    uint64_t ctx_id;
    struct emu_stream *stream;
} per_thread[PER_THREAD_CACHE];

static struct emu_stream *per_thread_stream(struct emu_ctx *ctx)
{
    static __thread unsigned next;

    for (int i = 0; i < PER_THREAD_CACHE; i++) {
        if (per_thread[i].ctx_id == ctx->id)
            return per_thread[i].stream;
    }
    next = (next + 1) % PER_THREAD_CACHE;
    per_thread[next].stream = emu_stream_new(ctx, CU_STREAM_DEFAULT, 0);
    per_thread[next].ctx_id = per_thread[next].stream != NULL ? ctx->id : 0;
    return per_thread[next].stream;
}

CUresult emu_stream_get_any(struct emu_ctx *ctx, CUstream handle, struct emu_stream **out)
{
    struct emu_stream *stream = (struct emu_stream *)handle;

    if (handle == NULL || handle == CU_STREAM_LEGACY) {
        stream = ctx->legacy;
    } else if (handle == CU_STREAM_PER_THREAD) {
        stream = per_thread_stream(ctx);
        if (stream == NULL)
            return CUDA_ERROR_OUT_OF_MEMORY;
    } else if (!emu_handle_is(handle, EMU_TYPE_STREAM)) {
        return CUDA_ERROR_INVALID_HANDLE;
    }
    emu_stream_ref(stream);
    *out = stream;
    return CUDA_SUCCESS;
}

CUresult emu_stream_get(struct emu_ctx *ctx, CUstream handle, struct emu_stream **out)
{
    struct emu_stream *stream;
    CUresult rc = emu_stream_get_any(ctx, handle, &stream);

    if (rc != CUDA_SUCCESS)
        return rc;
    if (stream->ctx != ctx) {
        emu_stream_put(stream);
        return CUDA_ERROR_INVALID_HANDLE;
    }
    *out = stream;
    return CUDA_SUCCESS;
}

static CUresult enter_stream(const char *function, CUstream handle, struct emu_ctx **ctx,
                             struct emu_stream **stream)
{
    CUresult rc = emu_enter_ctx(function, ctx);

    return rc != CUDA_SUCCESS ? rc : emu_stream_get(*ctx, handle, stream);
}

static CUresult enter_any_stream(const char *function, CUstream handle, struct emu_ctx **ctx,
                                 struct emu_stream **stream)
{
    CUresult rc = emu_enter_ctx(function, ctx);

    return rc != CUDA_SUCCESS ? rc : emu_stream_get_any(*ctx, handle, stream);
}

static CUresult create(const char *function, CUstream *out, unsigned flags, int priority)
{
    struct emu_ctx *ctx;
    CUresult rc = emu_enter_ctx(function, &ctx);
    struct emu_stream *stream;

    if (rc != CUDA_SUCCESS)
        return rc;
    if (out == NULL || (flags & ~(unsigned)CU_STREAM_NON_BLOCKING) != 0)
        return CUDA_ERROR_INVALID_VALUE;
    priority = priority > 0 ? 0 : priority < -5 ? -5 : priority;
    stream = emu_stream_new(ctx, flags, priority);
    if (stream == NULL)
        return CUDA_ERROR_OUT_OF_MEMORY;
    if (!emu_handle_add(stream, EMU_TYPE_STREAM)) {
        emu_stream_close(stream);
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    *out = (CUstream)stream;
    return CUDA_SUCCESS;
}

CUresult CUDAAPI cuStreamCreate(CUstream *out, unsigned int flags)
{
    return create(__func__, out, flags, 0);
}

CUresult CUDAAPI cuStreamCreateWithPriority(CUstream *out, unsigned int flags, int priority)
{
    return create(__func__, out, flags, priority);
}

/* Work that was submitted still runs. Needs no current context: the handle knows its own. */
CUresult CUDAAPI cuStreamDestroy(CUstream handle)
{
    CUresult rc = emu_enter(__func__);

    if (rc != CUDA_SUCCESS)
        return rc;
    if (!emu_handle_is(handle, EMU_TYPE_STREAM))
        return CUDA_ERROR_INVALID_HANDLE;
    emu_stream_close((struct emu_stream *)handle);
    return CUDA_SUCCESS;
}

CUresult CUDAAPI cuStreamSynchronize(CUstream handle)
{
    struct emu_ctx *ctx;
    struct emu_stream *stream;
    CUresult rc = enter_any_stream(__func__, handle, &ctx, &stream);

    if (rc != CUDA_SUCCESS)
        return rc;
    rc = emu_capture_forbids(stream);
    if (rc == CUDA_SUCCESS) {
        /* The legacy stream's end is the end of the blocking streams' work before it too. */
        emu_stream_wait_ordered(stream);
        rc = atomic_load(&stream->ctx->sticky);
    }
    emu_stream_put(stream);
    return rc;
}

CUresult CUDAAPI cuStreamQuery(CUstream handle)
{
    struct emu_ctx *ctx;
    struct emu_stream *stream;
    CUresult rc = enter_any_stream(__func__, handle, &ctx, &stream);

    if (rc != CUDA_SUCCESS)
        return rc;
    rc = emu_capture_forbids(stream);
    if (rc == CUDA_SUCCESS && !emu_stream_done_ordered(stream))
        rc = CUDA_ERROR_NOT_READY;
    if (rc == CUDA_SUCCESS)
        rc = atomic_load(&stream->ctx->sticky);
    emu_stream_put(stream);
    return rc;
}

CUresult CUDAAPI cuStreamGetFlags(CUstream handle, unsigned int *flags)
{
    struct emu_ctx *ctx;
    struct emu_stream *stream;
    CUresult rc = enter_any_stream(__func__, handle, &ctx, &stream);

    if (rc != CUDA_SUCCESS)
        return rc;
    if (flags != NULL)
        *flags = stream->flags;
    emu_stream_put(stream);
    return flags == NULL ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS;
}

CUresult CUDAAPI cuStreamGetPriority(CUstream handle, int *priority)
{
    struct emu_ctx *ctx;
    struct emu_stream *stream;
    CUresult rc = enter_any_stream(__func__, handle, &ctx, &stream);

    if (rc != CUDA_SUCCESS)
        return rc;
    if (priority != NULL)
        *priority = stream->priority;
    emu_stream_put(stream);
    return priority == NULL ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS;
}

CUresult CUDAAPI cuStreamGetId(CUstream handle, unsigned long long *id)
{
    struct emu_ctx *ctx;
    struct emu_stream *stream;
    CUresult rc = enter_any_stream(__func__, handle, &ctx, &stream);

    if (rc != CUDA_SUCCESS)
        return rc;
    if (id != NULL)
        *id = stream->id;
    emu_stream_put(stream);
    return id == NULL ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS;
}

/* A stream of any context may be asked. */
static CUresult owner_of(const char *function, CUstream handle, struct emu_ctx **owner)
{
    CUresult rc = emu_enter_ctx(function, owner);

    if (rc != CUDA_SUCCESS)
        return rc;
    if (handle == NULL || handle == CU_STREAM_LEGACY || handle == CU_STREAM_PER_THREAD)
        return CUDA_SUCCESS;
    if (!emu_handle_is(handle, EMU_TYPE_STREAM))
        return CUDA_ERROR_INVALID_HANDLE;
    *owner = ((struct emu_stream *)handle)->ctx;
    return CUDA_SUCCESS;
}

#undef cuStreamGetCtx
CUresult CUDAAPI cuStreamGetCtx(CUstream handle, CUcontext *out);
CUresult CUDAAPI cuStreamGetCtx(CUstream handle, CUcontext *out)
{
    struct emu_ctx *owner;
    CUresult rc = owner_of(__func__, handle, &owner);

    if (rc != CUDA_SUCCESS)
        return rc;
    if (out == NULL)
        return CUDA_ERROR_INVALID_VALUE;
    *out = (CUcontext)owner;
    return CUDA_SUCCESS;
}

CUresult CUDAAPI cuStreamGetDevice(CUstream handle, CUdevice *device)
{
    struct emu_ctx *owner;
    CUresult rc = owner_of(__func__, handle, &owner);

    if (rc != CUDA_SUCCESS)
        return rc;
    if (device == NULL)
        return CUDA_ERROR_INVALID_VALUE;
    *device = owner->device;
    return CUDA_SUCCESS;
}

/* Managed memory is reachable from everywhere: attaching it to a stream changes nothing here. */
CUresult CUDAAPI cuStreamAttachMemAsync(CUstream handle, CUdeviceptr address, size_t length,
                                        unsigned int flags)
{
    struct emu_ctx *ctx;
    struct emu_stream *stream;
    enum emu_kind kind;
    CUresult rc = enter_stream(__func__, handle, &ctx, &stream);

    if (rc != CUDA_SUCCESS)
        return rc;
    emu_stream_put(stream);
    if (flags != CU_MEM_ATTACH_GLOBAL && flags != CU_MEM_ATTACH_HOST &&
        flags != CU_MEM_ATTACH_SINGLE)
        return CUDA_ERROR_INVALID_VALUE;
    if (emu_access(address, length, NULL, false, &kind) == NULL || kind != EMU_MANAGED)
        return CUDA_ERROR_INVALID_VALUE;
    return CUDA_SUCCESS;
}
