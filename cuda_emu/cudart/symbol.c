/*
 * __device__, __constant__ and __managed__ variables. Their memory is made at the first use in a
 * context and starts as zeros: an initialiser lies in machine code that nobody reads here.
 */
#include "cuda_emu/cudart/register.h"

/* Registry lock held. */
static CUresult place(struct rt_variable *variable, unsigned long long id, CUdeviceptr *address)
{
    CUresult result;
    int slot = 0;

    for (int i = 0; i < RT_LOADED_MAX; i++) {
        if (variable->placed[i].context_id == id) {
            *address = variable->placed[i].address;
            return CUDA_SUCCESS;
        }
        if (variable->placed[i].context_id < variable->placed[slot].context_id)
            slot = i;
    }
    result = variable->managed != NULL
                 ? rt_drv.cuMemAllocManaged(address, variable->size, CU_MEM_ATTACH_GLOBAL)
                 : rt_drv.cuMemAlloc(address, variable->size);
    if (result == CUDA_SUCCESS)
        result = rt_drv.cuMemsetD8(*address, 0, variable->size);
    if (result == CUDA_SUCCESS) /* a memset may return early, and the program writes next */
        result = rt_drv.cuStreamSynchronize(CU_STREAM_LEGACY);
    if (result == CUDA_SUCCESS) {
        variable->placed[slot].context_id = id;
        variable->placed[slot].address = *address;
        if (variable->managed != NULL)
            *variable->managed = (void *)(uintptr_t)*address;
        rt_verbose("cudart: variable %s starts as zeros, not as its initialiser says",
                   variable->name);
    }
    return result;
}

cudaError_t rt_symbol(const void *symbol, void **address, size_t *size)
{
    struct rt_variable *variable;
    CUcontext context;
    unsigned long long id;
    CUdeviceptr placed;
    CUresult result;
    cudaError_t status = rt_enter();

    if (status != cudaSuccess)
        return status;
    variable = rt_find_variable(symbol);
    if (variable == NULL)
        return cudaErrorInvalidSymbol;
    result = rt_drv.cuCtxGetCurrent(&context);
    if (result == CUDA_SUCCESS)
        result = rt_drv.cuCtxGetId(context, &id);
    if (result != CUDA_SUCCESS)
        return (cudaError_t)result;
    rt_registry_lock();
    /* A managed variable has one address for all contexts. */
    result = place(variable, variable->managed != NULL ? 1 : id, &placed);
    rt_registry_unlock();
    if (result != CUDA_SUCCESS)
        return (cudaError_t)result;
    *address = (void *)(uintptr_t)placed;
    *size = variable->size;
    return cudaSuccess;
}

static cudaError_t symbol_address(void **address, const void *symbol)
{
    void *found;
    size_t size;
    cudaError_t status = address == NULL ? cudaErrorInvalidValue : rt_symbol(symbol, &found, &size);

    if (status == cudaSuccess)
        *address = found;
    return status;
}

static cudaError_t symbol_size(size_t *out, const void *symbol)
{
    struct rt_variable *variable = rt_find_variable(symbol);

    if (out == NULL)
        return cudaErrorInvalidValue;
    if (variable == NULL)
        return cudaErrorInvalidSymbol;
    *out = variable->size;
    return cudaSuccess;
}

/* The symbol's bytes [offset, offset + n), or an error. */
static cudaError_t part(const void *symbol, size_t n, size_t offset, char **address)
{
    void *base;
    size_t size;
    cudaError_t status = rt_symbol(symbol, &base, &size);

    if (status != cudaSuccess)
        return status;
    if (offset > size || n > size - offset)
        return cudaErrorInvalidValue;
    *address = (char *)base + offset;
    return cudaSuccess;
}

enum { HOST_TO_DEVICE = 1, DEVICE_TO_HOST, DEVICE_TO_DEVICE, BY_POINTER };

static cudaError_t copy_to(const void *symbol, const void *src, size_t n, size_t offset, int kind,
                           int wait, CUstream stream)
{
    char *dst;
    cudaError_t status = part(symbol, n, offset, &dst);

    if (status != cudaSuccess)
        return status;
    if (kind != HOST_TO_DEVICE && kind != DEVICE_TO_DEVICE && kind != BY_POINTER)
        return cudaErrorInvalidMemcpyDirection;
    return wait ? rt_copy(dst, src, n, kind, stream) : rt_copy_async(dst, src, n, kind, stream);
}

static cudaError_t copy_from(void *dst, const void *symbol, size_t n, size_t offset, int kind,
                             int wait, CUstream stream)
{
    char *src;
    cudaError_t status = part(symbol, n, offset, &src);

    if (status != cudaSuccess)
        return status;
    if (kind != DEVICE_TO_HOST && kind != DEVICE_TO_DEVICE && kind != BY_POINTER)
        return cudaErrorInvalidMemcpyDirection;
    return wait ? rt_copy(dst, src, n, kind, stream) : rt_copy_async(dst, src, n, kind, stream);
}

/* clang-format off */
RT_FN(cudaGetSymbolAddress, (void **address, const void *symbol), symbol_address(address, symbol))
RT_FN(cudaGetSymbolSize, (size_t *size, const void *symbol), symbol_size(size, symbol))
RT_FN_PTDS(cudaMemcpyToSymbol,
           (const void *symbol, const void *src, size_t n, size_t offset, int kind),
           copy_to(symbol, src, n, offset, kind, 1, STREAM))
RT_FN_PTSZ(cudaMemcpyToSymbolAsync,
           (const void *symbol, const void *src, size_t n, size_t offset, int kind,
            cudaStream_t stream),
           copy_to(symbol, src, n, offset, kind, 0, stream))
RT_FN_PTDS(cudaMemcpyFromSymbol,
           (void *dst, const void *symbol, size_t n, size_t offset, int kind),
           copy_from(dst, symbol, n, offset, kind, 1, STREAM))
RT_FN_PTSZ(cudaMemcpyFromSymbolAsync,
           (void *dst, const void *symbol, size_t n, size_t offset, int kind, cudaStream_t stream),
           copy_from(dst, symbol, n, offset, kind, 0, stream))
/* clang-format on */
