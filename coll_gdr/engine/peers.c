#include "base/gdr_math.h"
#include "engine/gdr_engine_priv.h"
#include "engine/gdr_messages.h"

#include <stdlib.h>
#include <string.h>

static gdr_proc_t **bucket_of(gdr_engine_t *engine, int proc)
{
    return &engine->procs[(unsigned)proc % GDR_TEAM_BUCKETS];
}

gdr_proc_t *gdr_proc_find(gdr_engine_t *engine, int proc)
{
    gdr_proc_t *found = *bucket_of(engine, proc);

    while (found != NULL && found->proc != proc)
        found = found->next;
    return found;
}

gdr_proc_t *gdr_proc_get(gdr_engine_t *engine, int proc)
{
    gdr_proc_t **bucket = bucket_of(engine, proc), *found = gdr_proc_find(engine, proc);

    if (found != NULL)
        return found;
    found = calloc(1, sizeof(*found));
    if (found == NULL)
        return NULL;
    found->proc = proc;
    found->next = *bucket;
    *bucket = found;
    return found;
}

static void proc_close(gdr_engine_t *engine, gdr_proc_t *proc)
{
    while (proc->windows != NULL) {
        gdr_rwindow_t *window = proc->windows;

        proc->windows = window->next;
        while (window->imports != NULL) {
            gdr_import_t *import = window->imports;

            window->imports = import->next;
            engine->net_ops->release(import->rmem);
            free(import);
        }
        free(window);
    }
    if (proc->page != NULL)
        engine->net_ops->release(proc->page);
    if (proc->peer != NULL)
        engine->net_ops->disconnect(proc->peer);
    free(proc->address);
    free(proc->parts);
    free(proc);
}

void gdr_procs_close(gdr_engine_t *engine)
{
    unsigned i;

    for (i = 0; i < GDR_TEAM_BUCKETS; i++) {
        while (engine->procs[i] != NULL) {
            gdr_proc_t *proc = engine->procs[i];

            engine->procs[i] = proc->next;
            proc_close(engine, proc);
        }
    }
}

static gdr_status_t announce_proc(gdr_engine_t *engine, gdr_proc_t *proc)
{
    gdr_proc_body_t *body = malloc(GDR_MESSAGE_TOTAL_MAX);
    size_t room = GDR_MESSAGE_TOTAL_MAX - sizeof(*body), address = room, page;
    gdr_status_t status;

    if (body == NULL)
        return GDR_ERR_NO_MEMORY;
    status = engine->net_ops->address(engine->net, body->data, &address);
    if (status == GDR_OK) {
        page = room - address;
        status = engine->net_ops->pack(engine->page_mem, body->data + address, &page);
    }
    if (status == GDR_OK) {
        body->address_bytes = (uint32_t)address;
        body->page_bytes = (uint32_t)page;
        status = gdr_message_send(engine, NULL, proc->proc, GDR_MESSAGE_PROC, body,
                                  sizeof(*body) + address + page);
    }
    free(body);
    proc->announced = status == GDR_OK;
    return status;
}

static gdr_status_t announce_window(gdr_engine_t *engine, gdr_proc_t *proc,
                                    const gdr_window_t *window)
{
    gdr_window_body_t *body = malloc(GDR_MESSAGE_TOTAL_MAX);
    size_t bytes = GDR_MESSAGE_TOTAL_MAX - sizeof(*body);
    gdr_status_t status;

    if (body == NULL)
        return GDR_ERR_NO_MEMORY;
    status = engine->net_ops->pack(window->mem, body->data, &bytes);
    if (status == GDR_OK) {
        body->id = window->id;
        body->bytes = (uint32_t)bytes;
        status = gdr_message_send(engine, NULL, proc->proc, GDR_MESSAGE_WINDOW, body,
                                  sizeof(*body) + bytes);
    }
    free(body);
    if (status == GDR_OK)
        proc->windows_sent[window->id / 64] |= 1ull << window->id % 64;
    return status;
}

/* What our flags shall be, for calls of either kind: the senders obey it. */
uint32_t gdr_peers_own_modes(const gdr_team_t *team)
{
    const gdr_engine_config_t *config = &team->engine->config;
    bool blocking, nonblocking;

    if (!team->device_flags || config->flags == GDR_FLAGS_HOST)
        return 0;
    if (config->flags == GDR_FLAGS_DEVICE)
        return GDR_MODE_BIT_BLOCKING | GDR_MODE_BIT_NONBLOCKING;
    nonblocking = config->stream_waits == GDR_MODE_ON;
    blocking = nonblocking || (config->stream_waits == GDR_MODE_AUTO && !config->thread_multiple);
    return (blocking ? GDR_MODE_BIT_BLOCKING : 0u) | (nonblocking ? GDR_MODE_BIT_NONBLOCKING : 0u);
}

static gdr_status_t push(gdr_team_t *team, gdr_member_t *member)
{
    gdr_engine_t *engine = team->engine;
    const gdr_window_t *window = team->lane->window;
    gdr_lane_body_t body = {window->id, gdr_peers_own_modes(team), team->lane->offset,
                            team->lane->ctl_index * engine->config.plan.ctl_bytes};
    gdr_status_t status = GDR_OK;

    if (!member->proc->announced)
        status = announce_proc(engine, member->proc);
    if (status == GDR_OK &&
        (member->proc->windows_sent[window->id / 64] >> window->id % 64 & 1) == 0)
        status = announce_window(engine, member->proc, window);
    if (status == GDR_OK)
        status = gdr_message_send(engine, team, member->proc->proc, GDR_MESSAGE_LANE, &body,
                                  sizeof(body));
    member->pushed = status == GDR_OK;
    return status;
}

static gdr_status_t connect_proc(gdr_engine_t *engine, gdr_proc_t *proc)
{
    gdr_status_t status = GDR_OK;

    if (proc->address == NULL) {
        gdr_error(engine->ports.log, "process %d announced a lane but no address", proc->proc);
        return GDR_ERR_NET;
    }
    if (proc->peer == NULL)
        status =
            engine->net_ops->connect(engine->net, proc->address, proc->address_bytes, &proc->peer);
    if (status == GDR_OK && proc->page == NULL)
        status = engine->net_ops->import(proc->peer, engine->page_mem,
                                         proc->address + proc->address_bytes, proc->page_bytes,
                                         &proc->page);
    return status;
}

static gdr_status_t import_from(const gdr_team_t *team, gdr_proc_t *proc, gdr_rwindow_t *window,
                                gdr_import_t **out)
{
    gdr_import_t *import = window->imports;
    gdr_status_t status;

    while (import != NULL && import->from != team->device)
        import = import->next;
    if (import != NULL) {
        *out = import;
        return GDR_OK;
    }
    import = calloc(1, sizeof(*import));
    if (import == NULL)
        return GDR_ERR_NO_MEMORY;
    status = team->engine->net_ops->import(proc->peer, team->lane->window->mem, window->packed,
                                           window->bytes, &import->rmem);
    if (status != GDR_OK) {
        free(import);
        return status;
    }
    import->from = team->device;
    import->next = window->imports;
    window->imports = import;
    *out = import;
    return GDR_OK;
}

static gdr_status_t import_window(const gdr_team_t *team, gdr_proc_t *proc, uint32_t id,
                                  gdr_import_t **import)
{
    gdr_rwindow_t *window = proc->windows;

    while (window != NULL && window->id != id)
        window = window->next;
    if (window == NULL) {
        gdr_error(team->engine->ports.log,
                  "process %d announced a lane in window %u, which it did not "
                  "announce",
                  proc->proc, id);
        return GDR_ERR_NET;
    }
    return import_from(team, proc, window, import);
}

static gdr_status_t member_connect(const gdr_team_t *team, gdr_member_t *member)
{
    gdr_status_t status = connect_proc(team->engine, member->proc);
    gdr_import_t *import = NULL;

    if (status == GDR_OK)
        status = import_window(team, member->proc, member->window_id, &import);
    if (status != GDR_OK)
        return status;
    member->import = import;
    member->window = import->rmem;
    member->page = member->proc->page;
    member->ready = true;
    return GDR_OK;
}

bool gdr_peers_map(const gdr_engine_t *engine)
{
    return engine->config.mapped != GDR_MODE_OFF && !engine->maps_failed &&
           engine->net_ops->maps != NULL && engine->net_ops->maps(engine->net);
}

/* What all believed is not so: no call of this plan has begun here, and all vote again. */
static void map_failed(gdr_team_t *team, const gdr_member_t *member)
{
    gdr_info(team->engine->ports.log, "communicator %llu: the window of rank %d cannot be mapped",
             (unsigned long long)team->id, member->rank);
    team->engine->maps_failed = true;
    team->unmapped = true;
}

/* For kernels that read the member's window; false: there will be another epoch. */
static bool member_map(gdr_team_t *team, gdr_member_t *member)
{
    gdr_import_t *import = member->import;

    if (import->mapped != 0 || !gdr_topology_mapped(team->topology, team->rank, member->rank))
        return true;
    if (team->engine->net_ops->map(import->rmem, &import->mapped) == GDR_OK)
        return true;
    import->mapped = 0;
    map_failed(team, member);
    return false;
}

gdr_status_t gdr_peers_wire(gdr_team_t *team, gdr_planned_t *planned)
{
    gdr_status_t status = GDR_OK;
    bool waiting = false;
    uint32_t i;

    for (i = 0; i < planned->npeers && status == GDR_OK && !planned->wired; i++) {
        gdr_member_t *member = planned->peers[i];

        if (member->proc == NULL)
            member->proc = gdr_proc_get(team->engine, team->procs[member->rank]);
        if (member->proc == NULL)
            return GDR_ERR_NO_MEMORY;
        if (!member->pushed)
            status = push(team, member);
        if (status == GDR_OK && member->known && !member->ready)
            status = team->unreached = member_connect(team, member);
        if (status == GDR_OK && member->ready && planned->pulls && !member_map(team, member))
            status = GDR_ERR_UNSUPPORTED;
        waiting = waiting || !member->ready;
    }
    if (status != GDR_OK)
        return status;
    planned->wired = !waiting;
    return waiting ? GDR_INPROGRESS : GDR_OK;
}

gdr_status_t gdr_peers_on_proc(gdr_engine_t *engine, gdr_proc_t *proc, const void *payload,
                               size_t bytes)
{
    gdr_proc_body_t body;
    uint64_t length;

    (void)engine;
    if (bytes < sizeof(body))
        return GDR_ERR_INVALID;
    memcpy(&body, payload, sizeof(body));
    length = (uint64_t)body.address_bytes + body.page_bytes;
    /* Once: what an endpoint was made from does not change under it. */
    if (length != bytes - sizeof(body) || body.address_bytes == 0 || proc->address != NULL)
        return GDR_ERR_INVALID;
    proc->address = malloc(length);
    if (proc->address == NULL)
        return GDR_ERR_NO_MEMORY;
    memcpy(proc->address, (const uint8_t *)payload + sizeof(body), length);
    proc->address_bytes = body.address_bytes;
    proc->page_bytes = body.page_bytes;
    return GDR_OK;
}

gdr_status_t gdr_peers_on_window(gdr_engine_t *engine, gdr_proc_t *proc, const void *payload,
                                 size_t bytes)
{
    gdr_window_body_t body;
    gdr_rwindow_t *window;

    (void)engine;
    if (bytes < sizeof(body))
        return GDR_ERR_INVALID;
    memcpy(&body, payload, sizeof(body));
    if (body.bytes != bytes - sizeof(body))
        return GDR_ERR_INVALID;
    for (window = proc->windows; window != NULL; window = window->next) {
        if (window->id == body.id)
            return GDR_ERR_INVALID;
    }
    window = malloc(sizeof(*window) + body.bytes);
    if (window == NULL)
        return GDR_ERR_NO_MEMORY;
    window->id = body.id;
    window->bytes = body.bytes;
    window->imports = NULL;
    memcpy(window->packed, (const uint8_t *)payload + sizeof(body), body.bytes);
    window->next = proc->windows;
    proc->windows = window;
    return GDR_OK;
}

gdr_status_t gdr_peers_on_lane(gdr_team_t *team, int32_t rank, uint32_t epoch, const void *payload,
                               size_t bytes)
{
    gdr_member_t *member;
    gdr_lane_body_t body;

    /* Lanes are announced when all have voted, also we. */
    if (bytes != sizeof(body) || rank == team->rank || epoch > team->epoch)
        return GDR_ERR_INVALID;
    if (epoch < team->epoch)
        return GDR_OK;
    memcpy(&body, payload, sizeof(body));
    if (body.offset % GDR_SLOT_ALIGN != 0 ||
        body.ctl_offset % team->engine->config.plan.ctl_bytes != 0)
        return GDR_ERR_INVALID;
    member = gdr_member_get(team, rank);
    if (member == NULL)
        return GDR_ERR_NO_MEMORY;
    if (member->known)
        return GDR_ERR_INVALID;
    member->proc = gdr_proc_get(team->engine, team->procs[rank]);
    if (member->proc == NULL)
        return GDR_ERR_NO_MEMORY;
    member->window_id = body.window;
    member->offset = body.offset;
    member->ctl_offset = body.ctl_offset;
    member->modes = (uint8_t)body.modes;
    member->known = true;
    return GDR_OK;
}
