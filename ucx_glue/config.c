/* The configuration and the context that gdr makes for itself. */
#include "ucx_glue/ucx.h"

#include <dirent.h>
#include <stdlib.h>

#define CUDA_BITS (UCS_BIT(UCS_MEMORY_TYPE_CUDA))

typedef struct setting {
    const char *name, *value;
    bool late;             /* of a module that may be loaded by ucp_init() only */
    bool (*applies)(void); /* NULL: always. Some versions of UCX warn of what they do not use */
} setting_t;

static bool has_posix(void)
{
    return gdr_ucx_tls_has_posix(getenv("UCX_TLS"));
}

/* Whether there is an RDMA device here. */
static bool has_rdma(void)
{
    DIR *dir = opendir("/sys/class/infiniband");
    struct dirent *entry;
    bool found = false;

    if (dir == NULL)
        return false;
    while (!found && (entry = readdir(dir)) != NULL)
        found = entry->d_name[0] != '.';
    closedir(dir);
    return found;
}

static bool keepalive_is_ours(void)
{
    return getenv("UCX_KEEPALIVE_INTERVAL") == NULL;
}

/*
 * allocation: the control page comes from posix shared memory, which endpoints that report errors
 * can write into directly; UCX's own choice, sysv, is emulated there.
 * registration cache: it does not notice cudaDeviceReset and would give a new window at an old
 * address the old window's keys; windows are registered once, there is nothing to cache.
 * fences: none is used, but an ucp_worker_fence() of UCX's own must not be a weak one.
 * protocols: the old ones touch device memory with memcpy.
 * keepalive: shared memory notices only then that a peer is dead; UCX's own 20 s are long.
 * posix: without this, shared memory is left out of endpoints that report errors.
 * relaxed ordering: a word could reach the GPU before the data that an earlier RDMA write brought.
 */
static const setting_t settings[] = {
    {"ALLOC_PRIO", "md:posix,thp,md:*,mmap,heap", false, NULL},
    {"RCACHE_ENABLE", "n", false, NULL},
    {"FENCE_MODE", "strong", false, NULL},
    {"PROTO_ENABLE", "y", false, NULL},
    {"KEEPALIVE_INTERVAL", "2s", false, keepalive_is_ours},
    {"POSIX_ERROR_HANDLING", "y", true, has_posix},
    {"IB_PCI_RELAXED_ORDERING", "n", true, has_rdma},
};
#define SETTINGS (sizeof(settings) / sizeof(settings[0]))

/* Sets what UCX knows by now; a bit per setting that it did not take. */
static unsigned apply_settings(ucp_config_t *config)
{
    unsigned refused = 0;

    for (unsigned i = 0; i < SETTINGS; i++)
        if ((settings[i].applies == NULL || settings[i].applies()) &&
            ucp_config_modify(config, settings[i].name, settings[i].value) != UCS_OK)
            refused |= 1u << i;
    return refused;
}

/* Whether UCX takes now, with its modules loaded, a setting that it refused before. */
static bool accepts_more(ucp_config_t *config, unsigned refused)
{
    for (unsigned i = 0; i < SETTINGS; i++)
        if ((refused & (1u << i)) && settings[i].late &&
            ucp_config_modify(config, settings[i].name, settings[i].value) == UCS_OK)
            return true;
    return false;
}

static void apply_tls(const gdr_log_t *log, ucp_config_t *config)
{
    const char *tls = getenv("UCX_TLS");
    char value[1024];

    switch (gdr_ucx_tls_fix(tls, value, sizeof(value))) {
    case GDR_UCX_TLS_REPLACE:
        gdr_info(log, "UCX_TLS=%s leaves CUDA out: gdr's own UCX context uses %s", tls, value);
        if (ucp_config_modify(config, "TLS", value) != UCS_OK)
            gdr_warn(log, "UCX does not take %s as the list of transports", value);
        break;
    case GDR_UCX_TLS_NO_IPC:
        gdr_info(log, "UCX_TLS=%s is without cuda_ipc: no direct copies inside a node", tls);
        break;
    case GDR_UCX_TLS_TOO_LONG:
        gdr_warn(log, "UCX_TLS is longer than %zu characters: left as it is", sizeof(value));
        break;
    case GDR_UCX_TLS_KEEP:
        break;
    }
}

static ucs_status_t init_context(ucp_config_t *config, ucp_context_h *context)
{
    ucp_params_t params = {
        .field_mask = UCP_PARAM_FIELD_FEATURES | UCP_PARAM_FIELD_NAME,
        .features = UCP_FEATURE_RMA,
        .name = "gdr",
    };

    /* The oldest API that serves: newer headers on an older library would warn otherwise. */
    return ucp_init_version(GDR_UCX_MIN_MAJOR, GDR_UCX_MIN_MINOR, &params, config, context);
}

/* One try; *again: a setting came too late, so a second try has to be made. */
static gdr_status_t try_context(const gdr_log_t *log, bool first, bool *again,
                                ucp_context_h *context)
{
    ucp_config_t *config;
    unsigned refused;
    ucs_status_t status = ucp_config_read(NULL, NULL, &config);

    if (status != UCS_OK)
        return gdr_ucx_failed(log, "ucp_config_read", status);
    refused = apply_settings(config);
    apply_tls(first ? log : NULL, config);
    status = init_context(config, context);
    *again = first && status == UCS_OK && accepts_more(config, refused);
    ucp_config_release(config);
    return status == UCS_OK ? GDR_OK : gdr_ucx_failed(log, "ucp_init", status);
}

static gdr_status_t check_memory_types(const gdr_log_t *log, ucp_context_h context)
{
    ucp_context_attr_t attr = {.field_mask = UCP_ATTR_FIELD_MEMORY_TYPES};
    ucs_status_t status = ucp_context_query(context, &attr);

    if (status != UCS_OK)
        return gdr_ucx_failed(log, "ucp_context_query", status);
    if (attr.memory_types & CUDA_BITS)
        return GDR_OK;
    gdr_error(log,
              "UCX %s has no CUDA support here: its module libuct_cuda is missing, or does not "
              "load because libcuda.so.1 or libnvidia-ml.so.1 is missing, or UCX_TLS leaves it "
              "out",
              ucp_get_version_string());
    return GDR_ERR_UNSUPPORTED;
}

gdr_status_t gdr_ucx_context_create(const gdr_log_t *log, bool host_only, ucp_context_h *out)
{
    ucp_context_h context = NULL;
    bool again = false;
    gdr_status_t status = try_context(log, true, &again, &context);

    if (status != GDR_OK)
        return status;
    if (again) {
        ucp_cleanup(context);
        status = try_context(log, false, &again, &context);
        if (status != GDR_OK)
            return status;
    }
    status = host_only ? GDR_OK : check_memory_types(log, context);
    if (status != GDR_OK) {
        ucp_cleanup(context);
        return status;
    }
    *out = context;
    return GDR_OK;
}
