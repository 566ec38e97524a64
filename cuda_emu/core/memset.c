/* cuMemset*: a pattern of 1, 2 or 4 bytes over a range of rows. */
#include "cuda_emu/core/emu.h"

#include <string.h>

struct memset_op {
    struct emu_op op;
    uintptr_t at;
    size_t pitch, width, height; /* bytes, bytes, rows */
    unsigned value, element;
};

static void fill(char *at, const struct memset_op *m)
{
    if (m->element == 1) {
        memset(at, (int)m->value, m->width);
        return;
    }
    /* Little-endian, as the cards are: the low bytes come first. */
    for (size_t i = 0; i < m->width; i += m->element)
        memcpy(at + i, &m->value, m->element);
}

static CUresult run_memset(struct emu_op *op, struct emu_stream *stream)
{
    struct memset_op *m = (struct memset_op *)op;
    enum emu_kind kind;

    (void)stream;
    for (size_t y = 0; y < m->height; y++) {
        char *row = emu_access(m->at + y * m->pitch, m->width, NULL, true, &kind);

        if (row == NULL)
            return CUDA_ERROR_ILLEGAL_ADDRESS;
        fill(row, m);
    }
    emu_count(EMU_COUNT_COPIES, 1);
    return CUDA_SUCCESS;
}

struct set {
    const char *name;
    CUdeviceptr at;
    size_t pitch, width, height; /* bytes, elements, rows */
    unsigned value, element;
    CUstream stream;
};

static CUresult set_on(struct emu_stream *stream, const struct set *set)
{
    struct memset_op *op;
    enum emu_kind kind;
    size_t bytes = set->width * set->element;

    if (set->at % set->element != 0 || (set->height > 1 && set->pitch < bytes))
        return CUDA_ERROR_INVALID_VALUE;
    if (emu_access(set->at, bytes + (set->height - 1) * set->pitch, NULL, true, &kind) == NULL ||
        kind == EMU_PAGEABLE)
        return CUDA_ERROR_INVALID_VALUE;
    op = emu_op_new(sizeof(*op), set->name, run_memset);
    if (op == NULL)
        return CUDA_ERROR_OUT_OF_MEMORY;
    op->at = set->at;
    op->pitch = set->pitch;
    op->width = bytes;
    op->height = set->height;
    op->value = set->value;
    op->element = set->element;
    return emu_submit(stream, &op->op, NULL);
}

static CUresult enter_set(struct set set)
{
    struct emu_ctx *ctx;
    struct emu_stream *stream;
    CUresult rc = emu_enter_ctx(set.name, &ctx);

    if (rc != CUDA_SUCCESS || set.width == 0 || set.height == 0)
        return rc;
    rc = emu_stream_get(ctx, set.stream, &stream);
    if (rc != CUDA_SUCCESS)
        return rc;
    rc = set_on(stream, &set);
    emu_stream_put(stream);
    return rc;
}

#define MEMSET(bits, type)                                                                         \
    CUresult CUDAAPI cuMemsetD##bits##_v2(CUdeviceptr at, type value, size_t n);                   \
    CUresult CUDAAPI cuMemsetD##bits##_v2(CUdeviceptr at, type value, size_t n)                    \
    {                                                                                              \
        return enter_set((struct set){"cuMemsetD" #bits, at, 0, n, 1, value, bits / 8, NULL});     \
    }                                                                                              \
    CUresult CUDAAPI cuMemsetD##bits##_v2_ptds(CUdeviceptr at, type value, size_t n);              \
    CUresult CUDAAPI cuMemsetD##bits##_v2_ptds(CUdeviceptr at, type value, size_t n)               \
    {                                                                                              \
        return enter_set(                                                                          \
            (struct set){"cuMemsetD" #bits, at, 0, n, 1, value, bits / 8, CU_STREAM_PER_THREAD});  \
    }                                                                                              \
    CUresult CUDAAPI cuMemsetD##bits##Async(CUdeviceptr at, type value, size_t n, CUstream s)      \
    {                                                                                              \
        return enter_set(                                                                          \
            (struct set){"cuMemsetD" #bits "Async", at, 0, n, 1, value, bits / 8, s});             \
    }                                                                                              \
    CUresult CUDAAPI cuMemsetD2D##bits##_v2(CUdeviceptr at, size_t pitch, type value,              \
                                            size_t width, size_t height);                          \
    CUresult CUDAAPI cuMemsetD2D##bits##_v2(CUdeviceptr at, size_t pitch, type value,              \
                                            size_t width, size_t height)                           \
    {                                                                                              \
        return enter_set(                                                                          \
            (struct set){"cuMemsetD2D" #bits, at, pitch, width, height, value, bits / 8, NULL});   \
    }                                                                                              \
    CUresult CUDAAPI cuMemsetD2D##bits##Async(CUdeviceptr at, size_t pitch, type value,            \
                                              size_t width, size_t height, CUstream s)             \
    {                                                                                              \
        return enter_set((struct set){"cuMemsetD2D" #bits "Async", at, pitch, width, height,       \
                                      value, bits / 8, s});                                        \
    }
#undef cuMemsetD8Async
#undef cuMemsetD16Async
#undef cuMemsetD32Async
#undef cuMemsetD2D8Async
#undef cuMemsetD2D16Async
#undef cuMemsetD2D32Async
MEMSET(8, unsigned char)
MEMSET(16, unsigned short)
MEMSET(32, unsigned int)
