/* Copies and fills. Two and three dimensions are done row by row, in stream order. */
#include "cuda_emu/cudart/rt.h"

enum { HOST_TO_HOST, HOST_TO_DEVICE, DEVICE_TO_HOST, DEVICE_TO_DEVICE, BY_POINTER };

typedef struct {
    void *ptr;
    size_t pitch, xsize, ysize;
} rt_pitched_t;

typedef struct {
    size_t x, y, z;
} rt_position_t;

typedef struct {
    size_t width, height, depth;
} rt_extent_t;

/* cudaMemcpy3DParms and cudaMemcpy3DPeerParms (which has devices and no kind) */
struct rt_copy_3d {
    void *src_array;
    rt_position_t src_position;
    rt_pitched_t src;
    void *dst_array;
    rt_position_t dst_position;
    rt_pitched_t dst;
    rt_extent_t extent;
    int kind;
};

static CUdeviceptr address(const void *pointer)
{
    return (CUdeviceptr)(uintptr_t)pointer;
}

cudaError_t rt_copy_async(void *dst, const void *src, size_t n, int kind, CUstream stream)
{
    CUresult result;

    if (kind < HOST_TO_HOST || kind > BY_POINTER)
        return cudaErrorInvalidMemcpyDirection;
    if (n == 0)
        return cudaSuccess;
    if (dst == NULL || src == NULL)
        return cudaErrorInvalidValue;
    if (kind == HOST_TO_DEVICE)
        result = rt_drv.cuMemcpyHtoDAsync(address(dst), src, n, stream);
    else if (kind == DEVICE_TO_HOST)
        result = rt_drv.cuMemcpyDtoHAsync(dst, address(src), n, stream);
    else if (kind == DEVICE_TO_DEVICE)
        result = rt_drv.cuMemcpyDtoDAsync(address(dst), address(src), n, stream);
    else
        result = rt_drv.cuMemcpyAsync(address(dst), address(src), n, stream);
    return (cudaError_t)result;
}

/* On the legacy stream the driver's synchronous functions keep their own rules of returning. */
static CUresult copy_legacy(void *dst, const void *src, size_t n, int kind)
{
    if (kind == HOST_TO_DEVICE)
        return rt_drv.cuMemcpyHtoD(address(dst), src, n);
    if (kind == DEVICE_TO_HOST)
        return rt_drv.cuMemcpyDtoH(dst, address(src), n);
    if (kind == DEVICE_TO_DEVICE)
        return rt_drv.cuMemcpyDtoD(address(dst), address(src), n);
    return rt_drv.cuMemcpy(address(dst), address(src), n);
}

cudaError_t rt_copy(void *dst, const void *src, size_t n, int kind, CUstream stream)
{
    cudaError_t status;

    if (kind < HOST_TO_HOST || kind > BY_POINTER)
        return cudaErrorInvalidMemcpyDirection;
    if (n == 0)
        return cudaSuccess;
    if (dst == NULL || src == NULL)
        return cudaErrorInvalidValue;
    if (stream == NULL)
        return (cudaError_t)copy_legacy(dst, src, n, kind);
    status = rt_copy_async(dst, src, n, kind, stream);
    return status == cudaSuccess ? (cudaError_t)rt_drv.cuStreamSynchronize(stream) : status;
}

static cudaError_t copy_rows(struct rt_copy_3d *c, int wait, CUstream stream)
{
    cudaError_t status = cudaSuccess;

    for (size_t z = 0; z < c->extent.depth; z++) {
        for (size_t y = 0; y < c->extent.height && status == cudaSuccess; y++) {
            char *dst =
                (char *)c->dst.ptr + c->dst_position.x +
                ((c->dst_position.z + z) * c->dst.ysize + c->dst_position.y + y) * c->dst.pitch;
            const char *src =
                (const char *)c->src.ptr + c->src_position.x +
                ((c->src_position.z + z) * c->src.ysize + c->src_position.y + y) * c->src.pitch;

            status = wait ? rt_copy(dst, src, c->extent.width, c->kind, stream)
                          : rt_copy_async(dst, src, c->extent.width, c->kind, stream);
        }
    }
    return status;
}

static cudaError_t copy_2d(void *dst, size_t dpitch, const void *src, size_t spitch, size_t width,
                           size_t height, int kind, int wait, CUstream stream)
{
    struct rt_copy_3d copy = {
        .src = {(void *)(uintptr_t)src, spitch, width, height},
        .dst = {dst, dpitch, width, height},
        .extent = {width, height, 1},
        .kind = kind,
    };

    if (kind < HOST_TO_HOST || kind > BY_POINTER)
        return cudaErrorInvalidMemcpyDirection;
    if (height > 1 && (dpitch < width || spitch < width))
        return cudaErrorInvalidPitchValue;
    return copy_rows(&copy, wait, stream);
}

/* Arrays (textures) do not exist here. */
static cudaError_t copy_3d(const struct rt_copy_3d *parameters, int wait, CUstream stream)
{
    struct rt_copy_3d copy;

    if (parameters == NULL)
        return cudaErrorInvalidValue;
    if (parameters->src_array != NULL || parameters->dst_array != NULL)
        return cudaErrorNotSupported;
    copy = *parameters;
    if (copy.extent.width > copy.src.pitch || copy.extent.width > copy.dst.pitch)
        return cudaErrorInvalidPitchValue;
    return copy_rows(&copy, wait, stream);
}

static cudaError_t copy_peer(void *dst, int dst_device, const void *src, int src_device, size_t n,
                             int wait, CUstream stream)
{
    CUcontext to, from;
    cudaError_t status = rt_primary(dst_device, &to);

    if (status == cudaSuccess)
        status = rt_primary(src_device, &from);
    if (status != cudaSuccess || n == 0)
        return status;
    if (wait)
        return (cudaError_t)rt_drv.cuMemcpyPeer(address(dst), to, address(src), from, n);
    return (cudaError_t)rt_drv.cuMemcpyPeerAsync(address(dst), to, address(src), from, n, stream);
}

/* cuMemsetD8 has its own rules of returning, which only the legacy stream's callers get. */
static cudaError_t fill(void *dst, int value, size_t n, int wait, CUstream stream)
{
    if (n == 0)
        return cudaSuccess;
    if (wait && stream == NULL)
        return (cudaError_t)rt_drv.cuMemsetD8(address(dst), (unsigned char)value, n);
    return (cudaError_t)rt_drv.cuMemsetD8Async(address(dst), (unsigned char)value, n, stream);
}

static cudaError_t fill_rows(rt_pitched_t dst, int value, rt_extent_t extent, int wait,
                             CUstream stream)
{
    cudaError_t status = cudaSuccess;

    if (extent.width > dst.pitch && extent.height * extent.depth > 1)
        return cudaErrorInvalidPitchValue;
    for (size_t z = 0; z < extent.depth; z++) {
        for (size_t y = 0; y < extent.height && status == cudaSuccess; y++)
            status = fill((char *)dst.ptr + (z * dst.ysize + y) * dst.pitch, value, extent.width,
                          wait, stream);
    }
    return status;
}

static cudaError_t fill_2d(void *dst, size_t pitch, int value, size_t width, size_t height,
                           int wait, CUstream stream)
{
    return fill_rows((rt_pitched_t){dst, pitch, width, height}, value,
                     (rt_extent_t){width, height, 1}, wait, stream);
}

/* clang-format off */
RT_FN_PTDS(cudaMemcpy, (void *dst, const void *src, size_t n, int kind),
           rt_copy(dst, src, n, kind, STREAM))
RT_FN_PTSZ(cudaMemcpyAsync, (void *dst, const void *src, size_t n, int kind, cudaStream_t stream),
           rt_copy_async(dst, src, n, kind, stream))
RT_FN(cudaMemcpyPeer, (void *dst, int dst_device, const void *src, int src_device, size_t n),
      copy_peer(dst, dst_device, src, src_device, n, 1, NULL))
RT_FN(cudaMemcpyPeerAsync,
      (void *dst, int dst_device, const void *src, int src_device, size_t n, cudaStream_t stream),
      copy_peer(dst, dst_device, src, src_device, n, 0, stream))
RT_FN_PTDS(cudaMemcpy2D,
           (void *dst, size_t dpitch, const void *src, size_t spitch, size_t width, size_t height,
            int kind),
           copy_2d(dst, dpitch, src, spitch, width, height, kind, 1, STREAM))
RT_FN_PTSZ(cudaMemcpy2DAsync,
           (void *dst, size_t dpitch, const void *src, size_t spitch, size_t width, size_t height,
            int kind, cudaStream_t stream),
           copy_2d(dst, dpitch, src, spitch, width, height, kind, 0, stream))
RT_FN_PTDS(cudaMemcpy3D, (const struct rt_copy_3d *parameters), copy_3d(parameters, 1, STREAM))
RT_FN_PTSZ(cudaMemcpy3DAsync, (const struct rt_copy_3d *parameters, cudaStream_t stream),
           copy_3d(parameters, 0, stream))
RT_FN_PTDS(cudaMemset, (void *dst, int value, size_t n), fill(dst, value, n, 1, STREAM))
RT_FN_PTSZ(cudaMemsetAsync, (void *dst, int value, size_t n, cudaStream_t stream),
           fill(dst, value, n, 0, stream))
RT_FN_PTDS(cudaMemset2D, (void *dst, size_t pitch, int value, size_t width, size_t height),
           fill_2d(dst, pitch, value, width, height, 1, STREAM))
RT_FN_PTSZ(cudaMemset2DAsync,
           (void *dst, size_t pitch, int value, size_t width, size_t height, cudaStream_t stream),
           fill_2d(dst, pitch, value, width, height, 0, stream))
RT_FN_PTDS(cudaMemset3D, (rt_pitched_t dst, int value, rt_extent_t extent),
           fill_rows(dst, value, extent, 1, STREAM))
RT_FN_PTSZ(cudaMemset3DAsync,
           (rt_pitched_t dst, int value, rt_extent_t extent, cudaStream_t stream),
           fill_rows(dst, value, extent, 0, stream))
/* clang-format on */
