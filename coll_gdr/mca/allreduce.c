/* MPI_Allreduce. */
#include "mca/away.h"
#include "mca/gdr_mca.h"
#include "mca/staging.h"

#include "device/gdr_device.h"

/* The status of a call that has been posted. */
static gdr_status_t wait_for(gdr_mca_module_t *module, gdr_call_t *call,
                             const gdr_call_desc_t *desc)
{
    gdr_status_t status;

    while ((status = gdr_call_status(call)) == GDR_INPROGRESS)
        opal_progress();
    if (status == GDR_OK)
        gdr_mca_served(module, call, desc);
    gdr_mca_release(call);
    return status;
}

static int staged(gdr_mca_module_t *module, const gdr_mca_args_t *args, const char *reason)
{
    if (reason != NULL && !gdr_stage_allowed(module, reason))
        return OMPI_ERR_NOT_SUPPORTED;
    return gdr_stage_allreduce(module, args);
}

/* A call that did not become a device call here. */
static int staged_at_once(gdr_mca_module_t *module, const gdr_mca_args_t *args, const char *reason)
{
    gdr_mca_host_begins(module);
    return staged(module, args, reason);
}

/* A device call that turned out to be a host call. */
static int staged_after(gdr_mca_module_t *module, const gdr_mca_args_t *args, uint64_t index,
                        gdr_status_t status)
{
    int rc;

    if (status == GDR_ERR_MIXED)
        atomic_fetch_add(&gdr_mca.counters.mixed_calls, 1);
    gdr_mca_host_waits(module, index);
    rc = staged(module, args,
                status == GDR_ERR_MIXED ? NULL : "a process cannot take the device path");
    gdr_ways_close(&module->asked.ways, index);
    return rc;
}

static int run(gdr_mca_module_t *module, const gdr_mca_args_t *args, gdr_call_desc_t *desc)
{
    gdr_call_t *call = NULL;
    gdr_away_t away;
    gdr_status_t status = gdr_away_begin(&away, module, desc);
    bool begun = false;

    if (status == GDR_OK) {
        gdr_progress_call_begins();
        pthread_mutex_lock(&module->lock);
        status = gdr_mca_post(module->team, &module->asked.ways, desc, &call);
        pthread_mutex_unlock(&module->lock);
        begun = status == GDR_OK || status == GDR_ERR_MIXED;
        if (status == GDR_OK)
            status = wait_for(module, call, desc);
        gdr_progress_call_ends();
        status = gdr_away_end(&away, status);
    }
    if (!begun) {
        atomic_fetch_add(&gdr_mca.counters.mixed_calls, 1);
        return staged_at_once(module, args, NULL);
    }
    if (status == GDR_ERR_DECLINED || status == GDR_ERR_MIXED)
        return staged_after(module, args, desc->index, status);
    return gdr_mca_error(status);
}

__attribute__((noinline)) /* else the host branch saves registers for it */
static int
chosen(const void *send, void *recv, int count, struct ompi_datatype_t *dtype, struct ompi_op_t *op,
       struct ompi_communicator_t *comm, gdr_mca_module_t *module)
{
    gdr_mca_args_t args = {send, recv, count, dtype, op};
    const char *reason = NULL;
    gdr_call_desc_t desc;

    switch (gdr_mca_choose(module, &args, true, &desc, &reason)) {
    case GDR_WAY_HOST:
        gdr_mca_host_begins(module);
        return module->prev_allreduce(send, recv, count, dtype, op, comm,
                                      module->prev_allreduce_module);
    case GDR_WAY_STAGE:
        return staged_at_once(module, &args, reason);
    default:
        return run(module, &args, &desc);
    }
}

/*
 * No variables, and it ends in a jump: a small host call must not notice. It counts the call, the
 * one thing that others may ask about, and no more; while there is no driver "host" is the only
 * path there is. Who asks about it while it begins here asks again.
 */
int mca_coll_gdr_allreduce(const void *send, void *recv, int count, struct ompi_datatype_t *dtype,
                           struct ompi_op_t *op, struct ompi_communicator_t *comm,
                           mca_coll_base_module_t *base)
{
    gdr_mca_module_t *module = (gdr_mca_module_t *)base;

    if (__builtin_expect(!gdr_device_absent() || gdr_ways_pending(&module->asked.ways) != 0, 0))
        return chosen(send, recv, count, dtype, op, comm, module);
    gdr_ways_pass(&module->asked.ways);
    return module->prev_allreduce(send, recv, count, dtype, op, comm,
                                  module->prev_allreduce_module);
}
