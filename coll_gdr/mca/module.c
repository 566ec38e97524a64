/* One module per communicator: what was there before is saved, called when gdr does not serve. */
#include "mca/ctl.h"
#include "mca/gdr_mca.h"

#include <stdlib.h>
#include <string.h>

/* Under some components there is nobody before: that matters only when one is needed. */
static int nothing_before(const void *send, void *recv, int count, struct ompi_datatype_t *dtype,
                          struct ompi_op_t *op, struct ompi_communicator_t *comm,
                          mca_coll_base_module_t *module)
{
    (void)send, (void)recv, (void)count, (void)dtype, (void)op, (void)comm, (void)module;
    return OMPI_ERR_NOT_SUPPORTED;
}

static void construct(gdr_mca_module_t *module)
{
    module->comm = NULL;
    module->prev_allreduce = nothing_before;
    module->prev_allreduce_module = NULL;
    module->prev_iallreduce = NULL;
    module->prev_iallreduce_module = NULL;
    memset(&module->prev, 0, sizeof(module->prev));
    memset(&module->asked, 0, sizeof(module->asked));
    module->enabled = false;
    pthread_mutex_init(&module->lock, NULL);
    module->reach = GDR_REACH_UNKNOWN;
    module->team = NULL;
    atomic_init(&module->has_team, false);
    module->procs = NULL;
    module->device = -1;
    atomic_init(&module->home_context, 0);
    module->stage_reason = NULL;
    module->said_staged = false;
    module->said_others = false;
    module->compared = false;
    module->alike = false;
    atomic_init(&module->explained, 0);
    module->order_head = NULL;
    module->order_tail = NULL;
    atomic_init(&module->held, 0);
    module->persistent_made = 0;
}

static void destruct(gdr_mca_module_t *module)
{
    if (module->team != NULL) {
        gdr_team_destroy(module->team);
        atomic_fetch_sub(&gdr_mca.teams, 1);
    }
    if (module->enabled)
        gdr_asked_remove(&module->asked);
    gdr_ways_clear(&module->asked.ways);
    free(module->procs);
    gdr_coll_disable(module);
    if (module->prev_allreduce_module != NULL)
        OBJ_RELEASE(module->prev_allreduce_module);
    if (module->prev_iallreduce_module != NULL)
        OBJ_RELEASE(module->prev_iallreduce_module);
    pthread_mutex_destroy(&module->lock);
}

OBJ_CLASS_INSTANCE(gdr_mca_module_t, mca_coll_base_module_t, construct, destruct);

/* ---- selection ------------------------------------------------------------------------------ */

static int module_enable(mca_coll_base_module_t *base, struct ompi_communicator_t *comm)
{
    gdr_mca_module_t *module = (gdr_mca_module_t *)base;

    /* From here on this process answers questions: there is no communication in it. */
    if (comm == &ompi_mpi_comm_world.comm && gdr_ctl_pml_open() != GDR_OK)
        return OMPI_ERROR;
    gdr_coll_enable(module);
    if (comm->c_coll->coll_allreduce != NULL)
        module->prev_allreduce = comm->c_coll->coll_allreduce;
    module->prev_allreduce_module = comm->c_coll->coll_allreduce_module;
    if (module->prev_allreduce_module != NULL)
        OBJ_RETAIN(module->prev_allreduce_module);
    module->prev_iallreduce = comm->c_coll->coll_iallreduce;
    module->prev_iallreduce_module = comm->c_coll->coll_iallreduce_module;
    if (module->prev_iallreduce_module != NULL)
        OBJ_RETAIN(module->prev_iallreduce_module);
    gdr_asked_add(&module->asked);
    module->enabled = true;
    return OMPI_SUCCESS;
}

mca_coll_base_module_t *mca_coll_gdr_comm_query(struct ompi_communicator_t *comm, int *priority)
{
    uint64_t id = gdr_ompi_comm_id(comm), nonce;
    gdr_mca_module_t *module;

    *priority = gdr_mca.params.priority;
    if (!gdr_nonce_take(comm, &nonce)) /* whoever takes part or not: the count must agree */
        return NULL;
    module = *priority > 0 ? OBJ_NEW(gdr_mca_module_t) : NULL;
    if (module == NULL) {
        gdr_asked_absent(id, nonce, ompi_comm_rank(comm));
        return NULL;
    }
    module->comm = comm;
    module->asked.id = id;
    module->asked.nonce = nonce;
    module->asked.rank = ompi_comm_rank(comm);
    gdr_ways_init(&module->asked.ways, ompi_comm_size(comm));
    module->super.coll_module_enable = module_enable;
    module->super.coll_allreduce = mca_coll_gdr_allreduce;
    module->super.coll_iallreduce = mca_coll_gdr_iallreduce;
    return &module->super;
}
