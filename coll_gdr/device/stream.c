#include "device/dev.h"

#include <stdlib.h>

/* With the context current; fills `stream`, or undoes what it did. */
static gdr_status_t stream_start(gdr_dev_t *dev, gdr_dev_stream_t *stream)
{
    gdr_status_t status;

    stream->dev = dev;
    status = GDR_CU_CALL(dev->log, cuStreamCreateWithPriority,
                         (&stream->stream, CU_STREAM_NON_BLOCKING, dev->top_priority));
    if (status != GDR_OK)
        return status;
    status = GDR_CU_CALL(dev->log, cuEventCreate, (&stream->followed, CU_EVENT_DISABLE_TIMING));
    if (status != GDR_OK)
        gdr_driver()->cuStreamDestroy(stream->stream);
    return status;
}

gdr_status_t gdr_dev_stream_create(gdr_dev_t *dev, gdr_dev_stream_t **out)
{
    gdr_dev_stream_t *stream = calloc(1, sizeof(*stream));
    gdr_driver_scope_t scope;
    gdr_status_t status;

    if (stream == NULL) {
        gdr_error(dev->log, "no memory for a stream");
        return GDR_ERR_NO_MEMORY;
    }
    status = gdr_dev_enter(dev, &scope);
    if (status == GDR_OK) {
        status = stream_start(dev, stream);
        gdr_driver_leave(&scope);
    }
    if (status != GDR_OK) {
        free(stream);
        return status;
    }
    *out = stream;
    return GDR_OK;
}

void gdr_dev_stream_destroy(gdr_dev_stream_t *stream)
{
    gdr_dev_t *dev = stream->dev;
    gdr_driver_scope_t scope;

    if (gdr_dev_alive(dev) && gdr_dev_enter(dev, &scope) == GDR_OK) {
        (void)GDR_CU_CALL(dev->log, cuStreamSynchronize, (stream->stream));
        gdr_driver()->cuEventDestroy(stream->followed);
        gdr_driver()->cuStreamDestroy(stream->stream);
        gdr_driver_leave(&scope);
    }
    free(stream);
}

static bool is_capture_error(CUresult result)
{
    return result >= CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED &&
           result <= CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD;
}

/*
 * Whether this thread captures a graph: in the thread-local mode an event query is refused then,
 * and captures of other threads are neither seen nor disturbed. With some context current.
 */
static bool thread_captures(const gdr_dev_t *dev)
{
    CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_THREAD_LOCAL;
    CUresult result;

    gdr_driver_capture_mode(&mode);
    result = gdr_driver()->cuEventQuery(dev->probe);
    gdr_driver_capture_mode(&mode);
    return is_capture_error(result);
}

static gdr_status_t capture_error(const gdr_dev_t *dev)
{
    gdr_error(dev->log, "this thread or the default stream is capturing a CUDA graph: an MPI "
                        "collective on device memory cannot be captured");
    return GDR_ERR_INVALID;
}

/* With `context` current: `event` was made in it. */
static gdr_status_t follow(gdr_dev_stream_t *stream, CUevent event)
{
    gdr_dev_t *dev = stream->dev;
    CUresult result;

    if (thread_captures(dev))
        return capture_error(dev);
    result = gdr_driver()->cuEventRecord(event, CU_STREAM_LEGACY);
    if (is_capture_error(result))
        return capture_error(dev);
    if (result != CUDA_SUCCESS)
        return gdr_driver_failed(dev->log, "cuEventRecord", result);
    return GDR_CU_CALL(dev->log, cuStreamWaitEvent, (stream->stream, event, 0));
}

/* Another context: an event of that one, for this time only. */
static gdr_status_t follow_foreign(gdr_dev_stream_t *stream)
{
    gdr_dev_t *dev = stream->dev;
    CUevent event = NULL;
    gdr_status_t status = GDR_CU_CALL(dev->log, cuEventCreate, (&event, CU_EVENT_DISABLE_TIMING));

    if (status != GDR_OK)
        return status;
    status = follow(stream, event);
    /* An event that is still pending goes away when it has happened. */
    gdr_driver()->cuEventDestroy(event);
    return status;
}

static gdr_status_t follow_context(gdr_dev_stream_t *stream, CUcontext context)
{
    gdr_dev_t *dev = stream->dev;
    gdr_driver_scope_t scope;
    gdr_status_t status = gdr_driver_enter(dev->log, context, &scope);

    if (status != GDR_OK)
        return status;
    status = context == dev->context ? follow(stream, stream->followed) : follow_foreign(stream);
    gdr_driver_leave(&scope);
    return status;
}

/* Pools and VMM memory have no context: that of their device, and ours, are where they are used. */
static gdr_status_t follow_owner(gdr_dev_stream_t *stream, const gdr_mem_info_t *info)
{
    CUcontext own = stream->dev->context, other = NULL;
    gdr_status_t status;

    if (info->context != 0)
        return follow_context(stream, (CUcontext)(uintptr_t)info->context);
    status = follow_context(stream, own);
    if (info->ordinal >= 0 && info->ordinal != stream->dev->ordinal)
        other = gdr_driver_primary(info->ordinal);
    return status == GDR_OK && other != NULL ? follow_context(stream, other) : status;
}

gdr_status_t gdr_dev_follow_default(gdr_dev_stream_t *stream, uint64_t buffer, uint64_t caller)
{
    uint64_t own = (uint64_t)(uintptr_t)stream->dev->context;
    gdr_mem_info_t info;
    gdr_status_t status;

    gdr_device_classify((const void *)(uintptr_t)buffer, &info);
    status = follow_owner(stream, &info);
    if (status != GDR_OK || caller == 0 || caller == info.context ||
        (caller == own && info.context == 0))
        return status;
    if (!gdr_device_enter(caller)) /* it has ended meanwhile, and its work with it */
        return GDR_OK;
    gdr_device_leave();
    return follow_context(stream, (CUcontext)(uintptr_t)caller);
}

gdr_status_t gdr_dev_stream_status(gdr_dev_stream_t *stream)
{
    const gdr_dev_t *dev = stream->dev;
    gdr_driver_scope_t scope;
    gdr_status_t status = gdr_dev_enter(dev, &scope);
    CUresult result;

    if (status != GDR_OK)
        return status;
    result = gdr_driver()->cuStreamQuery(stream->stream);
    if (result != CUDA_SUCCESS && result != CUDA_ERROR_NOT_READY)
        status = gdr_driver_failed(dev->log, "cuStreamQuery", result);
    gdr_driver_leave(&scope);
    return status;
}

gdr_status_t gdr_dev_sync(gdr_dev_stream_t *stream)
{
    gdr_driver_scope_t scope;
    gdr_status_t status = gdr_dev_enter(stream->dev, &scope);

    if (status != GDR_OK)
        return status;
    status = GDR_CU_CALL(stream->dev->log, cuStreamSynchronize, (stream->stream));
    gdr_driver_leave(&scope);
    return status;
}
