/*
 * A CUDA device: streams run one command after the other, each after a random delay. A device
 * address is the host's address, but only memory of this process counts as such.
 */
#include "tests/sim/sim.h"

#include <stdlib.h>
#include <string.h>

enum { SLOW = 100 }; /* times the others' delays */

typedef enum command_kind { COMMAND_KERNEL, COMMAND_WAIT, COMMAND_WRITE } command_kind_t;

typedef struct command {
    struct command *next;
    command_kind_t kind;
    bool started;
    gdr_dev_reduce_t reduce;
    uint64_t inputs; /* what they were when the kernel began */
    void *result;    /* what a running kernel will write; NULL: it was told to write nothing */
    uint64_t address, value;
} command_t;

struct memory {
    struct memory *next;
    void *start;
    bool mapped; /* the process's own, made visible */
};

struct gdr_dev {
    gdr_dev_t *next; /* of the process, the newest first */
    sim_proc_t *proc;
    uint64_t generation;
    bool error;
    uint64_t live; /* objects made in it */
    struct memory *memory;
    gdr_dev_stream_t *streams;
};

struct gdr_dev_stream {
    gdr_dev_stream_t *next;
    gdr_dev_t *dev;
    command_t *first, **last;
    uint64_t delay; /* at most, of a command */
    bool scheduled, blocked, closed;
};

static void stream_run(sim_world_t *world, void *a, void *b);

static void stream_kick(gdr_dev_stream_t *stream)
{
    sim_world_t *world = stream->dev->proc->world;

    if (stream->scheduled || stream->blocked || stream->first == NULL || stream->dev->error)
        return;
    stream->scheduled = true;
    sim_after(world, 1 + sim_random(world, stream->delay), stream_run, stream, NULL);
}

void sim_dev_wake(sim_proc_t *proc)
{
    gdr_dev_t *dev;
    gdr_dev_stream_t *stream;

    for (dev = proc->devs; dev != NULL; dev = dev->next) {
        for (stream = dev->streams; stream != NULL; stream = stream->next) {
            stream->blocked = false;
            stream_kick(stream);
        }
    }
}

static bool stream_waits(const gdr_dev_stream_t *stream)
{
    const command_t *command;

    for (command = stream->first; command != NULL; command = command->next) {
        if (command->kind == COMMAND_WAIT &&
            (int64_t)(*(const uint64_t *)(uintptr_t)command->address - command->value) < 0)
            return true;
    }
    return false;
}

bool sim_dev_waits(const sim_proc_t *proc)
{
    const gdr_dev_t *dev;
    const gdr_dev_stream_t *stream;

    for (dev = proc->devs; dev != NULL; dev = dev->next) {
        for (stream = dev->streams; stream != NULL; stream = stream->next) {
            if (!dev->error && dev->generation == proc->generation && stream_waits(stream))
                return true;
        }
    }
    return false;
}

void sim_dev_break(sim_proc_t *proc)
{
    if (proc->devs != NULL)
        proc->devs->error = true;
}

static void kernel_start(sim_proc_t *proc, command_t *command)
{
    const gdr_dev_reduce_t *reduce = &command->reduce;
    uint32_t i;

    if (sim_reduce_aborted(reduce))
        return;
    if (!sim_reduce_inputs(proc, reduce, &command->inputs))
        return;
    command->result = sim_alloc(reduce->bytes);
    sim_reduce(reduce, command->result);
    for (i = 0; i < reduce->nout; i++) {
        if (sim_region_holds(proc, reduce->out[i], reduce->bytes))
            memset((void *)(uintptr_t)reduce->out[i], 0xdd, reduce->bytes);
        else
            sim_fail(proc->world, "a kernel of process %d writes what is no memory", proc->index);
    }
}

static void kernel_end(sim_proc_t *proc, command_t *command)
{
    uint64_t inputs;
    uint32_t i;

    if (command->result != NULL && !sim_reduce_aborted(&command->reduce) &&
        sim_reduce_inputs(proc, &command->reduce, &inputs) && inputs != command->inputs)
        sim_fail(proc->world, "what a kernel of process %d reads is written meanwhile",
                 proc->index);
    for (i = 0; i < command->reduce.nout && command->result != NULL; i++) {
        if (sim_region_holds(proc, command->reduce.out[i], command->reduce.bytes))
            memcpy((void *)(uintptr_t)command->reduce.out[i], command->result,
                   command->reduce.bytes);
    }
    free(command->result);
}

/* Whether the command is over. */
static bool command_run(gdr_dev_stream_t *stream, command_t *command)
{
    sim_proc_t *proc = stream->dev->proc;

    switch (command->kind) {
    case COMMAND_KERNEL:
        if (!command->started) {
            command->started = true;
            kernel_start(proc, command);
            return false;
        }
        kernel_end(proc, command);
        return true;
    case COMMAND_WAIT:
        if ((int64_t)(*(const uint64_t *)(uintptr_t)command->address - command->value) < 0) {
            stream->blocked = true;
            return false;
        }
        sim_net_settle(proc); /* CU_STREAM_WAIT_VALUE_FLUSH */
        return true;
    default:
        __atomic_store_n((uint64_t *)(uintptr_t)command->address, command->value, __ATOMIC_RELEASE);
        sim_dev_wake(proc);
        return true;
    }
}

static void pop(gdr_dev_stream_t *stream)
{
    command_t *command = stream->first;

    stream->first = command->next;
    if (stream->first == NULL)
        stream->last = &stream->first;
    free(command);
}

static void stream_run(sim_world_t *world, void *a, void *b)
{
    gdr_dev_stream_t *stream = a;

    (void)world;
    (void)b;
    stream->scheduled = false;
    if (stream->closed) {
        free(stream);
        return;
    }
    if (stream->dev->error || stream->first == NULL ||
        stream->dev->generation != stream->dev->proc->generation)
        return;
    if (command_run(stream, stream->first))
        pop(stream);
    stream_kick(stream);
}

static gdr_status_t push(gdr_dev_stream_t *stream, const char *name, const command_t *model)
{
    gdr_dev_t *dev = stream->dev;
    command_t *command;

    if (dev->generation != dev->proc->generation)
        sim_fail(dev->proc->world, "%s in a context that is gone", name);
    if (sim_port_fails(dev->proc, name) || dev->error)
        return GDR_ERR_DEVICE;
    command = sim_alloc(sizeof(*command));
    *command = *model;
    *stream->last = command;
    stream->last = &command->next;
    stream_kick(stream);
    return GDR_OK;
}

static void dev_caps(const gdr_dev_t *dev, gdr_dev_caps_t *caps)
{
    caps->stream_words = dev->proc->world->options.stream_words;
    caps->flush_rdma = dev->proc->world->options.flush_rdma;
    caps->compute_capability = dev->proc->compute_capability;
}

static uint64_t dev_generation(gdr_dev_t *dev)
{
    return dev->generation == dev->proc->generation ? dev->generation : 0;
}

static void check_alive(const gdr_dev_t *dev, const char *name)
{
    if (dev->generation != dev->proc->generation)
        sim_fail(dev->proc->world, "%s in a context that is gone", name);
}

static void made(gdr_dev_t *dev)
{
    dev->live++;
    dev->proc->world->dev_live++;
}

static void unmade(gdr_dev_t *dev)
{
    dev->live--;
    dev->proc->world->dev_live--;
}

static void memory_add(gdr_dev_t *dev, void *start, size_t bytes, bool mapped)
{
    struct memory *memory = sim_alloc(sizeof(*memory));

    memory->start = start;
    memory->mapped = mapped;
    memory->next = dev->memory;
    dev->memory = memory;
    sim_region_add(dev->proc, start, bytes);
    made(dev);
}

static gdr_status_t dev_alloc(gdr_dev_t *dev, size_t bytes, uint64_t *address)
{
    void *start;

    check_alive(dev, "dev.alloc");
    if (sim_port_fails(dev->proc, "dev.alloc") || bytes > dev->proc->largest_alloc)
        return GDR_ERR_NO_MEMORY;
    start = sim_alloc(bytes);
    memory_add(dev, start, bytes, false);
    *address = (uintptr_t)start;
    return GDR_OK;
}

static void memory_free(gdr_dev_t *dev, struct memory **link)
{
    struct memory *memory = *link;

    *link = memory->next;
    sim_region_remove(dev->proc, memory->start);
    if (!memory->mapped)
        free(memory->start);
    free(memory);
}

static void dev_free(gdr_dev_t *dev, uint64_t address)
{
    struct memory **link = &dev->memory;

    check_alive(dev, "dev.free");
    while ((uintptr_t)(*link)->start != address)
        link = &(*link)->next;
    memory_free(dev, link);
    unmade(dev);
}

static gdr_status_t dev_map_host(gdr_dev_t *dev, void *address, size_t bytes,
                                 uint64_t *device_address)
{
    if (sim_port_fails(dev->proc, "dev.map_host"))
        return GDR_ERR_DEVICE;
    memory_add(dev, address, bytes, true);
    *device_address = (uintptr_t)address;
    return GDR_OK;
}

static void dev_unmap_host(gdr_dev_t *dev, void *address)
{
    dev_free(dev, (uintptr_t)address);
}

static gdr_status_t stream_create(gdr_dev_t *dev, gdr_dev_stream_t **stream)
{
    sim_world_t *world = dev->proc->world;

    check_alive(dev, "dev.stream_create");
    if (sim_port_fails(dev->proc, "dev.stream_create"))
        return GDR_ERR_DEVICE;
    *stream = sim_alloc(sizeof(**stream));
    (*stream)->dev = dev;
    (*stream)->delay = world->options.dev_delay;
    if (world->options.slow_streams != 0 && sim_random(world, world->options.slow_streams) == 0)
        (*stream)->delay *= SLOW;
    (*stream)->last = &(*stream)->first;
    (*stream)->next = dev->streams;
    dev->streams = *stream;
    made(dev);
    return GDR_OK;
}

/* The stream is in no list any more; an event that is due for it frees it. */
static void stream_end(gdr_dev_stream_t *stream)
{
    while (stream->first != NULL) {
        free(stream->first->result);
        pop(stream);
    }
    stream->closed = true;
    if (!stream->scheduled)
        free(stream);
}

static void stream_destroy(gdr_dev_stream_t *stream)
{
    gdr_dev_stream_t **link = &stream->dev->streams;

    check_alive(stream->dev, "dev.stream_destroy");
    if (stream->first != NULL && !stream->dev->error)
        sim_fail(stream->dev->proc->world, "a stream with work in it is destroyed");
    while (*link != stream)
        link = &(*link)->next;
    *link = stream->next;
    unmade(stream->dev);
    stream_end(stream);
}

static gdr_status_t follow_default(gdr_dev_stream_t *stream, uint64_t buffer, uint64_t caller)
{
    (void)caller;
    check_alive(stream->dev, "dev.follow_default");
    if (!sim_region_holds(stream->dev->proc, buffer, 1))
        sim_fail(stream->dev->proc->world, "follows the stream of no memory");
    return sim_port_fails(stream->dev->proc, "dev.follow_default") ? GDR_ERR_DEVICE : GDR_OK;
}

static gdr_status_t dev_reduce(gdr_dev_stream_t *stream, const gdr_dev_reduce_t *reduce)
{
    command_t command = {.kind = COMMAND_KERNEL, .reduce = *reduce};

    stream->dev->proc->kernels++;
    return push(stream, "dev.reduce", &command);
}

static gdr_status_t wait_word(gdr_dev_stream_t *stream, uint64_t address, uint64_t value)
{
    command_t command = {.kind = COMMAND_WAIT, .address = address, .value = value};

    if (!stream->dev->proc->world->options.stream_words)
        sim_fail(stream->dev->proc->world, "a stream wait on a device that has none");
    return push(stream, "dev.wait_word", &command);
}

static gdr_status_t write_word(gdr_dev_stream_t *stream, uint64_t address, uint64_t value)
{
    command_t command = {.kind = COMMAND_WRITE, .address = address, .value = value};

    if (!sim_region_holds(stream->dev->proc, address, 8))
        sim_fail(stream->dev->proc->world, "a word is written where no memory is");
    return push(stream, "dev.write_word", &command);
}

static gdr_status_t flush_rdma_writes(gdr_dev_t *dev)
{
    check_alive(dev, "dev.flush_rdma_writes");
    if (sim_port_fails(dev->proc, "dev.flush_rdma_writes"))
        return GDR_ERR_DEVICE;
    sim_net_settle(dev->proc);
    return GDR_OK;
}

static gdr_status_t stream_status(gdr_dev_stream_t *stream)
{
    if (dev_generation(stream->dev) == 0)
        return GDR_ERR_STALE;
    return stream->dev->error ? GDR_ERR_DEVICE : GDR_OK;
}

static gdr_status_t stream_sync(gdr_dev_stream_t *stream)
{
    while (stream->first != NULL && !stream->dev->error) {
        if (!sim_run_event(stream->dev->proc->world)) {
            sim_fail(stream->dev->proc->world, "a stream is waited for that cannot go on");
            return GDR_ERR_DEVICE;
        }
    }
    return stream_status(stream);
}

static void dev_close(gdr_dev_t *dev)
{
    gdr_dev_t **link = &dev->proc->devs;

    while (*link != dev)
        link = &(*link)->next;
    *link = dev->next;
    while (dev->streams != NULL) {
        gdr_dev_stream_t *stream = dev->streams;

        dev->streams = stream->next;
        if (dev_generation(dev) != 0)
            sim_fail(dev->proc->world, "a device is closed with streams");
        stream_end(stream);
    }
    while (dev->memory != NULL) {
        if (dev_generation(dev) != 0)
            sim_fail(dev->proc->world, "a device is closed with memory");
        memory_free(dev, &dev->memory);
    }
    dev->proc->world->dev_live -= dev_generation(dev) != 0 ? 1 : 1 + dev->live;
    free(dev);
}

static gdr_status_t dev_prepare(gdr_dev_t *dev, gdr_op_t op, gdr_type_t type)
{
    check_alive(dev, "dev.prepare");
    if (sim_port_fails(dev->proc, "dev.prepare"))
        return GDR_ERR_UNSUPPORTED;
    return gdr_optype_supported(op, type) ? GDR_OK : GDR_ERR_UNSUPPORTED;
}

static const gdr_dev_ops_t dev_ops = {
    .caps = dev_caps,
    .generation = dev_generation,
    .alloc = dev_alloc,
    .free = dev_free,
    .map_host = dev_map_host,
    .unmap_host = dev_unmap_host,
    .stream_create = stream_create,
    .stream_destroy = stream_destroy,
    .follow_default = follow_default,
    .reduce = dev_reduce,
    .wait_word = wait_word,
    .write_word = write_word,
    .flush_rdma_writes = flush_rdma_writes,
    .stream_status = stream_status,
    .sync = stream_sync,
    .close = dev_close,
    .prepare = dev_prepare,
};

gdr_status_t sim_open_dev(void *ctx, int ordinal, const gdr_dev_ops_t **ops, gdr_dev_t **dev)
{
    sim_proc_t *proc = ctx;

    (void)ordinal;
    if (sim_port_fails(proc, "open_dev") || proc->no_device)
        return GDR_ERR_DEVICE;
    if (proc->generation == 0)
        proc->generation = ++proc->world->generations;
    *dev = sim_alloc(sizeof(**dev));
    (*dev)->proc = proc;
    (*dev)->generation = proc->generation;
    (*dev)->next = proc->devs;
    proc->devs = *dev;
    proc->world->dev_live++;
    *ops = &dev_ops;
    return GDR_OK;
}

/* What the context held is gone: nothing reaches it any more. */
void sim_reset_device(sim_world_t *world, int proc)
{
    sim_proc_t *p = &world->procs[proc];
    gdr_dev_t *dev;
    struct memory *memory;

    for (dev = p->devs; dev != NULL; dev = dev->next) {
        for (memory = dev->memory; memory != NULL; memory = memory->next)
            sim_region_remove(p, memory->start);
    }
    p->generation = ++world->generations;
}
