/*
 * Stream capture, as far as a library meets it: who captures, and what is forbidden meanwhile.
 * Captured work is not kept; a graph can be made and destroyed, launching one is not emulated.
 */
#include "cuda_emu/core/emu.h"

static atomic_int capturing; /* streams that capture now */
static atomic_ullong last_capture_id;

struct emu_graph {
    uint64_t id;
};

/* cuThreadExchangeStreamCaptureMode: what this thread lets itself be forbidden. */
static __thread CUstreamCaptureMode thread_mode = CU_STREAM_CAPTURE_MODE_GLOBAL;

static bool restricts(const struct emu_stream *stream)
{
    if (stream->capture != CU_STREAM_CAPTURE_STATUS_ACTIVE)
        return false;
    if (thread_mode == CU_STREAM_CAPTURE_MODE_RELAXED ||
        stream->capture_mode == CU_STREAM_CAPTURE_MODE_RELAXED)
        return false;
    if (pthread_equal(stream->capture_thread, pthread_self()))
        return true;
    return stream->capture_mode == CU_STREAM_CAPTURE_MODE_GLOBAL &&
           thread_mode == CU_STREAM_CAPTURE_MODE_GLOBAL;
}

/* Synchronising or asking a stream that captures is an error, and spoils the capture. */
CUresult emu_capture_forbids(struct emu_stream *stream)
{
    struct emu_ctx *ctx = stream->ctx;
    CUresult rc = CUDA_SUCCESS;

    if (atomic_load(&capturing) == 0)
        return CUDA_SUCCESS;
    pthread_mutex_lock(&ctx->submit);
    if (stream->capture != CU_STREAM_CAPTURE_STATUS_NONE) {
        stream->capture = CU_STREAM_CAPTURE_STATUS_INVALIDATED;
        rc = CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
    } else if (stream == ctx->legacy) {
        for (struct emu_stream *s = ctx->streams; s != NULL; s = s->next) {
            if (s->capture == CU_STREAM_CAPTURE_STATUS_ACTIVE &&
                !(s->flags & CU_STREAM_NON_BLOCKING)) {
                s->capture = CU_STREAM_CAPTURE_STATUS_INVALIDATED;
                rc = CUDA_ERROR_STREAM_CAPTURE_IMPLICIT;
            }
        }
    }
    pthread_mutex_unlock(&ctx->submit);
    return rc;
}

/* Under emu_lock. */
static void spoil_restricting(struct emu_ctx *ctx, void *arg)
{
    CUresult *rc = arg;

    pthread_mutex_lock(&ctx->submit);
    for (struct emu_stream *s = ctx->streams; s != NULL; s = s->next) {
        if (restricts(s)) {
            s->capture = CU_STREAM_CAPTURE_STATUS_INVALIDATED;
            *rc = CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
        }
    }
    pthread_mutex_unlock(&ctx->submit);
}

/*
 * "Potentially unsafe" calls: forbidden by a global capture of anyone, or by one's own, in whatever
 * context.
 */
CUresult emu_capture_forbids_unsafe(void)
{
    CUresult rc = CUDA_SUCCESS;

    if (atomic_load(&capturing) == 0)
        return CUDA_SUCCESS;
    emu_lock();
    emu_ctx_each(spoil_restricting, &rc);
    emu_unlock();
    return rc;
}

bool emu_capture_takes(struct emu_stream *stream, CUresult *rc)
{
    *rc = CUDA_SUCCESS;
    if (atomic_load(&capturing) == 0)
        return false;
    if (stream == stream->ctx->legacy) {
        *rc = emu_capture_forbids(stream);
        return *rc != CUDA_SUCCESS;
    }
    if (stream->capture == CU_STREAM_CAPTURE_STATUS_INVALIDATED)
        *rc = CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
    return stream->capture != CU_STREAM_CAPTURE_STATUS_NONE;
}

static CUresult enter(const char *function, CUstream handle, struct emu_stream **stream)
{
    struct emu_ctx *ctx;
    CUresult rc = emu_enter_ctx(function, &ctx);

    return rc != CUDA_SUCCESS ? rc : emu_stream_get(ctx, handle, stream);
}

static CUresult begin_capture(struct emu_stream *stream, CUstreamCaptureMode mode)
{
    if (stream == stream->ctx->legacy)
        return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
    if (stream->capture != CU_STREAM_CAPTURE_STATUS_NONE)
        return CUDA_ERROR_ILLEGAL_STATE;
    stream->capture = CU_STREAM_CAPTURE_STATUS_ACTIVE;
    stream->capture_mode = mode;
    stream->capture_thread = pthread_self();
    stream->capture_id = atomic_fetch_add(&last_capture_id, 1) + 1;
    atomic_fetch_add(&capturing, 1);
    return CUDA_SUCCESS;
}

CUresult CUDAAPI cuStreamBeginCapture(CUstream handle, CUstreamCaptureMode mode)
{
    struct emu_stream *stream;
    CUresult rc = enter(__func__, handle, &stream);

    if (rc != CUDA_SUCCESS)
        return rc;
    if ((unsigned)mode > CU_STREAM_CAPTURE_MODE_RELAXED) {
        rc = CUDA_ERROR_INVALID_VALUE;
    } else {
        pthread_mutex_lock(&stream->ctx->submit);
        rc = begin_capture(stream, mode);
        pthread_mutex_unlock(&stream->ctx->submit);
    }
    emu_stream_put(stream);
    return rc;
}

static CUresult end_capture(struct emu_stream *stream, CUgraph *out)
{
    struct emu_graph *graph;
    bool spoiled = stream->capture == CU_STREAM_CAPTURE_STATUS_INVALIDATED;

    if (stream->capture == CU_STREAM_CAPTURE_STATUS_NONE)
        return CUDA_ERROR_ILLEGAL_STATE;
    if (stream->capture_mode != CU_STREAM_CAPTURE_MODE_RELAXED &&
        !pthread_equal(stream->capture_thread, pthread_self()))
        return CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD;
    stream->capture = CU_STREAM_CAPTURE_STATUS_NONE;
    atomic_fetch_sub(&capturing, 1);
    *out = NULL;
    if (spoiled)
        return CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
    graph = malloc(sizeof(*graph));
    if (graph == NULL || !emu_handle_add(graph, EMU_TYPE_GRAPH)) {
        free(graph);
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    graph->id = stream->capture_id;
    *out = (CUgraph)graph;
    return CUDA_SUCCESS;
}

CUresult CUDAAPI cuStreamEndCapture(CUstream handle, CUgraph *graph)
{
    struct emu_stream *stream;
    CUresult rc = enter(__func__, handle, &stream);

    if (rc != CUDA_SUCCESS)
        return rc;
    if (graph == NULL) {
        rc = CUDA_ERROR_INVALID_VALUE;
    } else {
        pthread_mutex_lock(&stream->ctx->submit);
        rc = end_capture(stream, graph);
        pthread_mutex_unlock(&stream->ctx->submit);
    }
    emu_stream_put(stream);
    return rc;
}

CUresult CUDAAPI cuGraphDestroy(CUgraph graph)
{
    CUresult rc = emu_enter(__func__);

    if (rc != CUDA_SUCCESS)
        return rc;
    if (!emu_handle_is(graph, EMU_TYPE_GRAPH))
        return CUDA_ERROR_INVALID_VALUE;
    emu_handle_remove(graph);
    free(graph);
    return CUDA_SUCCESS;
}

static CUresult status_of(const char *function, CUstream handle, CUstreamCaptureStatus *status,
                          cuuint64_t *id)
{
    struct emu_stream *stream;
    CUresult rc = enter(function, handle, &stream);

    if (rc != CUDA_SUCCESS)
        return rc;
    if (status == NULL) {
        rc = CUDA_ERROR_INVALID_VALUE;
    } else {
        if (stream == stream->ctx->legacy)
            rc = emu_capture_forbids(stream);
        *status = stream->capture;
        if (id != NULL && stream->capture == CU_STREAM_CAPTURE_STATUS_ACTIVE)
            *id = stream->capture_id;
    }
    emu_stream_put(stream);
    return rc;
}

CUresult CUDAAPI cuStreamIsCapturing(CUstream handle, CUstreamCaptureStatus *status)
{
    return status_of(__func__, handle, status, NULL);
}

CUresult CUDAAPI cuStreamGetCaptureInfo_v2(CUstream handle, CUstreamCaptureStatus *status,
                                           cuuint64_t *id, CUgraph *graph,
                                           const CUgraphNode **dependencies, size_t *count);
CUresult CUDAAPI cuStreamGetCaptureInfo_v2(CUstream handle, CUstreamCaptureStatus *status,
                                           cuuint64_t *id, CUgraph *graph,
                                           const CUgraphNode **dependencies, size_t *count)
{
    CUresult rc = status_of("cuStreamGetCaptureInfo", handle, status, id);

    if (graph != NULL)
        *graph = NULL;
    if (dependencies != NULL)
        *dependencies = NULL;
    if (count != NULL)
        *count = 0;
    return rc;
}

#if CUDA_VERSION >= 12030
CUresult CUDAAPI cuStreamGetCaptureInfo_v3(CUstream handle, CUstreamCaptureStatus *status,
                                           cuuint64_t *id, CUgraph *graph,
                                           const CUgraphNode **dependencies,
                                           const CUgraphEdgeData **edges, size_t *count);
CUresult CUDAAPI cuStreamGetCaptureInfo_v3(CUstream handle, CUstreamCaptureStatus *status,
                                           cuuint64_t *id, CUgraph *graph,
                                           const CUgraphNode **dependencies,
                                           const CUgraphEdgeData **edges, size_t *count)
{
    if (edges != NULL)
        *edges = NULL;
    return cuStreamGetCaptureInfo_v2(handle, status, id, graph, dependencies, count);
}
#endif

CUresult CUDAAPI cuThreadExchangeStreamCaptureMode(CUstreamCaptureMode *mode)
{
    CUresult rc = emu_enter(__func__);
    CUstreamCaptureMode old = thread_mode;

    if (rc != CUDA_SUCCESS)
        return rc;
    if (mode == NULL || (unsigned)*mode > CU_STREAM_CAPTURE_MODE_RELAXED)
        return CUDA_ERROR_INVALID_VALUE;
    thread_mode = *mode;
    *mode = old;
    return CUDA_SUCCESS;
}
