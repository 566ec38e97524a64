/* One module per communicator: what was there before is saved, called when gdr does not serve. */
#include "mca/gdr_mca.h"

#include <stdlib.h>
#include <string.h>

static void construct(gdr_mca_module_t *module)
{
    module->comm = NULL;
    module->prev_allreduce = NULL;
    module->prev_allreduce_module = NULL;
    module->prev_iallreduce = NULL;
    module->prev_iallreduce_module = NULL;
    memset(&module->prev, 0, sizeof(module->prev));
    module->nonce = 0;
    pthread_mutex_init(&module->lock, NULL);
    module->reach = GDR_REACH_UNKNOWN;
    module->team = NULL;
    module->procs = NULL;
    module->device = -1;
    atomic_init(&module->home_context, 0);
    module->stage_reason = NULL;
    module->said_staged = false;
    module->compared = false;
    module->alike = false;
    atomic_init(&module->explained, 0);
    module->order_head = NULL;
    module->order_tail = NULL;
    atomic_init(&module->held, 0);
}

static void destruct(gdr_mca_module_t *module)
{
    if (module->team != NULL) {
        gdr_team_destroy(module->team);
        atomic_fetch_sub(&gdr_mca.teams, 1);
    }
    free(module->procs);
    gdr_passed_disable(module);
    if (module->prev_allreduce_module != NULL)
        OBJ_RELEASE(module->prev_allreduce_module);
    if (module->prev_iallreduce_module != NULL)
        OBJ_RELEASE(module->prev_iallreduce_module);
    pthread_mutex_destroy(&module->lock);
}

OBJ_CLASS_INSTANCE(gdr_mca_module_t, mca_coll_base_module_t, construct, destruct);

/* ---- nonce ---------------------------------------------------------------------------------- */

/*
 * Communicators that had the same number one after the other are told apart without a message:
 * every member of one has also seen all earlier ones of the same number and the same members, so
 * their count is equal on all. The table is never emptied, one entry per number and group.
 */
typedef struct generation {
    uint64_t id, group;
    uint64_t count;
} generation_t;

static struct {
    pthread_mutex_t lock;
    generation_t *entries;
    size_t used, room;
} generations = {.lock = PTHREAD_MUTEX_INITIALIZER};

static uint64_t mix(uint64_t hash, uint64_t value)
{
    hash = (hash ^ value) * UINT64_C(0x9e3779b97f4a7c15);
    return hash ^ hash >> 29;
}

static uint64_t group_hash(ompi_group_t *group)
{
    uint64_t hash = mix(0, (uint64_t)ompi_group_size(group));

    for (int rank = 0; rank < ompi_group_size(group); rank++) {
        opal_process_name_t name = ompi_group_get_proc_name(group, rank);

        hash = mix(hash, (uint64_t)name.jobid << 32 | name.vpid);
    }
    return hash;
}

static generation_t *find_generation(uint64_t id, uint64_t group)
{
    generation_t *entry;

    for (size_t i = 0; i < generations.used; i++)
        if (generations.entries[i].id == id && generations.entries[i].group == group)
            return &generations.entries[i];
    if (generations.used == generations.room) {
        size_t room = generations.room == 0 ? 16 : 2 * generations.room;
        generation_t *entries = realloc(generations.entries, room * sizeof(*entries));

        if (entries == NULL)
            return NULL;
        generations.entries = entries;
        generations.room = room;
    }
    entry = &generations.entries[generations.used++];
    *entry = (generation_t){.id = id, .group = group};
    return entry;
}

/* false: no memory, and no module then. */
static bool take_nonce(struct ompi_communicator_t *comm, uint64_t *nonce)
{
    uint64_t id = gdr_ompi_comm_id(comm);
    uint64_t group = group_hash(comm->c_local_group);
    generation_t *entry;

    pthread_mutex_lock(&generations.lock);
    entry = find_generation(id, group);
    if (entry != NULL)
        *nonce = mix(mix(group, id), ++entry->count);
    pthread_mutex_unlock(&generations.lock);
    return entry != NULL;
}

void gdr_module_shutdown(void)
{
    free(generations.entries);
    generations.entries = NULL;
    generations.used = generations.room = 0;
}

/* ---- selection ------------------------------------------------------------------------------ */

static int module_enable(mca_coll_base_module_t *base, struct ompi_communicator_t *comm)
{
    gdr_mca_module_t *module = (gdr_mca_module_t *)base;

    gdr_passed_enable(module);
    /* Under some components there is nobody before: that matters only when one is needed. */
    module->prev_allreduce = comm->c_coll->coll_allreduce;
    module->prev_allreduce_module = comm->c_coll->coll_allreduce_module;
    if (module->prev_allreduce_module != NULL)
        OBJ_RETAIN(module->prev_allreduce_module);
    module->prev_iallreduce = comm->c_coll->coll_iallreduce;
    module->prev_iallreduce_module = comm->c_coll->coll_iallreduce_module;
    if (module->prev_iallreduce_module != NULL)
        OBJ_RETAIN(module->prev_iallreduce_module);
    return OMPI_SUCCESS;
}

mca_coll_base_module_t *mca_coll_gdr_comm_query(struct ompi_communicator_t *comm, int *priority)
{
    gdr_mca_module_t *module;
    uint64_t nonce;

    *priority = gdr_mca.params.priority;
    if (*priority <= 0 || !take_nonce(comm, &nonce))
        return NULL;
    module = OBJ_NEW(gdr_mca_module_t);
    if (module == NULL)
        return NULL;
    module->comm = comm;
    module->nonce = nonce;
    module->super.coll_module_enable = module_enable;
    module->super.coll_allreduce = mca_coll_gdr_allreduce;
    module->super.coll_iallreduce = mca_coll_gdr_iallreduce;
    return &module->super;
}
