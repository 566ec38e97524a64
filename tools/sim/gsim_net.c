/* gdr_net.h in virtual time: puts pass ports, words follow them. */
#include "tools/sim/gsim_priv.h"

#include <stdlib.h>
#include <string.h>

struct gdr_net {
    gsim_proc_t *proc;
    gdr_net_op_t *landed, **last; /* puts whose completion the CPU has not noticed yet */
};

struct gdr_net_mem {
    uint64_t address, bytes;
};

struct gdr_net_peer {
    gsim_proc_t *from, *to;
};

struct gdr_net_rmem {
    uint64_t address, bytes;
};

/* A put under way, in the op's own memory. */
typedef struct flight {
    gdr_net_op_t *next;
    gdr_net_peer_t *peer;
    uint64_t bytes;
    uint64_t word_target, word_source; /* 0: none */
    uint64_t tail;                     /* when the last byte has passed the port before */
    uint64_t hop;
} flight_t;

_Static_assert(sizeof(flight_t) <= sizeof(((gdr_net_op_t *)0)->priv), "fits into an op");

static flight_t *flight_of(gdr_net_op_t *op)
{
    return (flight_t *)(void *)op->priv;
}

static void word_arrives(void *ctx, uint64_t target, uint64_t value)
{
    gsim_world_t *world = gsim_world(ctx);
    gsim_proc_t *proc = gsim_owner(world, target);

    gsim_store(target, value);
    if ((target - (uintptr_t)world->arena) % world->stride >= world->page_bytes)
        gsim_dev_look(proc);
    else
        gsim_wake(proc);
}

/* The word's source may be reused at once: eight bytes travel inside the request. */
static void post_word(gsim_proc_t *proc, const gsim_cost_t *cost, uint64_t source, uint64_t target)
{
    proc->cpu += cost->word_cpu;
    gsim_events_at(&proc->world->events, proc->cpu + cost->word, word_arrives, target,
                   gsim_load(source));
}

static void completes(void *ctx, uint64_t address, uint64_t unused)
{
    gdr_net_op_t *op = (gdr_net_op_t *)(uintptr_t)address;
    gsim_proc_t *proc = flight_of(op)->peer->from;
    gdr_net_t *net = proc->net;

    (void)ctx;
    (void)unused;
    flight_of(op)->next = NULL;
    *net->last = op;
    net->last = &flight_of(op)->next;
    gsim_wake(proc);
}

static void enter_port(void *ctx, uint64_t address, uint64_t unused);

/* The first byte is at the flight's next port at `head`. */
static void pass_port(gsim_world_t *world, gdr_net_op_t *op, const gsim_way_t *way, uint64_t head)
{
    flight_t *flight = flight_of(op);
    gsim_port_t *port = way->port[flight->hop];
    uint64_t busy = (uint64_t)((double)flight->bytes * port->ps_per_byte + 0.5);
    uint64_t start = head > port->free ? head : port->free;
    uint64_t delay = ++flight->hop == way->out ? way->cost->put : 0;

    port->free = start + busy;
    if (flight->tail < start + busy)
        flight->tail = start + busy;
    flight->tail += delay;
    if (flight->hop == way->n)
        gsim_events_at(&world->events, flight->tail + way->cost->done, completes, (uintptr_t)op, 0);
    else
        gsim_events_at(&world->events, start + delay, enter_port, (uintptr_t)op, 0);
}

static void enter_port(void *ctx, uint64_t address, uint64_t unused)
{
    gsim_world_t *world = gsim_world(ctx);
    gdr_net_op_t *op = (gdr_net_op_t *)(uintptr_t)address;
    const gdr_net_peer_t *peer = flight_of(op)->peer;
    gsim_way_t way;

    (void)unused;
    gsim_way(world, peer->from, peer->to, &way);
    pass_port(world, op, &way, world->events.now);
}

static void net_put(gdr_net_peer_t *peer, gdr_net_rmem_t *rmem, uint64_t roff, gdr_net_mem_t *lmem,
                    uint64_t loff, size_t bytes, const gdr_net_word_t *word, gdr_net_op_t *op)
{
    gsim_proc_t *proc = peer->from;
    gsim_world_t *world = proc->world;
    flight_t *flight = flight_of(op);
    gsim_way_t way;

    if (roff > rmem->bytes || bytes > rmem->bytes - roff || loff > lmem->bytes ||
        bytes > lmem->bytes - loff)
        gsim_fail(world, "rank %d puts beyond a window", proc->rank);
    gsim_way(world, proc, peer->to, &way);
    *flight = (flight_t){.peer = peer, .bytes = bytes};
    if (word != NULL) {
        flight->word_source = word->lmem->address + word->loff;
        flight->word_target = word->rmem->address + word->roff;
    }
    if (bytes == 0) {
        if (word != NULL)
            post_word(proc, way.cost, flight->word_source, flight->word_target);
        op->status = GDR_OK;
        return;
    }
    op->status = GDR_INPROGRESS;
    proc->cpu += way.cost->put_cpu;
    if (way.cost == &world->nic)
        world->nic_bytes += bytes;
    if (way.shared[0])
        gsim_events_at(&world->events, proc->cpu, enter_port, (uintptr_t)op, 0);
    else
        pass_port(world, op, &way, proc->cpu);
}

static unsigned net_progress(gdr_net_t *net)
{
    unsigned events = 0;

    while (net->landed != NULL) {
        gdr_net_op_t *op = net->landed;
        flight_t *flight = flight_of(op);
        gsim_way_t way;

        net->landed = flight->next;
        gsim_way(net->proc->world, net->proc, flight->peer->to, &way);
        if (flight->word_target != 0)
            post_word(net->proc, way.cost, flight->word_source, flight->word_target);
        op->status = GDR_OK;
        events++;
    }
    net->last = &net->landed;
    return events;
}

/* An abandoned call's: what was posted before has landed when the ports are idle. None is. */
static void net_flush(gdr_net_peer_t *peer, gdr_net_op_t *op)
{
    (void)peer;
    op->status = GDR_OK;
}

static gdr_net_mem_t *mem_new(uint64_t address, uint64_t bytes)
{
    gdr_net_mem_t *mem = malloc(sizeof(*mem));

    if (mem != NULL)
        *mem = (gdr_net_mem_t){address, bytes};
    return mem;
}

static gdr_status_t register_device(gdr_net_t *net, uint64_t address, size_t bytes,
                                    gdr_net_mem_t **mem)
{
    (void)net;
    *mem = mem_new(address, bytes);
    return *mem != NULL ? GDR_OK : GDR_ERR_NO_MEMORY;
}

static gdr_status_t alloc_host(gdr_net_t *net, size_t bytes, void **address, gdr_net_mem_t **mem)
{
    gsim_world_t *world = net->proc->world;
    uint8_t *page = world->arena + (uint64_t)net->proc->rank * world->stride;

    if (bytes > world->page_bytes)
        return GDR_ERR_NO_MEMORY;
    *mem = mem_new((uintptr_t)page, bytes);
    *address = page;
    return *mem != NULL ? GDR_OK : GDR_ERR_NO_MEMORY;
}

static void deregister(gdr_net_t *net, gdr_net_mem_t *mem)
{
    (void)net;
    free(mem);
}

static gdr_status_t give(const void *data, size_t length, void *buffer, size_t *bytes)
{
    bool fits = *bytes >= length;

    *bytes = length;
    if (fits)
        memcpy(buffer, data, length);
    return fits ? GDR_OK : GDR_ERR_INVALID;
}

static gdr_status_t net_address(gdr_net_t *net, void *buffer, size_t *bytes)
{
    return give(&net->proc->rank, sizeof(net->proc->rank), buffer, bytes);
}

static gdr_status_t net_pack(gdr_net_mem_t *mem, void *buffer, size_t *bytes)
{
    return give(mem, sizeof(*mem), buffer, bytes);
}

static gdr_status_t net_connect(gdr_net_t *net, const void *address, size_t bytes,
                                gdr_net_peer_t **peer)
{
    int32_t rank;

    if (bytes != sizeof(rank))
        return GDR_ERR_INVALID;
    memcpy(&rank, address, sizeof(rank));
    *peer = malloc(sizeof(**peer));
    if (*peer == NULL)
        return GDR_ERR_NO_MEMORY;
    **peer = (gdr_net_peer_t){net->proc, &net->proc->world->procs[rank]};
    return GDR_OK;
}

static void net_disconnect(gdr_net_peer_t *peer)
{
    free(peer);
}

static gdr_status_t net_import(gdr_net_peer_t *peer, const gdr_net_mem_t *from, const void *packed,
                               size_t bytes, gdr_net_rmem_t **rmem)
{
    (void)peer;
    (void)from;
    if (bytes != sizeof(**rmem))
        return GDR_ERR_INVALID;
    *rmem = malloc(sizeof(**rmem));
    if (*rmem == NULL)
        return GDR_ERR_NO_MEMORY;
    memcpy(*rmem, packed, bytes);
    return GDR_OK;
}

static void net_release(gdr_net_rmem_t *rmem)
{
    free(rmem);
}

/* The arena is everybody's: the device knows by the address whose window a kernel reads. */
static gdr_status_t net_map(gdr_net_rmem_t *rmem, uint64_t *address)
{
    *address = rmem->address;
    return GDR_OK;
}

static bool net_maps(const gdr_net_t *net)
{
    return net->proc->world->setup.mapped;
}

static gdr_status_t peer_status(const gdr_net_peer_t *peer)
{
    (void)peer;
    return GDR_OK;
}

static void net_close(gdr_net_t *net)
{
    net->proc->net = NULL;
    free(net);
}

static const gdr_net_ops_t net_ops = {
    .progress = net_progress,
    .register_device = register_device,
    .alloc_host = alloc_host,
    .deregister = deregister,
    .address = net_address,
    .pack = net_pack,
    .connect = net_connect,
    .disconnect = net_disconnect,
    .import = net_import,
    .release = net_release,
    .map = net_map,
    .maps = net_maps,
    .put = net_put,
    .flush = net_flush,
    .peer_status = peer_status,
    .close = net_close,
};

gdr_status_t gsim_open_net(void *ctx, const gdr_net_ops_t **ops, gdr_net_t **net)
{
    gsim_proc_t *proc = ctx;

    *net = malloc(sizeof(**net));
    if (*net == NULL)
        return GDR_ERR_NO_MEMORY;
    (*net)->proc = proc;
    (*net)->landed = NULL;
    (*net)->last = &(*net)->landed;
    proc->net = *net;
    *ops = &net_ops;
    return GDR_OK;
}
