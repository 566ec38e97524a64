/*
 * A device as the engine uses it: kernels in streams, and words by which the CPU sees their end.
 * No MPI. One thread. Who detects an error logs it.
 */
#ifndef TUNE_DEVICE_H
#define TUNE_DEVICE_H

#include "base/gdr_log.h"
#include "engine/gdr_dev.h"

enum { TUNE_STREAMS = 4 }; /* as host-driven calls use */

typedef struct tune_device {
    const gdr_log_t *log;
    const gdr_dev_ops_t *ops;
    gdr_dev_t *dev;
    gdr_dev_caps_t caps;
    gdr_dev_stream_t *streams[TUNE_STREAMS];
    uint64_t *words; /* one for each stream, a cache line apart; written behind its work */
    uint64_t words_on_device;
    uint64_t seen; /* the last value that was written */
    char name[128];
    bool emulated;
} tune_device_t;

/* What is timed: `launches` kernels in each of `streams` streams, or copies of in[0] to out[0] by
 * the driver; operands of stream i lie i * stride bytes behind those of stream 0. */
typedef struct tune_load {
    gdr_dev_reduce_t reduce;
    uint64_t stride;
    int streams, launches;
    bool driver_copies;
} tune_load_t;

/* gdr_device_load() was good. max_blocks as in gdr_device_params_t. Close also after a failure. */
gdr_status_t tune_device_open(tune_device_t *device, const gdr_log_t *log, int ordinal,
                              uint32_t max_blocks);
void tune_device_close(tune_device_t *device);

/* *seconds: from before the first launch until the CPU has seen the last one's end; *posting: the
 * CPU's part of it, in which it launched. */
gdr_status_t tune_device_time(tune_device_t *device, const tune_load_t *load, double *seconds,
                              double *posting);

/* Bytes that the load reads and writes. */
double tune_load_bytes(const tune_load_t *load);

/* The driver's name of a device, or "emulated GPU". */
bool tune_device_name(int ordinal, char *name, size_t size);

double tune_now(void); /* seconds */

#endif
