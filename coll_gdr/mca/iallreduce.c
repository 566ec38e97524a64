/* MPI_Iallreduce. */
#include "mca/gdr_mca.h"
#include "mca/request.h"
#include "mca/staging.h"

static int post_device(gdr_mca_request_t *request, ompi_request_t **out)
{
    gdr_mca_module_t *module = request->module;
    gdr_status_t status;

    gdr_away_begin(&request->away, module, &request->desc);
    pthread_mutex_lock(&module->lock);
    status = gdr_mca_post(module, &request->desc, &request->call);
    if (status == GDR_OK) {
        request->state = GDR_REQUEST_DEVICE;
        gdr_request_order(request);
    }
    pthread_mutex_unlock(&module->lock);
    if (status != GDR_OK) {
        gdr_away_end(&request->away, status);
        gdr_request_drop(request);
        return gdr_mca_error(status);
    }
    return gdr_request_start(request, out);
}

int mca_coll_gdr_iallreduce(const void *send, void *recv, int count, struct ompi_datatype_t *dtype,
                            struct ompi_op_t *op, struct ompi_communicator_t *comm,
                            ompi_request_t **out, mca_coll_base_module_t *base)
{
    gdr_mca_module_t *module = (gdr_mca_module_t *)base;
    gdr_mca_args_t args = {send, recv, count, dtype, op};
    const char *reason = NULL;
    gdr_mca_request_t *request;
    gdr_call_desc_t desc;
    gdr_mca_way_t way = gdr_mca_choose(module, &args, false, &desc, &reason);

    if (way == GDR_WAY_FAIL)
        return OMPI_ERR_OUT_OF_RESOURCE;
    if (way == GDR_WAY_HOST && atomic_load(&module->held) == 0) {
        if (module->prev_iallreduce == NULL)
            return OMPI_ERR_NOT_SUPPORTED;
        return module->prev_iallreduce(send, recv, count, dtype, op, comm, out,
                                       module->prev_iallreduce_module);
    }
    if (way == GDR_WAY_STAGE && reason != NULL && !gdr_stage_allowed(module, reason))
        return OMPI_ERR_NOT_SUPPORTED;
    request = gdr_request_new(module, &args);
    if (request == NULL)
        return OMPI_ERR_OUT_OF_RESOURCE;
    if (way == GDR_WAY_DEVICE) {
        request->desc = desc;
        return post_device(request, out);
    }
    return gdr_request_start_passed(request, out);
}
