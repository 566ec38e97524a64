#include "base/gdr_math.h"
#include "engine/gdr_engine_priv.h"

#include <stdlib.h>

enum { WORDS_ALIGN = 4096 }; /* memory is registered by the page */

static gdr_status_t page_open(gdr_engine_t *engine)
{
    void *address;
    uint64_t lanes = engine->config.ctl_bytes / engine->config.plan.ctl_bytes;
    gdr_status_t status;

    engine->ctl_lanes = calloc(lanes + 1, sizeof(*engine->ctl_lanes));
    if (engine->ctl_lanes == NULL)
        return GDR_ERR_NO_MEMORY;
    engine->nctl_lanes = (uint32_t)lanes;
    status = engine->net_ops->alloc_host(engine->net, lanes * engine->config.plan.ctl_bytes,
                                         &address, &engine->page_mem);
    if (status == GDR_OK)
        engine->page = address;
    else
        engine->net_status = status;
    return status;
}

gdr_status_t gdr_net_get(gdr_engine_t *engine)
{
    gdr_ports_t *ports = &engine->ports;

    if (engine->net_status != GDR_INPROGRESS)
        return engine->net_status;
    engine->net_status = ports->open_net(ports->ctx, &engine->net_ops, &engine->net);
    if (engine->net_status == GDR_OK && engine->net_ops->on_lost != NULL)
        engine->net_ops->on_lost(engine->net, gdr_lost_hear, engine);
    return engine->net_status;
}

bool gdr_device_alive(const gdr_device_t *device)
{
    return device->generation != 0 && device->ops->generation(device->dev) == device->generation;
}

static bool connected(const gdr_engine_t *engine)
{
    const gdr_proc_t *proc;
    unsigned i;

    for (i = 0; i < GDR_TEAM_BUCKETS; i++) {
        for (proc = engine->procs[i]; proc != NULL; proc = proc->next) {
            if (proc->peer != NULL)
                return true;
        }
    }
    return false;
}

/*
 * What the transport has mapped of peers' windows went with the context, and it is not told: where
 * it keeps such mappings a put would go to whatever the application has at that address by now.
 */
void gdr_devices_check(gdr_engine_t *engine)
{
    gdr_device_t *device;

    for (device = engine->devices; device != NULL; device = device->next) {
        if (device->generation == 0 || gdr_device_alive(device))
            continue;
        device->generation = 0;
        if (engine->unfit == NULL && connected(engine) && engine->net_ops->keeps_mappings)
            engine->unfit = "a device was reset after it had been connected to others";
    }
}

/* Registered in this device's own context: a reset of another device takes nothing away. */
static gdr_status_t words_open(gdr_device_t *device)
{
    gdr_status_t status;

    device->words_memory = calloc(1, GDR_STREAM_AREA_BYTES + WORDS_ALIGN);
    if (device->words_memory == NULL)
        return GDR_ERR_NO_MEMORY;
    device->words = (uint8_t *)device->words_memory + WORDS_ALIGN -
                    (uintptr_t)device->words_memory % WORDS_ALIGN;
    status = device->ops->map_host(device->dev, device->words, GDR_STREAM_AREA_BYTES,
                                   &device->words_address);
    if (status != GDR_OK)
        free(device->words_memory);
    return status;
}

static void words_close(gdr_device_t *device)
{
    if (gdr_device_alive(device))
        device->ops->unmap_host(device->dev, device->words);
    device->ops->close(device->dev);
    free(device->words_memory);
}

static gdr_status_t device_open(gdr_engine_t *engine, int ordinal, gdr_device_t *device)
{
    gdr_status_t status =
        engine->ports.open_dev(engine->ports.ctx, ordinal, &device->ops, &device->dev);

    if (status != GDR_OK)
        return status;
    device->engine = engine;
    device->ordinal = ordinal;
    device->generation = device->ops->generation(device->dev);
    device->ops->caps(device->dev, &device->caps);
    /* Network and page come after the first device: they are made in that one's context. */
    status = gdr_net_get(engine);
    if (status == GDR_OK && engine->page == NULL)
        status = page_open(engine);
    if (status == GDR_OK)
        status = words_open(device);
    if (status != GDR_OK) {
        device->ops->close(device->dev);
        return status;
    }
    status = gdr_stream_acquire(device, true, &device->side);
    if (status != GDR_OK)
        words_close(device);
    return status;
}

/* Of a dead generation nothing is touched: its streams and memory went with the context. */
static void device_close(gdr_device_t *device)
{
    gdr_engine_t *engine = device->engine;
    bool alive = gdr_device_alive(device);

    while (device->streams != NULL) {
        gdr_stream_t *stream = device->streams;

        device->streams = stream->next;
        if (alive)
            device->ops->stream_destroy(stream->handle);
        free(stream);
    }
    while (device->windows != NULL) {
        gdr_window_t *window = device->windows;

        device->windows = window->next;
        engine->net_ops->deregister(engine->net, window->mem);
        if (alive)
            device->ops->free(device->dev, window->address);
        free(window);
    }
    words_close(device);
    free(device);
}

gdr_status_t gdr_device_get(gdr_engine_t *engine, int ordinal, gdr_device_t **device)
{
    gdr_device_t *found;
    gdr_status_t status;

    /* Dead teams may still hold lanes of a dead one: kept, and never touched, until the end. */
    gdr_devices_check(engine);
    for (found = engine->devices; found != NULL; found = found->next) {
        if (found->ordinal == ordinal && found->generation != 0) {
            *device = found;
            return GDR_OK;
        }
    }
    found = calloc(1, sizeof(*found));
    if (found == NULL)
        return GDR_ERR_NO_MEMORY;
    status = device_open(engine, ordinal, found);
    if (status != GDR_OK) {
        free(found);
        return status;
    }
    found->next = engine->devices;
    engine->devices = found;
    *device = found;
    return GDR_OK;
}

gdr_status_t gdr_device_prepare(gdr_device_t *device, gdr_op_t op, gdr_type_t type)
{
    uint32_t bit = 1u << type;
    gdr_status_t status = GDR_OK;

    _Static_assert(GDR_TYPE_COUNT <= 32, "a bit for each type");
    if (device->prepared[op] & bit)
        return GDR_OK;
    if (device->ops->prepare != NULL)
        status = device->ops->prepare(device->dev, op, type);
    if (status == GDR_OK)
        device->prepared[op] |= bit;
    return status;
}

void gdr_devices_close(gdr_engine_t *engine)
{
    while (engine->devices != NULL) {
        gdr_device_t *device = engine->devices;

        engine->devices = device->next;
        device_close(device);
    }
}

static void window_init(gdr_window_t *window, gdr_device_t *device, uint64_t lane_bytes,
                        uint32_t nlanes)
{
    uint32_t i;

    window->device = device;
    window->lane_bytes = lane_bytes;
    window->nlanes = nlanes;
    window->abort_offset = nlanes * lane_bytes;
    for (i = 0; i < nlanes; i++) {
        window->lanes[i].window = window;
        window->lanes[i].offset = i * lane_bytes;
    }
}

gdr_status_t gdr_window_make(gdr_device_t *device, uint64_t lane_bytes, uint64_t nlanes,
                             gdr_window_t **window)
{
    gdr_engine_t *engine = device->engine;
    uint64_t bytes;
    gdr_window_t *made;
    gdr_status_t status;

    if (nlanes == 0 || engine->next_window == 128)
        return GDR_ERR_NO_RESOURCE;
    made = calloc(1, sizeof(*made) + nlanes * sizeof(made->lanes[0]));
    if (made == NULL)
        return GDR_ERR_NO_MEMORY;
    window_init(made, device, lane_bytes, (uint32_t)nlanes);
    bytes = gdr_align_up(made->abort_offset + nlanes * GDR_LANE_PARTS * GDR_WORD_BYTES, 4096);
    status = device->ops->alloc(device->dev, bytes, &made->address);
    if (status != GDR_OK)
        goto err_free;
    status = engine->net_ops->register_device(engine->net, made->address, bytes, &made->mem);
    if (status != GDR_OK)
        goto err_memory;
    made->id = engine->next_window++;
    made->next = device->windows;
    device->windows = made;
    *window = made;
    return GDR_OK;

err_memory:
    device->ops->free(device->dev, made->address);
err_free:
    free(made);
    return status;
}
