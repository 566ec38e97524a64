/* For dl_iterate_phdr. */
#include "config.h"

#include "device/driver.h"

#include "device/gdr_device.h"

#include <dlfcn.h>
#include <link.h>
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>

#define LIBRARY "libcuda.so.1"

/*
 * The one piece of process-wide state of this room: there is one driver in a process. Written under
 * `lock`; the pointers and the count of loaded objects are read without it.
 */
static struct {
    pthread_mutex_t lock;
    gdr_driver_t table;
    _Atomic(const gdr_driver_t *) bound; /* &table once every symbol is there */
    _Atomic(const gdr_driver_t *) ready; /* &table once cuInit has succeeded */
    _Atomic uint64_t loads;              /* dlpi_adds when the process was last searched */
    bool load_final;
    gdr_status_t load_status;
} driver = {.lock = PTHREAD_MUTEX_INITIALIZER};

const gdr_driver_t *gdr_driver(void)
{
    return atomic_load_explicit(&driver.ready, memory_order_acquire);
}

static const struct {
    const char *symbol;
    size_t offset;
    bool optional;
} symbols[] = {
#define GDR_CU(name, symbol)          {symbol, offsetof(gdr_driver_t, name), false},
#define GDR_CU_OPTIONAL(name, symbol) {symbol, offsetof(gdr_driver_t, name), true},
#include "device/driver.def"
};

/* Fills the table; the name of the symbol that is missing, or NULL. Under the lock. */
static const char *bind_symbols(void *library)
{
    for (size_t i = 0; i < sizeof(symbols) / sizeof(symbols[0]); i++) {
        void *function = dlsym(library, symbols[i].symbol);
        if (function == NULL && !symbols[i].optional)
            return symbols[i].symbol;
        memcpy((char *)&driver.table + symbols[i].offset, &function, sizeof(function));
    }
    atomic_store_explicit(&driver.bound, &driver.table, memory_order_release);
    return NULL;
}

static int first_object(struct dl_phdr_info *info, size_t size, void *loads)
{
    (void)size;
    *(uint64_t *)loads = info->dlpi_adds;
    return 1;
}

static uint64_t count_loads(void)
{
    uint64_t loads = 0;

    dl_iterate_phdr(first_object, &loads);
    return loads;
}

/*
 * Searches the process again, since something was loaded; loads nothing but our own object, which
 * must be the last one before the search begins.
 */
static const gdr_driver_t *look_again(void)
{
    const void *last;
    uint64_t loads;
    void *library;

    pthread_mutex_lock(&driver.lock);
    if (atomic_load_explicit(&driver.bound, memory_order_relaxed) == NULL) {
        last = gdr_watch_move();
        loads = count_loads();
        /* The reference is kept: a bound library must stay. */
        library = dlopen(LIBRARY, RTLD_LAZY | RTLD_LOCAL | RTLD_NOLOAD);
        if (library != NULL && bind_symbols(library) != NULL)
            dlclose(library);
        atomic_store_explicit(&driver.loads, loads, memory_order_relaxed);
        if (atomic_load_explicit(&driver.bound, memory_order_relaxed) == NULL)
            gdr_watch_start(last);
        else
            gdr_watch_stop();
    }
    pthread_mutex_unlock(&driver.lock);
    return atomic_load_explicit(&driver.bound, memory_order_acquire);
}

const gdr_driver_t *gdr_driver_bound(void)
{
    const gdr_driver_t *bound = atomic_load_explicit(&driver.bound, memory_order_acquire);

    if (bound != NULL)
        return bound;
    if (gdr_device_absent() ||
        count_loads() == atomic_load_explicit(&driver.loads, memory_order_relaxed))
        return NULL;
    return look_again();
}

bool gdr_device_seen(void)
{
    return gdr_driver_bound() != NULL;
}

/* Binds, loading the library if need be. Under the lock. */
static gdr_status_t open_library(const gdr_log_t *log)
{
    const char *missing;
    void *library;

    if (atomic_load_explicit(&driver.bound, memory_order_relaxed) != NULL)
        return GDR_OK;
    library = dlopen(LIBRARY, RTLD_LAZY | RTLD_LOCAL);
    if (library == NULL) {
        gdr_debug(log, "no CUDA driver here: %s", dlerror());
        return GDR_ERR_UNSUPPORTED;
    }
    missing = bind_symbols(library);
    if (missing != NULL) {
        gdr_info(log, "the CUDA driver is older than 12.0: " LIBRARY " lacks %s", missing);
        dlclose(library);
        return GDR_ERR_VERSION;
    }
    return GDR_OK;
}

/* cuInit and the number of devices. Under the lock. */
static gdr_status_t initialise(const gdr_log_t *log)
{
    gdr_driver_t *cu = &driver.table;
    const char *name = "?";
    CUresult result = cu->cuInit(0);

    if (result == CUDA_SUCCESS)
        result = cu->cuDeviceGetCount(&cu->devices);
    if (result == CUDA_ERROR_NO_DEVICE || result == CUDA_ERROR_STUB_LIBRARY ||
        (result == CUDA_SUCCESS && cu->devices == 0)) {
        gdr_debug(log, "the CUDA driver reports no device");
        return GDR_ERR_UNSUPPORTED;
    }
    if (result == CUDA_SUCCESS)
        result = cu->cuDriverGetVersion(&cu->version);
    if (result != CUDA_SUCCESS) {
        cu->cuGetErrorName(result, &name);
        gdr_info(log, "the CUDA driver does not start: %s (%d)", name, (int)result);
        return GDR_ERR_VERSION;
    }
    atomic_store_explicit(&driver.ready, cu, memory_order_release);
    return GDR_OK;
}

gdr_status_t gdr_device_load(const gdr_log_t *log)
{
    gdr_status_t status;

    if (gdr_driver() != NULL)
        return GDR_OK;
    pthread_mutex_lock(&driver.lock);
    if (!driver.load_final) {
        driver.load_status = open_library(log);
        if (driver.load_status == GDR_OK)
            driver.load_status = initialise(log);
        driver.load_final = true;
    }
    status = driver.load_status;
    pthread_mutex_unlock(&driver.lock);
    return status;
}

int gdr_device_count(void)
{
    const gdr_driver_t *cu = gdr_driver();

    return cu == NULL ? 0 : cu->devices;
}

gdr_status_t gdr_driver_failed(const gdr_log_t *log, const char *function, CUresult result)
{
    const gdr_driver_t *cu = gdr_driver_bound();
    const char *name = NULL, *text = NULL;

    cu->cuGetErrorName(result, &name);
    cu->cuGetErrorString(result, &text);
    gdr_error(log, "%s failed: %s (%d, %s)", function, name != NULL ? name : "unknown error",
              (int)result, text != NULL ? text : "no description");
    return result == CUDA_ERROR_OUT_OF_MEMORY ? GDR_ERR_NO_MEMORY : GDR_ERR_DEVICE;
}

void gdr_driver_capture_mode(CUstreamCaptureMode *mode)
{
    const gdr_driver_t *cu = gdr_driver();

    if (cu != NULL && cu->cuThreadExchangeStreamCaptureMode != NULL &&
        cu->cuThreadExchangeStreamCaptureMode(mode) == CUDA_SUCCESS)
        return;
    *mode = CU_STREAM_CAPTURE_MODE_GLOBAL;
}

gdr_status_t gdr_driver_enter(const gdr_log_t *log, CUcontext context, gdr_driver_scope_t *scope)
{
    gdr_status_t status = GDR_CU_CALL(log, cuCtxPushCurrent, (context));

    if (status != GDR_OK)
        return status;
    scope->mode = CU_STREAM_CAPTURE_MODE_RELAXED;
    gdr_driver_capture_mode(&scope->mode);
    return GDR_OK;
}

void gdr_driver_leave(const gdr_driver_scope_t *scope)
{
    CUstreamCaptureMode mode = scope->mode;
    CUcontext popped;

    gdr_driver_capture_mode(&mode);
    gdr_driver()->cuCtxPopCurrent(&popped);
}

CUcontext gdr_driver_primary(int ordinal)
{
    const gdr_driver_t *cu = gdr_driver();
    CUcontext context = NULL;
    unsigned int flags = 0;
    CUdevice device;
    int active = 0;

    if (cu->cuDeviceGet(&device, ordinal) != CUDA_SUCCESS ||
        cu->cuDevicePrimaryCtxGetState(device, &flags, &active) != CUDA_SUCCESS || !active)
        return NULL;
    /* The handle is only given together with a reference. */
    if (cu->cuDevicePrimaryCtxRetain(&context, device) != CUDA_SUCCESS)
        return NULL;
    cu->cuDevicePrimaryCtxRelease(device);
    return context;
}

uint64_t gdr_driver_primary_id(CUdevice device, CUcontext primary)
{
    const gdr_driver_t *cu = gdr_driver();
    unsigned int flags = 0;
    unsigned long long id = 0;
    int active = 0;

    if (cu->cuDevicePrimaryCtxGetState(device, &flags, &active) != CUDA_SUCCESS || !active)
        return 0;
    return cu->cuCtxGetId(primary, &id) == CUDA_SUCCESS ? id : 0;
}
