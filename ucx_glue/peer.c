/* Connections. */
#include "ucx_glue/ucx.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void gdr_ucx_on_lost(gdr_net_t *net, void (*lost)(void *ctx), void *ctx)
{
    net->lost = lost;
    net->lost_ctx = ctx;
}

/* Called by UCX inside progress: marks, posts nothing. The endpoint's parts, and with cuda_ipc's
 * all that is mapped of the peer, are destroyed by a later progress. */
static void peer_failed(void *arg, ucp_ep_h ep, ucs_status_t status)
{
    gdr_net_peer_t *peer = arg;

    (void)ep;
    peer->status = gdr_ucx_failed(peer->net->log, "the connection to a peer", status);
    if (peer->status != GDR_ERR_UNREACHABLE)
        peer->status = GDR_ERR_NET;
    if (peer->net->lost != NULL)
        peer->net->lost(peer->net->lost_ctx);
}

static ucs_status_t create_ep(gdr_net_peer_t *peer, const void *address)
{
    ucp_ep_params_t params = {
        .field_mask = UCP_EP_PARAM_FIELD_REMOTE_ADDRESS,
        .address = address,
        .err_mode = UCP_ERR_HANDLING_MODE_PEER,
        .err_handler = {.cb = peer_failed, .arg = peer},
    };
    ucs_status_t status = UCS_ERR_UNREACHABLE;

    if (!peer->net->params.no_peer_errors) {
        params.field_mask |= UCP_EP_PARAM_FIELD_ERR_HANDLING_MODE | UCP_EP_PARAM_FIELD_ERR_HANDLER;
        status = ucp_ep_create(peer->net->worker, &params, &peer->ep);
    }
    peer->reports_errors = status == UCS_OK;
    if (status != UCS_ERR_UNREACHABLE)
        return status;
    params.field_mask = UCP_EP_PARAM_FIELD_REMOTE_ADDRESS;
    return ucp_ep_create(peer->net->worker, &params, &peer->ep);
}

#define MAX_TRANSPORTS 32

/* cuda_ipc does not say before a key is there whether it reaches the peer's device. */
static bool is_ipc(const char *name)
{
    return strncmp(name, "cuda_ipc", strlen("cuda_ipc")) == 0;
}

/* Whether a network moves device memory without the CPU. */
static bool is_direct(const char *name)
{
    static const char *const prefixes[] = {"rc_", "dc_", "gga_", "srd"};

    for (size_t i = 0; i < sizeof(prefixes) / sizeof(prefixes[0]); i++)
        if (strncmp(name, prefixes[i], strlen(prefixes[i])) == 0)
            return true;
    return false;
}

/* Which path runs, and why not a better one: once for the first peer and the first slow one. */
static void say_transports(gdr_net_peer_t *peer)
{
    ucp_transport_entry_t entries[MAX_TRANSPORTS] = {{NULL, NULL}};
    ucp_ep_attr_t attr = {
        .field_mask = UCP_EP_ATTR_FIELD_TRANSPORTS,
        .transports = {entries, MAX_TRANSPORTS, sizeof(entries[0])},
    };
    gdr_net_t *net = peer->net;
    char names[512] = "";
    bool direct = false, ipc = false;

    if (ucp_ep_query(peer->ep, &attr) != UCS_OK)
        return;
    for (unsigned i = 0; i < attr.transports.num_entries && i < MAX_TRANSPORTS; i++) {
        size_t used = strlen(names);
        direct |= is_direct(entries[i].transport_name);
        ipc |= is_ipc(entries[i].transport_name);
        snprintf(names + used, sizeof(names) - used, "%s%s/%s", used ? " " : "",
                 entries[i].transport_name, entries[i].device_name);
    }
    GDR_LOG(net->log, net->transports_said ? GDR_LOG_DEBUG : GDR_LOG_INFO,
            "connection to a peer: %s%s", names,
            peer->reports_errors ? "" : "; it does not report errors");
    net->transports_said = true;
    peer->has_rdma = direct;
    peer->only_ipc = ipc && !direct && !net->params.host_windows;
    if (!direct && !ipc && !net->emulates && !net->params.host_windows) {
        gdr_warn(net->log,
                 "UCX has neither cuda_ipc nor GPUDirect RDMA to a peer (only %s): device "
                 "memory passes through host memory",
                 names);
        net->emulates = true;
    }
}

static void say_unreachable(const gdr_net_t *net, ucs_status_t status)
{
    const char *tls = getenv("UCX_TLS"), *devices = getenv("UCX_NET_DEVICES");

    if (status == UCS_ERR_UNREACHABLE)
        gdr_warn(
            net->log,
            "UCX has no transport to a peer with UCX_TLS=%s and UCX_NET_DEVICES=%s: unset them, "
            "or add sm (same node), rc or tcp to UCX_TLS",
            tls != NULL ? tls : "(not set)", devices != NULL ? devices : "(not set)");
}

gdr_status_t gdr_ucx_peer_create(gdr_net_t *net, const void *address, size_t bytes,
                                 gdr_net_peer_t **out)
{
    gdr_net_peer_t *peer;
    ucs_status_t status;

    if (address == NULL || bytes == 0) {
        gdr_error(net->log, "no address to connect to");
        return GDR_ERR_INVALID;
    }
    peer = calloc(1, sizeof(*peer));
    if (peer == NULL) {
        gdr_error(net->log, "no memory for a peer");
        return GDR_ERR_NO_MEMORY;
    }
    peer->net = net;
    status = create_ep(peer, address);
    if (status != UCS_OK) {
        free(peer);
        say_unreachable(net, status);
        return gdr_ucx_failed(net->log, "ucp_ep_create", status);
    }
    *out = peer;
    return GDR_OK;
}

gdr_status_t gdr_ucx_connect(gdr_net_t *net, const void *address, size_t bytes,
                             gdr_net_peer_t **peer)
{
    bool entered = gdr_ucx_enter(net, 0);
    gdr_status_t status = gdr_ucx_peer_create(net, address, bytes, peer);

    gdr_ucx_leave(net, entered);
    if (status == GDR_OK)
        say_transports(*peer);
    return status;
}

/* Only endpoints that report errors may be closed without the peer. */
void gdr_ucx_disconnect(gdr_net_peer_t *peer)
{
    ucp_request_param_t param = {
        .op_attr_mask = UCP_OP_ATTR_FIELD_FLAGS,
        .flags = peer->reports_errors ? UCP_EP_CLOSE_FLAG_FORCE : 0,
    };
    gdr_net_t *net = peer->net;
    gdr_ucx_closing_t *closing;
    void *request;

    if (peer->ops == NULL)
        gdr_ucx_drop_all(&peer->released);
    while (peer->released != NULL) {
        gdr_net_rmem_t *rmem = peer->released;
        peer->released = rmem->next;
        gdr_ucx_keep(rmem);
    }
    gdr_ucx_abandon(peer, GDR_ERR_ABORTED);
    request = ucp_ep_close_nbx(peer->ep, &param);
    free(peer);
    if (UCS_PTR_IS_ERR(request))
        gdr_debug(net->log, "ucp_ep_close_nbx: %s", ucs_status_string(UCS_PTR_STATUS(request)));
    if (!UCS_PTR_IS_PTR(request))
        return;
    closing = calloc(1, sizeof(*closing));
    if (closing == NULL) {
        ucp_request_free(request); /* it goes on by itself */
        return;
    }
    closing->request = request;
    closing->next = net->closing;
    net->closing = closing;
}

void gdr_ucx_reap(gdr_net_t *net)
{
    for (gdr_ucx_closing_t **link = &net->closing; *link != NULL;) {
        gdr_ucx_closing_t *closing = *link;
        if (ucp_request_check_status(closing->request) == UCS_INPROGRESS) {
            link = &closing->next;
            continue;
        }
        *link = closing->next;
        ucp_request_free(closing->request);
        free(closing);
    }
}

gdr_status_t gdr_ucx_peer_status(const gdr_net_peer_t *peer)
{
    return peer->status;
}
