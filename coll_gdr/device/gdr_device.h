/*
 * The device room for mca: is there a driver, what is a pointer, a device to work on, and copies
 * for staging. The driver library is opened with dlopen, nothing links to it.
 *
 * Thread rule: any thread, at any time, unless a function says otherwise. The calling thread's
 * current context is the same after every call, and it may have none.
 */
#ifndef GDR_DEVICE_H
#define GDR_DEVICE_H

#include "base/gdr_log.h"
#include "base/gdr_status.h"
#include "engine/gdr_dev.h"

#include <link.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Opens and initialises the driver; repeatable, the first answer that is final is kept.
 * GDR_ERR_UNSUPPORTED, and not a word in the log above GDR_LOG_DEBUG, where there is no driver or
 * no device; GDR_ERR_VERSION, logged as info, where the driver is too old or does not fit its
 * kernel module. Never needed before gdr_device_classify().
 */
gdr_status_t gdr_device_load(const gdr_log_t *log);

/* Number of devices; 0 before a successful gdr_device_load(). */
int gdr_device_count(void);

/*
 * Whether somebody has loaded libcuda into this process; it looks again only when the dynamic
 * linker has loaded something since. While false, no pointer is a device pointer.
 */
bool gdr_device_seen(void);

/*
 * Makes that question cheap: `file` is the path of gdr_watch.so (see watch.c). Before the first
 * question, and only where one thread at a time asks. false: it cannot be opened, and the question
 * costs what it costs (about 20 ns). unwatch(): when nobody asks any more.
 */
bool gdr_device_watch(const char *file);
void gdr_device_unwatch(void);

/* One comparison: true when libcuda is surely not here; false: ask gdr_device_seen(). */
extern const struct link_map *_Atomic gdr_device_last __attribute__((visibility("hidden")));

static inline bool gdr_device_absent(void)
{
    const struct link_map *last = atomic_load_explicit(&gdr_device_last, memory_order_relaxed);

    return __atomic_load_n(&last->l_next, __ATOMIC_RELAXED) == NULL;
}

typedef enum gdr_mem_kind {
    GDR_MEM_HOST = 0,   /* unknown to CUDA */
    GDR_MEM_REGISTERED, /* host memory, pinned or registered with CUDA */
    GDR_MEM_DEVICE,
    GDR_MEM_MANAGED /* counts as device memory */
} gdr_mem_kind_t;

typedef struct gdr_mem_info {
    gdr_mem_kind_t kind;
    int ordinal;      /* of its device; -1: none in particular (host memory; some managed memory) */
    uint64_t context; /* handle of the owning context; 0: none (pools, VMM, host memory) */
    uint64_t buffer_id; /* unique per allocation, never reused; 0 for host memory */
} gdr_mem_info_t;

/*
 * What `pointer` (inside any allocation, or NULL) is; never fails, initialises nothing. One driver
 * query when libcuda is in the process, none otherwise. What CUDA does not know is host memory.
 */
void gdr_device_classify(const void *pointer, gdr_mem_info_t *info);

/* DEVICE and MANAGED memory may be read and written by kernels only. */
static inline bool gdr_device_is_device(const gdr_mem_info_t *info)
{
    return info->kind >= GDR_MEM_DEVICE;
}

/*
 * For calls into a library that looks at the thread's current context, as UCX does: the handle of
 * the context that owns the memory at `address` (0: none), and a bracket that makes it current.
 * enter() is false, and nothing has changed, if `context` is 0 or no longer exists; leave() comes
 * on the same thread, after true only.
 */
uint64_t gdr_device_owner(uint64_t address);
/* Handle of the context that is current in the calling thread; 0: none. */
uint64_t gdr_device_current(void);
bool gdr_device_enter(uint64_t context);
void gdr_device_leave(void);
/* A bracket around calls into such a library: what it does to the driver leaves graph captures of
 * this and other threads alone. quiet() returns what loud() wants, on the same thread; they nest.
 */
int gdr_device_quiet(void);
void gdr_device_loud(int mode);
/* The primary context of the device that was opened last, 0 if that is closed: for what must
 * outlive every context of the application. */
uint64_t gdr_device_home(void);

typedef struct gdr_device_params {
    const gdr_log_t *log; /* must outlive the device */
    uint32_t max_blocks;  /* of one kernel launch; 0 = the kernels' default */
    bool no_stream_words; /* behave as on a device without 64-bit stream words (tests) */
} gdr_device_params_t;

/*
 * Opens device `ordinal` (0 ... gdr_device_count() - 1) in its primary context and loads the copy
 * kernel, which shows that this build's kernels run there; logs what it found as info. Close with
 * ops->close. Objects of different gdr_dev_t may be used at the same time.
 */
gdr_status_t gdr_device_open(const gdr_device_params_t *params, int ordinal,
                             const gdr_dev_ops_t **ops, gdr_dev_t **dev);

/*
 * Whether kernels in the primary context of `ordinal` may read and write `bytes` (1 or more) from
 * `address` on, memory that no context owns: of pools, where the pool gives access, and of VMM
 * mappings.
 */
bool gdr_device_touches(int ordinal, uint64_t address, uint64_t bytes);

/*
 * Makes `bytes` (1 or more) of memory at `address` (a device or managed address of any device)
 * readable and writable for kernels of dev; enables peer access once per pair.
 * GDR_ERR_UNSUPPORTED, logged as info the first time per pair: copy it with
 * gdr_device_copy_peer() instead. Thread rule of gdr_dev_t.
 */
gdr_status_t gdr_device_reach(gdr_dev_t *dev, uint64_t address, uint64_t bytes);

/*
 * Enqueues a copy between memory that the stream's device can reach and memory that it cannot (of
 * another device or context), either way round. The source must not change until it is done.
 * Thread rule of gdr_dev_t.
 */
gdr_status_t gdr_device_copy_peer(gdr_dev_stream_t *stream, uint64_t destination, uint64_t source,
                                  uint64_t bytes);

/*
 * Copies for staging, done when the function returns. They are ordered after what the application
 * put into the NULL streams of the context that owns the device buffer and of `caller`, the one
 * that was current when it made its call (gdr_device_current(); 0: none): that may have been long
 * before, and is not looked for in the calling thread. The result is visible to any stream. `host`
 * is ordinary or pinned memory. bytes may be 0. The caller counts the bytes.
 */
gdr_status_t gdr_device_copy_out(const gdr_log_t *log, void *host, uint64_t device, size_t bytes,
                                 uint64_t caller);
gdr_status_t gdr_device_copy_in(const gdr_log_t *log, uint64_t device, const void *host,
                                size_t bytes, uint64_t caller);

/*
 * Pinned host memory, usable with every device of the process; `ordinal`: the device whose primary
 * context owns it (a cudaDeviceReset there invalidates it: compare *context_id with
 * gdr_device_context_id() before use, and drop it, without freeing, when they differ). *context_id
 * is never 0. GDR_ERR_NO_MEMORY, logged as info: there is no more; ordinary memory will do.
 */
gdr_status_t gdr_device_pinned_alloc(const gdr_log_t *log, int ordinal, size_t bytes, void **host,
                                     uint64_t *context_id);
void gdr_device_pinned_free(const gdr_log_t *log, int ordinal, void *host, uint64_t context_id);

/* Whether `context` (of gdr_mem_info_t) is the primary context of `ordinal`; after a load. */
bool gdr_device_is_primary(int ordinal, uint64_t context);

/* Number of the primary context of `ordinal`, unique in the process; 0 if it is not active. */
uint64_t gdr_device_context_id(int ordinal);

#endif
