#include "device/dev.h"

#include <stdatomic.h>
#include <stdlib.h>

static _Atomic uint64_t home;

uint64_t gdr_device_home(void)
{
    return atomic_load(&home);
}

bool gdr_dev_alive(const gdr_dev_t *dev)
{
    return gdr_driver_primary_id(dev->device, dev->context) == dev->id;
}

gdr_status_t gdr_dev_enter(const gdr_dev_t *dev, gdr_driver_scope_t *scope)
{
    return gdr_driver_enter(dev->log, dev->context, scope);
}

static void dev_caps(const gdr_dev_t *dev, gdr_dev_caps_t *caps)
{
    *caps = dev->caps;
}

static uint64_t dev_generation(gdr_dev_t *dev)
{
    return gdr_dev_alive(dev) ? dev->id : 0;
}

/* Zeroes on the side stream: the NULL stream would wait for the application's work. */
static gdr_status_t zero(gdr_dev_t *dev, CUdeviceptr address, size_t bytes)
{
    gdr_status_t status = GDR_CU_CALL(dev->log, cuMemsetD8Async, (address, 0, bytes, dev->side));

    if (status != GDR_OK)
        return status;
    return GDR_CU_CALL(dev->log, cuStreamSynchronize, (dev->side));
}

static gdr_status_t dev_alloc(gdr_dev_t *dev, size_t bytes, uint64_t *address)
{
    gdr_driver_scope_t scope;
    CUdeviceptr memory = 0;
    gdr_status_t status;

    status = gdr_dev_enter(dev, &scope);
    if (status != GDR_OK)
        return status;
    status = GDR_CU_CALL(dev->log, cuMemAlloc, (&memory, bytes));
    if (status != GDR_OK) {
        gdr_error(dev->log, "no %zu bytes of memory on device %d", bytes, dev->ordinal);
        goto leave;
    }
    status = zero(dev, memory, bytes);
    if (status != GDR_OK)
        gdr_driver()->cuMemFree(memory);
    else
        *address = memory;
leave:
    gdr_driver_leave(&scope);
    return status;
}

static void dev_free(gdr_dev_t *dev, uint64_t address)
{
    gdr_driver_scope_t scope;

    if (address == 0 || !gdr_dev_alive(dev) || gdr_dev_enter(dev, &scope) != GDR_OK)
        return;
    (void)GDR_CU_CALL(dev->log, cuMemFree, (address));
    gdr_driver_leave(&scope);
}

/* Whether the context that registered the memory lives as long as a device: a primary one. */
static bool registration_lasts(const void *address)
{
    gdr_mem_info_t info;

    gdr_device_classify(address, &info);
    return info.ordinal >= 0 && gdr_device_is_primary(info.ordinal, info.context);
}

/* *owned: false where somebody, UCX as a rule, has registered the same memory before. In a context
 * of the application that would end with the context, under the feet of everybody else. */
static gdr_status_t register_host(gdr_dev_t *dev, void *address, size_t bytes, bool *owned)
{
    unsigned int flags = CU_MEMHOSTREGISTER_PORTABLE | CU_MEMHOSTREGISTER_DEVICEMAP;
    CUresult result = gdr_driver()->cuMemHostRegister(address, bytes, flags);

    *owned = result == CUDA_SUCCESS;
    if (result == CUDA_SUCCESS)
        return GDR_OK;
    if (result != CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED)
        return gdr_driver_failed(dev->log, "cuMemHostRegister", result);
    if (registration_lasts(address))
        return GDR_OK;
    gdr_error(dev->log,
              "%zu bytes of host memory are registered already, in a context that is not the "
              "primary one of a device",
              bytes);
    return GDR_ERR_DEVICE;
}

static gdr_status_t map_host_here(gdr_dev_t *dev, void *address, size_t bytes,
                                  gdr_dev_mapping_t *mapping, uint64_t *device_address)
{
    CUdeviceptr visible = 0;
    bool owned;
    gdr_status_t status = register_host(dev, address, bytes, &owned);

    if (status != GDR_OK)
        return status;
    status = GDR_CU_CALL(dev->log, cuMemHostGetDevicePointer, (&visible, address, 0));
    if (status != GDR_OK) {
        if (owned)
            gdr_driver()->cuMemHostUnregister(address);
        return status;
    }
    mapping->address = owned ? address : NULL;
    *device_address = visible;
    return GDR_OK;
}

static gdr_status_t dev_map_host(gdr_dev_t *dev, void *address, size_t bytes,
                                 uint64_t *device_address)
{
    gdr_dev_mapping_t *mapping = calloc(1, sizeof(*mapping));
    gdr_driver_scope_t scope;
    gdr_status_t status;

    if (mapping == NULL) {
        gdr_error(dev->log, "no memory for a host mapping");
        return GDR_ERR_NO_MEMORY;
    }
    status = gdr_dev_enter(dev, &scope);
    if (status == GDR_OK) {
        status = map_host_here(dev, address, bytes, mapping, device_address);
        gdr_driver_leave(&scope);
    }
    if (status != GDR_OK || mapping->address == NULL) {
        free(mapping);
        return status;
    }
    mapping->next = dev->mappings;
    dev->mappings = mapping;
    return GDR_OK;
}

static void unregister_host(gdr_dev_t *dev, void *address)
{
    gdr_driver_scope_t scope;

    if (!gdr_dev_alive(dev) || gdr_dev_enter(dev, &scope) != GDR_OK)
        return;
    (void)GDR_CU_CALL(dev->log, cuMemHostUnregister, (address));
    gdr_driver_leave(&scope);
}

static void dev_unmap_host(gdr_dev_t *dev, void *address)
{
    for (gdr_dev_mapping_t **link = &dev->mappings; *link != NULL; link = &(*link)->next) {
        gdr_dev_mapping_t *mapping = *link;
        if (mapping->address == address) {
            *link = mapping->next;
            unregister_host(dev, address);
            free(mapping);
            return;
        }
    }
}

static void release_objects(gdr_dev_t *dev)
{
    gdr_driver_scope_t scope;

    if (gdr_dev_enter(dev, &scope) != GDR_OK)
        return;
    gdr_dev_unload_kernels(dev, true);
    if (dev->probe != NULL)
        gdr_driver()->cuEventDestroy(dev->probe);
    if (dev->side != NULL)
        gdr_driver()->cuStreamDestroy(dev->side);
    gdr_driver_leave(&scope);
}

static void dev_close(gdr_dev_t *dev)
{
    uint64_t mine = (uint64_t)(uintptr_t)dev->context;

    atomic_compare_exchange_strong(&home, &mine, 0);
    while (dev->mappings != NULL)
        dev_unmap_host(dev, dev->mappings->address);
    if (gdr_dev_alive(dev)) {
        release_objects(dev);
        (void)GDR_CU_CALL(dev->log, cuDevicePrimaryCtxRelease, (dev->device));
    } else {
        gdr_dev_unload_kernels(dev, false);
    }
    free(dev->reach);
    free(dev);
}

static const gdr_dev_ops_t dev_ops = {
    .caps = dev_caps,
    .generation = dev_generation,
    .alloc = dev_alloc,
    .free = dev_free,
    .map_host = dev_map_host,
    .unmap_host = dev_unmap_host,
    .stream_create = gdr_dev_stream_create,
    .stream_destroy = gdr_dev_stream_destroy,
    .follow_default = gdr_dev_follow_default,
    .reduce = gdr_dev_reduce,
    .wait_word = gdr_dev_wait_word,
    .write_word = gdr_dev_write_word,
    .flush_rdma_writes = gdr_dev_flush_rdma_writes,
    .stream_status = gdr_dev_stream_status,
    .sync = gdr_dev_sync,
    .close = dev_close,
    .prepare = gdr_dev_prepare,
};

/* An attribute that an older driver may not know: 0 then. */
static int attribute(const gdr_dev_t *dev, CUdevice_attribute which)
{
    int value = 0;

    if (gdr_driver()->cuDeviceGetAttribute(&value, which, dev->device) != CUDA_SUCCESS)
        return 0;
    return value;
}

/* GPUDirect writes: who must flush them before data behind a host flag may be read, and how. */
static void find_rdma_caps(gdr_dev_t *dev)
{
    int options = attribute(dev, CU_DEVICE_ATTRIBUTE_GPU_DIRECT_RDMA_FLUSH_WRITES_OPTIONS);
    int ordering = attribute(dev, CU_DEVICE_ATTRIBUTE_GPU_DIRECT_RDMA_WRITES_ORDERING);

    dev->host_flushes = (options & CU_FLUSH_GPU_DIRECT_RDMA_WRITES_OPTION_HOST) != 0 &&
                        gdr_driver()->cuFlushGPUDirectRDMAWrites != NULL;
    dev->caps.flush_rdma = attribute(dev, CU_DEVICE_ATTRIBUTE_GPU_DIRECT_RDMA_SUPPORTED) != 0 &&
                           ordering < CU_GPU_DIRECT_RDMA_WRITES_ORDERING_OWNER;
}

static void find_caps(gdr_dev_t *dev, bool no_stream_words)
{
    const gdr_driver_t *cu = gdr_driver();
    size_t memory = 0;

    if (cu->cuDeviceTotalMem(&memory, dev->device) == CUDA_SUCCESS)
        dev->caps.memory_bytes = memory;
    dev->caps.compute_capability =
        attribute(dev, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR) * 10 +
        attribute(dev, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR);
    dev->caps.stream_words = !no_stream_words && cu->cuStreamWaitValue64 != NULL &&
                             cu->cuStreamWriteValue64 != NULL &&
                             attribute(dev, CU_DEVICE_ATTRIBUTE_CAN_USE_64_BIT_STREAM_MEM_OPS);
    dev->wait_flushes = attribute(dev, CU_DEVICE_ATTRIBUTE_CAN_FLUSH_REMOTE_WRITES) != 0;
    find_rdma_caps(dev);
}

static void say_what_it_is(const gdr_dev_t *dev)
{
    char name[128] = "?";

    gdr_driver()->cuDeviceGetName(name, sizeof(name), dev->device);
    gdr_info(dev->log,
             "device %d: %s, compute capability %d.%d, driver %d.%d, stream words %s, waits flush "
             "remote writes: %s, host flags need a flush: %s",
             dev->ordinal, name, dev->caps.compute_capability / 10,
             dev->caps.compute_capability % 10, gdr_driver()->version / 1000,
             gdr_driver()->version % 1000 / 10, dev->caps.stream_words ? "yes" : "no",
             dev->wait_flushes ? "yes" : "no", dev->caps.flush_rdma ? "yes" : "no");
}

/* With the context current. */
static gdr_status_t create_objects(gdr_dev_t *dev)
{
    unsigned long long id = 0;
    gdr_status_t status;
    int lowest;

    status = GDR_CU_CALL(dev->log, cuCtxGetId, (dev->context, &id));
    if (status != GDR_OK)
        return status;
    dev->id = id;
    status = GDR_CU_CALL(dev->log, cuCtxGetStreamPriorityRange, (&lowest, &dev->top_priority));
    if (status != GDR_OK)
        return status;
    status = GDR_CU_CALL(dev->log, cuStreamCreateWithPriority,
                         (&dev->side, CU_STREAM_NON_BLOCKING, dev->top_priority));
    if (status != GDR_OK)
        return status;
    status = GDR_CU_CALL(dev->log, cuEventCreate, (&dev->probe, CU_EVENT_DISABLE_TIMING));
    if (status != GDR_OK)
        return status;
    return gdr_dev_load_copies(dev);
}

static gdr_status_t check_params(const gdr_device_params_t *params, int ordinal)
{
    gdr_status_t status = gdr_device_load(params->log);

    if (status != GDR_OK)
        return status;
    if (ordinal < 0 || ordinal >= gdr_device_count()) {
        gdr_error(params->log, "there is no device %d: this process sees %d", ordinal,
                  gdr_device_count());
        return GDR_ERR_INVALID;
    }
    return GDR_OK;
}

static gdr_dev_t *dev_new(const gdr_device_params_t *params, int ordinal)
{
    gdr_dev_t *dev = calloc(1, sizeof(*dev));

    if (dev == NULL)
        return NULL;
    dev->reach = calloc((size_t)gdr_device_count(), sizeof(*dev->reach));
    if (dev->reach == NULL) {
        free(dev);
        return NULL;
    }
    dev->log = params->log;
    dev->ordinal = ordinal;
    dev->max_blocks = params->max_blocks;
    return dev;
}

/* Fills dev, whose context is not retained yet; undoes what it did on an error. */
static gdr_status_t dev_start(gdr_dev_t *dev, bool no_stream_words)
{
    gdr_driver_scope_t scope;
    gdr_status_t status;

    status = GDR_CU_CALL(dev->log, cuDeviceGet, (&dev->device, dev->ordinal));
    if (status != GDR_OK)
        return status;
    status = GDR_CU_CALL(dev->log, cuDevicePrimaryCtxRetain, (&dev->context, dev->device));
    if (status != GDR_OK)
        return status;
    find_caps(dev, no_stream_words);
    status = gdr_dev_enter(dev, &scope);
    if (status != GDR_OK)
        goto release;
    status = create_objects(dev);
    gdr_driver_leave(&scope);
    if (status == GDR_OK)
        return GDR_OK;
    release_objects(dev);
release:
    gdr_driver()->cuDevicePrimaryCtxRelease(dev->device);
    return status;
}

gdr_status_t gdr_device_open(const gdr_device_params_t *params, int ordinal,
                             const gdr_dev_ops_t **ops, gdr_dev_t **out)
{
    gdr_status_t status = check_params(params, ordinal);
    gdr_dev_t *dev;

    if (status != GDR_OK)
        return status;
    dev = dev_new(params, ordinal);
    if (dev == NULL) {
        gdr_error(params->log, "no memory for device %d", ordinal);
        return GDR_ERR_NO_MEMORY;
    }
    status = dev_start(dev, params->no_stream_words);
    if (status != GDR_OK) {
        free(dev->reach);
        free(dev);
        return status;
    }
    say_what_it_is(dev);
    atomic_store(&home, (uint64_t)(uintptr_t)dev->context);
    *ops = &dev_ops;
    *out = dev;
    return GDR_OK;
}
