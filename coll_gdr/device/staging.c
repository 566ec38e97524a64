/* Copies through the host, for what the device path cannot serve. */
#include "device/driver.h"
#include "device/gdr_device.h"

/* Retains the primary context of `ordinal`; the caller releases it. */
static gdr_status_t retain(const gdr_log_t *log, int ordinal, CUdevice *device, CUcontext *context)
{
    gdr_status_t status = GDR_CU_CALL(log, cuDeviceGet, (device, ordinal));

    if (status != GDR_OK)
        return status;
    return GDR_CU_CALL(log, cuDevicePrimaryCtxRetain, (context, *device));
}

/* A context for a copy: the buffer's own, else the primary one of its *device, retained. */
static gdr_status_t context_for(const gdr_log_t *log, uint64_t address, CUcontext *context,
                                CUdevice *device, bool *retained)
{
    gdr_mem_info_t info;

    gdr_device_classify((const void *)(uintptr_t)address, &info);
    *retained = info.context == 0;
    if (!*retained) {
        *context = (CUcontext)(uintptr_t)info.context;
        return GDR_OK;
    }
    return retain(log, info.ordinal >= 0 ? info.ordinal : 0, device, context);
}

/* In the legacy default stream, so behind the application's work; waited for even where the copy of
 * ordinary memory returns early. */
static gdr_status_t copy_here(const gdr_log_t *log, uint64_t destination, uint64_t source,
                              size_t bytes)
{
    gdr_status_t status;

    status = GDR_CU_CALL(log, cuMemcpyAsync, (destination, source, bytes, CU_STREAM_LEGACY));
    if (status != GDR_OK)
        return status;
    return GDR_CU_CALL(log, cuStreamSynchronize, (CU_STREAM_LEGACY));
}

/* What the application has put into the NULL stream of the context from which it made its call: it
 * may write memory that another context owns, or none. After a reset that has ended. */
static gdr_status_t settle(const gdr_log_t *log, uint64_t caller)
{
    CUcontext context = (CUcontext)(uintptr_t)caller;
    unsigned long long id;
    gdr_status_t status;

    if (caller == 0 || gdr_driver()->cuCtxGetId(context, &id) != CUDA_SUCCESS ||
        !gdr_device_enter(caller))
        return GDR_OK;
    status = GDR_CU_CALL(log, cuStreamSynchronize, (CU_STREAM_LEGACY));
    gdr_device_leave();
    return status;
}

static gdr_status_t copy(const gdr_log_t *log, uint64_t device_side, uint64_t destination,
                         uint64_t source, size_t bytes, uint64_t caller)
{
    gdr_driver_scope_t scope;
    CUcontext context;
    CUdevice device;
    bool retained;
    gdr_status_t status;

    if (bytes == 0)
        return GDR_OK;
    status = gdr_device_load(log);
    if (status != GDR_OK)
        return status;
    status = context_for(log, device_side, &context, &device, &retained);
    if (status != GDR_OK)
        return status;
    if (caller != (uint64_t)(uintptr_t)context)
        status = settle(log, caller);
    if (status == GDR_OK)
        status = gdr_driver_enter(log, context, &scope);
    if (status == GDR_OK) {
        status = copy_here(log, destination, source, bytes);
        gdr_driver_leave(&scope);
    }
    if (retained)
        gdr_driver()->cuDevicePrimaryCtxRelease(device);
    return status;
}

gdr_status_t gdr_device_copy_out(const gdr_log_t *log, void *host, uint64_t device, size_t bytes,
                                 uint64_t caller)
{
    return copy(log, device, (uint64_t)(uintptr_t)host, device, bytes, caller);
}

gdr_status_t gdr_device_copy_in(const gdr_log_t *log, uint64_t device, const void *host,
                                size_t bytes, uint64_t caller)
{
    return copy(log, device, device, (uint64_t)(uintptr_t)host, bytes, caller);
}

/* Without the number of its context the memory could not be told from that of a context that is
 * gone, so it is no use. */
static gdr_status_t alloc_here(const gdr_log_t *log, CUdevice device, CUcontext context,
                               size_t bytes, void **memory, uint64_t *id)
{
    CUresult result = gdr_driver()->cuMemHostAlloc(memory, bytes, CU_MEMHOSTALLOC_PORTABLE);

    if (result != CUDA_SUCCESS) {
        gdr_info(log, "no %zu bytes of pinned memory (CUDA error %d): ordinary memory is used",
                 bytes, (int)result);
        return GDR_ERR_NO_MEMORY;
    }
    *id = gdr_driver_primary_id(device, context);
    if (*id != 0)
        return GDR_OK;
    gdr_error(log, "no number of the context that owns %zu bytes of pinned memory", bytes);
    gdr_driver()->cuMemFreeHost(*memory);
    return GDR_ERR_DEVICE;
}

gdr_status_t gdr_device_pinned_alloc(const gdr_log_t *log, int ordinal, size_t bytes, void **host,
                                     uint64_t *context_id)
{
    gdr_driver_scope_t scope;
    CUcontext context;
    CUdevice device;
    void *memory = NULL;
    uint64_t id = 0;
    gdr_status_t status = gdr_device_load(log);

    if (status != GDR_OK)
        return status;
    status = retain(log, ordinal, &device, &context);
    if (status != GDR_OK)
        return status;
    status = gdr_driver_enter(log, context, &scope);
    if (status != GDR_OK)
        goto release;
    status = alloc_here(log, device, context, bytes, &memory, &id);
    gdr_driver_leave(&scope);
    if (status == GDR_OK) {
        *host = memory;
        *context_id = id;
        return GDR_OK; /* the reference is kept until gdr_device_pinned_free() */
    }
release:
    gdr_driver()->cuDevicePrimaryCtxRelease(device);
    return status;
}

void gdr_device_pinned_free(const gdr_log_t *log, int ordinal, void *host, uint64_t context_id)
{
    gdr_driver_scope_t scope;
    CUcontext context;
    CUdevice device;

    if (host == NULL || gdr_device_context_id(ordinal) != context_id)
        return;
    if (retain(log, ordinal, &device, &context) != GDR_OK)
        return;
    if (gdr_driver_enter(log, context, &scope) == GDR_OK) {
        (void)GDR_CU_CALL(log, cuMemFreeHost, (host));
        gdr_driver_leave(&scope);
    }
    gdr_driver()->cuDevicePrimaryCtxRelease(device); /* this one */
    gdr_driver()->cuDevicePrimaryCtxRelease(device); /* and the allocation's */
}

bool gdr_device_is_primary(int ordinal, uint64_t context)
{
    const gdr_driver_t *cu = gdr_driver();
    CUcontext primary;
    CUdevice device;

    if (cu == NULL || cu->cuDeviceGet(&device, ordinal) != CUDA_SUCCESS ||
        cu->cuDevicePrimaryCtxRetain(&primary, device) != CUDA_SUCCESS)
        return false;
    cu->cuDevicePrimaryCtxRelease(device);
    return primary == (CUcontext)(uintptr_t)context;
}

uint64_t gdr_device_context_id(int ordinal)
{
    const gdr_driver_t *cu = gdr_driver();
    unsigned int flags;
    CUcontext context;
    CUdevice device;
    uint64_t id;
    int active = 0;

    if (cu == NULL || cu->cuDeviceGet(&device, ordinal) != CUDA_SUCCESS ||
        cu->cuDevicePrimaryCtxGetState(device, &flags, &active) != CUDA_SUCCESS || !active)
        return 0;
    /* The handle is only given together with a reference. */
    if (cu->cuDevicePrimaryCtxRetain(&context, device) != CUDA_SUCCESS)
        return 0;
    id = gdr_driver_primary_id(device, context);
    cu->cuDevicePrimaryCtxRelease(device);
    return id;
}
