/* Copies: what waits for what, what passes through memory the CPU can see, and the bytes. */
#include "cuda_emu/core/emu.h"

#include <string.h>
#include <time.h>

/*
 * A copy from pageable memory returns when the driver has set its bytes aside, whatever their
 * number; their way to the device may go on. Here that is true of so many bytes at its end.
 */
#define STAGED_MOST 65536UL

struct copy_op {
    struct emu_op op;
    uintptr_t dst, src;
    size_t bytes;
    void *staged; /* owned: the source's bytes at the time of the call */
    bool rest;    /* of a copy whose first part is an operation of its own */
};

/* Between cards without peer access the bytes go down to the host and up again. */
static void count_device_copy(const struct copy_op *c, const struct emu_ctx *ctx)
{
    if (emu_access_direct(c->dst, c->src, ctx)) {
        emu_count(EMU_COUNT_DTOD, c->bytes);
    } else {
        emu_count(EMU_COUNT_DTOH, c->bytes);
        emu_count(EMU_COUNT_HTOD, c->bytes);
    }
}

static void count_copy(const struct copy_op *c, enum emu_kind dst, enum emu_kind src,
                       const struct emu_ctx *ctx)
{
    bool to = emu_kind_is_device(dst), from = emu_kind_is_device(src);

    if (!c->rest)
        emu_count(EMU_COUNT_COPIES, 1);
    if (dst == EMU_MANAGED || src == EMU_MANAGED)
        emu_count(EMU_COUNT_MANAGED, c->bytes);
    else if (to && from)
        count_device_copy(c, ctx);
    else
        emu_count(to ? EMU_COUNT_HTOD : from ? EMU_COUNT_DTOH : EMU_COUNT_HTOH, c->bytes);
}

/* With delays, the end of a copy comes later than its beginning, as a reader may see on a card. */
static void move_bytes(char *dst, const char *src, size_t bytes, struct emu_stream *stream)
{
    const struct emu_config *config = emu_config();
    struct timespec pause = {0, 0};
    size_t first = bytes;

    if (config->delay_us != 0 && !config->sync && bytes >= 64) {
        first = bytes / 64 * (stream->rng & 63);
        pause.tv_nsec = (long)(stream->rng >> 8 & 0x3ff) * (long)(config->delay_us % 1000 + 1);
    }
    memcpy(dst, src, first);
    if (first < bytes) {
        nanosleep(&pause, NULL);
        memcpy(dst + first, src + first, bytes - first);
    }
}

static CUresult run_copy(struct emu_op *op, struct emu_stream *stream)
{
    struct copy_op *c = (struct copy_op *)op;
    enum emu_kind to, from = EMU_PAGEABLE;
    void *dst = emu_access(c->dst, c->bytes, NULL, true, &to);
    void *src = c->staged != NULL ? c->staged : emu_access(c->src, c->bytes, NULL, false, &from);

    if (dst == NULL || src == NULL) {
        emu_say("%s: %#lx is not memory any more: error 700", op->name,
                dst == NULL ? c->dst : c->src);
        return CUDA_ERROR_ILLEGAL_ADDRESS;
    }
    move_bytes(dst, src, c->bytes, stream);
    count_copy(c, to, from, stream->ctx);
    return CUDA_SUCCESS;
}

static void drop_copy(struct emu_op *op)
{
    free(((struct copy_op *)op)->staged);
}

static bool pageable(enum emu_kind kind)
{
    return kind == EMU_PAGEABLE;
}

/* Does the call return only when the copy is done? */
static bool waits(const struct emu_copy *copy, enum emu_kind to, enum emu_kind from)
{
    if (pageable(to) || pageable(from))
        return true;
    if (copy->async)
        return false;
    return !(emu_kind_is_device(to) && emu_kind_is_device(from));
}

static struct copy_op *new_op(const struct emu_copy *copy)
{
    struct copy_op *op = emu_op_new(sizeof(*op), copy->name, run_copy);

    if (op == NULL)
        return NULL;
    op->op.drop = drop_copy;
    op->dst = copy->dst;
    op->src = copy->src;
    op->bytes = copy->bytes;
    return op;
}

static CUresult submit(struct emu_stream *stream, const struct emu_copy *copy, bool wait)
{
    struct copy_op *op = new_op(copy);

    if (op == NULL)
        return CUDA_ERROR_OUT_OF_MEMORY;
    return wait ? emu_stream_submit_wait(stream, &op->op) : emu_submit(stream, &op->op, NULL);
}

/* The source may be changed as soon as this returns, though the copy has not run. */
static CUresult submit_staged(struct emu_stream *stream, const struct emu_copy *copy, bool rest)
{
    struct copy_op *op = new_op(copy);

    if (op == NULL)
        return CUDA_ERROR_OUT_OF_MEMORY;
    op->rest = rest;
    op->staged = malloc(copy->bytes);
    if (op->staged == NULL) {
        free(op);
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    memcpy(op->staged, (const void *)copy->src, copy->bytes);
    return emu_submit(stream, &op->op, NULL);
}

static CUresult copy_from_pageable(struct emu_stream *stream, const struct emu_copy *copy)
{
    struct emu_copy first = *copy, last = *copy;
    CUresult rc = CUDA_SUCCESS;

    if (copy->bytes > STAGED_MOST) {
        last.bytes = STAGED_MOST;
        first.bytes -= last.bytes;
        last.src += first.bytes;
        last.dst += first.bytes;
        rc = submit(stream, &first, true);
    }
    return rc != CUDA_SUCCESS ? rc : submit_staged(stream, &last, copy->bytes > STAGED_MOST);
}

static CUresult copy_on(struct emu_stream *stream, const struct emu_copy *copy)
{
    enum emu_kind to, from;

    if (emu_access(copy->dst, copy->bytes, NULL, true, &to) == NULL ||
        emu_access(copy->src, copy->bytes, NULL, false, &from) == NULL ||
        (copy->to_device && pageable(to)) || (copy->from_device && pageable(from)))
        return CUDA_ERROR_INVALID_VALUE;
    /* From host to host a copy is synchronous in any case. */
    if (pageable(from) && (emu_kind_is_device(to) || to == EMU_MANAGED))
        return copy_from_pageable(stream, copy);
    return submit(stream, copy, waits(copy, to, from));
}

CUresult emu_copy(struct emu_ctx *ctx, const struct emu_copy *copy)
{
    struct emu_stream *stream;
    CUresult rc;

    if (copy->bytes == 0)
        return CUDA_SUCCESS;
    rc = emu_stream_get_any(ctx, copy->stream, &stream);
    if (rc != CUDA_SUCCESS)
        return rc;
    if (!copy->async)
        rc = emu_capture_forbids_unsafe();
    if (rc == CUDA_SUCCESS)
        rc = copy_on(stream, copy);
    emu_stream_put(stream);
    return rc;
}
