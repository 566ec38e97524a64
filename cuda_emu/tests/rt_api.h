/*
 * The runtime's functions as the tests call them: opened by hand, so that one program can test
 * both major versions, with the version node that a linked program would ask for.
 */
#ifndef CUDA_EMU_TEST_RT_API_H
#define CUDA_EMU_TEST_RT_API_H

#include "cuda_emu/tests/emu_test.h"

struct rt_dim3 {
    unsigned x, y, z;
};

struct rt_ipc {
    char bytes[64];
};

#define RT_API(X)                                                                                  \
    X(cudaGetDeviceCount, (int *))                                                                 \
    X(cudaSetDevice, (int))                                                                        \
    X(cudaGetDevice, (int *))                                                                      \
    X(cudaDeviceReset, (void))                                                                     \
    X(cudaDeviceSynchronize, (void))                                                               \
    X(cudaDeviceGetAttribute, (int *, int, int))                                                   \
    X(cudaDeviceCanAccessPeer, (int *, int, int))                                                  \
    X(cudaDeviceEnablePeerAccess, (int, unsigned))                                                 \
    X(cudaDriverGetVersion, (int *))                                                               \
    X(cudaRuntimeGetVersion, (int *))                                                              \
    X(cudaGetLastError, (void))                                                                    \
    X(cudaPeekAtLastError, (void))                                                                 \
    X(cudaMalloc, (void **, size_t))                                                               \
    X(cudaFree, (void *))                                                                          \
    X(cudaMallocHost, (void **, size_t))                                                           \
    X(cudaFreeHost, (void *))                                                                      \
    X(cudaMallocManaged, (void **, size_t, unsigned))                                              \
    X(cudaMallocAsync, (void **, size_t, CUstream))                                                \
    X(cudaFreeAsync, (void *, CUstream))                                                           \
    X(cudaMallocPitch, (void **, size_t *, size_t, size_t))                                        \
    X(cudaMemcpy, (void *, const void *, size_t, int))                                             \
    X(cudaMemcpyAsync, (void *, const void *, size_t, int, CUstream))                              \
    X(cudaMemcpyPeer, (void *, int, const void *, int, size_t))                                    \
    X(cudaMemcpy2D, (void *, size_t, const void *, size_t, size_t, size_t, int))                   \
    X(cudaMemset, (void *, int, size_t))                                                           \
    X(cudaMemsetAsync, (void *, int, size_t, CUstream))                                            \
    X(cudaMemsetAsync_ptsz, (void *, int, size_t, CUstream))                                       \
    X(cudaMemGetInfo, (size_t *, size_t *))                                                        \
    X(cudaPointerGetAttributes, (void *, const void *))                                            \
    X(cudaIpcGetMemHandle, (struct rt_ipc *, void *))                                              \
    X(cudaIpcOpenMemHandle, (void **, struct rt_ipc, unsigned))                                    \
    X(cudaIpcCloseMemHandle, (void *))                                                             \
    X(cudaStreamCreate, (CUstream *))                                                              \
    X(cudaStreamCreateWithFlags, (CUstream *, unsigned))                                           \
    X(cudaStreamDestroy, (CUstream))                                                               \
    X(cudaStreamSynchronize, (CUstream))                                                           \
    X(cudaStreamQuery, (CUstream))                                                                 \
    X(cudaStreamQuery_ptsz, (CUstream))                                                            \
    X(cudaStreamWaitEvent, (CUstream, CUevent, unsigned))                                          \
    X(cudaStreamGetDevice, (CUstream, int *))                                                      \
    X(cudaLaunchHostFunc, (CUstream, void (*)(void *), void *))                                    \
    X(cudaStreamAddCallback, (CUstream, void (*)(CUstream, int, void *), void *, unsigned))        \
    X(cudaEventCreate, (CUevent *))                                                                \
    X(cudaEventRecord, (CUevent, CUstream))                                                        \
    X(cudaEventQuery, (CUevent))                                                                   \
    X(cudaEventSynchronize, (CUevent))                                                             \
    X(cudaEventElapsedTime, (float *, CUevent, CUevent))                                           \
    X(cudaEventDestroy, (CUevent))                                                                 \
    X(cudaLaunchKernel, (const void *, struct rt_dim3, struct rt_dim3, void **, size_t, CUstream)) \
    X(cudaGetSymbolAddress, (void **, const void *))                                               \
    X(cudaGetSymbolSize, (size_t *, const void *))                                                 \
    X(cudaMemcpyToSymbol, (const void *, const void *, size_t, size_t, int))                       \
    X(cudaMemcpyFromSymbol, (void *, const void *, size_t, size_t, int))                           \
    X(cudaGetDriverEntryPointByVersion,                                                            \
      (const char *, void **, unsigned, unsigned long long, int *))                                \
    X(cudaStreamBeginCapture, (CUstream, int))                                                     \
    X(cudaStreamEndCapture, (CUstream, void **))                                                   \
    X(cudaStreamIsCapturing, (CUstream, int *))                                                    \
    X(cudaGraphDestroy, (void *))                                                                  \
    X(cudaGraphLaunch, (void *, CUstream))                                                         \
    X(__cudaPushCallConfiguration, (struct rt_dim3, struct rt_dim3, size_t, void *))               \
    X(__cudaPopCallConfiguration, (struct rt_dim3 *, struct rt_dim3 *, size_t *, void *))

struct rt_api {
    int major;
#define X(name, params) int(*name) params;
    RT_API(X)
#undef X
    /* those that return no error */
    const char *(*cudaGetErrorName)(int);
    const char *(*cudaGetErrorString)(int);
    int (*properties)(void *, int); /* cudaGetDeviceProperties as the major's header names it */
    int (*prefetch_12)(const void *, size_t, int, CUstream); /* cudaMemPrefetchAsync of a major */
    int (*prefetch_13)(const void *, size_t, CUmemLocation, unsigned, CUstream);
    void **(*__cudaRegisterFatBinary)(void *);
    void (*__cudaRegisterFatBinaryEnd)(void **);
    void (*__cudaUnregisterFatBinary)(void **);
    void (*__cudaRegisterFunction)(void **, const char *, char *, const char *, int, void *, void *,
                                   void *, void *, int *);
    void (*__cudaRegisterVar)(void **, char *, char *, const char *, int, size_t, int, int);
};

extern struct rt_api rt;

/* Opens libcudart.so.MAJOR of the build tree; ends the child when a function is missing. */
void rt_open(int major);

enum { HOST_TO_HOST, HOST_TO_DEVICE, DEVICE_TO_HOST, DEVICE_TO_DEVICE, BY_POINTER };

#endif
