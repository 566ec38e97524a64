/* What a kernel can be asked. */
#include "cuda_emu/core/module.h"

static CUresult enter_function(const char *name, CUfunction handle, struct emu_function **out)
{
    struct emu_ctx *ctx;
    CUresult rc = emu_enter_ctx(name, &ctx);

    if (rc != CUDA_SUCCESS)
        return rc;
    if (!emu_handle_is(handle, EMU_TYPE_FUNCTION))
        return CUDA_ERROR_INVALID_HANDLE;
    *out = (struct emu_function *)handle;
    return CUDA_SUCCESS;
}

CUresult CUDAAPI cuFuncGetAttribute(int *value, CUfunction_attribute attribute, CUfunction handle)
{
    struct emu_function *function;
    CUresult rc = enter_function(__func__, handle, &function);

    if (rc != CUDA_SUCCESS)
        return rc;
    if (value == NULL || (unsigned)attribute >= CU_FUNC_ATTRIBUTE_MAX)
        return CUDA_ERROR_INVALID_VALUE;
    switch (attribute) {
    case CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK:
        *value = 1024;
        break;
    case CU_FUNC_ATTRIBUTE_NUM_REGS:
        *value = 32;
        break;
    case CU_FUNC_ATTRIBUTE_PTX_VERSION:
    case CU_FUNC_ATTRIBUTE_BINARY_VERSION:
        *value = EMU_DEVICE_CC_MAJOR * 10 + EMU_DEVICE_CC_MINOR;
        break;
    case CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES:
        *value = function->dynamic_shared;
        break;
    default:
        *value = 0;
        break;
    }
    return CUDA_SUCCESS;
}

CUresult CUDAAPI cuFuncSetAttribute(CUfunction handle, CUfunction_attribute attribute, int value)
{
    struct emu_function *function;
    CUresult rc = enter_function(__func__, handle, &function);

    if (rc != CUDA_SUCCESS)
        return rc;
    switch (attribute) {
    case CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES:
        if (value < 0 || value > 227 << 10)
            return CUDA_ERROR_INVALID_VALUE;
        function->dynamic_shared = value;
        return CUDA_SUCCESS;
    case CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT:
        return value < -1 || value > 100 ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS;
    default:
        return CUDA_ERROR_INVALID_VALUE;
    }
}

CUresult CUDAAPI cuFuncSetCacheConfig(CUfunction handle, CUfunc_cache config)
{
    struct emu_function *function;

    (void)config;
    return enter_function(__func__, handle, &function);
}

CUresult CUDAAPI cuFuncGetName(const char **name, CUfunction handle)
{
    struct emu_function *function;
    CUresult rc = enter_function(__func__, handle, &function);

    if (rc != CUDA_SUCCESS)
        return rc;
    if (name == NULL)
        return CUDA_ERROR_INVALID_VALUE;
    *name = function->name;
    return CUDA_SUCCESS;
}

CUresult CUDAAPI cuFuncGetModule(CUmodule *module, CUfunction handle)
{
    struct emu_function *function;
    CUresult rc = enter_function(__func__, handle, &function);

    if (rc != CUDA_SUCCESS)
        return rc;
    if (module == NULL)
        return CUDA_ERROR_INVALID_VALUE;
    *module = (CUmodule)function->module;
    return CUDA_SUCCESS;
}

CUresult CUDAAPI cuModuleGetLoadingMode(CUmoduleLoadingMode *mode)
{
    CUresult rc = emu_enter(__func__);

    if (rc != CUDA_SUCCESS)
        return rc;
    if (mode == NULL)
        return CUDA_ERROR_INVALID_VALUE;
    *mode = CU_MODULE_EAGER_LOADING;
    return CUDA_SUCCESS;
}

static CUresult occupancy(const char *name, int *blocks, CUfunction handle, int threads,
                          size_t shared)
{
    struct emu_function *function;
    CUresult rc = enter_function(name, handle, &function);
    size_t by_threads, by_shared;

    if (rc != CUDA_SUCCESS)
        return rc;
    if (blocks == NULL || threads <= 0)
        return CUDA_ERROR_INVALID_VALUE;
    by_threads = threads > 1024 ? 0 : 2048 / (((size_t)threads + 31) / 32 * 32);
    by_shared = 233472 / (shared + 1024);
    by_threads = by_threads > 32 ? 32 : by_threads;
    *blocks = (int)(by_shared < by_threads ? by_shared : by_threads);
    return CUDA_SUCCESS;
}

CUresult CUDAAPI cuOccupancyMaxActiveBlocksPerMultiprocessor(int *blocks, CUfunction handle,
                                                             int threads, size_t shared)
{
    return occupancy(__func__, blocks, handle, threads, shared);
}

CUresult CUDAAPI cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int *blocks,
                                                                      CUfunction handle,
                                                                      int threads, size_t shared,
                                                                      unsigned int flags)
{
    (void)flags;
    return occupancy(__func__, blocks, handle, threads, shared);
}
