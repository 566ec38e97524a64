/* Data that the network has delivered, but that is not in the device's memory yet. */
#include "tests/sim/sim.h"

#include <stdlib.h>
#include <string.h>

typedef struct sim_late {
    struct sim_late *next;
    uint64_t address, bytes;
    uint8_t data[];
} sim_late_t;

void sim_net_settle(sim_proc_t *proc)
{
    while (proc->late != NULL) {
        sim_late_t *late = proc->late;

        proc->late = late->next;
        if (sim_region_holds(proc, late->address, late->bytes))
            memcpy((void *)(uintptr_t)late->address, late->data, late->bytes);
        free(late);
    }
}

void sim_net_forget(sim_proc_t *proc)
{
    while (proc->late != NULL) {
        sim_late_t *late = proc->late;

        proc->late = late->next;
        free(late);
    }
}

static void settle_event(sim_world_t *world, void *a, void *b)
{
    (void)world;
    (void)b;
    sim_net_settle(a);
}

void sim_net_late(sim_proc_t *proc, uint64_t address, uint64_t source, uint64_t bytes)
{
    sim_world_t *world = proc->world;
    sim_late_t **end = &proc->late, *late = sim_alloc(sizeof(*late) + bytes);

    late->address = address;
    late->bytes = bytes;
    memcpy(late->data, (const void *)(uintptr_t)source, bytes);
    while (*end != NULL)
        end = &(*end)->next;
    *end = late;
    if (world->options.flush_rdma)
        sim_after(world, 4 * world->options.net_delay, settle_event, proc, NULL);
    else
        sim_net_settle(proc);
}
