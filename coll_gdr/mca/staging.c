#include "mca/staging.h"

#include "device/gdr_device.h"

#include <string.h>

/* Lists and neighbours are of no interest here. */
static bool look(gdr_mirror_t *mirror, const gdr_mca_args_t *args)
{
    gdr_coll_args_t call = {
        .send = {.buffer = (void *)(uintptr_t)args->send},
        .recv = {.buffer = args->recv, .count = args->count, .type = args->dtype},
        .op = args->op};
    gdr_coll_place_t place = {.role = GDR_ROLE_ROOT | GDR_ROLE_LEAF,
                              .in_place = args->send == MPI_IN_PLACE};

    return gdr_mirror_look_from(mirror, GDR_COLL_allreduce, &call, &place);
}

bool gdr_stage_needed(const gdr_mca_args_t *args, bool *all)
{
    gdr_mirror_t mirror;
    bool one = look(&mirror, args);

    *all = mirror.recv.on && (mirror.send.on || args->send == MPI_IN_PLACE);
    return one;
}

int gdr_stage_begin(gdr_stage_t *stage, const gdr_mca_args_t *args, bool entry, uint64_t caller)
{
    int rc;

    memset(stage, 0, sizeof(*stage));
    stage->host = *args;
    if (!look(&stage->mirror, args))
        return OMPI_SUCCESS;
    stage->mirror.caller = caller;
    rc = gdr_mirror_open(&stage->mirror, entry, false);
    if (rc == OMPI_SUCCESS)
        rc = gdr_mirror_down(&stage->mirror);
    stage->host.send = stage->mirror.host.send.buffer;
    stage->host.recv = stage->mirror.host.recv.buffer;
    if (rc != OMPI_SUCCESS)
        gdr_mirror_close(&stage->mirror);
    return rc;
}

int gdr_stage_end(gdr_stage_t *stage, int rc)
{
    if (rc == OMPI_SUCCESS && stage->mirror.block != NULL)
        rc = gdr_mirror_up(&stage->mirror);
    gdr_mirror_close(&stage->mirror);
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
    int rc = gdr_stage_begin(&stage, args, true, gdr_device_current());

    if (rc != OMPI_SUCCESS)
        return rc;
    atomic_fetch_add(&gdr_mca.counters.staged_calls, 1);
    atomic_store(&gdr_mca.counters.last_path, gdr_path_staged);
    rc = module->prev_allreduce(stage.host.send, stage.host.recv, args->count, args->dtype,
                                args->op, module->comm, module->prev_allreduce_module);
    return gdr_stage_end(&stage, rc);
}
