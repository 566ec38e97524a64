#include "mca/staging.h"

#include "device/gdr_device.h"

#include <string.h>

/* The bytes that `count` elements touch, from *low on. */
static void span(struct ompi_datatype_t *dtype, int count, ptrdiff_t *low, size_t *bytes)
{
    ptrdiff_t lb, extent, true_lb, true_extent, reach;
    size_t size;

    ompi_datatype_get_extent(dtype, &lb, &extent);
    *low = 0;
    *bytes = 0;
    ompi_datatype_type_size(dtype, &size);
    if (size == 0) /* no bytes; its bounds may be anything */
        return;
    ompi_datatype_get_true_extent(dtype, &true_lb, &true_extent);
    reach = (ptrdiff_t)(count - 1) * extent;
    *low = true_lb + (reach < 0 ? reach : 0);
    *bytes = (size_t)(true_extent + (reach < 0 ? -reach : reach));
}

static int copy_down(gdr_stage_t *stage, void *host, const void *device)
{
    uint64_t from = (uint64_t)(uintptr_t)device + (uint64_t)stage->low;
    gdr_status_t status = gdr_device_copy_out(&gdr_mca.log, host, from, stage->bytes);

    if (status == GDR_OK)
        atomic_fetch_add(&gdr_mca.counters.staged_bytes, stage->bytes);
    return gdr_mca_error(status);
}

static void drop_block(gdr_stage_t *stage)
{
    gdr_host_block_put(stage->block);
    stage->block = NULL;
}

static int fill(gdr_stage_t *stage, void *send_copy)
{
    const gdr_mca_args_t *user = &stage->user;
    int rc = OMPI_SUCCESS;

    if (send_copy != NULL) {
        stage->host.send = (char *)send_copy - stage->low;
        rc = copy_down(stage, send_copy, user->send);
    }
    if (rc == OMPI_SUCCESS && stage->recv_copy != NULL) {
        stage->host.recv = (char *)stage->recv_copy - stage->low;
        if (user->send == MPI_IN_PLACE)
            rc = copy_down(stage, stage->recv_copy, user->recv);
    }
    return rc;
}

int gdr_stage_begin(gdr_stage_t *stage, const gdr_mca_args_t *args, bool entry)
{
    gdr_mem_info_t send = {0}, recv = {0};
    char *send_copy = NULL;
    size_t lead, part;
    int ordinal, rc;

    memset(stage, 0, sizeof(*stage));
    stage->user = stage->host = *args;
    span(args->dtype, args->count, &stage->low, &stage->bytes);
    gdr_device_classify(args->recv, &recv);
    if (args->send != MPI_IN_PLACE)
        gdr_device_classify(args->send, &send);
    if (!gdr_device_is_device(&send) && !gdr_device_is_device(&recv))
        return OMPI_SUCCESS;

    /* Data starts where the type wants it on a buffer of this alignment. */
    lead = (size_t)stage->low % GDR_HOST_BLOCK_ALIGNMENT;
    part = (lead + stage->bytes) / GDR_HOST_BLOCK_ALIGNMENT * GDR_HOST_BLOCK_ALIGNMENT +
           GDR_HOST_BLOCK_ALIGNMENT;
    ordinal = gdr_device_is_device(&recv) ? recv.ordinal : send.ordinal;
    stage->block =
        gdr_host_block_get(ordinal < 0 ? 0 : ordinal, 2 * part, entry && gdr_mca_quiet());
    if (stage->block == NULL)
        return OMPI_ERR_OUT_OF_RESOURCE;
    if (gdr_device_is_device(&recv))
        stage->recv_copy = (char *)stage->block->address + lead;
    if (gdr_device_is_device(&send))
        send_copy = (char *)stage->block->address + part + lead;
    rc = fill(stage, send_copy);
    if (rc != OMPI_SUCCESS)
        drop_block(stage);
    return rc;
}

static gdr_status_t run_up(const gdr_stage_t *stage, ptrdiff_t offset, size_t bytes)
{
    uint64_t to = (uint64_t)(uintptr_t)stage->user.recv + (uint64_t)offset;
    const char *from = (const char *)stage->host.recv + offset;
    gdr_status_t status = gdr_device_copy_in(&gdr_mca.log, to, from, bytes);

    if (status == GDR_OK)
        atomic_fetch_add(&gdr_mca.counters.staged_bytes, bytes);
    return status;
}

/* One copy for each run of bytes without holes: another call may own what lies between them. */
static gdr_status_t runs_up(const gdr_stage_t *stage)
{
    enum { RUNS = 32 };
    const gdr_mca_args_t *host = &stage->host;
    gdr_status_t status = GDR_OK;
    struct iovec runs[RUNS];
    opal_convertor_t walk;
    ptrdiff_t start = 0;
    size_t bytes = 0, moved;
    bool last = false;

    OBJ_CONSTRUCT(&walk, opal_convertor_t);
    if (opal_convertor_copy_and_prepare_for_send(ompi_mpi_local_convertor, &host->dtype->super,
                                                 (size_t)host->count, host->recv, 0,
                                                 &walk) != OPAL_SUCCESS)
        status = GDR_ERR_UNSUPPORTED;
    while (status == GDR_OK && !last) {
        uint32_t n = RUNS;

        last = opal_convertor_raw(&walk, runs, &n, &moved) != 0;
        for (uint32_t i = 0; i < n && status == GDR_OK; i++) {
            ptrdiff_t offset = (char *)runs[i].iov_base - (char *)host->recv;

            if (offset != start + (ptrdiff_t)bytes) {
                status = run_up(stage, start, bytes);
                start = offset;
                bytes = 0;
            }
            bytes += runs[i].iov_len;
        }
    }
    if (status == GDR_OK)
        status = run_up(stage, start, bytes);
    OBJ_DESTRUCT(&walk);
    return status;
}

static gdr_status_t copy_up(const gdr_stage_t *stage)
{
    const gdr_mca_args_t *user = &stage->user;

    if (ompi_datatype_is_contiguous_memory_layout(user->dtype, user->count))
        return run_up(stage, stage->low, stage->bytes);
    return runs_up(stage);
}

int gdr_stage_end(gdr_stage_t *stage, int rc)
{
    if (rc == OMPI_SUCCESS && stage->recv_copy != NULL && stage->bytes > 0)
        rc = gdr_mca_error(copy_up(stage));
    drop_block(stage);
    return rc;
}

bool gdr_stage_allowed(gdr_mca_module_t *module, const char *reason)
{
    bool said;

    if (gdr_mca.params.staging == GDR_STAGING_ERROR && gdr_mca_alike(module)) {
        gdr_error(&gdr_mca.log, "%s, and coll_gdr_staging=error", reason);
        return false;
    }
    pthread_mutex_lock(&module->lock);
    said = module->said_staged;
    module->said_staged = true;
    pthread_mutex_unlock(&module->lock);
    /* One voice per communicator is enough. */
    if (!said && gdr_mca.params.staging != GDR_STAGING_ALLOW && ompi_comm_rank(module->comm) == 0)
        gdr_warn(&gdr_mca.log,
                 "%s: such calls on communicator \"%s\" are copied through host memory (said once)",
                 reason, module->comm->c_name);
    return true;
}

void gdr_stage_say(gdr_mca_module_t *module, const char *name)
{
    bool said;

    pthread_mutex_lock(&module->lock);
    said = module->said_others;
    module->said_others = true;
    pthread_mutex_unlock(&module->lock);
    if (!said && gdr_mca.params.staging != GDR_STAGING_ALLOW && ompi_comm_rank(module->comm) == 0)
        gdr_warn(&gdr_mca.log,
                 "collectives other than allreduce (%s) with device buffers on communicator \"%s\" "
                 "are copied through host memory (said once)",
                 name, module->comm->c_name);
}

int gdr_stage_allreduce(gdr_mca_module_t *module, const gdr_mca_args_t *args)
{
    gdr_stage_t stage;
    int rc;

    if (module->prev_allreduce == NULL)
        return OMPI_ERR_NOT_SUPPORTED;
    rc = gdr_stage_begin(&stage, args, true);
    if (rc != OMPI_SUCCESS)
        return rc;
    atomic_fetch_add(&gdr_mca.counters.staged_calls, 1);
    atomic_store(&gdr_mca.counters.last_path, gdr_path_staged);
    rc = module->prev_allreduce(stage.host.send, stage.host.recv, args->count, args->dtype,
                                args->op, module->comm, module->prev_allreduce_module);
    return gdr_stage_end(&stage, rc);
}
