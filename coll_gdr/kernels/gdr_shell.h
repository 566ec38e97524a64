/*
 * The shells around gdr_reduce_thread(). nvcc makes a kernel of each GDR_SHELL, a host compiler
 * its twin (cuda_emu/include/cuda_emu_twin.h).
 */
#ifndef GDR_SHELL_H
#define GDR_SHELL_H

#include "kernels/gdr_reduce.h"

#ifdef __CUDACC__

#define GDR_GRID_THREAD  ((uint64_t)blockIdx.x * blockDim.x + threadIdx.x)
#define GDR_GRID_THREADS ((uint64_t)gridDim.x * blockDim.x)

/* One block per SM is asked for: with fewer registers ptxas would wait for the first input before
 * it has issued the loads of the third (seen in SASS: 6 loads of 16 bytes in flight, not 12). */
#define GDR_SHELL(OP, op, TYPE, type)                                                              \
    extern "C" __global__ void __launch_bounds__(GDR_KERNEL_THREADS, 1)                            \
        gdr_reduce_##op##_##type(const __grid_constant__ gdr_kernel_args_t args)                   \
    {                                                                                              \
        typedef gdr_element<GDR_TYPE_##TYPE, GDR_OP_##OP>::representation element;                 \
        gdr_reduce_thread<GDR_OP_##OP, element>(args, GDR_GRID_THREAD, GDR_GRID_THREADS);          \
    }

#define GDR_SHELL_COPY                                                                             \
    extern "C" __global__ void __launch_bounds__(GDR_KERNEL_THREADS, 1)                            \
        gdr_copy(const __grid_constant__ gdr_kernel_args_t args)                                   \
    {                                                                                              \
        gdr_copy_thread(args, GDR_GRID_THREAD, GDR_GRID_THREADS);                                  \
    }

#define GDR_SHELL_GATHER                                                                           \
    extern "C" __global__ void __launch_bounds__(GDR_KERNEL_THREADS, 1)                            \
        gdr_gather(const __grid_constant__ gdr_kernel_args_t args)                                 \
    {                                                                                              \
        gdr_gather_thread(args, GDR_GRID_THREAD, GDR_GRID_THREADS);                                \
    }

#else

#include "kernels/gdr_twin.h"

#define GDR_SHELL_TWIN(name, element_bytes, thread_function)                                       \
    extern "C" {                                                                                   \
    GDR_TWIN_EXPORT extern const uint32_t cuda_emu_twin_##name##_args[];                           \
    const uint32_t cuda_emu_twin_##name##_args[] = {sizeof(gdr_kernel_args_t), 0};                 \
    GDR_TWIN_EXPORT void cuda_emu_twin_##name(const struct cuda_emu_launch *launch, void **args);  \
    void cuda_emu_twin_##name(const struct cuda_emu_launch *launch, void **args)                   \
    {                                                                                              \
        gdr_kernel_args_t mapped;                                                                  \
                                                                                                   \
        if (!gdr_twin_map(&mapped, launch, args, element_bytes))                                   \
            return;                                                                                \
        if (!gdr_twin_whole_grid()) {                                                              \
            thread_function(mapped, 0, 1);                                                         \
            return;                                                                                \
        }                                                                                          \
        uint64_t threads = (uint64_t)launch->grid[0] * launch->block[0];                           \
        for (uint64_t i = 0; i < threads; i++)                                                     \
            thread_function(mapped, i, threads);                                                   \
    }                                                                                              \
    }

#define GDR_SHELL(OP, op, TYPE, type)                                                              \
    typedef gdr_element<GDR_TYPE_##TYPE, GDR_OP_##OP>::representation gdr_element_##op##_##type;   \
    GDR_SHELL_TWIN(gdr_reduce_##op##_##type, sizeof(gdr_element_##op##_##type),                    \
                   (gdr_reduce_thread<GDR_OP_##OP, gdr_element_##op##_##type>))

#define GDR_SHELL_COPY   GDR_SHELL_TWIN(gdr_copy, 1, gdr_copy_thread)
#define GDR_SHELL_GATHER GDR_SHELL_TWIN(gdr_gather, 1, gdr_gather_thread)

#endif

#endif
