/*
 * Does UCX really move bytes of this memory? A pattern goes from the host into the region, inside
 * it, and back, over a connection of this process to itself; the CPU, which cannot look into device
 * memory, compares it here.
 */
#include "ucx_glue/ucx.h"

#include <string.h>
#include <time.h>

#define CHECK_BYTES   GDR_UCX_CHECK_BYTES
#define CHECK_SECONDS 5.0

typedef struct check {
    gdr_net_mem_t *mem;
    gdr_net_rmem_t *rmem;
    bool late; /* an operation has not ended: UCX may still use what it was given */
    unsigned char *pattern, *back;
} check_t;

static double seconds(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static ucs_status_t wait_for(check_t *check, void *request)
{
    gdr_net_t *net = check->mem->net;
    double end = seconds() + CHECK_SECONDS;
    ucs_status_t status = UCS_PTR_STATUS(request);

    if (!UCS_PTR_IS_PTR(request))
        return status;
    do {
        ucp_worker_progress(net->worker);
        status = ucp_request_check_status(request);
    } while (status == UCS_INPROGRESS && seconds() < end);
    ucp_request_free(request);
    check->late = status == UCS_INPROGRESS;
    return status == UCS_INPROGRESS ? UCS_ERR_TIMED_OUT : status;
}

static ucs_status_t flush(check_t *check)
{
    ucp_request_param_t param = {.op_attr_mask = 0};

    return wait_for(check, ucp_ep_flush_nbx(check->rmem->peer->ep, &param));
}

static ucs_status_t put(check_t *check, const void *source, ucs_memory_type_t type, uint64_t offset)
{
    ucp_request_param_t param = {.op_attr_mask = UCP_OP_ATTR_FIELD_MEMORY_TYPE,
                                 .memory_type = type};
    ucs_status_t status =
        wait_for(check, ucp_put_nbx(check->rmem->peer->ep, source, CHECK_BYTES,
                                    check->mem->address + offset, check->rmem->rkey, &param));

    return status == UCS_OK ? flush(check) : status;
}

static ucs_status_t get(check_t *check, uint64_t offset)
{
    ucp_request_param_t param = {.op_attr_mask = 0};

    return wait_for(check, gdr_ucx_get(check->rmem, check->mem->address + offset, check->back,
                                       CHECK_BYTES, &param));
}

static ucs_status_t round_trip(check_t *check)
{
    const void *inside = (const void *)(uintptr_t)check->mem->address;
    ucs_status_t status = put(check, check->pattern, UCS_MEMORY_TYPE_HOST, 0);

    if (status == UCS_OK)
        status = put(check, inside, check->mem->type, CHECK_BYTES);
    if (status == UCS_OK)
        status = get(check, CHECK_BYTES);
    return status;
}

static ucs_status_t wipe(check_t *check)
{
    static const unsigned char zeros[CHECK_BYTES];
    ucs_status_t status = put(check, zeros, UCS_MEMORY_TYPE_HOST, 0);

    return status == UCS_OK ? put(check, zeros, UCS_MEMORY_TYPE_HOST, CHECK_BYTES) : status;
}

static gdr_status_t run(check_t *check)
{
    const gdr_log_t *log = check->mem->net->log;
    ucs_status_t status;

    for (unsigned i = 0; i < CHECK_BYTES; i++)
        check->pattern[i] = (unsigned char)(0xa5 ^ (i * 37));
    status = round_trip(check);
    if (status != UCS_OK)
        return gdr_ucx_failed(log, "UCX's access to this process's own window", status);
    if (memcmp(check->pattern, check->back, CHECK_BYTES) != 0) {
        gdr_error(log,
                  "UCX %s put %u bytes into this process's own window and says that it is "
                  "done, but other bytes come back",
                  ucp_get_version_string(), CHECK_BYTES);
        return GDR_ERR_NET;
    }
    status = wipe(check);
    if (status != UCS_OK)
        return gdr_ucx_failed(log, "UCX's access to this process's own window", status);
    gdr_debug(log, "UCX moves bytes of the window: checked by put and get");
    return GDR_OK;
}

/*
 * Whatever type a put names, UCX goes by what it has seen of the memory; without its hooks in the
 * driver it has seen nothing, and the CPU would touch device memory.
 */
static gdr_status_t check_seen(const gdr_net_mem_t *mem)
{
    ucp_mem_map_params_t params = {.field_mask = UCP_MEM_MAP_PARAM_FIELD_ADDRESS |
                                                 UCP_MEM_MAP_PARAM_FIELD_LENGTH,
                                   .address = (void *)(uintptr_t)mem->address,
                                   .length = mem->bytes};
    ucp_mem_attr_t attr = {.field_mask = UCP_MEM_ATTR_FIELD_MEM_TYPE};
    ucp_mem_h memh;
    ucs_status_t status = ucp_mem_map(mem->net->context, &params, &memh);

    if (status == UCS_OK) {
        status = ucp_mem_query(memh, &attr);
        ucp_mem_unmap(mem->net->context, memh);
    }
    /* one that cannot be mapped so is no answer */
    if (status != UCS_OK || attr.mem_type == mem->type)
        return GDR_OK;
    gdr_error(
        mem->net->log,
        "UCX %s does not see that the window is %s memory: its module libucm_cuda is missing, "
        "or does not load because its libcudart is missing; with UCX_MEMTYPE_CACHE=n it needs "
        "neither",
        ucp_get_version_string(), ucs_memory_type_names[mem->type]);
    return GDR_ERR_UNSUPPORTED;
}

gdr_status_t gdr_ucx_check_window(gdr_net_mem_t *mem)
{
    gdr_ucx_check_t *bytes = &mem->net->check;
    check_t check = {.mem = mem, .pattern = bytes->pattern, .back = bytes->back};
    gdr_status_t status;

    if (mem->bytes < 2 * (uint64_t)CHECK_BYTES)
        return GDR_OK;
    status = check_seen(mem);
    if (status == GDR_OK)
        status = gdr_ucx_import_own(mem, &check.rmem);
    if (status != GDR_OK)
        return status;
    status = run(&check);
    if (check.late)
        gdr_ucx_keep(check.rmem);
    else
        gdr_ucx_release(check.rmem);
    return status;
}
