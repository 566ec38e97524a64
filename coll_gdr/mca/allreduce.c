/* MPI_Allreduce. */
#include "mca/away.h"
#include "mca/gdr_mca.h"
#include "mca/staging.h"

#include "device/gdr_device.h"

/* GDR_OK, GDR_ERR_DECLINED (nothing has been written) or an error. */
static gdr_status_t run(gdr_mca_module_t *module, gdr_call_desc_t *desc)
{
    gdr_call_t *call = NULL;
    gdr_away_t away;
    gdr_status_t status;

    gdr_away_begin(&away, module, desc);
    gdr_progress_call_begins();
    pthread_mutex_lock(&module->lock);
    status = gdr_mca_post(module, desc, &call);
    pthread_mutex_unlock(&module->lock);
    if (status == GDR_OK) {
        while ((status = gdr_call_status(call)) == GDR_INPROGRESS)
            opal_progress();
        if (status == GDR_OK)
            gdr_mca_served(module, call, desc);
        gdr_mca_release(call);
    }
    gdr_progress_call_ends();
    return gdr_away_end(&away, status);
}

static int staged(gdr_mca_module_t *module, const gdr_mca_args_t *args, const char *reason)
{
    if (reason != NULL && !gdr_stage_allowed(module, reason))
        return OMPI_ERR_NOT_SUPPORTED;
    return gdr_stage_allreduce(module, args);
}

__attribute__((noinline)) /* else the host branch saves registers for it */
static int
chosen(const void *send, void *recv, int count, struct ompi_datatype_t *dtype, struct ompi_op_t *op,
       struct ompi_communicator_t *comm, gdr_mca_module_t *module)
{
    gdr_mca_args_t args = {send, recv, count, dtype, op};
    const char *reason = NULL;
    gdr_call_desc_t desc;
    gdr_status_t status;

    switch (gdr_mca_choose(module, &args, true, &desc, &reason)) {
    case GDR_WAY_HOST:
        if (module->prev_allreduce == NULL)
            return OMPI_ERR_NOT_SUPPORTED;
        return module->prev_allreduce(send, recv, count, dtype, op, comm,
                                      module->prev_allreduce_module);
    case GDR_WAY_STAGE:
        return staged(module, &args, reason);
    case GDR_WAY_FAIL:
        return OMPI_ERR_OUT_OF_RESOURCE;
    case GDR_WAY_DEVICE:
        break;
    }
    status = run(module, &desc);
    if (status == GDR_ERR_DECLINED)
        return staged(module, &args, "a process cannot take the device path");
    return gdr_mca_error(status);
}

/* The first branch has no variables and ends in a jump: a small host call must not notice. */
int mca_coll_gdr_allreduce(const void *send, void *recv, int count, struct ompi_datatype_t *dtype,
                           struct ompi_op_t *op, struct ompi_communicator_t *comm,
                           mca_coll_base_module_t *base)
{
    gdr_mca_module_t *module = (gdr_mca_module_t *)base;

    if (gdr_device_absent() && module->prev_allreduce != NULL) {
        gdr_mca_count_host();
        return module->prev_allreduce(send, recv, count, dtype, op, comm,
                                      module->prev_allreduce_module);
    }
    return chosen(send, recv, count, dtype, op, comm, module);
}
