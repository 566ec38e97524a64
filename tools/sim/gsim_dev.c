/*
 * gdr_dev.h in virtual time. A stream does one command after the other; kernels that run at once
 * share the GPU's memory bandwidth evenly, and none gets more than one alone can take.
 */
#include "tools/sim/gsim_priv.h"

#include <stdlib.h>

typedef enum kind { KIND_KERNEL, KIND_WAIT, KIND_WRITE } kind_t;

typedef struct gsim_command {
    struct gsim_command *next;
    kind_t kind;
    uint64_t ready; /* when the device has it */
    uint64_t bytes; /* KERNEL: read and written in the GPU's own memory */
    uint64_t address, value;
    uint32_t npulls;      /* KERNEL: inputs in other windows, */
    uint64_t pulled[8];   /* bytes of each, */
    gsim_proc_t *pull[8]; /* and whose they are */
} gsim_command_t;

struct gdr_dev {
    gsim_proc_t *proc;
    gdr_dev_stream_t *streams;
};

struct gdr_dev_stream {
    gdr_dev_stream_t *next;
    gdr_dev_t *dev;
    gsim_command_t *first, **last;
    bool busy, blocked;
    gdr_dev_stream_t *later; /* of those whose kernels run */
    double end;              /* of its kernel, in work */
    uint64_t pulled;         /* when the last that it reads from other windows has come */
};

static void begin(gdr_dev_stream_t *stream);

/* ---- memory ---- */

static double rate(const gsim_world_t *world, uint32_t running)
{
    double share = world->memory_rate / running;

    return share < world->kernel_rate ? share : world->kernel_rate;
}

static void memory_update(const gsim_world_t *world, gsim_memory_t *memory)
{
    uint64_t now = world->events.now;

    if (memory->running > 0)
        memory->work += (double)(now - memory->last) * rate(world, memory->running);
    else
        memory->work = 0;
    memory->last = now;
}

static void kernel_end(void *ctx, uint64_t rank, uint64_t epoch);

static void memory_expect(gsim_world_t *world, gsim_proc_t *proc)
{
    gsim_memory_t *memory = &proc->memory;
    double left;

    memory->epoch++;
    if (memory->running == 0)
        return;
    left = (memory->first->end - memory->work) / rate(world, memory->running);
    gsim_events_at(&world->events, world->events.now + (left > 0 ? (uint64_t)(left + 0.5) : 0),
                   kernel_end, (uint64_t)proc->rank, memory->epoch);
}

/* What comes over the links; a word's time passes until the first of it is there. A kernel reads
 * all its inputs at once, so each port serves it as soon as it can, whatever the others do. */
static void pull(gdr_dev_stream_t *stream)
{
    const gsim_command_t *command = stream->first;
    gsim_proc_t *proc = stream->dev->proc;
    gsim_world_t *world = proc->world;
    uint64_t head = world->events.now + world->gpu.word;

    stream->pulled = world->events.now;
    for (uint32_t i = 0; i < command->npulls; i++) {
        gsim_way_t way;

        gsim_way(world, command->pull[i], proc, &way);
        for (uint32_t hop = 0; hop < way.n; hop++) {
            gsim_port_t *port = way.port[hop];

            port->free = port->free > head ? port->free : head;
            port->free += (uint64_t)((double)command->pulled[i] * port->ps_per_byte + 0.5);
            stream->pulled = port->free > stream->pulled ? port->free : stream->pulled;
        }
    }
}

static void kernel_begin(void *ctx, uint64_t address, uint64_t unused)
{
    gsim_world_t *world = gsim_world(ctx);
    gdr_dev_stream_t *stream = (gdr_dev_stream_t *)(uintptr_t)address;
    gsim_proc_t *proc = stream->dev->proc;
    gsim_memory_t *memory = &proc->memory;
    gdr_dev_stream_t **link = &memory->first;

    (void)unused;
    pull(stream);
    memory_update(world, memory);
    stream->end = memory->work + (double)stream->first->bytes;
    while (*link != NULL && (*link)->end <= stream->end)
        link = &(*link)->later;
    stream->later = *link;
    *link = stream;
    memory->running++;
    memory_expect(world, proc);
}

static void pop(gdr_dev_stream_t *stream)
{
    gsim_world_t *world = stream->dev->proc->world;
    gsim_command_t *command = stream->first;

    stream->first = command->next;
    if (stream->first == NULL)
        stream->last = &stream->first;
    command->next = world->free_commands;
    world->free_commands = command;
    stream->busy = false;
    begin(stream);
}

static void pull_end(void *ctx, uint64_t address, uint64_t unused)
{
    (void)ctx;
    (void)unused;
    pop((gdr_dev_stream_t *)(uintptr_t)address);
}

static void kernel_end(void *ctx, uint64_t rank, uint64_t epoch)
{
    gsim_world_t *world = gsim_world(ctx);
    gsim_proc_t *proc = &world->procs[rank];
    gdr_dev_stream_t *stream = proc->memory.first;

    if (epoch != proc->memory.epoch)
        return;
    memory_update(world, &proc->memory);
    proc->memory.first = stream->later;
    proc->memory.running--;
    memory_expect(world, proc);
    if (stream->pulled > world->events.now)
        gsim_events_at(&world->events, stream->pulled, pull_end, (uintptr_t)stream, 0);
    else
        pop(stream);
}

/* ---- streams ---- */

static void word_written(void *ctx, uint64_t address, uint64_t unused)
{
    gdr_dev_stream_t *stream = (gdr_dev_stream_t *)(uintptr_t)address;
    gsim_proc_t *proc = stream->dev->proc;

    (void)ctx;
    (void)unused;
    gsim_store(stream->first->address, stream->first->value);
    pop(stream);
    gsim_wake(proc);
}

static bool word_is_there(const gsim_command_t *command)
{
    return (int64_t)(gsim_load(command->address) - command->value) >= 0;
}

static void wait_begins(void *ctx, uint64_t address, uint64_t unused)
{
    gdr_dev_stream_t *stream = (gdr_dev_stream_t *)(uintptr_t)address;

    (void)ctx;
    (void)unused;
    stream->blocked = !word_is_there(stream->first);
    if (!stream->blocked)
        pop(stream);
}

void gsim_dev_look(gsim_proc_t *proc)
{
    gdr_dev_stream_t *stream;

    for (stream = proc->dev->streams; stream != NULL; stream = stream->next) {
        if (!stream->blocked || !word_is_there(stream->first))
            continue;
        stream->blocked = false;
        pop(stream);
    }
}

/* The stream's first command, if none is under way. */
static void begin(gdr_dev_stream_t *stream)
{
    static const gsim_event_fn fns[] = {kernel_begin, wait_begins, word_written};
    gsim_world_t *world = stream->dev->proc->world;
    const gsim_command_t *command = stream->first;
    uint64_t time, takes[] = {world->kernel, 0, world->mark};

    if (stream->busy || command == NULL)
        return;
    stream->busy = true;
    time = command->ready > world->events.now ? command->ready : world->events.now;
    gsim_events_at(&world->events, time + takes[command->kind], fns[command->kind],
                   (uintptr_t)stream, 0);
}

static gdr_status_t push(gdr_dev_stream_t *stream, uint64_t cpu, gsim_command_t model)
{
    gsim_proc_t *proc = stream->dev->proc;
    gsim_world_t *world = proc->world;
    gsim_command_t *command = world->free_commands;

    if (command != NULL)
        world->free_commands = command->next;
    else if ((command = malloc(sizeof(*command))) == NULL)
        return GDR_ERR_NO_MEMORY;
    proc->cpu += cpu;
    *command = model;
    command->next = NULL;
    command->ready = proc->cpu + world->launch;
    *stream->last = command;
    stream->last = &command->next;
    begin(stream);
    return GDR_OK;
}

static gdr_status_t dev_reduce(gdr_dev_stream_t *stream, const gdr_dev_reduce_t *reduce)
{
    gsim_command_t command = {.kind = KIND_KERNEL, .bytes = reduce->bytes * reduce->nout};
    gsim_proc_t *proc = stream->dev->proc;

    for (uint32_t i = 0; i < reduce->nin; i++) {
        uint64_t bytes = gdr_dev_input_bytes(reduce, i);

        if (gsim_is_window(proc->world, reduce->in[i]) &&
            gsim_owner(proc->world, reduce->in[i]) != proc) {
            command.pulled[command.npulls] = bytes;
            command.pull[command.npulls++] = gsim_owner(proc->world, reduce->in[i]);
        } else {
            command.bytes += bytes;
        }
    }
    return push(stream, stream->dev->proc->world->launch_cpu, command);
}

static gdr_status_t wait_word(gdr_dev_stream_t *stream, uint64_t address, uint64_t value)
{
    gsim_command_t command = {.kind = KIND_WAIT, .address = address, .value = value};

    return push(stream, stream->dev->proc->world->mark_cpu, command);
}

static gdr_status_t write_word(gdr_dev_stream_t *stream, uint64_t address, uint64_t value)
{
    gsim_command_t command = {.kind = KIND_WRITE, .address = address, .value = value};

    return push(stream, stream->dev->proc->world->mark_cpu, command);
}

static gdr_status_t follow_default(gdr_dev_stream_t *stream, uint64_t buffer, uint64_t caller)
{
    (void)buffer;
    (void)caller;
    stream->dev->proc->cpu += stream->dev->proc->world->mark_cpu;
    return GDR_OK;
}

static gdr_status_t stream_create(gdr_dev_t *dev, gdr_dev_stream_t **stream)
{
    gdr_dev_stream_t *made = calloc(1, sizeof(*made));

    if (made == NULL)
        return GDR_ERR_NO_MEMORY;
    made->dev = dev;
    made->last = &made->first;
    made->next = dev->streams;
    dev->streams = made;
    *stream = made;
    return GDR_OK;
}

static void stream_destroy(gdr_dev_stream_t *stream)
{
    gdr_dev_stream_t **link = &stream->dev->streams;

    while (*link != stream)
        link = &(*link)->next;
    *link = stream->next;
    free(stream);
}

static gdr_status_t stream_status(gdr_dev_stream_t *stream)
{
    (void)stream;
    return GDR_OK;
}

/* ---- the device ---- */

static void dev_caps(const gdr_dev_t *dev, gdr_dev_caps_t *caps)
{
    (void)dev;
    *caps = (gdr_dev_caps_t){.stream_words = true,
                             .flush_rdma = false,
                             .compute_capability = 90,
                             .memory_bytes = gsim_memory_bytes(dev->proc->world)};
}

static uint64_t dev_generation(gdr_dev_t *dev)
{
    (void)dev;
    return 1;
}

/* One window: the process's part of the arena. */
static gdr_status_t dev_alloc(gdr_dev_t *dev, size_t bytes, uint64_t *address)
{
    const gsim_world_t *world = dev->proc->world;
    uint64_t start = world->page_bytes + dev->proc->allocated;

    if (bytes > world->stride - start)
        return GDR_ERR_NO_MEMORY;
    *address = (uintptr_t)world->arena + (uint64_t)dev->proc->rank * world->stride + start;
    dev->proc->allocated += bytes;
    return GDR_OK;
}

static void dev_free(gdr_dev_t *dev, uint64_t address)
{
    (void)dev;
    (void)address;
}

static gdr_status_t dev_map_host(gdr_dev_t *dev, void *address, size_t bytes,
                                 uint64_t *device_address)
{
    (void)dev;
    (void)bytes;
    *device_address = (uintptr_t)address;
    return GDR_OK;
}

static void dev_unmap_host(gdr_dev_t *dev, void *address)
{
    (void)dev;
    (void)address;
}

static gdr_status_t flush_rdma_writes(gdr_dev_t *dev)
{
    (void)dev;
    return GDR_OK;
}

static void dev_close(gdr_dev_t *dev)
{
    dev->proc->dev = NULL;
    free(dev);
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
    .sync = stream_status,
    .close = dev_close,
};

gdr_status_t gsim_open_dev(void *ctx, int ordinal, const gdr_dev_ops_t **ops, gdr_dev_t **dev)
{
    gsim_proc_t *proc = ctx;

    (void)ordinal;
    *dev = calloc(1, sizeof(**dev));
    if (*dev == NULL)
        return GDR_ERR_NO_MEMORY;
    (*dev)->proc = proc;
    proc->dev = *dev;
    *ops = &dev_ops;
    return GDR_OK;
}

void gsim_dev_clear(gsim_world_t *world)
{
    while (world->free_commands != NULL) {
        gsim_command_t *command = world->free_commands;

        world->free_commands = command->next;
        free(command);
    }
}
