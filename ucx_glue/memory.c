/* Regions of this process and of peers. */
#include "ucx_glue/ucx.h"

#include <stdlib.h>
#include <string.h>

#define PACK_MAGIC 0x67647231u /* "gdr1" */

/* What goes before a remote key, in native byte order: a job does not mix them. */
typedef struct packed_head {
    uint32_t magic;
    uint16_t device;
    uint16_t key_bytes; /* what follows */
    uint64_t address, bytes;
} packed_head_t;

static gdr_net_mem_t *mem_new(gdr_net_t *net)
{
    gdr_net_mem_t *mem = calloc(1, sizeof(*mem));

    if (mem == NULL)
        gdr_error(net->log, "no memory for a region");
    else
        mem->net = net;
    return mem;
}

/* Fills address, bytes and type from what UCX made of the mapping. */
static gdr_status_t query(gdr_net_mem_t *mem)
{
    ucp_mem_attr_t attr = {.field_mask = UCP_MEM_ATTR_FIELD_ADDRESS | UCP_MEM_ATTR_FIELD_LENGTH |
                                         UCP_MEM_ATTR_FIELD_MEM_TYPE};
    ucs_status_t status = ucp_mem_query(mem->memh, &attr);

    if (status != UCS_OK)
        return gdr_ucx_failed(mem->net->log, "ucp_mem_query", status);
    mem->type = attr.mem_type;
    if (mem->address == 0)
        mem->address = (uint64_t)(uintptr_t)attr.address;
    return GDR_OK;
}

static gdr_status_t check_type(const gdr_net_mem_t *mem, ucs_memory_type_t wanted)
{
    if (mem->type == wanted)
        return GDR_OK;
    gdr_error(mem->net->log, "UCX takes the region at 0x%llx, %llu bytes, for %s memory, not %s",
              (unsigned long long)mem->address, (unsigned long long)mem->bytes,
              ucs_memory_type_names[mem->type], ucs_memory_type_names[wanted]);
    return GDR_ERR_UNSUPPORTED;
}

static gdr_status_t map_region(gdr_net_mem_t *mem, const ucp_mem_map_params_t *params)
{
    ucs_status_t status = ucp_mem_map(mem->net->context, params, &mem->memh);
    gdr_status_t result;

    if (status != UCS_OK) {
        gdr_error(mem->net->log, "no registration of %zu bytes of %s memory", params->length,
                  ucs_memory_type_names[params->memory_type]);
        return gdr_ucx_failed(mem->net->log, "ucp_mem_map", status);
    }
    mem->bytes = params->length;
    result = query(mem);
    if (result == GDR_OK)
        result = check_type(mem, params->memory_type);
    if (result != GDR_OK)
        ucp_mem_unmap(mem->net->context, mem->memh);
    return result;
}

/* The first window shows whether UCX moves bytes of such memory. */
static gdr_status_t map_and_check(gdr_net_mem_t *mem, const ucp_mem_map_params_t *params)
{
    gdr_net_t *net = mem->net;
    gdr_status_t status = map_region(mem, params);

    if (status != GDR_OK || net->windows_checked)
        return status;
    status = gdr_ucx_check_window(mem);
    if (status != GDR_OK)
        ucp_mem_unmap(net->context, mem->memh);
    net->windows_checked = status == GDR_OK;
    return status;
}

static bool is_second_device(gdr_net_t *net, uint64_t owner)
{
    if (!net->one_device || net->owner == 0 || net->owner == owner)
        return false;
    GDR_LOG(net->log, net->one_device_said ? GDR_LOG_DEBUG : GDR_LOG_WARN,
            "UCX %s serves one device of a process, 1.19 and newer ones serve several",
            ucp_get_version_string());
    net->one_device_said = true;
    return true;
}

gdr_status_t gdr_ucx_register_device(gdr_net_t *net, uint64_t address, size_t bytes,
                                     gdr_net_mem_t **out)
{
    ucp_mem_map_params_t params = {
        .field_mask = UCP_MEM_MAP_PARAM_FIELD_ADDRESS | UCP_MEM_MAP_PARAM_FIELD_LENGTH |
                      UCP_MEM_MAP_PARAM_FIELD_MEMORY_TYPE,
        .address = (void *)(uintptr_t)address,
        .length = bytes,
        .memory_type = net->params.host_windows ? UCS_MEMORY_TYPE_HOST : UCS_MEMORY_TYPE_CUDA,
    };
    gdr_net_mem_t *mem = mem_new(net);
    gdr_status_t status;
    bool entered;

    if (mem == NULL)
        return GDR_ERR_NO_MEMORY;
    mem->device = true;
    mem->address = address;
    mem->owner = net->params.device != NULL ? net->params.device->owner(address) : 0;
    if (is_second_device(net, mem->owner)) {
        free(mem);
        return GDR_ERR_UNSUPPORTED;
    }
    entered = gdr_ucx_enter(net, mem->owner);
    status = map_and_check(mem, &params);
    gdr_ucx_leave(net, entered);
    if (status != GDR_OK) {
        free(mem);
        return status;
    }
    net->owner = mem->owner;
    *out = mem;
    return GDR_OK;
}

gdr_status_t gdr_ucx_alloc_host(gdr_net_t *net, size_t bytes, void **address, gdr_net_mem_t **out)
{
    ucp_mem_map_params_t params = {
        .field_mask = UCP_MEM_MAP_PARAM_FIELD_LENGTH | UCP_MEM_MAP_PARAM_FIELD_FLAGS |
                      UCP_MEM_MAP_PARAM_FIELD_MEMORY_TYPE,
        .length = bytes,
        .flags = UCP_MEM_MAP_ALLOCATE,
        .memory_type = UCS_MEMORY_TYPE_HOST,
    };
    gdr_net_mem_t *mem = mem_new(net);
    gdr_status_t status;
    bool entered;

    if (mem == NULL)
        return GDR_ERR_NO_MEMORY;
    entered = gdr_ucx_enter(net, 0);
    status = map_region(mem, &params);
    gdr_ucx_leave(net, entered);
    if (status != GDR_OK) {
        free(mem);
        return status;
    }
    memset((void *)(uintptr_t)mem->address, 0, bytes);
    *address = (void *)(uintptr_t)mem->address;
    *out = mem;
    return GDR_OK;
}

void gdr_ucx_deregister(gdr_net_t *net, gdr_net_mem_t *mem)
{
    bool entered = gdr_ucx_enter(net, mem->owner);
    ucs_status_t status = ucp_mem_unmap(net->context, mem->memh);

    gdr_ucx_leave(net, entered);
    if (status != UCS_OK)
        gdr_ucx_failed(net->log, "ucp_mem_unmap", status);
    free(mem);
}

gdr_status_t gdr_ucx_pack(gdr_net_mem_t *mem, void *buffer, size_t *bytes)
{
    packed_head_t head = {
        .magic = PACK_MAGIC, .device = mem->device, .address = mem->address, .bytes = mem->bytes};
    size_t capacity = *bytes, length;
    bool entered = gdr_ucx_enter(mem->net, mem->owner);
    void *key;
    ucs_status_t status = ucp_rkey_pack(mem->net->context, mem->memh, &key, &length);

    gdr_ucx_leave(mem->net, entered);
    if (status != UCS_OK)
        return gdr_ucx_failed(mem->net->log, "ucp_rkey_pack", status);
    head.key_bytes = (uint16_t)length;
    *bytes = sizeof(head) + length;
    if (capacity >= *bytes) {
        memcpy(buffer, &head, sizeof(head));
        memcpy((char *)buffer + sizeof(head), key, length);
    }
    ucp_rkey_buffer_release(key);
    return capacity >= *bytes ? GDR_OK : GDR_ERR_INVALID;
}

/* UCX's own unpacking does not know how long the key is: everything is checked here. */
static gdr_status_t read_head(const gdr_log_t *log, const void *packed, size_t bytes,
                              packed_head_t *head)
{
    if (bytes > sizeof(*head)) {
        memcpy(head, packed, sizeof(*head));
        if (head->magic == PACK_MAGIC && head->key_bytes == bytes - sizeof(*head))
            return GDR_OK;
    }
    gdr_error(log,
              "the %zu bytes that should describe a peer's region are cut short, or are not from a "
              "gdr_ucx of this version",
              bytes);
    return GDR_ERR_INVALID;
}

static void append(gdr_net_rmem_t **list, gdr_net_rmem_t *rmem)
{
    rmem->next = *list;
    *list = rmem;
}

void gdr_ucx_release(gdr_net_rmem_t *rmem)
{
    gdr_net_rmem_t *alone = NULL;

    append(rmem->peer->ops != NULL ? &rmem->peer->released : &alone, rmem);
    gdr_ucx_drop_all(&alone);
}

void gdr_ucx_keep(gdr_net_rmem_t *rmem)
{
    append(&rmem->peer->net->kept, rmem);
}

void gdr_ucx_drop_all(gdr_net_rmem_t **list)
{
    while (*list != NULL) {
        gdr_net_rmem_t *rmem = *list;
        *list = rmem->next;
        ucp_rkey_destroy(rmem->rkey);
        free(rmem);
    }
}

gdr_status_t gdr_ucx_map(gdr_net_rmem_t *rmem, uint64_t *address)
{
    const gdr_net_t *net = rmem->peer->net;
    void *local = NULL;
    ucs_status_t status;
    bool entered;

    if (!rmem->device)
        return GDR_ERR_UNSUPPORTED;
    entered = gdr_ucx_enter(net, rmem->from);
    status = ucp_rkey_ptr(rmem->rkey, rmem->address, &local);
    gdr_ucx_leave(net, entered);
    if (status != UCS_OK) {
        gdr_debug(net->log, "a peer's window cannot be mapped: %s", ucs_status_string(status));
        return GDR_ERR_UNSUPPORTED;
    }
    *address = (uint64_t)(uintptr_t)local;
    return GDR_OK;
}

/* Where cuda_ipc does not reach the peer's device UCX takes puts through the host, and does not say
 * so. */
static void check_reach(gdr_net_rmem_t *rmem)
{
    gdr_net_t *net = rmem->peer->net;
    uint64_t address;

    if (net->emulates || !net->maps_windows || gdr_ucx_map(rmem, &address) == GDR_OK)
        return;
    gdr_warn(net->log, "UCX cannot map a window of a peer on this node (no peer access between the "
                       "devices, or no CUDA IPC here): device memory passes through host memory");
    net->emulates = true;
}

/* UCX takes cuda_ipc into the key if the device that is current here reaches the peer's, not the
 * one that a put comes from. */
gdr_status_t gdr_ucx_import(gdr_net_peer_t *peer, const gdr_net_mem_t *from, const void *packed,
                            size_t bytes, gdr_net_rmem_t **out)
{
    const gdr_log_t *log = peer->net->log;
    gdr_net_rmem_t *rmem;
    packed_head_t head;
    gdr_status_t result = read_head(log, packed, bytes, &head);
    ucs_status_t status;
    bool entered;

    if (result != GDR_OK)
        return result;
    rmem = calloc(1, sizeof(*rmem));
    if (rmem == NULL) {
        gdr_error(log, "no memory for a peer's region");
        return GDR_ERR_NO_MEMORY;
    }
    rmem->from = from->owner;
    entered = gdr_ucx_enter(peer->net, rmem->from);
    status = ucp_ep_rkey_unpack(peer->ep, (const char *)packed + sizeof(head), &rmem->rkey);
    gdr_ucx_leave(peer->net, entered);
    if (status != UCS_OK) {
        free(rmem);
        return gdr_ucx_failed(log, "ucp_ep_rkey_unpack", status);
    }
    rmem->peer = peer;
    rmem->address = head.address;
    rmem->bytes = head.bytes;
    rmem->device = head.device != 0;
    if (rmem->device && peer->only_ipc)
        check_reach(rmem);
    *out = rmem;
    return GDR_OK;
}
