/*
 * Port of the engine: one-sided transport on registered memory. Implemented by ucx_glue/ and by
 * the fake network of the tests.
 *
 * Thread rule: one call at a time per gdr_net_t (the engine sees to it). Nothing blocks; nothing is
 * posted from inside a completion callback. Every function logs the exact cause of an error that it
 * detects first.
 */
#ifndef GDR_NET_H
#define GDR_NET_H

#include "base/gdr_status.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct gdr_net gdr_net_t;           /* this process's context and worker */
typedef struct gdr_net_mem gdr_net_mem_t;   /* a registered region of this process */
typedef struct gdr_net_peer gdr_net_peer_t; /* a connection to a process */
typedef struct gdr_net_rmem gdr_net_rmem_t; /* a peer's region */

/*
 * A posted operation. The caller owns the memory and keeps it until status is not GDR_INPROGRESS;
 * status changes only inside progress() or the posting call itself.
 */
typedef struct gdr_net_op {
    gdr_status_t status;
    uint32_t reserved;
    void *priv[12]; /* the implementation's */
} gdr_net_op_t;

/* 8 bytes from lmem + loff to rmem + roff: both device memory, or both control-page memory. */
typedef struct gdr_net_word {
    gdr_net_rmem_t *rmem;
    uint64_t roff;
    gdr_net_mem_t *lmem;
    uint64_t loff;
} gdr_net_word_t;

typedef struct gdr_net_ops {
    /* Number of events seen; never blocks. Advances ops that need a further step. */
    unsigned (*progress)(gdr_net_t *net);

    /* Registers device memory [address, address + bytes). */
    gdr_status_t (*register_device)(gdr_net_t *net, uint64_t address, size_t bytes,
                                    gdr_net_mem_t **mem);
    /* Zeroed, page-aligned host memory that the transport allocated and registered. */
    gdr_status_t (*alloc_host)(gdr_net_t *net, size_t bytes, void **address, gdr_net_mem_t **mem);
    void (*deregister)(gdr_net_t *net, gdr_net_mem_t *mem);

    /* What a peer needs to reach this process / this region. *bytes: in capacity, out length.
     * GDR_ERR_INVALID, and *bytes = what is needed, if the buffer is too small. */
    gdr_status_t (*address)(gdr_net_t *net, void *buffer, size_t *bytes);
    gdr_status_t (*pack)(gdr_net_mem_t *mem, void *buffer, size_t *bytes);

    gdr_status_t (*connect)(gdr_net_t *net, const void *address, size_t bytes,
                            gdr_net_peer_t **peer);
    void (*disconnect)(gdr_net_peer_t *peer);
    /* `from`: a region of this process, of the device or the host memory that will be put from:
     * which way puts take is decided here, so each device needs a key of its own. Not kept. */
    gdr_status_t (*import)(gdr_net_peer_t *peer, const gdr_net_mem_t *from, const void *packed,
                           size_t bytes, gdr_net_rmem_t **rmem);
    void (*release)(gdr_net_rmem_t *rmem);

    /* Device address of the peer's region in this process, for kernels of the device that it was
     * imported for, valid until release(); GDR_ERR_UNSUPPORTED where there is none. */
    gdr_status_t (*map)(gdr_net_rmem_t *rmem, uint64_t *address);
    /* False: map() finds none, whatever the peer. NULL: false. */
    bool (*maps)(const gdr_net_t *net);

    /*
     * Puts `bytes` (may be 0) from lmem + loff to rmem + roff and then, once the data is visible at
     * the target, the word (NULL: none). op->status leaves GDR_INPROGRESS when both are locally
     * complete and their sources may be reused; the word is never visible before the data, whatever
     * the environment says about fences, rails or relaxed ordering.
     */
    void (*put)(gdr_net_peer_t *peer, gdr_net_rmem_t *rmem, uint64_t roff, gdr_net_mem_t *lmem,
                uint64_t loff, size_t bytes, const gdr_net_word_t *word, gdr_net_op_t *op);
    /* Done when everything posted to the peer before is complete at the target. */
    void (*flush)(gdr_net_peer_t *peer, gdr_net_op_t *op);

    /* GDR_OK, or the error that the transport reported for this peer; later ops fail with it. */
    gdr_status_t (*peer_status)(const gdr_net_peer_t *peer);
    void (*close)(gdr_net_t *net);

    /* What the transport has mapped of peers' windows outlives the context that it was mapped in:
     * after a device reset a process that was connected must put nothing any more. */
    bool keeps_mappings;

    /* Whether some put between device memories was found to be carried out by the target's CPU, in
     * its own progress(): none may come when the target's region is gone. NULL: false. */
    bool (*emulates)(const gdr_net_t *net);

    /* `lost` is called when the transport reports a peer's failure, inside progress() or a posting
     * call, before what was mapped of the peer's memory is closed in a later progress(): that may
     * wait for every stream of the process. It may not call this port. NULL: nothing is mapped. */
    void (*on_lost)(gdr_net_t *net, void (*lost)(void *ctx), void *ctx);
} gdr_net_ops_t;

#endif
