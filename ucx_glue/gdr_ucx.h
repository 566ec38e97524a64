/*
 * gdr_ucx.so: the engine's network over UCX. One exported symbol, gdr_ucx_open; everything else
 * goes through gdr_net_ops_t. Linked to libucp and libucs by name only, so that the copy in the
 * process serves: open a libucp first (mca/net_open.c), then this library.
 */
#ifndef GDR_UCX_H
#define GDR_UCX_H

#include "base/gdr_log.h"
#include "base/gdr_status.h"
#include "engine/gdr_net.h"

#include <stdbool.h>
#include <stdint.h>

#define GDR_UCX_ABI       2
#define GDR_UCX_OPEN_NAME "gdr_ucx_open"

/* UCX that can serve: this version or a newer one. */
#define GDR_UCX_MIN_MAJOR 1
#define GDR_UCX_MIN_MINOR 18

/* What was handed to UCX since open; plain stores by the thread that makes the call. */
typedef struct gdr_ucx_counters {
    uint64_t puts;      /* of data, without words */
    uint64_t put_bytes; /* of them */
    uint64_t words;
    uint64_t flushes;
    uint64_t failed; /* operations that ended with an error */
} gdr_ucx_counters_t;

/* UCX looks at the calling thread's current CUDA context, which an application's threads need not
 * have: always to find out whether a peer's window can be reached, before 1.20 for everything. Host
 * memory it registers in that context, and loses with it. So a call that is about memory of a
 * device is made in its owner's context, others in that of home(). From the device room.
 */
typedef struct gdr_ucx_device {
    uint64_t (*owner)(uint64_t address); /* gdr_device_owner */
    uint64_t (*home)(void);              /* gdr_device_home */
    bool (*enter)(uint64_t context);     /* gdr_device_enter */
    void (*leave)(void);                 /* gdr_device_leave */
    int (*quiet)(void);                  /* gdr_device_quiet: around everything that enters UCX */
    void (*loud)(int mode);              /* gdr_device_loud */
} gdr_ucx_device_t;

typedef struct gdr_ucx_params {
    uint32_t abi; /* GDR_UCX_ABI */
    const gdr_ucx_device_t
        *device;         /* or NULL: threads have the right context; must outlive the net */
    bool host_windows;   /* tests: register_device() takes host memory */
    bool no_peer_errors; /* tests: endpoints as where no transport reports a dead peer */
    gdr_ucx_counters_t *counters; /* or NULL; must outlive the net */
} gdr_ucx_params_t;

/*
 * Opens context and worker. Whatever the environment says, UCX's own CUDA transports are in the
 * context, fences are strong and PCIe writes are strictly ordered; a setting that is overridden is
 * named once as info. `log` must outlive the net.
 *
 * GDR_ERR_VERSION: the libucp in the process is too old or params->abi differs;
 * GDR_ERR_UNSUPPORTED: it has no CUDA support here (no module, or no driver);
 * GDR_ERR_NET: it failed. All logged with the cause. Takes 50 ms to 1 s. Any thread.
 *
 * What this implementation adds to the port's contract:
 *  - the first register_device() shows, by puts and gets through a connection to itself, that UCX
 *    moves bytes of this memory (blocks for some ms, 5 s at most); it changes the first 64 bytes of
 *    the region and leaves them zero;
 *  - the first put to a peer that a word follows is read back (32 bytes at most) before the word
 *    goes out; if other bytes come back it fails with GDR_ERR_NET, and so does all that follows;
 *  - connect() returns before the peer has answered; a peer that cannot be reached fails the first
 *    operation;
 *  - data goes from device to device or from host to host memory: a put across is refused with
 *    GDR_ERR_INVALID as a word across is, because UCX would copy it on the CPU;
 *  - disconnect() ends what is in flight to the peer with GDR_ERR_ABORTED;
 *  - release() every gdr_net_rmem_t of a peer before disconnect(), deregister() every region and
 *    disconnect() every peer before close().
 */
typedef gdr_status_t (*gdr_ucx_open_t)(const gdr_ucx_params_t *params, const gdr_log_t *log,
                                       const gdr_net_ops_t **ops, gdr_net_t **net);
gdr_status_t gdr_ucx_open(const gdr_ucx_params_t *params, const gdr_log_t *log,
                          const gdr_net_ops_t **ops, gdr_net_t **net);

#endif
