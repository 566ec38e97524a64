#include "mca/request.h"

#include "device/gdr_device.h"

static void construct(gdr_mca_request_t *request)
{
    request->module = NULL;
    request->state = GDR_REQUEST_WAITING;
    request->ordered = false;
    request->caller = 0;
    request->rc = OMPI_SUCCESS;
    request->job = NULL;
    request->persistent = NULL;
    request->index = 0;
    request->counted = false;
    request->call = NULL;
    request->inner = NULL;
    request->next_ordered = NULL;
    request->next_active = NULL;
    memset(&request->stage, 0, sizeof(request->stage));
}

OBJ_CLASS_INSTANCE(gdr_mca_request_t, ompi_coll_base_nbc_request_t, construct, NULL);

void gdr_request_drop(gdr_mca_request_t *request)
{
    struct ompi_communicator_t *comm = request->super.super.req_mpi_object.comm;

    gdr_persistent_free(request);
    gdr_job_free(request->job);
    OMPI_REQUEST_FINI(&request->super.super);
    OBJ_RELEASE(request);
    OBJ_RELEASE(comm);
}

static int request_free(ompi_request_t **request)
{
    if (!REQUEST_COMPLETE(*request))
        return MPI_ERR_REQUEST;
    gdr_request_drop((gdr_mca_request_t *)*request);
    *request = MPI_REQUEST_NULL;
    return OMPI_SUCCESS;
}

gdr_mca_request_t *gdr_request_new(gdr_mca_module_t *module, const gdr_mca_args_t *args)
{
    gdr_mca_request_t *request = OBJ_NEW(gdr_mca_request_t);
    ompi_request_t *base;

    if (request == NULL)
        return NULL;
    base = &request->super.super;
    OMPI_REQUEST_INIT(base, false);
    base->req_state = OMPI_REQUEST_ACTIVE;
    base->req_type = OMPI_REQUEST_COLL;
    base->req_free = request_free;
    base->req_start = NULL;
    base->req_cancel = NULL;
    base->req_status = ompi_status_empty;
    base->req_status.MPI_ERROR = MPI_SUCCESS;
    base->req_mpi_object.comm = module->comm;
    /* The communicator may be freed while the call is pending; its number must stay taken. */
    gdr_ompi_comm_retain(module->comm);
    request->module = module;
    request->args = *args;
    request->caller = gdr_device_current();
    return request;
}

void gdr_request_order(gdr_mca_request_t *request)
{
    gdr_mca_module_t *module = request->module;

    request->ordered = true;
    request->next_ordered = NULL;
    if (module->order_tail == NULL)
        module->order_head = request;
    else
        module->order_tail->next_ordered = request;
    module->order_tail = request;
    atomic_fetch_add(&module->held, 1);
}

static int post_allreduce(gdr_mca_request_t *request, bool entry)
{
    gdr_mca_module_t *module = request->module;
    const gdr_mca_args_t *host = &request->stage.host;
    int rc;

    if (module->prev_iallreduce == NULL)
        return OMPI_ERR_NOT_SUPPORTED;
    rc = gdr_stage_begin(&request->stage, &request->args, entry, request->caller);
    if (rc != OMPI_SUCCESS)
        return rc;
    if (request->stage.mirror.block != NULL) {
        atomic_fetch_add(&gdr_mca.counters.staged_calls, 1);
        atomic_store(&gdr_mca.counters.last_path, gdr_path_staged);
    }
    rc = module->prev_iallreduce(host->send, host->recv, host->count, host->dtype, host->op,
                                 module->comm, &request->inner, module->prev_iallreduce_module);
    return rc == OMPI_SUCCESS ? rc : gdr_stage_end(&request->stage, rc);
}

void gdr_request_pass_on(gdr_mca_request_t *request, bool entry)
{
    if (request->persistent != NULL)
        request->rc = gdr_persistent_pass_on(request);
    else if (request->job != NULL)
        request->rc = gdr_job_post(request->job, request->module, &request->inner);
    else
        request->rc = post_allreduce(request, entry);
    request->state = request->rc == OMPI_SUCCESS ? GDR_REQUEST_PASSED : GDR_REQUEST_FINAL;
}

static gdr_ways_t *ways_of(const gdr_mca_request_t *request)
{
    return request->persistent != NULL ? &request->persistent->asked.ways
                                       : &request->module->asked.ways;
}

static void end_of_host(gdr_mca_request_t *request)
{
    if (request->counted)
        gdr_ways_close(ways_of(request), request->index);
    request->counted = false;
}

int gdr_request_start(gdr_mca_request_t *request, ompi_request_t **out)
{
    *out = &request->super.super;
    gdr_progress_add(request);
    return OMPI_SUCCESS;
}

/* An allreduce that the previous component gets must not be ahead of our lanes by much: its end
 * tells the other members something about them (engine/gdr_ways.h). */
static bool may_pass(const gdr_mca_request_t *request)
{
    return !request->counted || gdr_ways_may_pass(ways_of(request), request->index);
}

int gdr_request_start_passed(gdr_mca_request_t *request, ompi_request_t **out)
{
    gdr_mca_module_t *module = request->module;
    bool wait;

    pthread_mutex_lock(&module->lock);
    wait = module->order_head != NULL || !may_pass(request);
    if (wait)
        gdr_request_order(request);
    pthread_mutex_unlock(&module->lock);
    if (!wait) {
        gdr_request_pass_on(request, true);
        if (request->state == GDR_REQUEST_FINAL) {
            int rc = request->rc;

            end_of_host(request);
            gdr_request_drop(request);
            return rc;
        }
    }
    return gdr_request_start(request, out);
}

void gdr_request_settle(gdr_mca_module_t *module)
{
    while (atomic_load(&module->held) != 0)
        opal_progress();
}

static void finish_device(gdr_mca_request_t *request, gdr_status_t status)
{
    if (status == GDR_OK)
        gdr_mca_served(request->module, request->call, &request->desc);
    gdr_mca_release(request->call);
    request->call = NULL;
    request->rc = gdr_mca_error(gdr_away_end(&request->away, status));
    request->counted = false; /* the engine has told */
    request->state = GDR_REQUEST_FINAL;
}

static bool is_refused(gdr_status_t status)
{
    return status == GDR_ERR_DECLINED || status == GDR_ERR_MIXED;
}

static void turn(gdr_mca_request_t *request, gdr_status_t status)
{
    gdr_mca_release(request->call);
    request->call = NULL;
    gdr_away_end(&request->away, status);
    if (status == GDR_ERR_MIXED) {
        atomic_fetch_add(&gdr_mca.counters.mixed_calls, 1);
        gdr_request_pass_on(request, false);
    } else if (gdr_stage_allowed(request->module, "a process cannot take the device path")) {
        gdr_request_pass_on(request, false);
    } else {
        request->rc = OMPI_ERR_NOT_SUPPORTED;
        request->state = GDR_REQUEST_FINAL;
    }
}

/* Whether the call's way is known; if it leads to the previous component, it has been posted. */
static bool decide(gdr_mca_request_t *request)
{
    gdr_status_t status;

    if (request->state == GDR_REQUEST_WAITING && !may_pass(request))
        return false;
    if (request->state == GDR_REQUEST_WAITING)
        gdr_request_pass_on(request, false);
    if (request->state != GDR_REQUEST_DEVICE)
        return true;
    status = gdr_call_status(request->call);
    if (is_refused(status))
        turn(request, status);
    else if (status == GDR_INPROGRESS) /* no call that has started is mixed: the user's promise */
        return !gdr_mca.params.engine.mixed && gdr_call_path(request->call)[0] != '\0';
    return true;
}

/* Takes decided calls from the head of the module's list, which only this function shortens. */
static void advance(gdr_mca_module_t *module)
{
    for (;;) {
        gdr_mca_request_t *head;

        pthread_mutex_lock(&module->lock);
        head = module->order_head;
        pthread_mutex_unlock(&module->lock);
        if (head == NULL || !decide(head))
            return;
        pthread_mutex_lock(&module->lock);
        module->order_head = head->next_ordered;
        if (module->order_head == NULL)
            module->order_tail = NULL;
        head->ordered = false;
        atomic_fetch_sub(&module->held, 1);
        pthread_mutex_unlock(&module->lock);
    }
}

static void drive_device(gdr_mca_request_t *request)
{
    gdr_status_t status = gdr_call_status(request->call);

    if (is_refused(status))
        turn(request, status);
    else if (status != GDR_INPROGRESS)
        finish_device(request, status);
}

static void drive_passed(gdr_mca_request_t *request)
{
    if (!REQUEST_COMPLETE(request->inner))
        return;
    request->rc = request->inner->req_status.MPI_ERROR;
    if (request->persistent != NULL) {
        request->rc = gdr_persistent_ended(request);
    } else {
        ompi_request_free(&request->inner);
        request->rc = request->job != NULL ? gdr_job_end(request->job, request->rc)
                                           : gdr_stage_end(&request->stage, request->rc);
    }
    request->state = GDR_REQUEST_FINAL;
}

bool gdr_request_drive(gdr_mca_request_t *request)
{
    if (request->ordered)
        advance(request->module);
    if (request->ordered)
        return false;
    if (request->state == GDR_REQUEST_DEVICE)
        drive_device(request);
    else if (request->state == GDR_REQUEST_PASSED)
        drive_passed(request);
    if (request->state == GDR_REQUEST_FINAL)
        end_of_host(request);
    return request->state == GDR_REQUEST_FINAL;
}

void gdr_request_complete(gdr_mca_request_t *request)
{
    request->super.super.req_status.MPI_ERROR = request->rc;
    ompi_request_complete(&request->super.super, true);
}
