/* The driver's functions and the two brackets around their use; private to the device room. */
#ifndef GDR_DRIVER_H
#define GDR_DRIVER_H

#include "base/gdr_log.h"
#include "base/gdr_status.h"

#include <cuda.h>
#include <stdbool.h>
#include <stdint.h>

typedef struct gdr_driver {
#define GDR_CU(name, symbol) __typeof__(name) *name;
#include "device/driver.def"
    int version; /* as cuDriverGetVersion says: 13000 = 13.0 */
    int devices;
} gdr_driver_t;

/* The table, or NULL while the library is not in the process. Binds, but does not initialise. */
const gdr_driver_t *gdr_driver_bound(void);
/* The table after a successful gdr_device_load(), never NULL then. */
const gdr_driver_t *gdr_driver(void);

/*
 * Watching for loads (watch.c), under the lock of driver.c: opens our own object again, so that it
 * is the last one; what gdr_watch_start() wants once the process has been searched, NULL where
 * nobody watches.
 */
const void *gdr_watch_move(void);
void gdr_watch_stop(void);
void gdr_watch_start(const void *last);

/* Logs `result` of `function` (a name of cuda.h) as an error and returns its status. */
gdr_status_t gdr_driver_failed(const gdr_log_t *log, const char *function, CUresult result);

/* GDR_OK, or the logged error of a driver call: GDR_CU_CALL(log, cuCtxGetId, (context, &id)). */
#define GDR_CU_CALL(log, name, args)                                                               \
    __extension__({                                                                                \
        CUresult gdr_cu_result = gdr_driver()->name args;                                          \
        gdr_cu_result == CUDA_SUCCESS ? GDR_OK : gdr_driver_failed((log), #name, gdr_cu_result);   \
    })

/* What gdr_driver_leave() restores. */
typedef struct gdr_driver_scope {
    CUstreamCaptureMode mode;
} gdr_driver_scope_t;

/*
 * Makes `context` current, and the thread's capture mode relaxed, so that gdr's own driver calls do
 * not invalidate a graph capture that another thread has going. Pair with gdr_driver_leave() on the
 * same thread, only after GDR_OK.
 */
gdr_status_t gdr_driver_enter(const gdr_log_t *log, CUcontext context, gdr_driver_scope_t *scope);
void gdr_driver_leave(const gdr_driver_scope_t *scope);
/* Swaps the capture mode of the calling thread; *mode is then the old one. */
void gdr_driver_capture_mode(CUstreamCaptureMode *mode);

/* The primary context of a device by ordinal; NULL if it is not active. Takes no reference. */
CUcontext gdr_driver_primary(int ordinal);

/* Number of the primary context of a device, 0 if it is not active. */
uint64_t gdr_driver_primary_id(CUdevice device, CUcontext primary);

#endif
