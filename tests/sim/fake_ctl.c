/* Control messages: in order between two processes, each with its own delay. */
#include "tests/sim/sim.h"

#include <stdlib.h>
#include <string.h>

typedef struct parcel {
    int from, to;
    size_t bytes;
    char data[GDR_CTL_MAX];
} parcel_t;

/* As the receiver of control messages: questions are answered without the engine. */
static void arrive(sim_world_t *world, void *a, void *b)
{
    parcel_t *parcel = a;
    gdr_ask_t ask;

    (void)b;
    if (world->procs[parcel->to].broken || world->procs[parcel->from].broken) {
        free(parcel);
        return;
    }
    if (gdr_ask_read(parcel->data, parcel->bytes, &ask)) {
        if (world->asked != NULL)
            world->asked(world->asked_ctx, parcel->to, parcel->from, &ask);
    } else if (world->procs[parcel->to].engine != NULL &&
               (world->procs[parcel->to].awake || !world->deaf)) {
        sim_alloc_inside++;
        gdr_engine_deliver(world->procs[parcel->to].engine, parcel->from, parcel->data,
                           parcel->bytes);
        sim_alloc_inside--;
    }
    free(parcel);
}

gdr_status_t sim_ctl_send(void *ctx, int proc, const void *message, size_t bytes)
{
    sim_proc_t *from = ctx;
    sim_world_t *world = from->world;
    uint64_t *last = &world->ctl_last[from->index][proc];
    uint64_t time = world->now + 1 + sim_random(world, world->options.ctl_delay);
    parcel_t *parcel;

    if (sim_port_fails(from, "ctl.send"))
        return GDR_ERR_NET;
    if (bytes > GDR_CTL_MAX || proc < 0 || proc >= world->options.nprocs) {
        sim_fail(world, "a control message of %zu bytes to process %d", bytes, proc);
        return GDR_ERR_INVALID;
    }
    parcel = sim_alloc(sizeof(*parcel));
    parcel->from = from->index;
    parcel->to = proc;
    parcel->bytes = bytes;
    memcpy(parcel->data, message, bytes);
    if (time <= *last)
        time = *last + 1;
    *last = time;
    sim_at(world, time, arrive, parcel, NULL);
    return GDR_OK;
}
