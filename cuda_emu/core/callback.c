/* Functions of the application that run in a stream: they may not call CUDA. */
#include "cuda_emu/core/emu.h"

static CUresult enter(const char *function, CUstream handle, struct emu_stream **stream)
{
    struct emu_ctx *ctx;
    CUresult rc = emu_enter_ctx(function, &ctx);

    return rc != CUDA_SUCCESS ? rc : emu_stream_get(ctx, handle, stream);
}

struct host_func {
    struct emu_op op;
    CUhostFn fn;
    void *data;
};

static CUresult run_host_func(struct emu_op *op, struct emu_stream *stream)
{
    struct host_func *h = (struct host_func *)op;

    (void)stream;
    emu_callback_begin();
    h->fn(h->data);
    emu_callback_end();
    return CUDA_SUCCESS;
}

#undef cuLaunchHostFunc
CUresult CUDAAPI cuLaunchHostFunc(CUstream handle, CUhostFn fn, void *data);
CUresult CUDAAPI cuLaunchHostFunc(CUstream handle, CUhostFn fn, void *data)
{
    struct emu_stream *stream;
    CUresult rc = enter(__func__, handle, &stream);
    struct host_func *op;

    if (rc != CUDA_SUCCESS)
        return rc;
    op = fn == NULL ? NULL : emu_op_new(sizeof(*op), "host function", run_host_func);
    if (op == NULL) {
        rc = fn == NULL ? CUDA_ERROR_INVALID_VALUE : CUDA_ERROR_OUT_OF_MEMORY;
    } else {
        op->fn = fn;
        op->data = data;
        rc = emu_submit(stream, &op->op, NULL);
    }
    emu_stream_put(stream);
    return rc;
}

struct callback {
    struct emu_op op;
    CUstreamCallback fn;
    void *data;
    CUstream handle;
};

static CUresult run_callback(struct emu_op *op, struct emu_stream *stream)
{
    struct callback *c = (struct callback *)op;

    emu_callback_begin();
    c->fn(c->handle, atomic_load(&stream->ctx->sticky), c->data);
    emu_callback_end();
    return CUDA_SUCCESS;
}

CUresult CUDAAPI cuStreamAddCallback(CUstream handle, CUstreamCallback fn, void *data,
                                     unsigned int flags)
{
    struct emu_stream *stream;
    struct callback *op;
    CUresult rc;

    if (fn == NULL || flags != 0)
        return CUDA_ERROR_INVALID_VALUE;
    rc = enter(__func__, handle, &stream);
    if (rc != CUDA_SUCCESS)
        return rc;
    op = emu_op_new(sizeof(*op), "stream callback", run_callback);
    if (op == NULL) {
        rc = CUDA_ERROR_OUT_OF_MEMORY;
    } else {
        op->fn = fn;
        op->data = data;
        op->handle = handle;
        rc = emu_submit(stream, &op->op, NULL);
    }
    emu_stream_put(stream);
    return rc;
}
