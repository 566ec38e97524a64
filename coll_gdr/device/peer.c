/* Memory of other devices and other contexts. */
#include "device/dev.h"

/* With dev's context current. Enables access to what `owner` owns; once enabled is enough. */
static bool enable(CUcontext owner)
{
    CUresult result = gdr_driver()->cuCtxEnablePeerAccess(owner, 0);

    return result == CUDA_SUCCESS || result == CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED;
}

static bool peer_capable(const gdr_dev_t *dev, int ordinal)
{
    CUdevice other;
    int can = 0;

    return gdr_driver()->cuDeviceGet(&other, ordinal) == CUDA_SUCCESS &&
           gdr_driver()->cuDeviceCanAccessPeer(&can, dev->device, other) == CUDA_SUCCESS && can;
}

/* Asked once per context of the other device: after a reset it is another one. */
static bool reach_device(gdr_dev_t *dev, int ordinal, CUcontext owner)
{
    gdr_dev_reach_t *known = &dev->reach[ordinal];
    gdr_driver_scope_t scope;
    unsigned long long id = 0;

    if (gdr_driver()->cuCtxGetId(owner, &id) != CUDA_SUCCESS)
        return false;
    if (known->owner == id)
        return known->yes;
    known->owner = id;
    known->yes = false;
    if (peer_capable(dev, ordinal) && gdr_dev_enter(dev, &scope) == GDR_OK) {
        known->yes = enable(owner);
        gdr_driver_leave(&scope);
    }
    gdr_info(dev->log, "device %d %s memory of device %d", dev->ordinal,
             known->yes ? "reaches" : "does not reach", ordinal);
    return known->yes;
}

/* With the context of whom it is about current. A range may run over several mappings: its ends
 * are looked at. */
static bool may_touch(uint64_t address, uint64_t bytes)
{
    uint64_t ends[2] = {address, address + bytes - 1};

    for (int i = 0; i < 2; i++) {
        CUpointer_attribute attribute = CU_POINTER_ATTRIBUTE_ACCESS_FLAGS;
        unsigned int flags = 0;
        void *data = &flags;

        if (gdr_driver()->cuPointerGetAttributes(1, &attribute, &data, ends[i]) != CUDA_SUCCESS ||
            flags != CU_POINTER_ATTRIBUTE_ACCESS_FLAG_READWRITE)
            return false;
    }
    return true;
}

bool gdr_device_touches(int ordinal, uint64_t address, uint64_t bytes)
{
    CUcontext context = gdr_driver() == NULL ? NULL : gdr_driver_primary(ordinal);
    bool yes;

    if (context == NULL || !gdr_device_enter((uint64_t)(uintptr_t)context))
        return false;
    yes = may_touch(address, bytes);
    gdr_device_leave();
    return yes;
}

/* Peer access is the application's to give for pools and VMM memory, and does not reach what a
 * context has got from another process: the driver is asked. */
static bool reach(gdr_dev_t *dev, const gdr_mem_info_t *info, uint64_t address, uint64_t bytes)
{
    CUcontext owner = (CUcontext)(uintptr_t)info->context;

    if (info->ordinal < 0 || info->ordinal >= gdr_device_count())
        return false;
    if (owner != NULL &&
        (info->ordinal == dev->ordinal || !reach_device(dev, info->ordinal, owner)))
        return false;
    return gdr_device_touches(dev->ordinal, address, bytes);
}

gdr_status_t gdr_device_reach(gdr_dev_t *dev, uint64_t address, uint64_t bytes)
{
    gdr_mem_info_t info;

    gdr_device_classify((const void *)(uintptr_t)address, &info);
    if (info.kind != GDR_MEM_DEVICE || info.context == (uint64_t)(uintptr_t)dev->context)
        return GDR_OK; /* managed and registered memory is reached from everywhere */
    return reach(dev, &info, address, bytes) ? GDR_OK : GDR_ERR_UNSUPPORTED;
}

/* The context to name for an address in a copy between contexts. */
static CUcontext owner_of(const gdr_dev_t *dev, uint64_t address)
{
    gdr_mem_info_t info;
    CUcontext primary = NULL;

    gdr_device_classify((const void *)(uintptr_t)address, &info);
    if (info.context != 0)
        return (CUcontext)(uintptr_t)info.context;
    if (info.ordinal >= 0 && info.ordinal != dev->ordinal)
        primary = gdr_driver_primary(info.ordinal);
    return primary != NULL ? primary : dev->context;
}

gdr_status_t gdr_device_copy_peer(gdr_dev_stream_t *stream, uint64_t destination, uint64_t source,
                                  uint64_t bytes)
{
    gdr_dev_t *dev = stream->dev;
    CUcontext to = owner_of(dev, destination), from = owner_of(dev, source);
    gdr_driver_scope_t scope;
    gdr_status_t status;

    if (bytes == 0)
        return GDR_OK;
    status = gdr_dev_enter(dev, &scope);
    if (status != GDR_OK)
        return status;
    status = GDR_CU_CALL(dev->log, cuMemcpyPeerAsync,
                         (destination, to, source, from, bytes, stream->stream));
    gdr_driver_leave(&scope);
    return status;
}
