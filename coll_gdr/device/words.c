/* 64-bit words that order streams, the CPU and the network. */
#include "device/dev.h"

/*
 * Without 64-bit stream writes: two 32-bit fills, the low half first. Words only grow, so the value
 * that is visible in between (old high half, new low half) is smaller than the new one, and all
 * that a smaller value announces was done before the first fill.
 */
static gdr_status_t fill_word(gdr_dev_t *dev, CUstream stream, uint64_t address, uint64_t value)
{
    gdr_status_t status;

    status = GDR_CU_CALL(dev->log, cuMemsetD32Async, (address, (unsigned int)value, 1, stream));
    if (status != GDR_OK)
        return status;
    return GDR_CU_CALL(dev->log, cuMemsetD32Async,
                       (address + 4, (unsigned int)(value >> 32), 1, stream));
}

gdr_status_t gdr_dev_enqueue_word(gdr_dev_t *dev, CUstream stream, uint64_t address, uint64_t value)
{
    if (!dev->caps.stream_words)
        return fill_word(dev, stream, address, value);
    /* The default flag brings the memory barrier before the write. */
    return GDR_CU_CALL(dev->log, cuStreamWriteValue64,
                       (stream, address, value, CU_STREAM_WRITE_VALUE_DEFAULT));
}

gdr_status_t gdr_dev_wait_word(gdr_dev_stream_t *stream, uint64_t address, uint64_t value)
{
    gdr_dev_t *dev = stream->dev;
    unsigned int flags = CU_STREAM_WAIT_VALUE_GEQ;
    gdr_driver_scope_t scope;
    gdr_status_t status;

    if (!dev->caps.stream_words) {
        gdr_error(dev->log, "device %d has no 64-bit stream waits", dev->ordinal);
        return GDR_ERR_UNSUPPORTED;
    }
    if (dev->wait_flushes)
        flags |= CU_STREAM_WAIT_VALUE_FLUSH;
    status = gdr_dev_enter(dev, &scope);
    if (status != GDR_OK)
        return status;
    status = GDR_CU_CALL(dev->log, cuStreamWaitValue64, (stream->stream, address, value, flags));
    gdr_driver_leave(&scope);
    return status;
}

gdr_status_t gdr_dev_write_word(gdr_dev_stream_t *stream, uint64_t address, uint64_t value)
{
    gdr_driver_scope_t scope;
    gdr_status_t status = gdr_dev_enter(stream->dev, &scope);

    if (status != GDR_OK)
        return status;
    status = gdr_dev_enqueue_word(stream->dev, stream->stream, address, value);
    gdr_driver_leave(&scope);
    return status;
}

gdr_status_t gdr_dev_flush_rdma_writes(gdr_dev_t *dev)
{
    gdr_driver_scope_t scope;
    gdr_status_t status;

    if (!dev->caps.flush_rdma)
        return GDR_OK;
    if (!dev->host_flushes) {
        gdr_error(dev->log, "device %d cannot flush GPUDirect writes: host flags are unsafe on it",
                  dev->ordinal);
        return GDR_ERR_UNSUPPORTED;
    }
    status = gdr_dev_enter(dev, &scope);
    if (status != GDR_OK)
        return status;
    status = GDR_CU_CALL(dev->log, cuFlushGPUDirectRDMAWrites,
                         (CU_FLUSH_GPU_DIRECT_RDMA_WRITES_TARGET_CURRENT_CTX,
                          CU_FLUSH_GPU_DIRECT_RDMA_WRITES_TO_OWNER));
    gdr_driver_leave(&scope);
    return status;
}
