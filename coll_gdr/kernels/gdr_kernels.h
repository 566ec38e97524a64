/*
 * The reduce-copy kernels: out1[, out2] = in1 op in2 op ... op inn, element by element.
 * One kernel per name; its only argument is a gdr_kernel_args_t by value. C, C++ and CUDA.
 *
 * Two kernels move bits only: the copy, and the gather, out1 = in1, in2, ... one behind the other.
 *
 * Operands are evaluated strictly from left to right, in1 first, with the same expression at every
 * alignment and on every thread; nin = 1 copies the bits unchanged, whatever the operation.
 * Everything here is immutable data or a pure function: any thread, no set-up.
 */
#ifndef GDR_KERNELS_H
#define GDR_KERNELS_H

#include <stddef.h>
#include <stdint.h>

#include "base/gdr_optypes.h"

#ifdef __cplusplus
extern "C" {
#endif

#define GDR_KERNEL_MAX_INPUTS  8
#define GDR_KERNEL_MAX_OUTPUTS 2
#define GDR_KERNEL_THREADS     512 /* per block, always */

/*
 * Addresses are device addresses (CUdeviceptr) that the launching context may access, of any
 * alignment (but the abort word's). An output may be the very same array as an input or lie apart
 * from it; it never overlaps one partly, and the outputs never overlap each other. The gather's
 * output overlaps no input.
 */
typedef struct gdr_kernel_args {
    uint64_t abort; /* of a 64-bit word, or 0; with `abort_value` in it: write nothing */
    uint64_t abort_value;
    uint64_t in[GDR_KERNEL_MAX_INPUTS];
    uint64_t out[GDR_KERNEL_MAX_OUTPUTS];
    uint64_t count; /* elements; for the copy kernel: bytes; for the gather: bytes of the output */
    uint64_t block; /* gather: bytes of every input but the last, which has what is left; else 0 */
    uint32_t nin;   /* 1 ... GDR_KERNEL_MAX_INPUTS; the copy kernel reads in[0] only */
    uint32_t nout;  /* 1 or 2; the gather writes out[0] only */
} gdr_kernel_args_t;

typedef struct gdr_kernel {
    const char *name; /* for cuModuleGetFunction */
    uint32_t image;   /* which image of gdr_kernels_image() holds it */
    uint32_t bytes;   /* of one element (1 for the copy and the gather) */
} gdr_kernel_t;

typedef struct gdr_kernel_image {
    const char *name;
    const void *data; /* a fatbin for cuModuleLoadData */
    size_t bytes;
} gdr_kernel_image_t;

typedef struct {
    uint32_t blocks;  /* grid dimension x; y and z are 1 */
    uint32_t threads; /* block dimension x; y and z are 1 */
} gdr_kernel_grid_t;

/* The kernel that serves `op` on `type`; types of one representation may share one. NULL when
 * gdr_optype_supported() says no. */
const gdr_kernel_t *gdr_kernel_find(gdr_op_t op, gdr_type_t type);

/* The plain copy, "gdr_copy". */
const gdr_kernel_t *gdr_kernel_copy(void);

/* One block of every input, "gdr_gather". */
const gdr_kernel_t *gdr_kernel_gather(void);

/* gdr_kernel_find(op, type)->name, or NULL. */
const char *gdr_kernel_name(gdr_op_t op, gdr_type_t type);

/* All kernels, without repetition: index 0 ... gdr_kernels_count() - 1; NULL beyond. */
size_t gdr_kernels_count(void);
const gdr_kernel_t *gdr_kernels_at(size_t index);

/* All images: index 0 ... gdr_kernels_images() - 1; NULL beyond. */
size_t gdr_kernels_images(void);
const gdr_kernel_image_t *gdr_kernels_image(size_t index);

/*
 * The grid for `count` elements of `bytes` bytes each. At most `max_blocks` blocks (0: the default,
 * GDR_KERNEL_DEFAULT_BLOCKS), because communication must leave the card to the application; a
 * kernel is right with any number of blocks. At least one block, also for count 0.
 */
#define GDR_KERNEL_DEFAULT_BLOCKS 32
gdr_kernel_grid_t gdr_kernel_grid(uint64_t count, size_t bytes, uint32_t max_blocks);

#ifdef __cplusplus
}
#endif

#endif
