/* Stream memory operations: wait for a word in memory, write one. */
#include "cuda_emu/core/emu.h"

typedef _Atomic(uint64_t) word64_t;
typedef _Atomic(uint32_t) word32_t;

struct memop {
    struct emu_op op;
    const struct emu_ctx *ctx;
    uintptr_t address;
    uint64_t value;
    unsigned flags;
    bool wide;
};

/*
 * Where the emulator may touch the word, under emu_lock; NULL: it is not memory any more. Looked up
 * each time: a card sees what lies at the address when the operation runs.
 */
static void *find_word(const struct memop *m, bool write)
{
    enum emu_kind kind;

    return emu_access_locked(m->address, m->wide ? 8 : 4, m->ctx, write, &kind);
}

static CUresult lost(const struct memop *m)
{
    emu_say("%s: %#lx is not memory any more: error 700", m->op.name, m->address);
    return CUDA_ERROR_ILLEGAL_ADDRESS;
}

static bool holds(const struct memop *m, void *word)
{
    uint64_t seen = m->wide ? atomic_load_explicit((word64_t *)word, memory_order_acquire)
                            : atomic_load_explicit((word32_t *)word, memory_order_acquire);

    switch (m->flags & 3U) {
    case CU_STREAM_WAIT_VALUE_GEQ: /* cyclic: the difference counts, not the sizes */
        return m->wide ? (int64_t)(seen - m->value) >= 0
                       : (int32_t)((uint32_t)seen - (uint32_t)m->value) >= 0;
    case CU_STREAM_WAIT_VALUE_EQ:
        return seen == m->value;
    case CU_STREAM_WAIT_VALUE_AND:
        return (seen & m->value) != 0;
    default:
        return (m->wide ? ~(seen | m->value) : (uint64_t)(uint32_t) ~(seen | m->value)) != 0;
    }
}

/* Submitters ask with `submit` locked, which comes after emu_lock: where that is taken, not yet. */
static bool wait_over(struct emu_op *op)
{
    const struct memop *m = (const struct memop *)op;
    void *word;
    bool over;

    if (!emu_trylock())
        return false;
    word = find_word(m, false);
    over = word == NULL || holds(m, word);
    emu_unlock();
    return over;
}

static CUresult run_wait(struct emu_op *op, struct emu_stream *stream)
{
    const struct memop *m = (const struct memop *)op;
    bool there;

    (void)stream;
    emu_lock();
    there = find_word(m, false) != NULL;
    emu_unlock();
    if (!there)
        return lost(m);
    atomic_thread_fence(memory_order_seq_cst);
    emu_count(EMU_COUNT_WAITS, 1);
    return CUDA_SUCCESS;
}

static CUresult run_write(struct emu_op *op, struct emu_stream *stream)
{
    struct memop *m = (struct memop *)op;
    void *word;

    (void)stream;
    atomic_thread_fence(memory_order_seq_cst);
    emu_lock();
    word = find_word(m, true);
    if (word != NULL && m->wide)
        atomic_store_explicit((word64_t *)word, m->value, memory_order_release);
    else if (word != NULL)
        atomic_store_explicit((word32_t *)word, (uint32_t)m->value, memory_order_release);
    emu_unlock();
    if (word == NULL)
        return lost(m);
    emu_count(EMU_COUNT_WRITES, 1);
    return CUDA_SUCCESS;
}

static CUresult check_flags(bool wait, unsigned flags)
{
    if (!wait)
        return (flags & ~(unsigned)CU_STREAM_WRITE_VALUE_NO_MEMORY_BARRIER) == 0
                   ? CUDA_SUCCESS
                   : CUDA_ERROR_INVALID_VALUE;
    if ((flags & ~(3U | (unsigned)CU_STREAM_WAIT_VALUE_FLUSH)) != 0)
        return CUDA_ERROR_INVALID_VALUE;
    if ((flags & CU_STREAM_WAIT_VALUE_FLUSH) != 0 && !emu_config()->flush_remote)
        return CUDA_ERROR_NOT_SUPPORTED;
    return CUDA_SUCCESS;
}

struct request {
    CUdeviceptr address;
    uint64_t value;
    unsigned flags;
    bool wide, wait;
};

/* "cannot be used with managed memory" (cuda.h, of waits and writes alike) */
static CUresult check(struct emu_ctx *ctx, const struct request *r)
{
    enum emu_kind kind;
    size_t bytes = r->wide ? 8 : 4;
    CUresult rc = check_flags(r->wait, r->flags);

    if (rc != CUDA_SUCCESS)
        return rc;
    if (r->address % bytes != 0)
        return CUDA_ERROR_INVALID_VALUE;
    if (emu_access(r->address, bytes, ctx, !r->wait, &kind) == NULL || kind == EMU_MANAGED)
        return CUDA_ERROR_INVALID_VALUE;
    return CUDA_SUCCESS;
}

static CUresult submit(struct emu_ctx *ctx, struct emu_stream *stream, const struct request *r)
{
    struct memop *op;
    CUresult rc = check(ctx, r);

    if (rc != CUDA_SUCCESS)
        return rc;
    op = emu_op_new(sizeof(*op), r->wait ? "wait value" : "write value",
                    r->wait ? run_wait : run_write);
    if (op == NULL)
        return CUDA_ERROR_OUT_OF_MEMORY;
    op->ctx = ctx;
    op->address = r->address;
    op->value = r->value;
    op->flags = r->flags;
    op->wide = r->wide;
    op->op.ready = r->wait ? wait_over : NULL;
    return emu_submit(stream, &op->op, NULL);
}

static CUresult enter_memop(const char *name, CUstream handle, struct request request)
{
    struct emu_ctx *ctx;
    struct emu_stream *stream;
    CUresult rc = emu_enter_ctx(name, &ctx);

    if (rc != CUDA_SUCCESS)
        return rc;
    if (emu_tracing())
        emu_trace("%s %#llx value %#llx flags %#x stream %p", name, request.address,
                  (unsigned long long)request.value, request.flags, (void *)handle);
    rc = emu_stream_get(ctx, handle, &stream);
    if (rc != CUDA_SUCCESS)
        return rc;
    rc = submit(ctx, stream, &request);
    emu_stream_put(stream);
    return rc;
}

#undef cuStreamWaitValue32
#undef cuStreamWaitValue64
#undef cuStreamWriteValue32
#undef cuStreamWriteValue64
#undef cuStreamBatchMemOp
#define MEMOP(symbol, type, wide, wait)                                                            \
    CUresult CUDAAPI symbol(CUstream stream, CUdeviceptr at, type value, unsigned int flags);      \
    CUresult CUDAAPI symbol(CUstream stream, CUdeviceptr at, type value, unsigned int flags)       \
    {                                                                                              \
        return enter_memop(#symbol, stream, (struct request){at, value, flags, wide, wait});       \
    }
MEMOP(cuStreamWaitValue32_v2, cuuint32_t, false, true)
MEMOP(cuStreamWaitValue64_v2, cuuint64_t, true, true)
MEMOP(cuStreamWriteValue32_v2, cuuint32_t, false, false)
MEMOP(cuStreamWriteValue64_v2, cuuint64_t, true, false)

/*
 * The first version of these calls (CUDA 8 to 11.6) has to be enabled by a module parameter of the
 * kernel driver; a driver of today answers NOT_SUPPORTED (CAN_USE_STREAM_MEM_OPS_V1 is 0), and the
 * generated stubs say just that.
 */

static bool read_request(const CUstreamBatchMemOpParams *p, struct request *r)
{
    switch (p->operation) {
    case CU_STREAM_MEM_OP_WAIT_VALUE_32:
        *r = (struct request){p->waitValue.address, p->waitValue.value, p->waitValue.flags, false,
                              true};
        return true;
    case CU_STREAM_MEM_OP_WAIT_VALUE_64:
        *r = (struct request){p->waitValue.address, p->waitValue.value64, p->waitValue.flags, true,
                              true};
        return true;
    case CU_STREAM_MEM_OP_WRITE_VALUE_32:
        *r = (struct request){p->writeValue.address, p->writeValue.value, p->writeValue.flags,
                              false, false};
        return true;
    case CU_STREAM_MEM_OP_WRITE_VALUE_64:
        *r = (struct request){p->writeValue.address, p->writeValue.value64, p->writeValue.flags,
                              true, false};
        return true;
    default:
        return false;
    }
}

/* All are checked before the first is enqueued. */
static CUresult submit_batch(struct emu_ctx *ctx, struct emu_stream *stream, unsigned count,
                             const CUstreamBatchMemOpParams *params)
{
    struct request request;
    CUresult rc = CUDA_SUCCESS;

    for (unsigned i = 0; i < count; i++) {
        if (params[i].operation == CU_STREAM_MEM_OP_FLUSH_REMOTE_WRITES)
            continue;
        if (!read_request(&params[i], &request))
            return CUDA_ERROR_NOT_SUPPORTED;
        rc = check(ctx, &request);
        if (rc != CUDA_SUCCESS)
            return rc;
    }
    for (unsigned i = 0; i < count && rc == CUDA_SUCCESS; i++) {
        if (read_request(&params[i], &request))
            rc = submit(ctx, stream, &request);
    }
    return rc;
}

CUresult CUDAAPI cuStreamBatchMemOp_v2(CUstream handle, unsigned int count,
                                       CUstreamBatchMemOpParams *params, unsigned int flags);
CUresult CUDAAPI cuStreamBatchMemOp_v2(CUstream handle, unsigned int count,
                                       CUstreamBatchMemOpParams *params, unsigned int flags)
{
    struct emu_ctx *ctx;
    struct emu_stream *stream;
    CUresult rc = emu_enter_ctx("cuStreamBatchMemOp", &ctx);

    if (rc != CUDA_SUCCESS)
        return rc;
    if (params == NULL || count == 0 || count > 256 || flags != 0)
        return CUDA_ERROR_INVALID_VALUE;
    rc = emu_stream_get(ctx, handle, &stream);
    if (rc != CUDA_SUCCESS)
        return rc;
    rc = submit_batch(ctx, stream, count, params);
    emu_stream_put(stream);
    return rc;
}

/* Copies of the emulator and of UCX are over when they are seen to be: nothing is left to flush. */
CUresult CUDAAPI cuFlushGPUDirectRDMAWrites(CUflushGPUDirectRDMAWritesTarget target,
                                            CUflushGPUDirectRDMAWritesScope scope)
{
    struct emu_ctx *ctx;
    CUresult rc = emu_enter_ctx(__func__, &ctx);

    if (rc != CUDA_SUCCESS)
        return rc;
    if (target != CU_FLUSH_GPU_DIRECT_RDMA_WRITES_TARGET_CURRENT_CTX ||
        (scope != CU_FLUSH_GPU_DIRECT_RDMA_WRITES_TO_OWNER &&
         scope != CU_FLUSH_GPU_DIRECT_RDMA_WRITES_TO_ALL_DEVICES))
        return CUDA_ERROR_INVALID_VALUE;
    atomic_thread_fence(memory_order_seq_cst);
    return CUDA_SUCCESS;
}
