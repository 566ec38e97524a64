/*
 * The emulated driver's own header: what its concerns (one .c file each) share.
 *
 * An emulated function is a C function with the API's own name; emu_names.h renames its symbol,
 * trampoline.h exports it. Each begins with emu_enter() or emu_enter_ctx(), which gives the errors
 * that all functions share (3, 4, 201, 709, sticky errors, injected failures) and the trace line.
 *
 * Locks, in this order: emu_lock() (devices, contexts, allocations), a context's `submit`,
 * a stream's `lock`. Operations of a stream run with no lock held.
 */
#ifndef EMU_H
#define EMU_H

#include "cuda_emu/core/emu_names.h"
#include <cuda.h>

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include "cuda_emu/emu_device.h"
#include "cuda_emu/include/cuda_emu.h"
#include "cuda_emu/core/trampoline.h"

#define EMU_PAGE      4096UL
#define EMU_PEERS_MAX 64 /* contexts whose memory one context may have access to */

/* config.c: the environment, read once */
struct emu_config {
    int devices;         /* CUDA_EMU_DEVICES: cards of the node, before CUDA_VISIBLE_DEVICES */
    size_t memory;       /* CUDA_EMU_MEM: bytes per card */
    unsigned delay_us;   /* CUDA_EMU_DELAY: longest random delay of a stream operation */
    uint64_t seed;       /* CUDA_EMU_SEED, mixed with the local rank */
    unsigned queues;     /* CUDA_EMU_QUEUES: that the streams of a context share; 0: one each */
    bool sync;           /* CUDA_EMU_SYNC: operations that can run do so in the caller */
    bool verbose;        /* CUDA_EMU_VERBOSE */
    bool poison;         /* CUDA_EMU_POISON: fill new memory of any size with a pattern */
    bool implicit_sync;  /* CUDA_EMU_IMPLICIT_SYNC: what may synchronise does */
    bool flush_remote;   /* CUDA_EMU_FLUSH_REMOTE_WRITES: the device attribute */
    int writes_ordering; /* CUDA_EMU_RDMA_WRITES_ORDERING: the device attribute */
    int driver_version;  /* CUDA_EMU_DRIVER_VERSION: 13000 = 13.0 */
    int visible[EMU_DEVICE_MAX]; /* ordinal -> card */
    int visible_count;
    bool peer[EMU_DEVICE_MAX][EMU_DEVICE_MAX]; /* CUDA_EMU_PEERS, by card */
    const char *twins; /* CUDA_EMU_TWINS; NULL = libgdr_twins.so beside this library */
    bool valid;
};
const struct emu_config *emu_config(void);
int emu_local_rank(void); /* 0 where no launcher says */

/* report.c */
void emu_say(const char *format, ...) __attribute__((format(printf, 1, 2)));
void emu_verbose(const char *format, ...) __attribute__((format(printf, 1, 2)));
void emu_trace(const char *format, ...) __attribute__((format(printf, 1, 2)));
bool emu_tracing(void);

/* counters.c: payload that passed through memory the CPU can see, and a few events */
enum emu_counter {
    EMU_COUNT_HTOD,
    EMU_COUNT_DTOH,
    EMU_COUNT_HTOH,
    EMU_COUNT_DTOD,
    EMU_COUNT_MANAGED,
    EMU_COUNT_KERNEL_HOST,
    EMU_COUNT_LAUNCHES,
    EMU_COUNT_COPIES,
    EMU_COUNT_WAITS,
    EMU_COUNT_WRITES,
    EMU_COUNTERS
};
void emu_count(enum emu_counter which, uint64_t add);
uint64_t emu_counted(enum emu_counter which);

/* handles.c: which pointers are live handles of a kind; a stale one is recognised, not followed */
enum emu_type {
    EMU_TYPE_CTX = 1,
    EMU_TYPE_STREAM,
    EMU_TYPE_EVENT,
    EMU_TYPE_MODULE,
    EMU_TYPE_LIBRARY,
    EMU_TYPE_FUNCTION,
    EMU_TYPE_POOL,
    EMU_TYPE_PHYSICAL,
    EMU_TYPE_GRAPH
};
bool emu_handle_add(const void *handle, enum emu_type type); /* false: no memory */
void emu_handle_remove(const void *handle);
bool emu_handle_is(const void *handle, enum emu_type type);

struct emu_stream;
struct emu_function;

/* ctx.c, device.c */
struct emu_ctx {
    uint64_t id; /* unique, new with every activation of a primary context */
    int device;  /* ordinal */
    bool primary;
    bool alive;
    unsigned flags;
    unsigned retained;             /* primary: references */
    uint64_t peers[EMU_PEERS_MAX]; /* ids of contexts, 0: free; under emu_lock */
    _Atomic(CUresult) sticky;      /* 700 and its like: every later call returns it */
    size_t limits[CU_LIMIT_MAX];
    CUfunc_cache cache_config;
    pthread_mutex_t submit;     /* order between streams, and the list of them */
    struct emu_stream *streams; /* legacy and per-thread ones included */
    struct emu_stream *legacy;
    unsigned stream_ordinal;
    unsigned workers; /* threads that run streams; `idle` when it falls to 0 */
    pthread_cond_t idle;
};

struct emu_device {
    int card; /* physical index on the node */
    int memfd;
    uintptr_t base; /* its part of the visible window */
    size_t used;
    size_t used_high;
    struct emu_ctx primary;
    CUmemoryPool pool; /* cuDeviceSetMemPool; NULL: the default one */
};
extern struct emu_device emu_devices[EMU_DEVICE_MAX];
int emu_visible_count(void);
bool emu_device_valid(CUdevice device);
/* May kernels of ordinal `from` reach memory of ordinal `to`, if they enable it? */
bool emu_device_peers(int from, int to);
/* peer.c, under emu_lock: has ctx access to the memory of the context with this id? */
bool emu_ctx_peers(const struct emu_ctx *ctx, uint64_t id);
void emu_ctx_forget(struct emu_ctx *gone); /* nobody has access to its memory any more */

CUresult emu_enter(const char *function);
void emu_callback_begin(void); /* the application's code in a stream: CUDA calls are 800 there */
void emu_callback_end(void);
CUresult emu_enter_device(const char *function, CUdevice device);
CUresult emu_enter_ctx(const char *function, struct emu_ctx **ctx);
struct emu_ctx *emu_ctx_current(void);                  /* NULL if none */
void emu_ctx_fail(struct emu_ctx *ctx, CUresult error); /* makes an error sticky */
/* Calls `visit` for each live context, under emu_lock. */
void emu_ctx_each(void (*visit)(struct emu_ctx *ctx, void *arg), void *arg);
void emu_lock(void);
void emu_unlock(void);
bool emu_trylock(void);

/* space.c: the windows, and what lies where */
enum emu_kind {
    EMU_DEVICE,     /* cuMemAlloc */
    EMU_POOL,       /* cuMemAllocAsync */
    EMU_VMM,        /* cuMemMap */
    EMU_IPC,        /* another process's */
    EMU_MANAGED,    /* readable by the CPU from here on */
    EMU_PINNED,     /* cuMemHostAlloc */
    EMU_REGISTERED, /* cuMemHostRegister */
    EMU_PAGEABLE    /* never in the table: other host memory */
};
struct emu_alloc {
    uintptr_t base;
    size_t size;
    enum emu_kind kind;
    int device;          /* ordinal of the memory; of the context for host memory */
    struct emu_ctx *ctx; /* NULL: belongs to no context (VMM, pools) */
    uint64_t ctx_id;
    uint64_t buffer_id; /* never used twice */
    void *caller;       /* return address of the API call that made it */
    unsigned flags;
    unsigned refs;     /* IPC: times opened; DEVICE: 1 once a handle has been given out;
                          POOL: 1 once its end has been submitted */
    unsigned access;   /* VMM, pool: bit d: ordinal d may read and write */
    unsigned readonly; /* VMM, pool: bit d: ordinal d may read only */
    bool sync_memops;
    void *owner;         /* the pool, the physical memory */
    size_t owner_offset; /* VMM: offset in the physical memory */
};
bool emu_space_init(void);
bool emu_space_ready(int device); /* backs a device's part of the window */
/* Under emu_lock. Ranges are [base, base + size); NULL where there is none. */
struct emu_alloc *emu_space_find(uintptr_t address);
struct emu_alloc *emu_space_add(const struct emu_alloc *alloc); /* NULL: no memory */
void emu_space_remove(struct emu_alloc *alloc);
struct emu_alloc *emu_space_next(uintptr_t after); /* first with base > after */
/* Device memory of `device`, marked used; 0 when the card is full. */
uintptr_t emu_space_take(int device, size_t size, size_t align);
void emu_space_give(int device, uintptr_t base, size_t size);
/* Addresses for IPC and VMM mappings: part of the window with nothing behind it. */
uintptr_t emu_space_reserve(size_t size, size_t align, uintptr_t hint);
bool emu_space_unreserve(uintptr_t base, size_t size);
bool emu_space_reserved(uintptr_t base, size_t size);
bool emu_space_back(uintptr_t base, size_t size, int fd, size_t offset); /* maps the alias */
void emu_space_unback(uintptr_t base, size_t size);
bool emu_space_visible(uintptr_t address);  /* within the window the CPU may not touch */
void *emu_space_alias(uintptr_t address);   /* where the emulator itself reads and writes it */
size_t emu_space_offset(uintptr_t address); /* offset in its device's memfd */

/* mem.c */
uint64_t emu_buffer_id(void);
void emu_mem_drop_ctx(struct emu_ctx *ctx);    /* frees what a dying context owns */
void emu_mem_release(struct emu_alloc *alloc); /* under emu_lock: gives everything back */
void emu_mem_poison(const struct emu_alloc *alloc);
CUresult emu_mem_new(struct emu_alloc *wanted, size_t align); /* device memory; fills base and id */
void emu_ipc_drop(struct emu_alloc *alloc);                   /* an imported range */
void emu_ipc_revoke(struct emu_alloc *alloc); /* handles of an own range end with it */
void emu_host_drop(struct emu_alloc *alloc);

/*
 * access.c: the address that the emulator may touch for [address, address + bytes) as seen by the
 * kernels of `viewer` (NULL: by the copy engine, which reaches every card); NULL if any byte of it
 * is out of reach. *kind (may be NULL) tells what it is; EMU_PAGEABLE is host memory that no call
 * has registered: only the copy engine may use it.
 */
void *emu_access(uintptr_t address, size_t bytes, const struct emu_ctx *viewer, bool write,
                 enum emu_kind *kind);
/* The same under emu_lock: until it is released the memory stays where it is. */
void *emu_access_locked(uintptr_t address, size_t bytes, const struct emu_ctx *viewer, bool write,
                        enum emu_kind *kind);
/* Can a copy for `ctx` go from card to card? If not, the driver stages it through the host. */
bool emu_access_direct(uintptr_t dst, uintptr_t src, const struct emu_ctx *ctx);
bool emu_kind_is_device(enum emu_kind kind);
/* What the bits of a mapping or a pool say about one device. */
CUmemAccess_flags emu_access_flags(unsigned access, unsigned readonly, int device);

/* stream.c: the engine. An operation is a struct that begins with struct emu_op. */
struct emu_dep {
    struct emu_dep *next;
    struct emu_stream *stream; /* a reference */
    uint64_t seq;
};
struct emu_op {
    struct emu_op *next;
    uint64_t seq;
    struct emu_dep *deps;
    const char *name;
    bool caller_waits; /* may run in the caller at once: it would only wait */
    bool no_delay;
    CUresult (*run)(struct emu_op *op, struct emu_stream *stream);
    bool (*ready)(struct emu_op *op); /* NULL: always */
    void (*drop)(struct emu_op *op);  /* releases what the operation holds; NULL: nothing */
};
struct emu_stream {
    atomic_int refs;
    struct emu_ctx *ctx;
    uint64_t id;
    unsigned flags;
    int priority;
    unsigned queue; /* streams with the same number run as one: emu_config()->queues */
    pthread_mutex_t lock;
    pthread_cond_t work, done;
    struct emu_op *head, **tail;
    uint64_t enqueued, completed;
    bool running; /* the head is being executed */
    bool started; /* has a thread */
    bool closing;
    atomic_bool killed;
    uint64_t rng;
    CUstreamCaptureStatus capture;
    CUstreamCaptureMode capture_mode;
    uint64_t capture_id;
    pthread_t capture_thread;
    struct emu_stream *next; /* of the context; guarded by ctx->submit */
};
/* Allocates an operation of `size` bytes, zeroed; NULL: no memory. */
void *emu_op_new(size_t size, const char *name,
                 CUresult (*run)(struct emu_op *, struct emu_stream *));
/* Appends and owns `op` from here on, on errors too. *seq (may be NULL) is its place. */
CUresult emu_submit(struct emu_stream *stream, struct emu_op *op, uint64_t *seq);
CUresult emu_op_depend(struct emu_op *op, struct emu_stream *stream, uint64_t seq);
void emu_stream_wait(struct emu_stream *stream, uint64_t seq);
bool emu_stream_done(struct emu_stream *stream, uint64_t seq);
uint64_t emu_stream_last(struct emu_stream *stream);
/* For the caller's eyes: the legacy stream is done when the blocking streams are, too. */
void emu_stream_wait_ordered(struct emu_stream *stream);
bool emu_stream_done_ordered(struct emu_stream *stream);
CUresult emu_stream_submit_wait(struct emu_stream *stream, struct emu_op *op);
/*
 * The stream behind a handle (0, legacy and per-thread ones included) with a reference. Launches,
 * event records and the like want one of the current context; copies, waits and questions take one
 * of any context (CUDA programming guide, "Stream and event behavior").
 */
CUresult emu_stream_get(struct emu_ctx *ctx, CUstream handle, struct emu_stream **stream);
CUresult emu_stream_get_any(struct emu_ctx *ctx, CUstream handle, struct emu_stream **stream);
void emu_stream_ref(struct emu_stream *stream);
void emu_stream_put(struct emu_stream *stream);
struct emu_stream *emu_stream_new(struct emu_ctx *ctx, unsigned flags, int priority);
void emu_stream_close(struct emu_stream *stream); /* no more submissions; ends when drained */
void emu_ctx_drain(struct emu_ctx *ctx);          /* waits for all work submitted so far */
/* CUDA may synchronise in calls that allocate, register or load: with the option they all do. */
void emu_ctx_implicit_sync(struct emu_ctx *ctx);
void emu_ctx_kill_streams(struct emu_ctx *ctx); /* abandons work that has not run */
uint64_t emu_now_ns(void);

/* capture.c */
CUresult emu_capture_forbids(struct emu_stream *stream); /* synchronising, asking */
CUresult emu_capture_forbids_unsafe(void);               /* for calls like cuMemAlloc */
/* True: work submitted to this stream now belongs to a graph, or is an error (*rc). */
bool emu_capture_takes(struct emu_stream *stream, CUresult *rc);

/* copy.c: one copy, with the rules of CUDA on what waits for what */
struct emu_copy {
    const char *name;
    CUstream stream;
    uintptr_t dst, src;
    size_t bytes;
    bool async;
    bool to_device, from_device; /* the call says so: ordinary host memory is an error */
};
CUresult emu_copy(struct emu_ctx *ctx, const struct emu_copy *copy);

/* module.c, twins.c */
struct emu_twin {
    const char *name;
    const uint32_t *args; /* sizes, 0 ends */
    void (*run)(const struct cuda_emu_launch *launch, void **args);
};
bool emu_twin_find(const char *kernel, struct emu_twin *twin);
void emu_module_drop_ctx(struct emu_ctx *ctx);
void emu_event_drop_ctx(struct emu_ctx *ctx);

/* pool.c, vmm.c */
void emu_pool_drop(struct emu_alloc *alloc);
void emu_vmm_drop(struct emu_alloc *alloc);

/* fault.c, symbols.c */
void emu_fault_arm(void);
/* "function (file+0xoffset)" of a code address, from the file's symbol table if it has one. */
void emu_symbol(const void *pc, char *text, size_t size);
/* Who really called: `direct`, or where that is the CUDA runtime, whoever called it. */
void *emu_outer_caller(void *direct);

#define EMU_CALLER emu_outer_caller(__builtin_return_address(0))

#endif
