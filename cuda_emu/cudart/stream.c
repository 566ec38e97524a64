/* Streams, capture queries, events. */
#include "cuda_emu/cudart/rt.h"

typedef void rt_stream_callback_t(cudaStream_t stream, cudaError_t status, void *data);

static cudaError_t stream_device(cudaStream_t stream, int *device)
{
    CUcontext context;
    CUresult result;
    cudaError_t status;

    if (device == NULL)
        return cudaErrorInvalidValue;
    result = rt_drv.cuStreamGetCtx(stream, &context);
    if (result == CUDA_SUCCESS)
        result = rt_drv.cuCtxPushCurrent(context);
    if (result != CUDA_SUCCESS)
        return (cudaError_t)result;
    status = rt_current_device(device);
    rt_pop_device();
    return status;
}

/* A callback of the driver gets a CUresult where this one gets a cudaError_t: the same numbers. */
static cudaError_t add_callback(cudaStream_t stream, rt_stream_callback_t *callback, void *data,
                                unsigned flags)
{
    return (cudaError_t)rt_drv.cuStreamAddCallback(
        stream, (CUstreamCallback)(void (*)(void))callback, data, flags);
}

/* clang-format off */
RT_FN(cudaStreamCreate, (cudaStream_t *stream), rt_drv.cuStreamCreate(stream, 0))
RT_FN(cudaStreamCreateWithFlags, (cudaStream_t *stream, unsigned flags),
      rt_drv.cuStreamCreate(stream, flags))
RT_FN(cudaStreamCreateWithPriority, (cudaStream_t *stream, unsigned flags, int priority),
      rt_drv.cuStreamCreateWithPriority(stream, flags, priority))
RT_FN(cudaDeviceGetStreamPriorityRange, (int *least, int *greatest),
      rt_drv.cuCtxGetStreamPriorityRange(least, greatest))
RT_FN(cudaStreamDestroy, (cudaStream_t stream), rt_drv.cuStreamDestroy(stream))
RT_FN_PTSZ(cudaStreamSynchronize, (cudaStream_t stream), rt_drv.cuStreamSynchronize(stream))
RT_FN_PTSZ(cudaStreamQuery, (cudaStream_t stream), rt_drv.cuStreamQuery(stream))
RT_FN_PTSZ(cudaStreamWaitEvent, (cudaStream_t stream, cudaEvent_t event, unsigned flags),
           rt_drv.cuStreamWaitEvent(stream, event, flags))
RT_FN_PTSZ(cudaStreamGetFlags, (cudaStream_t stream, unsigned *flags),
           rt_drv.cuStreamGetFlags(stream, flags))
RT_FN_PTSZ(cudaStreamGetPriority, (cudaStream_t stream, int *priority),
           rt_drv.cuStreamGetPriority(stream, priority))
RT_FN_PTSZ(cudaStreamGetId, (cudaStream_t stream, unsigned long long *id),
           rt_drv.cuStreamGetId(stream, id))
RT_FN_PTSZ(cudaStreamGetDevice, (cudaStream_t stream, int *device), stream_device(stream, device))
RT_FN_PTSZ(cudaStreamAddCallback,
           (cudaStream_t stream, rt_stream_callback_t *callback, void *data, unsigned flags),
           add_callback(stream, callback, data, flags))
RT_FN_PTSZ(cudaLaunchHostFunc, (cudaStream_t stream, CUhostFn function, void *data),
           rt_drv.cuLaunchHostFunc(stream, function, data))
RT_FN_PTSZ(cudaStreamAttachMemAsync,
           (cudaStream_t stream, void *pointer, size_t length, unsigned flags),
           rt_drv.cuStreamAttachMemAsync(stream, (CUdeviceptr)(uintptr_t)pointer, length, flags))

RT_FN_PTSZ(cudaStreamBeginCapture, (cudaStream_t stream, int mode),
           rt_drv.cuStreamBeginCapture(stream, (CUstreamCaptureMode)mode))
RT_FN_PTSZ(cudaStreamEndCapture, (cudaStream_t stream, CUgraph *graph),
           rt_drv.cuStreamEndCapture(stream, graph))
RT_FN_PTSZ(cudaStreamIsCapturing, (cudaStream_t stream, CUstreamCaptureStatus *status),
           rt_drv.cuStreamIsCapturing(stream, status))
RT_FN(cudaThreadExchangeStreamCaptureMode, (CUstreamCaptureMode *mode),
      rt_drv.cuThreadExchangeStreamCaptureMode(mode))
RT_FN(cudaGraphDestroy, (CUgraph graph), rt_drv.cuGraphDestroy(graph))
/* clang-format on */

/* Edge data is what later versions add; edges of a captured chain carry none. */
static cudaError_t capture_info(cudaStream_t stream, CUstreamCaptureStatus *status, cuuint64_t *id,
                                CUgraph *graph, const CUgraphNode **nodes, const void **edges,
                                size_t *count)
{
    if (edges != NULL)
        *edges = NULL;
    return (cudaError_t)rt_drv.capture_info(stream, status, id, graph, nodes, count);
}

#if RT_MAJOR >= 13
/* clang-format off */
RT_FN_PTSZ(cudaStreamGetCaptureInfo,
           (cudaStream_t stream, CUstreamCaptureStatus *status, cuuint64_t *id, CUgraph *graph,
            const CUgraphNode **nodes, const void **edges, size_t *count),
           capture_info(stream, status, id, graph, nodes, edges, count))
/* clang-format on */
#else
/* The header maps the plain name to _v2; _ptsz of the plain name is the first, short form. */
/* clang-format off */
RT_FN_PTSZ(cudaStreamGetCaptureInfo,
           (cudaStream_t stream, CUstreamCaptureStatus *status, cuuint64_t *id),
           rt_drv.capture_info(stream, status, id, NULL, NULL, NULL))
RT_FN_PTSZ(cudaStreamGetCaptureInfo_v2,
           (cudaStream_t stream, CUstreamCaptureStatus *status, cuuint64_t *id, CUgraph *graph,
            const CUgraphNode **nodes, size_t *count),
           rt_drv.capture_info(stream, status, id, graph, nodes, count))
RT_FN_PTSZ(cudaStreamGetCaptureInfo_v3,
           (cudaStream_t stream, CUstreamCaptureStatus *status, cuuint64_t *id, CUgraph *graph,
            const CUgraphNode **nodes, const void **edges, size_t *count),
           capture_info(stream, status, id, graph, nodes, edges, count))
/* clang-format on */
#endif

/* clang-format off */
RT_FN_PTSZ(cudaStreamCopyAttributes, (cudaStream_t stream, cudaStream_t from),
           rt_drv.cuStreamCopyAttributes(stream, from))
RT_FN_PTSZ(cudaStreamGetAttribute, (cudaStream_t stream, int attribute, CUstreamAttrValue *value),
           rt_drv.cuStreamGetAttribute(stream, (CUstreamAttrID)attribute, value))
RT_FN_PTSZ(cudaStreamSetAttribute,
           (cudaStream_t stream, int attribute, const CUstreamAttrValue *value),
           rt_drv.cuStreamSetAttribute(stream, (CUstreamAttrID)attribute, value))

RT_FN(cudaEventCreate, (cudaEvent_t *event), rt_drv.cuEventCreate(event, 0))
RT_FN(cudaEventCreateWithFlags, (cudaEvent_t *event, unsigned flags),
      rt_drv.cuEventCreate(event, flags))
RT_FN(cudaEventDestroy, (cudaEvent_t event), rt_drv.cuEventDestroy(event))
RT_FN_PTSZ(cudaEventRecord, (cudaEvent_t event, cudaStream_t stream),
           rt_drv.cuEventRecord(event, stream))
RT_FN_PTSZ(cudaEventRecordWithFlags, (cudaEvent_t event, cudaStream_t stream, unsigned flags),
           rt_drv.cuEventRecordWithFlags(event, stream, flags))
RT_FN(cudaEventQuery, (cudaEvent_t event), rt_drv.cuEventQuery(event))
RT_FN(cudaEventSynchronize, (cudaEvent_t event), rt_drv.cuEventSynchronize(event))
RT_FN(cudaEventElapsedTime, (float *ms, cudaEvent_t start, cudaEvent_t end),
      rt_drv.cuEventElapsedTime(ms, start, end))
/* clang-format on */
#if RT_MAJOR < 13
/* clang-format off */
RT_FN(cudaEventElapsedTime_v2, (float *ms, cudaEvent_t start, cudaEvent_t end),
      rt_drv.cuEventElapsedTime(ms, start, end))
/* clang-format on */
#endif
