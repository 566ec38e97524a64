/*
 * The emulated CUDA runtime over the driver API of libcuda.so.1. One core, compiled once per
 * major version: RT_MAJOR is 12 or 13 and changes structures and signatures where CUDA did.
 *
 * Types are declared here, not taken from a toolkit: one toolkit holds only one major's headers.
 * An error of the runtime and of the driver with the same number is the same error.
 *
 * Every entry point may be called from any thread. Per thread: the current device, the last
 * error, the stack of launch configurations.
 */
#ifndef CUDA_EMU_RT_H
#define CUDA_EMU_RT_H

#include <cuda.h>
#include <stddef.h>
#include <stdint.h>

#define RT_EXPORT __attribute__((visibility("default")))

typedef int cudaError_t;
typedef CUstream cudaStream_t;
typedef CUevent cudaEvent_t;
typedef CUmemoryPool cudaMemPool_t;

enum {
#define X(code, name, text) name = code,
#include "errors.def"
#undef X
};

typedef struct {
    unsigned x, y, z;
} rt_dim3_t;

/* ---- the driver ---- */

/* Functions whose plain name means another signature in the headers of another toolkit. */
typedef CUresult rt_cu_uuid_t(CUuuid *, CUdevice);
typedef CUresult rt_cu_advise_t(CUdeviceptr, size_t, CUmem_advise, CUmemLocation);
typedef CUresult rt_cu_prefetch_t(CUdeviceptr, size_t, CUmemLocation, unsigned, CUstream);
typedef CUresult rt_cu_capture_t(CUstream, CUstreamCaptureStatus *, cuuint64_t *, CUgraph *,
                                 const CUgraphNode **, size_t *);

struct rt_driver {
#define X(name) __typeof__(&name) name; /* cuda.h maps plain names to versioned ones */
#include "driver.def"
#undef X
    rt_cu_uuid_t *device_uuid;
    rt_cu_advise_t *advise;
    rt_cu_prefetch_t *prefetch;
    rt_cu_capture_t *capture_info;
};

/* Filled by the first successful rt_driver_enter; a function that the driver lacks answers 801. */
extern struct rt_driver rt_drv;

/*
 * Loads and initialises the driver, once. cudaErrorInsufficientDriver: no libcuda.so.1, or one
 * older than this runtime; cudaErrorNoDevice and others: what cuInit said.
 */
cudaError_t rt_driver_enter(void);

/* Version of the driver, 0 when there is none. Needs no device. */
int rt_driver_version(void);

/* ---- contexts ---- */

/*
 * rt_driver_enter, then makes sure that a context is current: the one that the application made
 * current with the driver API, else the primary context of this thread's device (retained when
 * it is inactive, as after cudaDeviceReset).
 */
cudaError_t rt_enter(void);

/* The device of this thread's current context, else the one chosen by cudaSetDevice. */
cudaError_t rt_current_device(int *device);

/* The primary context of a device, active and retained once by this runtime. */
cudaError_t rt_primary(int device, CUcontext *context);

/* Code below runs with the primary context of `device` current, the former one comes back. */
cudaError_t rt_push_device(int device);
void rt_pop_device(void);

/* ---- errors ---- */

/* Remembers an error as this thread's last one and returns it. */
cudaError_t rt_record(cudaError_t error);

/* Forgets this thread's last error, a sticky one too. */
void rt_clear_error(void);

/* A function that is not implemented: reported, then cudaErrorNotSupported. */
int rt_unsupported(const char *function);

/* One line on stderr when CUDA_EMU_VERBOSE is set. */
void rt_verbose(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* ---- how entry points are written ---- */

/* The stream meant by 0 in code compiled with --default-stream per-thread. */
static inline cudaStream_t rt_per_thread(cudaStream_t stream)
{
    return stream == NULL ? CU_STREAM_PER_THREAD : stream;
}

/* An entry point that wants a context: `call` runs when there is one. */
#define RT_FN(name, params, call)                                                                  \
    RT_EXPORT cudaError_t name params;                                                             \
    cudaError_t name params                                                                        \
    {                                                                                              \
        cudaError_t status_ = rt_enter();                                                          \
                                                                                                   \
        return rt_record(status_ == cudaSuccess ? (cudaError_t)(call) : status_);                  \
    }

/* An entry point that wants the driver only. */
#define RT_FN_DRIVER(name, params, call)                                                           \
    RT_EXPORT cudaError_t name params;                                                             \
    cudaError_t name params                                                                        \
    {                                                                                              \
        cudaError_t status_ = rt_driver_enter();                                                   \
                                                                                                   \
        return rt_record(status_ == cudaSuccess ? (cudaError_t)(call) : status_);                  \
    }

/* Two entry points, name and name_ptsz; a parameter must be called `stream`. */
#define RT_FN_PTSZ(name, params, call)                                                             \
    RT_FN(name, params, call)                                                                      \
    RT_EXPORT cudaError_t name##_ptsz params;                                                      \
    cudaError_t name##_ptsz params                                                                 \
    {                                                                                              \
        cudaError_t status_ = rt_enter();                                                          \
                                                                                                   \
        stream = rt_per_thread(stream);                                                            \
        return rt_record(status_ == cudaSuccess ? (cudaError_t)(call) : status_);                  \
    }

/* Two synchronous entry points, name and name_ptds; `call` says STREAM where the stream goes. */
#define RT_FN_PTDS(name, params, call)                                                             \
    RT_EXPORT cudaError_t name params;                                                             \
    cudaError_t name params                                                                        \
    {                                                                                              \
        const CUstream STREAM = NULL;                                                              \
        cudaError_t status_ = rt_enter();                                                          \
                                                                                                   \
        return rt_record(status_ == cudaSuccess ? (cudaError_t)(call) : status_);                  \
    }                                                                                              \
    RT_EXPORT cudaError_t name##_ptds params;                                                      \
    cudaError_t name##_ptds params                                                                 \
    {                                                                                              \
        const CUstream STREAM = CU_STREAM_PER_THREAD;                                              \
        cudaError_t status_ = rt_enter();                                                          \
                                                                                                   \
        return rt_record(status_ == cudaSuccess ? (cudaError_t)(call) : status_);                  \
    }

/* ---- between the files ---- */

/* Copies n bytes. `kind` as cudaMemcpyKind. rt_copy returns when the copy is done. */
cudaError_t rt_copy(void *dst, const void *src, size_t n, int kind, CUstream stream);
cudaError_t rt_copy_async(void *dst, const void *src, size_t n, int kind, CUstream stream);

/* Device address and size of a __device__ or __managed__ variable in the current context. */
cudaError_t rt_symbol(const void *symbol, void **address, size_t *size);

#endif
