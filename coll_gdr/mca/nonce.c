/*
 * Communicators that had the same number one after the other are told apart without a message:
 * every member of one has also seen all earlier ones of the same number and the same members, so
 * their count is equal on all. The table is never emptied: 24 bytes per number and group, however
 * many communicators had them, and Open MPI gives the lowest number that is free. (5.0 gives those
 * that are made from a group of a Session a number of their own each; no messages are about them.)
 */
#include "mca/gdr_mca.h"

#include <stdlib.h>

enum { FIRST_ROOM = 64 }; /* a power of two, as is every later size */

typedef struct generation {
    uint64_t id, group;
    uint64_t count; /* 0: an empty place */
} generation_t;

static struct {
    pthread_mutex_t lock;
    generation_t *entries; /* [room], a hash table with linear probing, at most half full */
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

/* The entry, or the empty place where it would be. */
static generation_t *place_of(generation_t *entries, size_t room, uint64_t id, uint64_t group)
{
    size_t at = (size_t)mix(group, id) & (room - 1);

    while (entries[at].count != 0 && (entries[at].id != id || entries[at].group != group))
        at = (at + 1) & (room - 1);
    return &entries[at];
}

static bool grow(void)
{
    size_t room = generations.room == 0 ? FIRST_ROOM : 2 * generations.room;
    generation_t *entries = calloc(room, sizeof(*entries));

    if (entries == NULL)
        return false;
    for (size_t i = 0; i < generations.room; i++) {
        const generation_t *old = &generations.entries[i];

        if (old->count != 0)
            *place_of(entries, room, old->id, old->group) = *old;
    }
    free(generations.entries);
    generations.entries = entries;
    generations.room = room;
    return true;
}

static bool count_up(uint64_t id, uint64_t group, uint64_t *count)
{
    generation_t *entry;

    if (2 * generations.used >= generations.room && !grow())
        return false;
    entry = place_of(generations.entries, generations.room, id, group);
    if (entry->count == 0) {
        *entry = (generation_t){.id = id, .group = group};
        generations.used++;
    }
    *count = ++entry->count;
    return true;
}

bool gdr_nonce_take(struct ompi_communicator_t *comm, uint64_t *nonce)
{
    uint64_t id = gdr_ompi_comm_id(comm);
    uint64_t group = group_hash(comm->c_local_group);
    uint64_t count = 0;
    bool ok;

    pthread_mutex_lock(&generations.lock);
    ok = count_up(id, group, &count);
    pthread_mutex_unlock(&generations.lock);
    if (ok)
        *nonce = mix(mix(group, id), count);
    return ok;
}

uint64_t gdr_module_nonce(const gdr_mca_module_t *module, uint64_t number)
{
    return mix(module->asked.nonce, number + 1);
}

void gdr_nonce_shutdown(void)
{
    free(generations.entries);
    generations.entries = NULL;
    generations.used = generations.room = 0;
}
