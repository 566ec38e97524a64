/* A device of the room; private to it. */
#ifndef GDR_DEVICE_DEV_H
#define GDR_DEVICE_DEV_H

#include "device/driver.h"
#include "device/gdr_device.h"

/* A registration of host memory that this device made and must undo. */
typedef struct gdr_dev_mapping {
    struct gdr_dev_mapping *next;
    void *address;
} gdr_dev_mapping_t;

/* What was found out about the memory of another device. */
typedef struct gdr_dev_reach {
    uint64_t owner; /* id of the context that was asked about; 0: none yet */
    bool yes;
} gdr_dev_reach_t;

struct gdr_dev {
    const gdr_log_t *log;
    int ordinal;
    CUdevice device;
    CUcontext context; /* the primary one, retained */
    uint64_t id;       /* of the context when it was opened: the generation */
    uint32_t max_blocks;
    gdr_dev_caps_t caps;
    bool wait_flushes; /* CU_STREAM_WAIT_VALUE_FLUSH is allowed */
    bool host_flushes; /* cuFlushGPUDirectRDMAWrites works */
    int top_priority;
    CUstream side; /* for zeroes */
    CUevent probe; /* never recorded: a query of it tells whether this thread captures */
    gdr_dev_mapping_t *mappings;
    CUmodule *modules; /* by image of the kernels room; NULL: not loaded */
    CUfunction functions[GDR_OP_COUNT][GDR_TYPE_COUNT]; /* NULL: not looked up */
    CUfunction copy, gather;
    gdr_dev_reach_t *reach; /* by ordinal of the other device */
};

struct gdr_dev_stream {
    gdr_dev_t *dev;
    CUstream stream;
    CUevent followed; /* in the device's own context */
};

/* GDR_OK and the device's context current until gdr_driver_leave(), or an error that is logged:
 * GDR_ERR_STALE when the context was destroyed. */
gdr_status_t gdr_dev_enter(const gdr_dev_t *dev, gdr_driver_scope_t *scope);
/* Whether the context that dev was opened in is still there. */
bool gdr_dev_alive(const gdr_dev_t *dev);

/* words.c: with the device's context current */
gdr_status_t gdr_dev_enqueue_word(gdr_dev_t *dev, CUstream stream, uint64_t address,
                                  uint64_t value);

/* kernels.c: with the device's context current */
gdr_status_t gdr_dev_load_copies(gdr_dev_t *dev);
void gdr_dev_unload_kernels(gdr_dev_t *dev, bool alive);

/* Entries of gdr_dev_ops_t that live in files of their own. */
gdr_status_t gdr_dev_stream_create(gdr_dev_t *dev, gdr_dev_stream_t **stream);
void gdr_dev_stream_destroy(gdr_dev_stream_t *stream);
gdr_status_t gdr_dev_follow_default(gdr_dev_stream_t *stream, uint64_t buffer, uint64_t caller);
gdr_status_t gdr_dev_stream_status(gdr_dev_stream_t *stream);
gdr_status_t gdr_dev_sync(gdr_dev_stream_t *stream);
gdr_status_t gdr_dev_reduce(gdr_dev_stream_t *stream, const gdr_dev_reduce_t *reduce);
gdr_status_t gdr_dev_prepare(gdr_dev_t *dev, gdr_op_t op, gdr_type_t type);
gdr_status_t gdr_dev_wait_word(gdr_dev_stream_t *stream, uint64_t address, uint64_t value);
gdr_status_t gdr_dev_write_word(gdr_dev_stream_t *stream, uint64_t address, uint64_t value);
gdr_status_t gdr_dev_flush_rdma_writes(gdr_dev_t *dev);

#endif
