/* What the first device call of the process and of a communicator brings into being. */
#include "mca/away.h"
#include "mca/ctl.h"
#include "mca/gdr_mca.h"
#include "mca/host_block.h"

#include "device/gdr_device.h"

#include <stdlib.h>
#include <time.h>

const char gdr_path_none[] = "", gdr_path_host[] = "host", gdr_path_staged[] = "staged";

static pthread_mutex_t bringup_lock = PTHREAD_MUTEX_INITIALIZER;

static uint64_t now(void *ctx)
{
    struct timespec t;

    (void)ctx;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * UINT64_C(1000000000) + (uint64_t)t.tv_nsec;
}

static gdr_status_t open_dev(void *ctx, int ordinal, const gdr_dev_ops_t **ops, gdr_dev_t **dev)
{
    gdr_device_params_t params = {.log = &gdr_mca.log};
    gdr_status_t status = gdr_device_load(&gdr_mca.log);

    (void)ctx;
    return status == GDR_OK ? gdr_device_open(&params, ordinal, ops, dev) : status;
}

static gdr_engine_t *make_engine(void)
{
    gdr_ports_t ports = {
        .open_net = gdr_mca_open_net,
        .open_dev = open_dev,
        .ctl = {.send = gdr_ctl_pml_send},
        .clock = {.now = now},
        .log = &gdr_mca.log,
    };
    gdr_engine_config_t config = gdr_mca.params.engine;
    gdr_engine_t *engine = NULL;

    config.node = gdr_mca_node();
    if (gdr_engine_create(&config, &ports, &engine) != GDR_OK)
        return NULL;
    atomic_store(&gdr_mca.engine, engine);
    gdr_progress_start();
    return engine;
}

gdr_engine_t *gdr_mca_engine(void)
{
    gdr_engine_t *engine = atomic_load(&gdr_mca.engine);

    if (engine != NULL)
        return engine;
    pthread_mutex_lock(&bringup_lock);
    engine = atomic_load(&gdr_mca.engine);
    if (engine == NULL)
        engine = make_engine();
    pthread_mutex_unlock(&bringup_lock);
    return engine;
}

void gdr_mca_shutdown(void)
{
    gdr_engine_t *engine = atomic_load(&gdr_mca.engine);

    gdr_progress_stop();
    gdr_host_block_shutdown();
    gdr_away_shutdown();
    gdr_nonce_shutdown();
    gdr_facts_shutdown();
    gdr_asked_shutdown();
    atomic_store(&gdr_mca.engine, NULL);
    /* A call that the application never waited for keeps its communicator, and that its team. */
    if (engine != NULL && atomic_load(&gdr_mca.teams) == 0)
        gdr_engine_destroy(engine);
}

/* World ranks of the members, or NULL and why the communicator is staged (or NULL: no memory). */
static int *world_ranks(struct ompi_communicator_t *comm, const char **reason)
{
    int size = ompi_comm_size(comm);
    int *procs = malloc((size_t)size * sizeof(*procs));

    *reason = NULL;
    if (procs == NULL)
        return NULL;
    if (!gdr_ompi_of_world(comm)) {
        *reason = "the communicator was made from a Session";
        free(procs);
        return NULL;
    }
    if (!gdr_ctl_pml_is_open()) {
        *reason = "MPI_COMM_WORLD, which carries the control messages, does not use coll/gdr";
        free(procs);
        return NULL;
    }
    for (int rank = 0; rank < size; rank++) {
        opal_process_name_t name = ompi_group_get_proc_name(comm->c_local_group, rank);

        if (name.jobid != OPAL_PROC_MY_NAME.jobid)
            *reason = "the communicator reaches beyond MPI_COMM_WORLD";
        else if (!gdr_facts_member_ok(&name))
            *reason = "a process has no usable coll/gdr of this version and with these parameters";
        if (*reason != NULL) {
            free(procs);
            return NULL;
        }
        procs[rank] = (int)name.vpid;
    }
    return procs;
}

static void find_reach(gdr_mca_module_t *module)
{
    struct ompi_communicator_t *comm = module->comm;
    gdr_team_desc_t desc = {.id = module->asked.id,
                            .nonce = module->asked.nonce,
                            .rank = module->asked.rank,
                            .size = ompi_comm_size(comm),
                            .eligible = true,
                            .ways = &module->asked.ways};
    gdr_engine_t *engine;

    if (module->procs == NULL)
        module->procs = world_ranks(comm, &module->stage_reason);
    if (module->procs == NULL) {
        if (module->stage_reason != NULL)
            module->reach = GDR_REACH_STAGE;
        return;
    }
    engine = gdr_mca_engine();
    desc.procs = module->procs;
    if (engine != NULL && gdr_team_create(engine, &desc, &module->team) == GDR_OK) {
        atomic_fetch_add(&gdr_mca.teams, 1);
        atomic_store(&module->has_team, true);
        module->reach = GDR_REACH_TEAM;
    }
}

static bool group_alike(ompi_group_t *group)
{
    for (int rank = 0; rank < ompi_group_size(group); rank++) {
        opal_process_name_t name = ompi_group_get_proc_name(group, rank);

        if (name.jobid != OPAL_PROC_MY_NAME.jobid || !gdr_facts_member_ok(&name))
            return false;
    }
    return true;
}

bool gdr_mca_alike(gdr_mca_module_t *module)
{
    struct ompi_communicator_t *comm = module->comm;
    bool alike;

    pthread_mutex_lock(&module->lock);
    if (!module->compared)
        module->alike = module->reach == GDR_REACH_TEAM ||
                        (group_alike(comm->c_local_group) &&
                         (!OMPI_COMM_IS_INTER(comm) || group_alike(comm->c_remote_group)));
    module->compared = true;
    alike = module->alike;
    pthread_mutex_unlock(&module->lock);
    return alike;
}

gdr_mca_reach_t gdr_mca_reach(gdr_mca_module_t *module, int device, const char **reason)
{
    gdr_mca_reach_t reach;

    pthread_mutex_lock(&module->lock);
    if (module->reach == GDR_REACH_UNKNOWN) {
        module->device = device;
        find_reach(module);
    }
    reach = module->reach;
    *reason = reach == GDR_REACH_STAGE ? module->stage_reason : NULL;
    pthread_mutex_unlock(&module->lock);
    return reach;
}

gdr_status_t gdr_mca_post(gdr_team_t *team, gdr_ways_t *ways, gdr_call_desc_t *desc,
                          gdr_call_t **call)
{
    if (!gdr_ways_open(ways, true, &desc->index))
        return GDR_ERR_NO_MEMORY;
    atomic_fetch_add(&gdr_mca.device_calls, 1); /* first: posting may already open stream waits */
    if (gdr_call_post(team, desc, call) == GDR_OK)
        return GDR_OK;
    atomic_fetch_sub(&gdr_mca.device_calls, 1);
    gdr_ways_turn(ways, desc->index);
    return GDR_ERR_MIXED;
}

void gdr_mca_host_waits(gdr_mca_module_t *module, uint64_t index)
{
    gdr_asked_answer_due(&module->asked);
    while (!gdr_ways_may_pass(&module->asked.ways, index))
        opal_progress();
}

void gdr_mca_release(gdr_call_t *call)
{
    gdr_call_release(call);
    atomic_fetch_sub(&gdr_mca.device_calls, 1);
}

int gdr_mca_error(gdr_status_t status)
{
    switch (status) {
    case GDR_OK:
        return OMPI_SUCCESS;
    case GDR_ERR_NO_MEMORY:
    case GDR_ERR_NO_RESOURCE:
        return OMPI_ERR_OUT_OF_RESOURCE;
    case GDR_ERR_INVALID:
        return OMPI_ERR_BAD_PARAM;
    case GDR_ERR_UNSUPPORTED:
    case GDR_ERR_VERSION:
        return OMPI_ERR_NOT_SUPPORTED;
    case GDR_ERR_UNREACHABLE:
        return OMPI_ERR_UNREACH;
    default:
        return OMPI_ERROR;
    }
}
