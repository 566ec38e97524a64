/*
 * Persistent collectives with a device buffer. There always is one of the previous component, on a
 * mirror: its number there is taken when it is made, so starts need no order among processes.
 * MPI_Allreduce has a team of its own in the engine besides, if all ranks have device buffers: they
 * tell each other when it is made, which MPI lets wait for all of them.
 */
#include "mca/coll.h"
#include "mca/request.h"
#include "mca/staging.h"

#include "device/gdr_device.h"

#include <stdlib.h>

/* ---- types and operations, which the application may free meanwhile -------------------------- */

static void hold_area(const gdr_area_t *area, bool held)
{
    for (int i = 0; i < area->n; i++) {
        struct ompi_datatype_t *type = gdr_area_piece(area, i).type;

        if (type == NULL)
            continue;
        if (held) {
            OBJ_RETAIN(type);
        } else {
            OBJ_RELEASE(type);
        }
    }
}

static void hold(gdr_job_t *job, bool held)
{
    const gdr_areas_t *areas = &job->mirror.areas;
    struct ompi_op_t *op = job->mirror.user.op;

    hold_area(&areas->send, held);
    hold_area(&areas->read, held);
    hold_area(&areas->write, held);
    if (op == NULL)
        return;
    if (held) {
        OBJ_RETAIN(op);
    } else {
        OBJ_RELEASE(op);
    }
}

/* ---- starts --------------------------------------------------------------------------------- */

static int start_inner(gdr_mca_request_t *request)
{
    ompi_request_t *inner = request->inner;

    if (inner->req_type != OMPI_REQUEST_NOOP)
        return inner->req_start(1, &request->inner);
    inner->req_state = OMPI_REQUEST_ACTIVE; /* there is nothing to do, and that is done */
    return OMPI_SUCCESS;
}

int gdr_persistent_pass_on(gdr_mca_request_t *request)
{
    int rc = gdr_mirror_down(&request->job->mirror);

    if (rc != OMPI_SUCCESS)
        return rc;
    gdr_coll_count(request->module, request->job->coll);
    return start_inner(request);
}

int gdr_persistent_ended(gdr_mca_request_t *request)
{
    ompi_request_t *inner = request->inner;

    inner->req_state = OMPI_REQUEST_INACTIVE;
    return gdr_job_end(request->job, inner->req_status.MPI_ERROR);
}

static int start_host(gdr_mca_request_t *request)
{
    int rc = gdr_persistent_pass_on(request);

    request->state = GDR_REQUEST_PASSED;
    if (rc != OMPI_SUCCESS && request->counted)
        gdr_ways_close(&request->persistent->asked.ways, request->index);
    return rc;
}

/* What this rank cannot begin is a host call on all, though they had agreed on the device. */
static int start_device(gdr_mca_request_t *request)
{
    gdr_persistent_t *persistent = request->persistent;
    gdr_ways_t *ways = &persistent->asked.ways;
    gdr_status_t begun, status;

    request->desc = persistent->desc;
    request->desc.context = request->job->mirror.caller;
    begun = status = gdr_away_begin(&request->away, request->module, &request->desc);
    if (begun == GDR_OK)
        status = gdr_mca_post(persistent->team, ways, &request->desc, &request->call);
    else if (gdr_ways_open(ways, false, &request->desc.index))
        status = GDR_ERR_MIXED;
    request->index = request->desc.index;
    request->counted = status == GDR_OK || status == GDR_ERR_MIXED;
    if (status == GDR_OK) {
        request->state = GDR_REQUEST_DEVICE;
        return OMPI_SUCCESS;
    }
    if (begun == GDR_OK)
        gdr_away_end(&request->away, status);
    if (status != GDR_ERR_MIXED)
        return gdr_mca_error(status);
    gdr_asked_answer_due(&persistent->asked);
    atomic_fetch_add(&gdr_mca.counters.mixed_calls, 1);
    return start_host(request);
}

static int start_one(gdr_mca_request_t *request)
{
    ompi_request_t *base = &request->super.super;
    int rc;

    base->req_complete = REQUEST_PENDING;
    base->req_state = OMPI_REQUEST_ACTIVE;
    base->req_status.MPI_ERROR = MPI_SUCCESS;
    request->rc = OMPI_SUCCESS;
    request->next_active = NULL;
    request->counted = false;
    request->job->mirror.caller = gdr_device_current(); /* of this start, not of the init */
    if (request->persistent->team != NULL)
        rc = start_device(request);
    else
        rc = start_host(request);
    if (rc == OMPI_SUCCESS) {
        gdr_progress_add(request);
        return rc;
    }
    base->req_complete = REQUEST_COMPLETED;
    base->req_state = OMPI_REQUEST_INACTIVE;
    return rc;
}

static int start(size_t count, ompi_request_t **requests)
{
    int rc = OMPI_SUCCESS;

    for (size_t i = 0; i < count && rc == OMPI_SUCCESS; i++)
        rc = start_one((gdr_mca_request_t *)requests[i]);
    return rc;
}

/* ---- making one ----------------------------------------------------------------------------- */

static void drop_team(gdr_persistent_t *persistent)
{
    if (persistent->team == NULL)
        return;
    gdr_team_destroy(persistent->team);
    atomic_fetch_sub(&gdr_mca.teams, 1);
    gdr_asked_remove(&persistent->asked);
    gdr_ways_clear(&persistent->asked.ways);
    persistent->team = NULL;
}

void gdr_persistent_free(gdr_mca_request_t *request)
{
    if (request->persistent == NULL)
        return;
    drop_team(request->persistent);
    if (request->inner != NULL) {
        ompi_request_free(&request->inner);
        hold(request->job, false);
    }
    free(request->persistent);
    request->persistent = NULL;
}

/* An inactive request. `sparse`: as of gdr_mirror_open(). */
static int make(gdr_mca_module_t *module, gdr_coll_t coll, const gdr_coll_args_t *args,
                struct ompi_info_t *info, bool sparse, gdr_mca_request_t **out)
{
    gdr_mca_args_t none = {0};
    gdr_mca_request_t *request = gdr_request_new(module, &none);
    ompi_request_t *base;
    int rc = OMPI_ERR_OUT_OF_RESOURCE;

    if (request == NULL)
        return rc;
    base = &request->super.super;
    OMPI_REQUEST_INIT(base, true);
    base->req_start = start;
    request->persistent = calloc(1, sizeof(*request->persistent));
    request->job = gdr_job_new(coll, args, module->comm, true);
    if (request->persistent != NULL && request->job != NULL)
        rc = gdr_mirror_open(&request->job->mirror, true, sparse);
    if (rc == OMPI_SUCCESS)
        rc = gdr_coll_ops(coll)->init(module, &request->job->mirror.host, info, &request->inner);
    if (rc != OMPI_SUCCESS) {
        request->inner = NULL;
        gdr_request_drop(request);
        return rc;
    }
    hold(request->job, true);
    *out = request;
    return OMPI_SUCCESS;
}

int gdr_coll_init(gdr_mca_module_t *module, gdr_coll_t coll, const gdr_coll_args_t *args,
                  struct ompi_info_t *info, ompi_request_t **out)
{
    gdr_mca_request_t *request = NULL;
    gdr_mirror_t mirror;
    int rc;

    gdr_request_settle(module);
    if (!gdr_coll_look(module, coll, args, &mirror))
        return gdr_coll_ops(coll)->init(module, args, info, out);
    rc = make(module, coll, args, info, false, &request);
    if (rc == OMPI_SUCCESS)
        *out = &request->super.super;
    return rc;
}

/* ---- MPI_Allreduce -------------------------------------------------------------------------- */

/* The making has index 0, so that the memory for an open call is there when one starts. */
static bool make_ways(gdr_asked_t *asked, int32_t size)
{
    uint64_t index;

    gdr_ways_init(&asked->ways, size);
    if (!gdr_ways_open(&asked->ways, false, &index))
        return false;
    gdr_ways_close(&asked->ways, index);
    return true;
}

static void make_team(gdr_mca_module_t *module, gdr_persistent_t *persistent, uint64_t number)
{
    gdr_asked_t *asked = &persistent->asked;
    gdr_team_desc_t desc = {.id = module->asked.id,
                            .nonce = gdr_module_nonce(module, number),
                            .rank = module->asked.rank,
                            .size = ompi_comm_size(module->comm),
                            .procs = module->procs,
                            .eligible = true,
                            .ways = &asked->ways};

    asked->id = desc.id;
    asked->nonce = desc.nonce;
    asked->rank = desc.rank;
    if (make_ways(asked, desc.size) &&
        gdr_team_create(gdr_mca_engine(), &desc, &persistent->team) == GDR_OK) {
        atomic_fetch_add(&gdr_mca.teams, 1);
        gdr_asked_add(asked);
        return;
    }
    persistent->team = NULL;
    gdr_ways_clear(&asked->ways);
}

/* Whether all ranks can; *all is set on success. No rank may leave before it has told the others,
 * so its own failure is an answer, too. */
static int agree(gdr_mca_module_t *module, bool can, bool *all)
{
    int mine = can, least = 0, rc;

    if (OMPI_COMM_IS_INTER(module->comm) || !gdr_mca_alike(module)) {
        *all = false;
        return OMPI_SUCCESS;
    }
    rc = module->prev_allreduce(&mine, &least, 1, MPI_INT, MPI_MIN, module->comm,
                                module->prev_allreduce_module);
    *all = least != 0;
    return rc;
}

/* The way of this rank, and what it needs for it. */
static int prepare(gdr_mca_module_t *module, const gdr_mca_args_t *args, struct ompi_info_t *info,
                   gdr_mca_request_t **device, ompi_request_t **out)
{
    gdr_coll_args_t coll_args = {
        .send = {.buffer = (void *)(uintptr_t)args->send},
        .recv = {.buffer = args->recv, .count = args->count, .type = args->dtype},
        .op = args->op};
    uint64_t number = module->persistent_made++; /* equal on all ranks */
    const char *reason = NULL;
    gdr_call_desc_t desc;
    gdr_mca_way_t way;
    int rc;

    gdr_request_settle(module);
    way = gdr_mca_choose(module, args, false, &desc, &reason);
    if (way == GDR_WAY_STAGE && reason != NULL && !gdr_stage_allowed(module, reason))
        return OMPI_ERR_NOT_SUPPORTED;
    if (way != GDR_WAY_DEVICE)
        return gdr_coll_init(module, GDR_COLL_allreduce, &coll_args, info, out);
    rc = make(module, GDR_COLL_allreduce, &coll_args, info, true, device);
    if (rc != OMPI_SUCCESS)
        return rc;
    (*device)->persistent->desc = desc;
    make_team(module, (*device)->persistent, number);
    *out = &(*device)->super.super;
    return OMPI_SUCCESS;
}

int mca_coll_gdr_allreduce_init(const void *send, void *recv, int count,
                                struct ompi_datatype_t *dtype, struct ompi_op_t *op,
                                struct ompi_communicator_t *comm, struct ompi_info_t *info,
                                ompi_request_t **out, mca_coll_base_module_t *base)
{
    gdr_mca_module_t *module = (gdr_mca_module_t *)base;
    gdr_mca_args_t args = {send, recv, count, dtype, op};
    gdr_mca_request_t *device = NULL;
    bool all = false;
    int rc, told;

    (void)comm;
    rc = prepare(module, &args, info, &device, out);
    told = agree(module, device != NULL && device->persistent->team != NULL, &all);
    if (device != NULL && !all)
        drop_team(device->persistent);
    if (rc == OMPI_SUCCESS && told != OMPI_SUCCESS)
        ompi_request_free(out);
    return rc != OMPI_SUCCESS ? rc : told;
}
