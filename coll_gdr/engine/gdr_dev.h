/*
 * Port of the engine: one CUDA device (its primary context or the application's own) as streams,
 * words and reduce-copy kernels. Implemented by device/ and by the fake device of the tests.
 *
 * Addresses are device addresses as 64-bit numbers. Thread rule: any thread, one call at a time per
 * gdr_dev_t (the engine sees to it); the calling thread's current context is the same after every
 * call. No function waits for work on a stream but sync().
 */
#ifndef GDR_DEV_H
#define GDR_DEV_H

#include "base/gdr_optypes.h"
#include "base/gdr_status.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct gdr_dev gdr_dev_t;
typedef struct gdr_dev_stream gdr_dev_stream_t;

typedef struct gdr_dev_caps {
    bool stream_words;      /* 64-bit stream waits and writes exist: stream-ordered mode possible */
    bool flush_rdma;        /* flush_rdma_writes() is due before data behind a host flag is read */
    int compute_capability; /* 90 = 9.0 */
    uint64_t memory_bytes;  /* of the device; 0: not known */
} gdr_dev_caps_t;

/* out = in[0] op in[1] ...; nin == 1: copy (op and type only tell the element size). With a block,
 * a gather (op and type tell nothing): the inputs one behind the other. */
typedef struct gdr_dev_reduce {
    gdr_op_t op;
    gdr_type_t type;
    uint32_t nin, nout; /* 1..8, 1..2 */
    uint64_t in[8];
    uint64_t out[2]; /* may equal an input; never overlap one partly */
    uint64_t bytes;  /* of each operand; a multiple of the element's size unless nin == 1 */
    uint64_t block;  /* 0; or a gather: of every input but the last, which has what is left of
                      * `bytes`, then those of the one output; no input overlaps that */
    uint64_t abort;  /* device address of a word, or 0: if it holds `abort_value` when the kernel
                      * begins, nothing is written */
    uint64_t abort_value;
} gdr_dev_reduce_t;

/* Bytes of input i. */
static inline uint64_t gdr_dev_input_bytes(const gdr_dev_reduce_t *reduce, uint32_t i)
{
    uint64_t at = i * reduce->block, rest = reduce->bytes > at ? reduce->bytes - at : 0;

    if (reduce->block == 0)
        return reduce->bytes;
    return rest < reduce->block ? rest : reduce->block;
}

typedef struct gdr_dev_ops {
    void (*caps)(const gdr_dev_t *dev, gdr_dev_caps_t *caps);
    /* Number of the context that dev was opened in, unique in the process; 0 if it is gone
     * (cudaDeviceReset): then nothing made in it may be touched again, only dropped. */
    uint64_t (*generation)(gdr_dev_t *dev);

    gdr_status_t (*alloc)(gdr_dev_t *dev, size_t bytes, uint64_t *address); /* zeroed */
    void (*free)(gdr_dev_t *dev, uint64_t address);
    /* Makes host memory visible to the device's streams and kernels; *device_address for them. */
    gdr_status_t (*map_host)(gdr_dev_t *dev, void *address, size_t bytes, uint64_t *device_address);
    void (*unmap_host)(gdr_dev_t *dev, void *address);

    /* High-priority, non-blocking (CU_STREAM_NON_BLOCKING). */
    gdr_status_t (*stream_create)(gdr_dev_t *dev, gdr_dev_stream_t **stream);
    void (*stream_destroy)(gdr_dev_stream_t *stream); /* waits for its work */

    /* Orders the stream after what the application has put into the NULL stream of the context
     * that owns `buffer` (a device or managed address), of the primary contexts if none owns it,
     * and of `caller` (handle of a context, 0: none). An error if such a stream is capturing. */
    gdr_status_t (*follow_default)(gdr_dev_stream_t *stream, uint64_t buffer, uint64_t caller);

    gdr_status_t (*reduce)(gdr_dev_stream_t *stream, const gdr_dev_reduce_t *reduce);
    /* The stream goes on when *address >= value (64-bit, cyclic as CU_STREAM_WAIT_VALUE_GEQ). */
    gdr_status_t (*wait_word)(gdr_dev_stream_t *stream, uint64_t address, uint64_t value);
    /* Written when all before it in the stream is done and visible to the CPU and the network. */
    gdr_status_t (*write_word)(gdr_dev_stream_t *stream, uint64_t address, uint64_t value);
    gdr_status_t (*flush_rdma_writes)(gdr_dev_t *dev);

    /* GDR_OK, or what went wrong on the stream (a sticky error of the context): asked now and then
     * while a completion word is awaited. */
    gdr_status_t (*stream_status)(gdr_dev_stream_t *stream);
    gdr_status_t (*sync)(gdr_dev_stream_t *stream);
    void (*close)(gdr_dev_t *dev);

    /* GDR_OK when reduce() will find its kernel for op on type (loads it now, so that nobody learns
     * of a missing one after commit); GDR_ERR_UNSUPPORTED, logged. May be NULL: yes. */
    gdr_status_t (*prepare)(gdr_dev_t *dev, gdr_op_t op, gdr_type_t type);
} gdr_dev_ops_t;

#endif
