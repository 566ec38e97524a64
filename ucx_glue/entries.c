/*
 * The port's table. UCX calls the CUDA driver in nearly all of its functions, some of its calls
 * would invalidate a graph that the application is capturing, in this thread or in another: every
 * entry that goes into UCX is bracketed by the thread's relaxed capture mode.
 */
#include "ucx_glue/ucx.h"

#include <string.h>

static int quiet(const gdr_net_t *net)
{
    return net->params.device != NULL ? net->params.device->quiet() : 0;
}

static void loud(const gdr_ucx_device_t *device, int mode)
{
    if (device != NULL)
        device->loud(mode);
}

static unsigned progress(gdr_net_t *net)
{
    int mode = quiet(net);
    unsigned events = gdr_ucx_progress(net);

    loud(net->params.device, mode);
    return events;
}

static gdr_status_t register_device(gdr_net_t *net, uint64_t address, size_t bytes,
                                    gdr_net_mem_t **mem)
{
    int mode = quiet(net);
    gdr_status_t status = gdr_ucx_register_device(net, address, bytes, mem);

    loud(net->params.device, mode);
    return status;
}

static gdr_status_t alloc_host(gdr_net_t *net, size_t bytes, void **address, gdr_net_mem_t **mem)
{
    int mode = quiet(net);
    gdr_status_t status = gdr_ucx_alloc_host(net, bytes, address, mem);

    loud(net->params.device, mode);
    return status;
}

static void deregister(gdr_net_t *net, gdr_net_mem_t *mem)
{
    int mode = quiet(net);

    gdr_ucx_deregister(net, mem);
    loud(net->params.device, mode);
}

static gdr_status_t address_of(gdr_net_t *net, void *buffer, size_t *bytes)
{
    size_t capacity = *bytes;

    *bytes = net->address_bytes;
    if (capacity < net->address_bytes)
        return GDR_ERR_INVALID;
    memcpy(buffer, net->address, net->address_bytes);
    return GDR_OK;
}

static gdr_status_t pack(gdr_net_mem_t *mem, void *buffer, size_t *bytes)
{
    int mode = quiet(mem->net);
    gdr_status_t status = gdr_ucx_pack(mem, buffer, bytes);

    loud(mem->net->params.device, mode);
    return status;
}

static gdr_status_t connect_peer(gdr_net_t *net, const void *address, size_t bytes,
                                 gdr_net_peer_t **peer)
{
    int mode = quiet(net);
    gdr_status_t status = gdr_ucx_connect(net, address, bytes, peer);

    loud(net->params.device, mode);
    return status;
}

static void disconnect(gdr_net_peer_t *peer)
{
    gdr_net_t *net = peer->net;
    int mode = quiet(net);

    gdr_ucx_disconnect(peer);
    loud(net->params.device, mode);
}

static gdr_status_t import(gdr_net_peer_t *peer, const gdr_net_mem_t *from, const void *packed,
                           size_t bytes, gdr_net_rmem_t **rmem)
{
    int mode = quiet(peer->net);
    gdr_status_t status = gdr_ucx_import(peer, from, packed, bytes, rmem);

    loud(peer->net->params.device, mode);
    return status;
}

static void release(gdr_net_rmem_t *rmem)
{
    gdr_net_t *net = rmem->peer->net;
    int mode = quiet(net);

    gdr_ucx_release(rmem);
    loud(net->params.device, mode);
}

static gdr_status_t map(gdr_net_rmem_t *rmem, uint64_t *address)
{
    const gdr_net_t *net = rmem->peer->net;
    int mode = quiet(net);
    gdr_status_t status = gdr_ucx_map(rmem, address);

    loud(net->params.device, mode);
    return status;
}

static bool maps(const gdr_net_t *net)
{
    return net->maps_windows;
}

static void put(gdr_net_peer_t *peer, gdr_net_rmem_t *rmem, uint64_t roff, gdr_net_mem_t *lmem,
                uint64_t loff, size_t bytes, const gdr_net_word_t *word, gdr_net_op_t *op)
{
    const gdr_net_t *net = peer->net;
    int mode = quiet(net);

    gdr_ucx_put(peer, rmem, roff, lmem, loff, bytes, word, op);
    loud(net->params.device, mode);
}

static void flush(gdr_net_peer_t *peer, gdr_net_op_t *op)
{
    const gdr_net_t *net = peer->net;
    int mode = quiet(net);

    gdr_ucx_flush(peer, op);
    loud(net->params.device, mode);
}

static void close_net(gdr_net_t *net)
{
    const gdr_ucx_device_t *device = net->params.device;
    int mode = quiet(net);

    gdr_ucx_close(net);
    loud(device, mode);
}

static bool emulates(const gdr_net_t *net)
{
    return net->emulates;
}

const gdr_net_ops_t gdr_ucx_ops = {
    .progress = progress,
    .register_device = register_device,
    .alloc_host = alloc_host,
    .deregister = deregister,
    .address = address_of,
    .pack = pack,
    .connect = connect_peer,
    .disconnect = disconnect,
    .import = import,
    .release = release,
    .map = map,
    .maps = maps,
    .put = put,
    .flush = flush,
    .peer_status = gdr_ucx_peer_status,
    .close = close_net,
    .emulates = emulates,
    .keeps_mappings = true, /* cuda_ipc's, as long as it is connected */
    .on_lost = gdr_ucx_on_lost,
};

__attribute__((visibility("default"))) gdr_status_t gdr_ucx_open(const gdr_ucx_params_t *params,
                                                                 const gdr_log_t *log,
                                                                 const gdr_net_ops_t **ops,
                                                                 gdr_net_t **net)
{
    const gdr_ucx_device_t *device;
    gdr_status_t status = gdr_ucx_check_version(params, log);
    int mode;

    if (status != GDR_OK)
        return status;
    device = params->device;
    mode = device != NULL ? device->quiet() : 0;
    status = gdr_ucx_start(params, log, net);
    loud(device, mode);
    if (status == GDR_OK)
        *ops = &gdr_ucx_ops;
    return status;
}
