/* Private to ucx_glue. */
#ifndef GDR_UCX_PRIVATE_H
#define GDR_UCX_PRIVATE_H

#include "ucx_glue/gdr_ucx.h"

#include <stddef.h>
#include <ucp/api/ucp.h>

/* Where an operation stands; it advances in posting calls and in progress() only. */
typedef enum gdr_ucx_step {
    GDR_UCX_STEP_DATA,  /* the payload's put is under way */
    GDR_UCX_STEP_FLUSH, /* it is complete here, not yet there */
    GDR_UCX_STEP_THERE, /* first put to a peer: what lies in its window now? */
    GDR_UCX_STEP_HERE,  /* and what was put? */
    GDR_UCX_STEP_LAST   /* the word's put, or the only thing to wait for */
} gdr_ucx_step_t;

/* Lives in gdr_net_op_t.priv. In its peer's list while it is in progress, and in the net's list of
 * marked operations once UCX has called back. */
typedef struct gdr_ucx_op {
    struct gdr_ucx_op *next, *prev;
    struct gdr_ucx_op *next_marked;
    gdr_net_peer_t *peer;
    void *request;
    ucp_rkey_h word_rkey; /* NULL: no word */
    uint64_t word_target;
    const void *word_source;
    ucp_mem_h word_memh;
    uint64_t word_type; /* ucs_memory_type_t */
    int32_t step;       /* gdr_ucx_step_t */
    int32_t result;     /* ucs_status_t of the request that called back */
} gdr_ucx_op_t;

_Static_assert(sizeof(gdr_ucx_op_t) <= sizeof(((gdr_net_op_t *)NULL)->priv), "fits into priv");

/* The request of an endpoint that is being closed. */
typedef struct gdr_ucx_closing {
    struct gdr_ucx_closing *next;
    void *request;
} gdr_ucx_closing_t;

/* The first put of data to a peer is read back. Kept until the net is closed: a get that nobody
 * waits for any more may still write here. */
#define GDR_UCX_VERIFY_BYTES 32u
typedef struct gdr_ucx_verify {
    struct gdr_ucx_verify *next;
    const gdr_ucx_op_t *op; /* whose put it is; NULL: done */
    gdr_net_rmem_t *rmem, *own;
    uint64_t target, source;
    uint32_t bytes;
    unsigned char there[GDR_UCX_VERIFY_BYTES], here[GDR_UCX_VERIFY_BYTES];
} gdr_ucx_verify_t;

/* What the check of the first window puts and gets: here, because one that times out goes on. */
#define GDR_UCX_CHECK_BYTES 32u
typedef struct gdr_ucx_check {
    unsigned char pattern[GDR_UCX_CHECK_BYTES], back[GDR_UCX_CHECK_BYTES];
} gdr_ucx_check_t;

struct gdr_net {
    const gdr_log_t *log;
    gdr_ucx_params_t params;
    gdr_ucx_counters_t *counters;
    gdr_ucx_counters_t no_counters; /* where the caller wants none */
    ucp_context_h context;
    ucp_worker_h worker;
    void *address;
    size_t address_bytes;
    gdr_ucx_op_t *marked_first, *marked_last;
    gdr_ucx_closing_t *closing;
    gdr_ucx_verify_t *verifies;
    gdr_net_rmem_t *kept; /* until the net is closed */
    gdr_ucx_check_t check;
    gdr_net_peer_t *self;    /* this process; NULL until needed */
    uint64_t owner;          /* context of the window that was registered last */
    void (*lost)(void *ctx); /* whom to tell that a peer has failed, or NULL */
    void *lost_ctx;
    bool maps_windows;  /* this UCX can: where it fails, the device is out of reach */
    bool needs_context; /* this UCX wants it to be current for puts and progress */
    bool one_device;    /* this UCX takes no windows on a second one */
    bool one_device_said;
    bool windows_checked;
    bool transports_said, emulates;
    char path_said[128]; /* how UCX describes puts of device memory, as last said */
};

struct gdr_net_mem {
    gdr_net_t *net;
    ucp_mem_h memh;
    uint64_t address;
    uint64_t bytes;
    ucs_memory_type_t type;
    bool device;
    uint64_t owner; /* context of device memory */
};

struct gdr_net_peer {
    gdr_net_t *net;
    ucp_ep_h ep;
    gdr_status_t status;
    bool only_ipc; /* nothing but cuda_ipc spares device memory the way through the host */
    bool has_rdma;
    unsigned path_class;      /* sizes whose way to this peer is known: 0 none, 1 small, 2 all */
    bool reports_errors;      /* made with UCP_ERR_HANDLING_MODE_PEER */
    gdr_ucx_op_t *ops;        /* in progress */
    gdr_net_rmem_t *released; /* with operations in progress: they may use them */
    gdr_ucx_verify_t *verify; /* NULL: nothing was put yet that could be read back */
};

struct gdr_net_rmem {
    gdr_net_rmem_t *next; /* in peer->released or net->kept */
    gdr_net_peer_t *peer;
    ucp_rkey_h rkey;
    uint64_t address;
    uint64_t bytes;
    bool device;
    uint64_t from; /* context of the device memory that may be put to it */
};

/* Makes a context current for a call into UCX, 0: that of a device that is open; true:
 * gdr_ucx_leave() must follow. */
bool gdr_ucx_enter(const gdr_net_t *net, uint64_t owner);
/* The same around calls for which only an old UCX needs it; 0: of the window registered last. */
bool gdr_ucx_enter_if_old(const gdr_net_t *net, uint64_t owner);
void gdr_ucx_leave(const gdr_net_t *net, bool entered);

/* open.c */
gdr_status_t gdr_ucx_check_version(const gdr_ucx_params_t *params, const gdr_log_t *log);
gdr_status_t gdr_ucx_start(const gdr_ucx_params_t *params, const gdr_log_t *log, gdr_net_t **net);
void gdr_ucx_close(gdr_net_t *net);

/* Logs what UCX answered to `what` as an error; the status for the caller. */
gdr_status_t gdr_ucx_failed(const gdr_log_t *log, const char *what, ucs_status_t status);

/* tls.c: pure */
typedef enum gdr_ucx_tls {
    GDR_UCX_TLS_KEEP,    /* fine as it is */
    GDR_UCX_TLS_NO_IPC,  /* names cuda_copy without cuda_ipc: the site's wish, worth a line */
    GDR_UCX_TLS_REPLACE, /* without CUDA: *value is what to set */
    GDR_UCX_TLS_TOO_LONG /* longer than this program handles; leave it */
} gdr_ucx_tls_t;
/* Whether the list, NULL or "" for UCX's own, lets posix shared memory in. */
bool gdr_ucx_tls_has_posix(const char *tls);
/* What to do about a UCX_TLS of the environment (NULL: not set). */
gdr_ucx_tls_t gdr_ucx_tls_fix(const char *tls, char *value, size_t bytes);

/* config.c: a context that has CUDA, or the logged reason why there is none. */
gdr_status_t gdr_ucx_context_create(const gdr_log_t *log, bool host_only, ucp_context_h *context);

/* memory.c */
gdr_status_t gdr_ucx_register_device(gdr_net_t *net, uint64_t address, size_t bytes,
                                     gdr_net_mem_t **mem);
gdr_status_t gdr_ucx_alloc_host(gdr_net_t *net, size_t bytes, void **address, gdr_net_mem_t **mem);
void gdr_ucx_deregister(gdr_net_t *net, gdr_net_mem_t *mem);
gdr_status_t gdr_ucx_pack(gdr_net_mem_t *mem, void *buffer, size_t *bytes);
gdr_status_t gdr_ucx_import(gdr_net_peer_t *peer, const gdr_net_mem_t *from, const void *packed,
                            size_t bytes, gdr_net_rmem_t **rmem);
/* At once, or with the peer while operations to it are in progress. */
void gdr_ucx_release(gdr_net_rmem_t *rmem);
/* Releases it when the net is closed: an operation that nobody waits for any more may use it. */
void gdr_ucx_keep(gdr_net_rmem_t *rmem);
/* Destroys what the list holds. */
void gdr_ucx_drop_all(gdr_net_rmem_t **list);
gdr_status_t gdr_ucx_map(gdr_net_rmem_t *rmem, uint64_t *address);

/* peer.c */
gdr_status_t gdr_ucx_peer_create(gdr_net_t *net, const void *address, size_t bytes,
                                 gdr_net_peer_t **peer);
gdr_status_t gdr_ucx_connect(gdr_net_t *net, const void *address, size_t bytes,
                             gdr_net_peer_t **peer);
void gdr_ucx_disconnect(gdr_net_peer_t *peer);
gdr_status_t gdr_ucx_peer_status(const gdr_net_peer_t *peer);
void gdr_ucx_on_lost(gdr_net_t *net, void (*lost)(void *ctx), void *ctx);
/* Frees endpoints whose closing is done. */
void gdr_ucx_reap(gdr_net_t *net);

/* put.c */
unsigned gdr_ucx_progress(gdr_net_t *net);
void gdr_ucx_put(gdr_net_peer_t *peer, gdr_net_rmem_t *rmem, uint64_t roff, gdr_net_mem_t *lmem,
                 uint64_t loff, size_t bytes, const gdr_net_word_t *word, gdr_net_op_t *op);
void gdr_ucx_flush(gdr_net_peer_t *peer, gdr_net_op_t *op);
/* Ends every operation in progress to the peer with `status`. */
void gdr_ucx_abandon(gdr_net_peer_t *peer, gdr_status_t status);

/* path.c: which way a put of device memory takes, once per peer and size class */

/* Whether that of a put of so many bytes from there is not known yet. */
bool gdr_ucx_path_wanted(const gdr_net_peer_t *peer, const gdr_net_mem_t *from, size_t bytes);
/* Then, with the put's request, which is not freed yet. */
void gdr_ucx_say_path(gdr_net_peer_t *peer, void *request, size_t bytes);

/* self.c: the connection to this process, and a region of this process as a peer sees it */
gdr_status_t gdr_ucx_self(gdr_net_t *net, gdr_net_peer_t **self);
gdr_status_t gdr_ucx_import_own(gdr_net_mem_t *mem, gdr_net_rmem_t **rmem);
/* Memory that UCX reads as host memory, from a region; what ucp_get_nbx returns. */
void *gdr_ucx_get(const gdr_net_rmem_t *rmem, uint64_t address, void *buffer, size_t bytes,
                  ucp_request_param_t *param);

/* check.c: whether UCX moves bytes of this region. */
gdr_status_t gdr_ucx_check_window(gdr_net_mem_t *mem);

/* verify.c: whether what was put first arrived in the peer's window. begin() is called with the
 * first put of data that a word follows; then is_due(), there(), here() and compare() in turn. */
void gdr_ucx_verify_begin(const gdr_ucx_op_t *op, gdr_net_rmem_t *rmem, uint64_t roff,
                          gdr_net_mem_t *lmem, uint64_t loff, size_t bytes);
bool gdr_ucx_verify_is_due(const gdr_ucx_op_t *op);
void *gdr_ucx_verify_there(const gdr_ucx_op_t *op, ucp_request_param_t *param);
void *gdr_ucx_verify_here(const gdr_ucx_op_t *op, ucp_request_param_t *param);
gdr_status_t gdr_ucx_verify_compare(const gdr_ucx_op_t *op);
/* The operation has ended in another way. */
void gdr_ucx_verify_end(const gdr_ucx_op_t *op);
/* The operation is given up while a get of it may be under way. */
void gdr_ucx_verify_abandon(const gdr_ucx_op_t *op);

#endif
