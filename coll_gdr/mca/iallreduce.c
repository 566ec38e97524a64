/* MPI_Iallreduce. */
#include "mca/gdr_mca.h"
#include "mca/request.h"
#include "mca/staging.h"

/* A host call, passed on in its turn, the end of which the engine must know. */
static int post_host(gdr_mca_request_t *request, ompi_request_t **out)
{
    gdr_asked_t *asked = &request->module->asked;

    if (!gdr_ways_open(&asked->ways, false, &request->index)) {
        gdr_request_drop(request);
        return OMPI_ERR_OUT_OF_RESOURCE;
    }
    request->counted = true;
    if (gdr_ways_asked(&asked->ways))
        gdr_asked_answer_due(asked);
    return gdr_request_start_passed(request, out);
}

static int post_device(gdr_mca_request_t *request, ompi_request_t **out)
{
    gdr_mca_module_t *module = request->module;
    gdr_status_t status = gdr_away_begin(&request->away, module, &request->desc);

    if (status == GDR_OK) {
        pthread_mutex_lock(&module->lock);
        status = gdr_mca_post(module->team, &module->asked.ways, &request->desc, &request->call);
        if (status == GDR_OK) {
            request->state = GDR_REQUEST_DEVICE;
            gdr_request_order(request);
        }
        pthread_mutex_unlock(&module->lock);
    }
    request->index = request->desc.index;
    request->counted = status == GDR_OK || status == GDR_ERR_MIXED;
    if (status == GDR_OK)
        return gdr_request_start(request, out);
    gdr_away_end(&request->away, status);
    atomic_fetch_add(&gdr_mca.counters.mixed_calls, 1);
    if (status == GDR_ERR_MIXED)
        return gdr_request_start_passed(request, out);
    return post_host(request, out);
}

/* Straight to the previous component: nobody needs to know when it is over, or what was before. */
static bool is_simple(gdr_mca_module_t *module)
{
    return atomic_load(&module->held) == 0 && !atomic_load(&module->has_team);
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

    if (way == GDR_WAY_HOST && is_simple(module)) {
        if (module->prev_iallreduce == NULL)
            return OMPI_ERR_NOT_SUPPORTED;
        gdr_mca_host_begins(module);
        return module->prev_iallreduce(send, recv, count, dtype, op, comm, out,
                                       module->prev_iallreduce_module);
    }
    if (way == GDR_WAY_STAGE && reason != NULL && !gdr_stage_allowed(module, reason)) {
        gdr_ways_host(&module->asked.ways);
        return OMPI_ERR_NOT_SUPPORTED;
    }
    request = gdr_request_new(module, &args);
    if (request == NULL)
        return OMPI_ERR_OUT_OF_RESOURCE;
    if (way == GDR_WAY_DEVICE) {
        request->desc = desc;
        return post_device(request, out);
    }
    return post_host(request, out);
}
