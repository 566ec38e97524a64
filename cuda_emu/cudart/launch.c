/* Kernels and variables of the program: launches become cuLaunchKernel of the same name. */
#include "cuda_emu/cudart/register.h"

#include <string.h>

#define CONFIGURATIONS 16 /* nested <<<>>> that are pushed and not yet popped by one thread */
#define MAX_THREADS    1024
#define MAX_RESIDENT   2048         /* threads of a multiprocessor */
#define MAX_BLOCKS     32           /* blocks of a multiprocessor */
#define MAX_SHARED     (228u << 10) /* shared memory of a multiprocessor, bytes */

struct configuration {
    rt_dim3_t grid, block;
    size_t shared;
    void *stream;
};

struct rt_launch_config {
    rt_dim3_t grid, block;
    size_t shared;
    cudaStream_t stream;
    void *attributes;
    unsigned attribute_count;
};

struct rt_function_attributes {
    size_t shared_bytes, constant_bytes, local_bytes;
    int max_threads, registers, ptx_version, binary_version, cache_ca, max_dynamic_shared,
        preferred_carveout, cluster_set, cluster[3], cluster_policy, reserved[16];
};

static __thread struct configuration pushed[CONFIGURATIONS];
static __thread unsigned depth;

RT_EXPORT unsigned __cudaPushCallConfiguration(rt_dim3_t grid, rt_dim3_t block, size_t shared,
                                               void *stream);
RT_EXPORT cudaError_t __cudaPopCallConfiguration(rt_dim3_t *grid, rt_dim3_t *block, size_t *shared,
                                                 void *stream);

unsigned __cudaPushCallConfiguration(rt_dim3_t grid, rt_dim3_t block, size_t shared, void *stream)
{
    if (depth == CONFIGURATIONS)
        return 1;
    pushed[depth++] = (struct configuration){grid, block, shared, stream};
    return 0;
}

cudaError_t __cudaPopCallConfiguration(rt_dim3_t *grid, rt_dim3_t *block, size_t *shared,
                                       void *stream)
{
    if (depth == 0)
        return rt_record(cudaErrorMissingConfiguration);
    depth--;
    *grid = pushed[depth].grid;
    *block = pushed[depth].block;
    *shared = pushed[depth].shared;
    *(void **)stream = pushed[depth].stream;
    return cudaSuccess;
}

static unsigned long long context_id(void)
{
    CUcontext context;
    unsigned long long id;

    if (rt_drv.cuCtxGetCurrent(&context) != CUDA_SUCCESS ||
        rt_drv.cuCtxGetId(context, &id) != CUDA_SUCCESS)
        return 0;
    return id;
}

/* The module in the current context, loaded at its first use there. Registry lock held. */
static CUresult load(struct rt_module *module, CUmodule *out)
{
    unsigned long long id = context_id();
    CUresult result;
    int slot = 0;

    for (int i = 0; i < RT_LOADED_MAX; i++) {
        if (module->loaded[i].context_id == id) {
            *out = module->loaded[i].module;
            return CUDA_SUCCESS;
        }
        /* An older generation's entry is worth less than any newer one: ids only grow. */
        if (module->loaded[i].context_id < module->loaded[slot].context_id)
            slot = i;
    }
    result = rt_drv.cuModuleLoadData(out, module->image);
    if (result == CUDA_SUCCESS) {
        module->loaded[slot].context_id = id;
        module->loaded[slot].module = *out;
    }
    return result;
}

static cudaError_t driver_function(struct rt_kernel *kernel, CUfunction *function)
{
    CUmodule module;
    CUresult result;

    rt_registry_lock();
    result = load(kernel->module, &module);
    rt_registry_unlock();
    if (result == CUDA_SUCCESS)
        result = rt_drv.cuModuleGetFunction(function, module, kernel->name);
    if (result == CUDA_ERROR_NOT_FOUND)
        return cudaErrorInvalidDeviceFunction;
    return (cudaError_t)result;
}

static cudaError_t launch_kernel(struct rt_kernel *kernel, rt_dim3_t grid, rt_dim3_t block,
                                 void **arguments, size_t shared, cudaStream_t stream)
{
    CUfunction function;
    CUresult result;
    cudaError_t status;

    if (kernel == NULL)
        return cudaErrorInvalidDeviceFunction;
    if (grid.x == 0 || grid.y == 0 || grid.z == 0 || block.x == 0 || block.y == 0 || block.z == 0 ||
        (unsigned long long)block.x * block.y * block.z > MAX_THREADS)
        return cudaErrorInvalidConfiguration;
    status = driver_function(kernel, &function);
    if (status != cudaSuccess)
        return status;
    result = rt_drv.cuLaunchKernel(function, grid.x, grid.y, grid.z, block.x, block.y, block.z,
                                   (unsigned)shared, stream, arguments, NULL);
    return (cudaError_t)result;
}

static cudaError_t launch(const void *stub, rt_dim3_t grid, rt_dim3_t block, void **arguments,
                          size_t shared, cudaStream_t stream)
{
    return launch_kernel(rt_find_kernel(stub), grid, block, arguments, shared, stream);
}

static cudaError_t launch_config(const struct rt_launch_config *config, const void *stub,
                                 void **arguments, int per_thread)
{
    if (config == NULL)
        return cudaErrorInvalidConfiguration;
    return launch(stub, config->grid, config->block, arguments, config->shared,
                  per_thread ? rt_per_thread(config->stream) : config->stream);
}

/* What a card would say of a plain kernel; there is no machine code to ask. */
static cudaError_t function_attributes(struct rt_function_attributes *out, const void *stub)
{
    if (out == NULL)
        return cudaErrorInvalidValue;
    if (rt_find_kernel(stub) == NULL)
        return cudaErrorInvalidDeviceFunction;
    memset(out, 0, sizeof(*out));
    out->max_threads = MAX_THREADS;
    out->registers = 32;
    out->ptx_version = 90;
    out->binary_version = 90;
    out->max_dynamic_shared = 48 << 10;
    out->preferred_carveout = -1;
    return cudaSuccess;
}

static cudaError_t known(const void *stub)
{
    return rt_find_kernel(stub) == NULL ? cudaErrorInvalidDeviceFunction : cudaSuccess;
}

static cudaError_t function_name(const char **name, const void *stub)
{
    struct rt_kernel *kernel = rt_find_kernel(stub);

    if (name == NULL)
        return cudaErrorInvalidValue;
    if (kernel == NULL)
        return cudaErrorInvalidDeviceFunction;
    *name = kernel->name;
    return cudaSuccess;
}

static cudaError_t function_of(CUfunction *function, const void *stub)
{
    struct rt_kernel *kernel = rt_find_kernel(stub);

    if (function == NULL)
        return cudaErrorInvalidValue;
    return kernel == NULL ? cudaErrorInvalidDeviceFunction : driver_function(kernel, function);
}

/* A cudaKernel_t is the registry's entry. */
static cudaError_t kernel_of(struct rt_kernel **kernel, const void *stub)
{
    struct rt_kernel *found = rt_find_kernel(stub);

    if (kernel == NULL)
        return cudaErrorInvalidValue;
    if (found == NULL)
        return cudaErrorInvalidDeviceFunction;
    *kernel = found;
    return cudaSuccess;
}

static cudaError_t occupancy(int *blocks, const void *stub, int threads, size_t shared)
{
    int resident;

    if (blocks == NULL || threads <= 0)
        return cudaErrorInvalidValue;
    if (rt_find_kernel(stub) == NULL)
        return cudaErrorInvalidDeviceFunction;
    resident = threads > MAX_THREADS ? 0 : MAX_RESIDENT / threads;
    if (shared > 0 && (size_t)resident > MAX_SHARED / shared)
        resident = (int)(MAX_SHARED / shared);
    *blocks = resident > MAX_BLOCKS ? MAX_BLOCKS : resident;
    return cudaSuccess;
}

/* Asking for a kernel needs no device: nvcc's stubs do it before the first launch. */
RT_EXPORT cudaError_t __cudaGetKernel(struct rt_kernel **kernel, const void *stub);
cudaError_t __cudaGetKernel(struct rt_kernel **kernel, const void *stub)
{
    return kernel_of(kernel, stub);
}

/* clang-format off */
RT_FN_PTSZ(__cudaLaunchKernel,
           (struct rt_kernel *kernel, rt_dim3_t grid, rt_dim3_t block, void **arguments,
            size_t shared, cudaStream_t stream),
           launch_kernel(kernel, grid, block, arguments, shared, stream))
RT_FN_PTSZ(cudaLaunchKernel,
           (const void *stub, rt_dim3_t grid, rt_dim3_t block, void **arguments, size_t shared,
            cudaStream_t stream),
           launch(stub, grid, block, arguments, shared, stream))
RT_FN_PTSZ(cudaLaunchCooperativeKernel,
           (const void *stub, rt_dim3_t grid, rt_dim3_t block, void **arguments, size_t shared,
            cudaStream_t stream),
           launch(stub, grid, block, arguments, shared, stream))
RT_FN(cudaLaunchKernelExC,
      (const struct rt_launch_config *config, const void *stub, void **arguments),
      launch_config(config, stub, arguments, 0))
RT_FN(cudaLaunchKernelExC_ptsz,
      (const struct rt_launch_config *config, const void *stub, void **arguments),
      launch_config(config, stub, arguments, 1))
RT_FN(cudaGetKernel, (struct rt_kernel **kernel, const void *stub), kernel_of(kernel, stub))
RT_FN(cudaGetFuncBySymbol, (CUfunction *function, const void *stub), function_of(function, stub))
RT_FN(cudaFuncGetName, (const char **name, const void *stub), function_name(name, stub))
RT_FN(cudaFuncGetAttributes, (struct rt_function_attributes *attributes, const void *stub),
      function_attributes(attributes, stub))
RT_FN(cudaFuncSetAttribute, (const void *stub, int attribute, int value),
      attribute < 0 || value < -1 ? cudaErrorInvalidValue : known(stub))
RT_FN(cudaFuncSetCacheConfig, (const void *stub, int config),
      config < 0 ? cudaErrorInvalidValue : known(stub))
RT_FN(cudaFuncSetSharedMemConfig, (const void *stub, int config),
      config < 0 ? cudaErrorInvalidValue : known(stub))
RT_FN(cudaOccupancyMaxActiveBlocksPerMultiprocessor,
      (int *blocks, const void *stub, int threads, size_t shared),
      occupancy(blocks, stub, threads, shared))
RT_FN(cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags,
      (int *blocks, const void *stub, int threads, size_t shared, unsigned flags),
      flags > 1 ? cudaErrorInvalidValue : occupancy(blocks, stub, threads, shared))
/* clang-format on */
