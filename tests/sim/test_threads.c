/*
 * The thread rules: two processes' engines in one program, each with two threads that post calls
 * on a communicator of their own and a third that progresses; control messages are delivered from
 * whichever thread sends them. The fakes act at once and hold no locks: what is shared between the
 * threads is ordered by the engine alone. Build with -fsanitize=thread to see that it is.
 */
#include "engine/gdr_engine.h"
#include "tests/sim/sim.h"

#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PROCS = 2, WORKERS = 2, CALLS = 200, COUNT = 3000 };

struct gdr_net_mem {
    uint8_t *address;
};

struct gdr_net_peer {
    int proc;
};

struct gdr_net_rmem {
    uint8_t *address;
};

typedef struct process {
    int index;
    gdr_engine_t *engine;
    int inside; /* the ports: one caller at a time */
    int stop;
    int failed;
    void *page; /* outlives the engine: a peer's last credit may still come */
} process_t;

typedef struct worker {
    process_t *process;
    int index;
} worker_t;

static process_t processes[PROCS];

static uint64_t as_number(const void *address)
{
    return (uintptr_t)address;
}

static void *as_pointer(uint64_t number)
{
    return (void *)(uintptr_t)number;
}

/* The engine promises one call at a time: a plain counter, so that TSan sees a breach. */
static void enter(void *process)
{
    process_t *p = process;

    if (p->inside++ != 0)
        p->failed = 1;
    p->inside--;
}

static unsigned net_progress(gdr_net_t *net)
{
    enter(net);
    return 0;
}

static gdr_status_t register_device(gdr_net_t *net, uint64_t address, size_t bytes,
                                    gdr_net_mem_t **mem)
{
    (void)bytes;
    enter(net);
    *mem = sim_alloc(sizeof(**mem));
    (*mem)->address = as_pointer(address);
    return GDR_OK;
}

static gdr_status_t alloc_host(gdr_net_t *net, size_t bytes, void **address, gdr_net_mem_t **mem)
{
    enter(net);
    *mem = sim_alloc(sizeof(**mem));
    *address = (*mem)->address = ((process_t *)net)->page = sim_alloc(bytes);
    return GDR_OK;
}

static void deregister(gdr_net_t *net, gdr_net_mem_t *mem)
{
    enter(net);
    free(mem);
}

static gdr_status_t net_address(gdr_net_t *net, void *buffer, size_t *bytes)
{
    enter(net);
    memcpy(buffer, &((process_t *)net)->index, sizeof(int));
    *bytes = sizeof(int);
    return GDR_OK;
}

static gdr_status_t net_pack(gdr_net_mem_t *mem, void *buffer, size_t *bytes)
{
    memcpy(buffer, &mem->address, sizeof(mem->address));
    *bytes = sizeof(mem->address);
    return GDR_OK;
}

static gdr_status_t net_connect(gdr_net_t *net, const void *address, size_t bytes,
                                gdr_net_peer_t **peer)
{
    (void)bytes;
    enter(net);
    *peer = sim_alloc(sizeof(**peer));
    memcpy(&(*peer)->proc, address, sizeof(int));
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
    (void)bytes;
    *rmem = sim_alloc(sizeof(**rmem));
    memcpy(&(*rmem)->address, packed, sizeof((*rmem)->address));
    return GDR_OK;
}

static void net_release(gdr_net_rmem_t *rmem)
{
    free(rmem);
}

static gdr_status_t net_map(gdr_net_rmem_t *rmem, uint64_t *address)
{
    (void)rmem;
    (void)address;
    return GDR_ERR_UNSUPPORTED;
}

static void net_put(gdr_net_peer_t *peer, gdr_net_rmem_t *rmem, uint64_t roff, gdr_net_mem_t *lmem,
                    uint64_t loff, size_t bytes, const gdr_net_word_t *word, gdr_net_op_t *op)
{
    uint64_t value;

    (void)peer;
    memcpy(rmem->address + roff, lmem->address + loff, bytes);
    value = *(const uint64_t *)(word->lmem->address + word->loff);
    __atomic_store_n((uint64_t *)(word->rmem->address + word->roff), value, __ATOMIC_RELEASE);
    op->status = GDR_OK;
}

static void net_flush(gdr_net_peer_t *peer, gdr_net_op_t *op)
{
    (void)peer;
    op->status = GDR_OK;
}

static gdr_status_t peer_status(const gdr_net_peer_t *peer)
{
    (void)peer;
    return GDR_OK;
}

static void net_close(gdr_net_t *net)
{
    enter(net);
}

static const gdr_net_ops_t net_ops = {.progress = net_progress,
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
                                      .put = net_put,
                                      .flush = net_flush,
                                      .peer_status = peer_status,
                                      .close = net_close};

static void dev_caps(const gdr_dev_t *dev, gdr_dev_caps_t *caps)
{
    (void)dev;
    memset(caps, 0, sizeof(*caps));
}

static uint64_t dev_generation(gdr_dev_t *dev)
{
    enter(dev);
    return 1;
}

static gdr_status_t dev_alloc(gdr_dev_t *dev, size_t bytes, uint64_t *address)
{
    enter(dev);
    *address = as_number(sim_alloc(bytes));
    return GDR_OK;
}

static void dev_free(gdr_dev_t *dev, uint64_t address)
{
    enter(dev);
    free(as_pointer(address));
}

static gdr_status_t map_host(gdr_dev_t *dev, void *address, size_t bytes, uint64_t *device_address)
{
    (void)bytes;
    enter(dev);
    *device_address = as_number(address);
    return GDR_OK;
}

static void unmap_host(gdr_dev_t *dev, void *address)
{
    (void)address;
    enter(dev);
}

static gdr_status_t stream_create(gdr_dev_t *dev, gdr_dev_stream_t **stream)
{
    enter(dev);
    *stream = (gdr_dev_stream_t *)dev;
    return GDR_OK;
}

static void stream_destroy(gdr_dev_stream_t *stream)
{
    enter(stream);
}

static gdr_status_t follow_default(gdr_dev_stream_t *stream, uint64_t buffer, uint64_t caller)
{
    (void)caller;
    (void)buffer;
    enter(stream);
    return GDR_OK;
}

static gdr_status_t dev_reduce(gdr_dev_stream_t *stream, const gdr_dev_reduce_t *reduce)
{
    void *result = sim_alloc(reduce->bytes);
    uint32_t i;

    enter(stream);
    sim_reduce(reduce, result);
    for (i = 0; i < reduce->nout; i++)
        memcpy(as_pointer(reduce->out[i]), result, reduce->bytes);
    free(result);
    return GDR_OK;
}

static gdr_status_t write_word(gdr_dev_stream_t *stream, uint64_t address, uint64_t value)
{
    enter(stream);
    __atomic_store_n((uint64_t *)as_pointer(address), value, __ATOMIC_RELEASE);
    return GDR_OK;
}

static gdr_status_t flush_rdma_writes(gdr_dev_t *dev)
{
    enter(dev);
    return GDR_OK;
}

static gdr_status_t stream_status(gdr_dev_stream_t *stream)
{
    enter(stream);
    return GDR_OK;
}

static void dev_close(gdr_dev_t *dev)
{
    enter(dev);
}

static const gdr_dev_ops_t dev_ops = {.caps = dev_caps,
                                      .generation = dev_generation,
                                      .alloc = dev_alloc,
                                      .free = dev_free,
                                      .map_host = map_host,
                                      .unmap_host = unmap_host,
                                      .stream_create = stream_create,
                                      .stream_destroy = stream_destroy,
                                      .follow_default = follow_default,
                                      .reduce = dev_reduce,
                                      .wait_word = write_word, /* never called: no stream words */
                                      .write_word = write_word,
                                      .flush_rdma_writes = flush_rdma_writes,
                                      .stream_status = stream_status,
                                      .sync = stream_status,
                                      .close = dev_close};

static gdr_status_t open_net(void *ctx, const gdr_net_ops_t **ops, gdr_net_t **net)
{
    *ops = &net_ops;
    *net = ctx;
    return GDR_OK;
}

static gdr_status_t open_dev(void *ctx, int ordinal, const gdr_dev_ops_t **ops, gdr_dev_t **dev)
{
    (void)ordinal;
    *ops = &dev_ops;
    *dev = ctx;
    return GDR_OK;
}

static gdr_status_t ctl_send(void *ctx, int proc, const void *message, size_t bytes)
{
    gdr_engine_deliver(processes[proc].engine, ((process_t *)ctx)->index, message, bytes);
    return GDR_OK;
}

static uint64_t clock_now(void *ctx)
{
    (void)ctx;
    return 1;
}

static bool reduce_once(worker_t *worker, gdr_ways_t *ways, gdr_team_t *team, int round,
                        float *send, float *recv)
{
    gdr_call_desc_t desc = {.send = as_number(send),
                            .recv = as_number(recv),
                            .count = COUNT,
                            .op = GDR_OP_SUM,
                            .type = GDR_TYPE_FLOAT32,
                            .blocking = false};
    gdr_call_t *call;
    int i;
    bool ok;

    for (i = 0; i < COUNT; i++)
        send[i] = (float)(worker->process->index * 100 + (i + round) % 50);
    if (!gdr_ways_open(ways, true, &desc.index) || gdr_call_post(team, &desc, &call) != GDR_OK)
        return false;
    while (gdr_call_status(call) == GDR_INPROGRESS) {
        gdr_engine_progress(worker->process->engine);
        sched_yield();
    }
    ok = gdr_call_status(call) == GDR_OK && strcmp(gdr_call_path(call), "") != 0;
    gdr_call_release(call);
    for (i = 0; i < COUNT && ok; i++)
        ok = recv[i] == (float)(100 + 2 * ((i + round) % 50));
    return ok;
}

static void *work(void *arg)
{
    static const int procs[PROCS] = {0, 1};
    worker_t *worker = arg;
    gdr_ways_t ways;
    gdr_team_desc_t desc = {.nonce = 1,
                            .rank = worker->process->index,
                            .size = PROCS,
                            .procs = procs,
                            .eligible = true,
                            .ways = &ways};
    float *send = sim_alloc(COUNT * sizeof(*send)), *recv = sim_alloc(COUNT * sizeof(*recv));
    gdr_team_t *team = NULL;
    int k;

    for (k = 0; k < CALLS; k++) {
        if (k % 50 == 0) {
            desc.id = (uint64_t)worker->index;
            desc.nonce = (uint64_t)k;
            gdr_ways_init(&ways, PROCS);
            if (gdr_team_create(worker->process->engine, &desc, &team) != GDR_OK)
                break;
        }
        if (!reduce_once(worker, &ways, team, k, send, recv)) {
            __atomic_store_n(&worker->process->failed, 1, __ATOMIC_RELAXED);
            break;
        }
        if (k % 50 == 49) {
            gdr_team_destroy(team);
            gdr_ways_clear(&ways);
        }
    }
    free(send);
    free(recv);
    return NULL;
}

static void *progress(void *arg)
{
    process_t *process = arg;
    gdr_engine_stats_t stats;

    while (!__atomic_load_n(&process->stop, __ATOMIC_ACQUIRE)) {
        gdr_engine_progress(process->engine);
        gdr_engine_stats(process->engine, &stats);
        sched_yield();
    }
    return NULL;
}

int main(void)
{
    worker_t workers[PROCS][WORKERS];
    pthread_t threads[PROCS][WORKERS], progressing[PROCS];
    int p, w, failed = 0;

    for (p = 0; p < PROCS; p++) {
        gdr_engine_config_t config;
        gdr_ports_t ports = {.open_net = open_net,
                             .open_dev = open_dev,
                             .ctx = &processes[p],
                             .ctl = {ctl_send, &processes[p]},
                             .clock = {clock_now, NULL},
                             .log = NULL};

        gdr_engine_config_init(&config);
        config.window_bytes = 4 * config.plan.lane_bytes;
        processes[p].index = p;
        if (gdr_engine_create(&config, &ports, &processes[p].engine) != GDR_OK)
            return 1;
    }
    for (p = 0; p < PROCS; p++) {
        pthread_create(&progressing[p], NULL, progress, &processes[p]);
        for (w = 0; w < WORKERS; w++) {
            workers[p][w] = (worker_t){&processes[p], w};
            pthread_create(&threads[p][w], NULL, work, &workers[p][w]);
        }
    }
    for (p = 0; p < PROCS; p++) {
        for (w = 0; w < WORKERS; w++)
            pthread_join(threads[p][w], NULL);
    }
    for (p = 0; p < PROCS; p++) {
        __atomic_store_n(&processes[p].stop, 1, __ATOMIC_RELEASE);
        pthread_join(progressing[p], NULL);
    }
    for (p = 0; p < PROCS; p++) {
        gdr_engine_destroy(processes[p].engine);
        failed |= processes[p].failed;
    }
    for (p = 0; p < PROCS; p++)
        free(processes[p].page);
    printf("%s: %d calls in each of %d threads\n", failed ? "FAILED" : "ok", CALLS,
           PROCS * WORKERS);
    return failed;
}
