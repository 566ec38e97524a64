/* Kernel launches: the twin runs the whole grid when the launch reaches the head of its stream. */
#include "cuda_emu/core/module.h"

#include <string.h>

#define MAX_ARGS      64
#define MAX_ARG_BYTES 4096
#define MAX_SHARED    (227 << 10)

struct launch_op {
    struct emu_op op;
    const struct emu_function *function;
    struct cuda_emu_launch launch;
    void *args[MAX_ARGS];
    unsigned char bytes[]; /* the arguments, copied at the call */
};

/* The launch that this thread runs: map() has no argument to carry it. */
static __thread struct {
    struct emu_ctx *ctx;
    const char *kernel;
} now;

static void *map(uint64_t address, size_t bytes, int write)
{
    enum emu_kind kind;
    void *at = emu_access((uintptr_t)address, bytes, now.ctx, write != 0, &kind);

    if (at == NULL) {
        emu_say("kernel %s: %zu bytes at %#llx are not memory that device %d may %s: error 700",
                now.kernel, bytes, (unsigned long long)address, now.ctx->device,
                write ? "write" : "read");
        emu_ctx_fail(now.ctx, CUDA_ERROR_ILLEGAL_ADDRESS);
    } else if (!emu_kind_is_device(kind)) {
        emu_count(EMU_COUNT_KERNEL_HOST, bytes);
    }
    return at;
}

static CUresult run_launch(struct emu_op *op, struct emu_stream *stream)
{
    struct launch_op *l = (struct launch_op *)op;

    now.ctx = stream->ctx;
    now.kernel = l->function->name;
    l->function->twin.run(&l->launch, l->args);
    emu_count(EMU_COUNT_LAUNCHES, 1);
    return atomic_load(&stream->ctx->sticky);
}

struct request {
    unsigned grid[3], block[3], shared;
    CUstream stream;
    void **params, **extra;
};

static bool dimensions_valid(const struct request *r)
{
    static const unsigned grid[3] = {INT32_MAX, 65535, 65535}, block[3] = {1024, 1024, 64};
    uint64_t threads = 1;

    for (int i = 0; i < 3; i++) {
        if (r->grid[i] == 0 || r->block[i] == 0 || r->grid[i] > grid[i] || r->block[i] > block[i])
            return false;
        threads *= r->block[i];
    }
    return threads <= 1024;
}

static size_t align_of(uint32_t size)
{
    size_t align = 1;

    while (align < 16 && size % (2 * align) == 0)
        align *= 2;
    return align;
}

/* `extra` is a packed buffer, each argument at the alignment that its size allows. */
static const char *packed_buffer(void **extra, size_t *size)
{
    const char *buffer = NULL;

    *size = 0;
    for (; extra != NULL && *extra != CU_LAUNCH_PARAM_END; extra += 2) {
        if (extra[0] == CU_LAUNCH_PARAM_BUFFER_POINTER)
            buffer = extra[1];
        else if (extra[0] == CU_LAUNCH_PARAM_BUFFER_SIZE)
            *size = *(const size_t *)extra[1];
    }
    return buffer;
}

static CUresult copy_args(struct launch_op *op, const struct request *r)
{
    const uint32_t *sizes = op->function->twin.args;
    size_t at = 0, size, limit;
    const char *packed = packed_buffer(r->extra, &limit);

    for (int i = 0; sizes[i] != 0; i++, at += size) {
        const void *from;

        size = sizes[i];
        at = (at + align_of(sizes[i]) - 1) & ~(align_of(sizes[i]) - 1);
        if (i == MAX_ARGS || at + size > MAX_ARG_BYTES)
            return CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES;
        if (packed != NULL)
            from = at + size <= limit ? packed + at : NULL;
        else
            from = r->params == NULL ? NULL : r->params[i];
        if (from == NULL)
            return CUDA_ERROR_INVALID_VALUE;
        memcpy(op->bytes + at, from, size);
        op->args[i] = op->bytes + at;
    }
    return CUDA_SUCCESS;
}

static CUresult submit(struct emu_stream *stream, const struct emu_function *function,
                       const struct request *r)
{
    struct launch_op *op = emu_op_new(sizeof(*op) + MAX_ARG_BYTES, "kernel", run_launch);
    CUresult rc;

    if (op == NULL)
        return CUDA_ERROR_OUT_OF_MEMORY;
    op->function = function;
    op->launch = (struct cuda_emu_launch){.abi = CUDA_EMU_TWIN_ABI,
                                          .grid = {r->grid[0], r->grid[1], r->grid[2]},
                                          .block = {r->block[0], r->block[1], r->block[2]},
                                          .shared_bytes = r->shared,
                                          .stream = stream->id,
                                          .map = map};
    op->op.name = function->name;
    rc = copy_args(op, r);
    if (rc != CUDA_SUCCESS) {
        free(op);
        return rc;
    }
    return emu_submit(stream, &op->op, NULL);
}

static CUresult launch(const char *name, CUfunction handle, const struct request *r)
{
    const struct emu_function *function = (const struct emu_function *)handle;
    struct emu_ctx *ctx;
    struct emu_stream *stream;
    CUresult rc = emu_enter_ctx(name, &ctx);

    if (rc != CUDA_SUCCESS)
        return rc;
    if (!emu_handle_is(handle, EMU_TYPE_FUNCTION) ||
        (function->module->ctx != NULL && function->module->ctx != ctx))
        return CUDA_ERROR_INVALID_HANDLE;
    if (!dimensions_valid(r) || r->shared > (unsigned)function->dynamic_shared ||
        (r->params != NULL && r->extra != NULL))
        return CUDA_ERROR_INVALID_VALUE;
    if (function->twin.run == NULL) {
        emu_say("kernel %s has no twin: no shared object of CUDA_EMU_TWINS exports "
                "cuda_emu_twin_%s",
                function->name, function->name);
        return CUDA_ERROR_NO_BINARY_FOR_GPU;
    }
    rc = emu_stream_get(ctx, r->stream, &stream);
    if (rc != CUDA_SUCCESS)
        return rc;
    rc = submit(stream, function, r);
    emu_stream_put(stream);
    return rc;
}

#define DIMENSIONS                                                                                 \
    unsigned int gx, unsigned int gy, unsigned int gz, unsigned int bx, unsigned int by,           \
        unsigned int bz, unsigned int shared, CUstream stream, void **params

#undef cuLaunchKernel
#undef cuLaunchKernelEx
#undef cuLaunchCooperativeKernel
CUresult CUDAAPI cuLaunchKernel(CUfunction f, DIMENSIONS, void **extra);
CUresult CUDAAPI cuLaunchKernel(CUfunction f, DIMENSIONS, void **extra)
{
    return launch("cuLaunchKernel", f,
                  &(struct request){{gx, gy, gz}, {bx, by, bz}, shared, stream, params, extra});
}

CUresult CUDAAPI cuLaunchKernel_ptsz(CUfunction f, DIMENSIONS, void **extra);
CUresult CUDAAPI cuLaunchKernel_ptsz(CUfunction f, DIMENSIONS, void **extra)
{
    return cuLaunchKernel(f, gx, gy, gz, bx, by, bz, shared,
                          stream == NULL ? CU_STREAM_PER_THREAD : stream, params, extra);
}

/* A twin runs the whole grid as it likes: co-residency is its own affair. */
CUresult CUDAAPI cuLaunchCooperativeKernel(CUfunction f, DIMENSIONS);
CUresult CUDAAPI cuLaunchCooperativeKernel(CUfunction f, DIMENSIONS)
{
    return launch("cuLaunchCooperativeKernel", f,
                  &(struct request){{gx, gy, gz}, {bx, by, bz}, shared, stream, params, NULL});
}

CUresult CUDAAPI cuLaunchKernelEx(const CUlaunchConfig *c, CUfunction f, void **params,
                                  void **extra);
CUresult CUDAAPI cuLaunchKernelEx(const CUlaunchConfig *c, CUfunction f, void **params,
                                  void **extra)
{
    if (c == NULL)
        return CUDA_ERROR_INVALID_VALUE;
    return launch("cuLaunchKernelEx", f,
                  &(struct request){{c->gridDimX, c->gridDimY, c->gridDimZ},
                                    {c->blockDimX, c->blockDimY, c->blockDimZ},
                                    c->sharedMemBytes,
                                    c->hStream,
                                    params,
                                    extra});
}

CUresult CUDAAPI cuLaunchKernelEx_ptsz(const CUlaunchConfig *c, CUfunction f, void **params,
                                       void **extra);
CUresult CUDAAPI cuLaunchKernelEx_ptsz(const CUlaunchConfig *c, CUfunction f, void **params,
                                       void **extra)
{
    CUlaunchConfig own;

    if (c == NULL)
        return CUDA_ERROR_INVALID_VALUE;
    own = *c;
    own.hStream = own.hStream == NULL ? CU_STREAM_PER_THREAD : own.hStream;
    return cuLaunchKernelEx(&own, f, params, extra);
}
