#include "mca/coll.h"

#include "mca/request.h"
#include "mca/staging.h"

/* Whether device buffers of this call are this component's business. */
static bool stages(gdr_coll_t coll)
{
    switch (gdr_mca.params.collectives) {
    case GDR_COLLECTIVES_STAGE:
        return true;
    case GDR_COLLECTIVES_PASS:
        return false;
    case GDR_COLLECTIVES_AUTO:
        break;
    }
    /* An Open MPI that is CUDA-aware moves device data anywhere, but reduces in some calls only. */
    return gdr_coll_reduces(coll) || !gdr_ompi_cuda_aware();
}

void gdr_coll_count(gdr_mca_module_t *module, gdr_coll_t coll)
{
    if (coll != GDR_COLL_allreduce)
        gdr_stage_say(module, gdr_coll_ops(coll)->name);
    atomic_fetch_add(&gdr_mca.counters.staged_calls, 1);
    atomic_store(&gdr_mca.counters.last_path, gdr_path_staged);
}

bool gdr_coll_look(gdr_mca_module_t *module, gdr_coll_t coll, const gdr_coll_args_t *args,
                   gdr_mirror_t *mirror)
{
    return stages(coll) && gdr_mirror_look(mirror, coll, args, module->comm);
}

int gdr_coll_call(gdr_mca_module_t *module, gdr_coll_t coll, const gdr_coll_args_t *args)
{
    const gdr_coll_ops_t *ops = gdr_coll_ops(coll);
    gdr_mirror_t mirror;
    int rc;

    if (!gdr_coll_look(module, coll, args, &mirror))
        return ops->call(module, args);
    gdr_coll_count(module, coll);
    rc = gdr_mirror_open(&mirror, true, false);
    if (rc == OMPI_SUCCESS)
        rc = gdr_mirror_down(&mirror);
    if (rc == OMPI_SUCCESS)
        rc = ops->call(module, &mirror.host);
    if (rc == OMPI_SUCCESS)
        rc = gdr_mirror_up(&mirror);
    gdr_mirror_close(&mirror);
    return rc;
}

static int fill(gdr_job_t *job)
{
    int rc = gdr_mirror_open(&job->mirror, true, false);

    return rc == OMPI_SUCCESS ? gdr_mirror_down(&job->mirror) : rc;
}

int gdr_coll_post(gdr_mca_module_t *module, gdr_coll_t coll, const gdr_coll_args_t *args,
                  ompi_request_t **out)
{
    gdr_mca_args_t none = {0};
    gdr_mca_request_t *request;
    gdr_mirror_t mirror;
    bool staged = gdr_coll_look(module, coll, args, &mirror);
    int rc = OMPI_SUCCESS;

    if (!staged && atomic_load(&module->held) == 0)
        return gdr_coll_ops(coll)->post(module, args, out);
    request = gdr_request_new(module, &none);
    if (request == NULL)
        return OMPI_ERR_OUT_OF_RESOURCE;
    request->job = gdr_job_new(coll, args, module->comm, staged);
    if (request->job == NULL)
        rc = OMPI_ERR_OUT_OF_RESOURCE;
    if (rc == OMPI_SUCCESS && staged) {
        gdr_coll_count(module, coll);
        rc = fill(request->job);
    }
    if (rc == OMPI_SUCCESS)
        return gdr_request_start_passed(request, out);
    gdr_request_drop(request);
    return rc;
}
