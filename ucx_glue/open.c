#include "ucx_glue/ucx.h"

#include <stdlib.h>
#include <time.h>

gdr_status_t gdr_ucx_failed(const gdr_log_t *log, const char *what, ucs_status_t status)
{
    gdr_error(log, "%s failed: %s (UCX %s)", what, ucs_status_string(status),
              ucp_get_version_string());
    switch (status) {
    case UCS_ERR_NO_MEMORY:
        return GDR_ERR_NO_MEMORY;
    case UCS_ERR_UNSUPPORTED:
        return GDR_ERR_UNSUPPORTED;
    case UCS_ERR_UNREACHABLE:
        return GDR_ERR_UNREACHABLE;
    default:
        return GDR_ERR_NET;
    }
}

bool gdr_ucx_enter(const gdr_net_t *net, uint64_t owner)
{
    const gdr_ucx_device_t *device = net->params.device;

    return device != NULL && device->enter(owner != 0 ? owner : device->home());
}

bool gdr_ucx_enter_if_old(const gdr_net_t *net, uint64_t owner)
{
    return net->needs_context && gdr_ucx_enter(net, owner != 0 ? owner : net->owner);
}

void gdr_ucx_leave(const gdr_net_t *net, bool entered)
{
    if (entered)
        net->params.device->leave();
}

gdr_status_t gdr_ucx_check_version(const gdr_ucx_params_t *params, const gdr_log_t *log)
{
    unsigned major, minor, release;

    if (params->abi != GDR_UCX_ABI) {
        gdr_error(log,
                  "gdr_ucx.so has interface %d, the plugin wants %u: they are of different "
                  "builds",
                  GDR_UCX_ABI, params->abi);
        return GDR_ERR_VERSION;
    }
    ucp_get_version(&major, &minor, &release);
    if (major == GDR_UCX_MIN_MAJOR && minor >= GDR_UCX_MIN_MINOR)
        return GDR_OK;
    gdr_error(log, "UCX %u.%u.%u is in the process, %d.%d or newer is needed", major, minor,
              release, GDR_UCX_MIN_MAJOR, GDR_UCX_MIN_MINOR);
    return GDR_ERR_VERSION;
}

static double seconds(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

/* Endpoints that peers keep from closing go away with the worker. */
void gdr_ucx_close(gdr_net_t *net)
{
    double end = seconds() + 1.0;
    bool entered = gdr_ucx_enter(net, 0);

    if (net->self != NULL)
        gdr_ucx_disconnect(net->self);
    while (net->closing != NULL && seconds() < end)
        gdr_ucx_progress(net);
    while (net->closing != NULL) {
        gdr_ucx_closing_t *closing = net->closing;
        net->closing = closing->next;
        ucp_request_free(closing->request);
        free(closing);
    }
    gdr_ucx_drop_all(&net->kept);
    ucp_worker_release_address(net->worker, net->address);
    ucp_worker_destroy(net->worker);
    ucp_cleanup(net->context);
    gdr_ucx_leave(net, entered);
    while (net->verifies != NULL) {
        gdr_ucx_verify_t *verify = net->verifies;
        net->verifies = verify->next;
        free(verify);
    }
    free(net);
}

static gdr_status_t create_worker(gdr_net_t *net)
{
    /* The engine makes one call at a time, from any thread. */
    ucp_worker_params_t params = {
        .field_mask = UCP_WORKER_PARAM_FIELD_THREAD_MODE,
        .thread_mode = UCS_THREAD_MODE_SERIALIZED,
    };
    ucp_address_t *address;
    ucs_status_t status = ucp_worker_create(net->context, &params, &net->worker);

    if (status != UCS_OK)
        return gdr_ucx_failed(net->log, "ucp_worker_create", status);
    status = ucp_worker_get_address(net->worker, &address, &net->address_bytes);
    if (status != UCS_OK) {
        ucp_worker_destroy(net->worker);
        return gdr_ucx_failed(net->log, "ucp_worker_get_address", status);
    }
    net->address = address;
    return GDR_OK;
}

/* Before this version cuda_ipc makes its streams for the first context that it meets, no other. */
#define SEVERAL_DEVICES_MINOR 19
/* From this version on UCX finds the context of a put by itself. */
#define FINDS_CONTEXTS_MINOR 20
/* From this version on ucp_rkey_ptr knows cuda_ipc. */
#define MAPS_WINDOWS_MINOR 21

static gdr_status_t start(gdr_net_t *net)
{
    unsigned major, minor, release;
    gdr_status_t status = gdr_ucx_context_create(net->log, net->params.host_windows, &net->context);

    if (status != GDR_OK)
        return status;
    status = create_worker(net);
    if (status != GDR_OK)
        ucp_cleanup(net->context);
    ucp_get_version(&major, &minor, &release);
    net->maps_windows = major > 1 || minor >= MAPS_WINDOWS_MINOR;
    net->needs_context = major == 1 && minor < FINDS_CONTEXTS_MINOR;
    net->one_device = major == 1 && minor < SEVERAL_DEVICES_MINOR;
    return status;
}

gdr_status_t gdr_ucx_start(const gdr_ucx_params_t *params, const gdr_log_t *log, gdr_net_t **out)
{
    gdr_status_t status;
    gdr_net_t *net = calloc(1, sizeof(*net));
    bool entered;

    if (net == NULL) {
        gdr_error(log, "no memory for the network");
        return GDR_ERR_NO_MEMORY;
    }
    net->log = log;
    net->params = *params;
    net->counters = params->counters != NULL ? params->counters : &net->no_counters;
    entered = gdr_ucx_enter(net, 0);
    status = start(net);
    gdr_ucx_leave(net, entered);
    if (status != GDR_OK) {
        free(net);
        return status;
    }
    gdr_info(log, "UCX %s: worker address %zu bytes", ucp_get_version_string(), net->address_bytes);
    *out = net;
    return GDR_OK;
}
