/* A one-sided network: puts take random times and overtake each other; a word follows its data. */
#include "tests/sim/fake_net.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PACK_MAGIC = 0x51317a };

typedef struct packed {
    uint32_t magic;
    int32_t proc;
    uint64_t address, bytes;
    uint64_t host;
    uint8_t padding[1500]; /* as long as some transports' keys: more than one piece */
} packed_t;

/* A put under way. */
typedef struct flight {
    sim_proc_t *from, *to;
    gdr_net_t *net;
    uint64_t source, target, bytes;
    uint64_t word_source, word_target;
    uint64_t word; /* taken over when the put completes */
    bool has_word, has_taken;
    unsigned parts;
    gdr_net_op_t *op;
} flight_t;

static bool lost(const flight_t *flight)
{
    return sim_is_cut(flight->from, flight->to);
}

static void land(const flight_t *flight)
{
    if (--((flight_t *)flight)->parts == 0)
        free((flight_t *)flight);
}

static void data_arrives(sim_world_t *world, void *a, void *b)
{
    flight_t *flight = a;

    (void)b;
    if (world->options.emulates && !lost(flight) &&
        !sim_region_holds(flight->to, flight->target, flight->bytes))
        sim_fail(world, "process %d writes to device memory that is gone", flight->to->index);
    if (!lost(flight) && sim_region_holds(flight->to, flight->target, flight->bytes))
        sim_net_late(flight->to, flight->target, flight->source, flight->bytes);
    land(flight);
}

static void word_arrives(sim_world_t *world, void *a, void *b)
{
    flight_t *flight = a;
    uint64_t value;

    (void)b;
    (void)world;
    if (!lost(flight) && sim_region_holds(flight->to, flight->word_target, 8)) {
        value =
            flight->has_taken ? flight->word : *(const uint64_t *)(uintptr_t)flight->word_source;
        __atomic_store_n((uint64_t *)(uintptr_t)flight->word_target, value, __ATOMIC_RELEASE);
        sim_dev_wake(flight->to);
    }
    land(flight);
}

static void finish(gdr_net_t *net, gdr_net_op_t *op, gdr_status_t status)
{
    done_op_t **end = &net->done, *done = sim_alloc(sizeof(*done));

    done->op = op;
    done->status = status;
    while (*end != NULL)
        end = &(*end)->next;
    *end = done;
}

static void op_completes(sim_world_t *world, void *a, void *b)
{
    flight_t *flight = a;

    (void)b;
    (void)world;
    if (flight->has_word && !flight->has_taken && flight->parts > 1) {
        flight->has_taken = true;
        flight->word = *(const uint64_t *)(uintptr_t)flight->word_source;
    }
    finish(flight->net, flight->op, lost(flight) ? GDR_ERR_NET : GDR_OK);
    land(flight);
}

static void enter(gdr_net_t *net, const char *name)
{
    if (net->inside++ != 0)
        sim_fail(net->proc->world, "%s called from inside the network", name);
}

static void leave(gdr_net_t *net)
{
    net->inside--;
}

static void net_on_lost(gdr_net_t *net, void (*hear)(void *ctx), void *ctx)
{
    net->lost = hear;
    net->lost_ctx = ctx;
}

/* As cuda_ipc: some time after a peer's failure was told what is mapped of it is closed, and that
 * waits for all streams. */
static void close_lost(gdr_net_t *net)
{
    sim_world_t *world = net->proc->world;
    gdr_net_peer_t *peer;

    for (peer = net->peers; peer != NULL; peer = peer->next) {
        if (peer->closing > 1 && --peer->closing == 1 && sim_dev_waits(net->proc))
            sim_fail(world, "process %d waits for a stream that waits for a word",
                     net->proc->index);
        if (peer->closing > 0 || !sim_is_cut(net->proc, peer->to))
            continue;
        peer->closing = 2 + (unsigned)sim_random(world, 4);
        net->lost(net->lost_ctx);
    }
}

/* Known when the first put was on its way. */
static bool net_emulates(const gdr_net_t *net)
{
    return net->proc->world->options.emulates && net->proc->puts > 0;
}

static unsigned net_progress(gdr_net_t *net)
{
    unsigned events = 0;

    enter(net, "progress");
    if (net->proc->world->options.reenter && gdr_engine_progress(net->proc->engine) != 0)
        sim_fail(net->proc->world, "progress re-entered");
    close_lost(net);
    while (net->done != NULL) {
        done_op_t *done = net->done;

        net->done = done->next;
        done->op->status = done->status;
        free(done);
        events++;
    }
    leave(net);
    return events;
}

static gdr_net_mem_t *mem_new(gdr_net_t *net, uint64_t address, size_t bytes, bool host)
{
    gdr_net_mem_t *mem = sim_alloc(sizeof(*mem));

    mem->net = net;
    mem->address = address;
    mem->bytes = bytes;
    mem->host = host;
    net->proc->world->net_live++;
    return mem;
}

static gdr_status_t register_device(gdr_net_t *net, uint64_t address, size_t bytes,
                                    gdr_net_mem_t **mem)
{
    if (sim_port_fails(net->proc, "net.register_device"))
        return GDR_ERR_NET;
    if (!sim_region_holds(net->proc, address, bytes))
        sim_fail(net->proc->world, "registers what is no device memory");
    *mem = mem_new(net, address, bytes, false);
    return GDR_OK;
}

static gdr_status_t alloc_host(gdr_net_t *net, size_t bytes, void **address, gdr_net_mem_t **mem)
{
    if (sim_port_fails(net->proc, "net.alloc_host"))
        return GDR_ERR_NO_MEMORY;
    *address = sim_alloc(bytes);
    sim_region_add(net->proc, *address, bytes);
    *mem = mem_new(net, (uintptr_t)*address, bytes, true);
    return GDR_OK;
}

static void deregister(gdr_net_t *net, gdr_net_mem_t *mem)
{
    if (mem->host) {
        sim_region_remove(net->proc, (void *)(uintptr_t)mem->address);
        free((void *)(uintptr_t)mem->address);
    }
    net->proc->world->net_live--;
    free(mem);
}

static gdr_status_t give(const void *data, size_t length, void *buffer, size_t *bytes)
{
    size_t room = *bytes;

    *bytes = length;
    if (room < length)
        return GDR_ERR_INVALID;
    memcpy(buffer, data, length);
    return GDR_OK;
}

static gdr_status_t net_address(gdr_net_t *net, void *buffer, size_t *bytes)
{
    char text[2100] = "";

    if (sim_port_fails(net->proc, "net.address"))
        return GDR_ERR_NET;
    snprintf(text, sizeof(text), "process %d", net->proc->index);
    return give(text, sizeof(text), buffer, bytes);
}

static gdr_status_t net_pack(gdr_net_mem_t *mem, void *buffer, size_t *bytes)
{
    packed_t packed = {PACK_MAGIC, mem->net->proc->index, mem->address, mem->bytes, mem->host, {0}};

    if (sim_port_fails(mem->net->proc, "net.pack"))
        return GDR_ERR_NET;
    return give(&packed, sizeof(packed), buffer, bytes);
}

static gdr_status_t net_connect(gdr_net_t *net, const void *address, size_t bytes,
                                gdr_net_peer_t **peer)
{
    int proc;

    if (sim_port_fails(net->proc, "net.connect"))
        return GDR_ERR_UNREACHABLE;
    if (bytes != 2100 || sscanf(address, "process %d", &proc) != 1) {
        sim_fail(net->proc->world, "connects to no address");
        return GDR_ERR_INVALID;
    }
    *peer = sim_alloc(sizeof(**peer));
    (*peer)->net = net;
    (*peer)->next = net->peers;
    net->peers = *peer;
    (*peer)->to = &net->proc->world->procs[proc];
    net->proc->world->net_live++;
    return GDR_OK;
}

static void net_disconnect(gdr_net_peer_t *peer)
{
    gdr_net_peer_t **link = &peer->net->peers;

    while (*link != peer)
        link = &(*link)->next;
    *link = peer->next;
    peer->net->proc->world->net_live--;
    free(peer);
}

static gdr_status_t net_import(gdr_net_peer_t *peer, const gdr_net_mem_t *from, const void *data,
                               size_t bytes, gdr_net_rmem_t **rmem)
{
    packed_t packed;

    if (sim_port_fails(peer->net->proc, "net.import"))
        return GDR_ERR_NET;
    memcpy(&packed, data, bytes < sizeof(packed) ? bytes : sizeof(packed));
    if (bytes != sizeof(packed) || packed.magic != PACK_MAGIC || packed.proc != peer->to->index) {
        sim_fail(peer->net->proc->world, "imports no key of that process");
        return GDR_ERR_INVALID;
    }
    if (from->host != (packed.host != 0))
        sim_fail(peer->net->proc->world, "imports a key for puts from the other kind of memory");
    *rmem = sim_alloc(sizeof(**rmem));
    (*rmem)->peer = peer;
    (*rmem)->address = packed.address;
    (*rmem)->bytes = packed.bytes;
    (*rmem)->host = packed.host != 0;
    peer->net->proc->world->net_live++;
    return GDR_OK;
}

static void check_range(sim_world_t *world, uint64_t offset, uint64_t bytes, uint64_t room)
{
    if (offset > room || bytes > room - offset)
        sim_fail(world, "a put of %llu bytes at %llu leaves its region of %llu",
                 (unsigned long long)bytes, (unsigned long long)offset, (unsigned long long)room);
}

static void check_word(sim_world_t *world, const gdr_net_word_t *word)
{
    if (word->rmem->host != word->lmem->host)
        sim_fail(world, "a word crosses between host and device memory");
    if (word->loff % 8 != 0 || word->roff % 8 != 0)
        sim_fail(world, "a word is not aligned");
    check_range(world, word->loff, 8, word->lmem->bytes);
    check_range(world, word->roff, 8, word->rmem->bytes);
}

/* The op completes when the word is on its way: only a flush tells when it has landed. */
static void schedule_late(flight_t *flight, gdr_net_peer_t *peer, uint64_t data)
{
    sim_world_t *world = flight->from->world;
    uint64_t delay = world->options.net_delay;
    uint64_t done = data + 1 + sim_random(world, delay);
    uint64_t word = done + 1 + sim_random(world, 40 * delay);

    flight->parts++;
    if (peer->last < word)
        peer->last = word;
    sim_at(world, done, op_completes, flight, NULL);
    sim_at(world, word, word_arrives, flight, NULL);
}

static void schedule(flight_t *flight, gdr_net_peer_t *peer)
{
    sim_world_t *world = flight->from->world;
    uint64_t delay = world->options.net_delay, time = world->now + 1, data = time;

    flight->parts = 1;
    if (flight->bytes > 0) {
        data = time + sim_random(world, delay);
        flight->parts++;
        sim_at(world, data, data_arrives, flight, NULL);
    }
    time = data;
    if (flight->has_word && world->options.late_words != 0 &&
        sim_random(world, world->options.late_words) == 0) {
        schedule_late(flight, peer, data);
        return;
    }
    if (flight->has_word) {
        flight->parts++;
        if (world->options.overtake && flight->bytes > 0)
            sim_at(world, world->now + sim_random(world, data - world->now), word_arrives, flight,
                   NULL);
        else
            sim_at(world, time += 1 + sim_random(world, delay), word_arrives, flight, NULL);
    }
    time += 1 + sim_random(world, delay);
    if (peer->last < time)
        peer->last = time;
    sim_at(world, time, op_completes, flight, NULL);
}

static void net_put(gdr_net_peer_t *peer, gdr_net_rmem_t *rmem, uint64_t roff, gdr_net_mem_t *lmem,
                    uint64_t loff, size_t bytes, const gdr_net_word_t *word, gdr_net_op_t *op)
{
    sim_proc_t *proc = peer->net->proc;
    flight_t *flight;

    enter(peer->net, "put");
    leave(peer->net);
    if (op->status == GDR_INPROGRESS)
        sim_fail(proc->world, "an op is posted twice");
    if (sim_port_fails(proc, "net.put") || sim_is_cut(proc, peer->to)) {
        op->status = GDR_ERR_NET;
        return;
    }
    check_range(proc->world, loff, bytes, lmem->bytes);
    check_range(proc->world, roff, bytes, rmem->bytes);
    if (bytes > 0 && (lmem->host || rmem->host))
        sim_fail(proc->world, "payload lies in host memory");
    flight = sim_alloc(sizeof(*flight));
    flight->from = proc;
    flight->to = peer->to;
    flight->net = peer->net;
    flight->bytes = bytes;
    flight->source = lmem->address + loff;
    flight->target = rmem->address + roff;
    flight->op = op;
    if (word != NULL) {
        check_word(proc->world, word);
        flight->has_word = true;
        flight->word_source = word->lmem->address + word->loff;
        flight->word_target = word->rmem->address + word->roff;
        proc->words++;
    }
    if (bytes > 0) {
        proc->puts++;
        proc->put_bytes += bytes;
        if (sim_region_holds(peer->to, flight->target, bytes))
            memset((void *)(uintptr_t)flight->target, 0xee, bytes);
    }
    op->status = GDR_INPROGRESS;
    schedule(flight, peer);
}

static void net_flush(gdr_net_peer_t *peer, gdr_net_op_t *op)
{
    sim_world_t *world = peer->net->proc->world;
    flight_t *flight = sim_alloc(sizeof(*flight));

    flight->from = peer->net->proc;
    flight->to = peer->to;
    flight->net = peer->net;
    flight->op = op;
    flight->parts = 1;
    op->status = GDR_INPROGRESS;
    sim_at(world, (peer->last > world->now ? peer->last : world->now) + 1, op_completes, flight,
           NULL);
}

static gdr_status_t peer_status(const gdr_net_peer_t *peer)
{
    return sim_is_cut(peer->net->proc, peer->to) ? GDR_ERR_NET : GDR_OK;
}

static void net_close(gdr_net_t *net)
{
    while (net->done != NULL) {
        done_op_t *done = net->done;

        net->done = done->next;
        free(done);
        sim_fail(net->proc->world, "the network is closed with an op under way");
    }
    net->proc->world->net_live--;
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
    .release = sim_net_release,
    .map = sim_net_map,
    .maps = sim_net_maps,
    .emulates = net_emulates,
    .put = net_put,
    .flush = net_flush,
    .peer_status = peer_status,
    .close = net_close,
    .on_lost = net_on_lost,
};
static gdr_net_ops_t net_ops_keeping;

gdr_status_t sim_open_net(void *ctx, const gdr_net_ops_t **ops, gdr_net_t **net)
{
    sim_proc_t *proc = ctx;

    if (sim_port_fails(proc, "open_net"))
        return GDR_ERR_NET;
    *net = sim_alloc(sizeof(**net));
    (*net)->proc = proc;
    proc->net = *net;
    proc->world->net_live++;
    net_ops_keeping = net_ops;
    net_ops_keeping.keeps_mappings = true;
    *ops = proc->world->options.keeps_mappings ? &net_ops_keeping : &net_ops;
    return GDR_OK;
}
