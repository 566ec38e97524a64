#include "tests/sim/sim.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct sim_event {
    uint64_t time, sequence;
    sim_event_fn fn;
    void *a, *b;
} sim_event_t;

sim_options_t sim_options(int nprocs, uint64_t seed)
{
    sim_options_t options = {.nprocs = nprocs,
                             .seed = seed,
                             .net_delay = 20000,
                             .dev_delay = 10000,
                             .ctl_delay = 50000,
                             .stream_words = true,
                             .flush_rdma = true,
                             .log_level = GDR_LOG_INFO};

    return options;
}

static void log_emit(void *ctx, gdr_log_level_t level, const char *message)
{
    sim_world_t *world = ctx;

    if (level == GDR_LOG_ERROR)
        world->errors++;
    if (level == GDR_LOG_WARN)
        world->warnings++;
    if (strstr(message, "rejected") != NULL)
        world->rejected++;
    snprintf(world->last_log, sizeof(world->last_log), "%s", message);
    if (world->verbose)
        fprintf(stderr, "[%8llu] %s\n", (unsigned long long)world->now, message);
}

void sim_fail(sim_world_t *world, const char *format, ...)
{
    va_list args;

    if (world->failure[0] != 0)
        return;
    va_start(args, format);
    vsnprintf(world->failure, sizeof(world->failure), format, args);
    va_end(args);
}

uint64_t sim_random(sim_world_t *world, uint64_t below)
{
    uint64_t x = world->random;

    x ^= x >> 12;
    x ^= x << 25;
    x ^= x >> 27;
    world->random = x;
    return (x * 0x2545f4914f6cdd1du >> 16) % below;
}

static bool before(const sim_event_t *a, const sim_event_t *b)
{
    return a->time != b->time ? a->time < b->time : a->sequence < b->sequence;
}

void sim_at(sim_world_t *world, uint64_t time, sim_event_fn fn, void *a, void *b)
{
    sim_event_t event = {time, world->sequence++, fn, a, b};
    unsigned i = world->nevents++;

    if (world->nevents > world->events_capacity) {
        sim_event_t *grown = sim_alloc((2 * world->nevents + 64) * sizeof(event));

        if (i > 0)
            memcpy(grown, world->events, i * sizeof(event));
        free(world->events);
        world->events = grown;
        world->events_capacity = 2 * world->nevents + 64;
    }
    while (i > 0 && before(&event, &world->events[(i - 1) / 2])) {
        world->events[i] = world->events[(i - 1) / 2];
        i = (i - 1) / 2;
    }
    world->events[i] = event;
}

void sim_after(sim_world_t *world, uint64_t delay, sim_event_fn fn, void *a, void *b)
{
    sim_at(world, world->now + delay, fn, a, b);
}

bool sim_run_event(sim_world_t *world)
{
    sim_event_t first, last;
    unsigned i = 0, child;

    if (world->nevents == 0)
        return false;
    first = world->events[0];
    last = world->events[--world->nevents];
    while ((child = 2 * i + 1) < world->nevents) {
        if (child + 1 < world->nevents && before(&world->events[child + 1], &world->events[child]))
            child++;
        if (!before(&world->events[child], &last))
            break;
        world->events[i] = world->events[child];
        i = child;
    }
    world->events[i] = last;
    world->events_run++;
    if (first.time > world->now)
        world->now = first.time;
    first.fn(world, first.a, first.b);
    return true;
}

int sim_progress(sim_world_t *world, int proc)
{
    sim_proc_t *p = &world->procs[proc];
    int events;

    if (p->dead)
        return 0;
    p->is_progressing = true;
    sim_alloc_inside++;
    events = gdr_engine_progress(p->engine);
    sim_alloc_inside--;
    p->is_progressing = false;
    return events;
}

bool sim_port_fails(sim_proc_t *proc, const char *name)
{
    int inside = sim_alloc_inside;

    sim_alloc_inside = 0;
    if (proc->world->options.reenter && proc->is_progressing &&
        gdr_engine_progress(proc->engine) != 0)
        sim_fail(proc->world, "progress re-entered from %s", name);
    sim_alloc_inside = inside;
    proc->port_calls++;
    if (proc->port_calls != proc->fail_port_call)
        return false;
    proc->failed_port = name;
    return true;
}

static void add_region(sim_proc_t *proc, sim_region_t region)
{
    if (proc->nregions == SIM_REGIONS_MAX) {
        sim_fail(proc->world, "too many regions");
        return;
    }
    proc->regions[proc->nregions++] = region;
}

void sim_region_add(sim_proc_t *proc, const void *start, size_t bytes)
{
    add_region(proc, (sim_region_t){(uintptr_t)start, (uintptr_t)start + bytes, NULL});
}

void sim_region_map(sim_proc_t *proc, const sim_proc_t *of, uint64_t start, uint64_t bytes)
{
    add_region(proc, (sim_region_t){start, start + bytes, of});
}

void sim_region_remove(sim_proc_t *proc, const void *start)
{
    unsigned i;

    for (i = 0; i < proc->nregions; i++) {
        if (proc->regions[i].start == (uintptr_t)start) {
            proc->regions[i] = proc->regions[--proc->nregions];
            return;
        }
    }
}

bool sim_region_holds(const sim_proc_t *proc, uint64_t address, uint64_t bytes)
{
    unsigned i;

    for (i = 0; i < proc->nregions; i++) {
        const sim_region_t *region = &proc->regions[i];

        if (address >= region->start && address + bytes <= region->end)
            return region->of == NULL || sim_region_holds(region->of, address, bytes);
    }
    return false;
}

static uint64_t clock_now(void *ctx)
{
    return ((sim_world_t *)ctx)->now;
}

sim_world_t *sim_create(const sim_options_t *options)
{
    sim_world_t *world = calloc(1, sizeof(*world));
    int i;

    world->options = *options;
    world->random = options->seed * 0x9e3779b97f4a7c15u + 0x1234567;
    world->now = 1000;
    world->verbose = getenv("SIM_VERBOSE") != NULL;
    world->log.level = options->log_level;
    world->log.emit = log_emit;
    world->log.ctx = world;
    for (i = 0; i < options->nprocs; i++) {
        sim_proc_t *proc = &world->procs[i];

        proc->world = world;
        proc->index = i;
        proc->compute_capability = 90;
        proc->largest_alloc = UINT64_MAX;
        gdr_engine_config_init(&proc->config);
        proc->config.plan.lane_bytes = 64 << 10;
        proc->config.plan.ctl_bytes = 16 << 10;
        proc->config.plan.min_chunk = 256;
        proc->config.window_bytes = 4 * proc->config.plan.lane_bytes;
        proc->config.ctl_bytes = 16 * proc->config.plan.ctl_bytes;
        proc->config.large_lane = options->large_lane;
    }
    return world;
}

void sim_start(sim_world_t *world)
{
    int i;

    for (i = 0; i < world->options.nprocs; i++) {
        sim_proc_t *proc = &world->procs[i];
        gdr_ports_t ports = {.open_net = sim_open_net,
                             .open_dev = sim_open_dev,
                             .ctx = proc,
                             .ctl = {sim_ctl_send, proc},
                             .clock = {clock_now, world},
                             .log = &world->log};

        if (gdr_engine_create(&proc->config, &ports, &proc->engine) != GDR_OK)
            sim_fail(world, "engine %d was not created", i);
    }
}

void sim_finish(sim_world_t *world)
{
    int i, turns;

    for (turns = 0; turns < 64 || world->nevents > 0; turns++) {
        sim_run_event(world);
        for (i = 0; i < world->options.nprocs && turns % 16 == 0; i++) {
            world->procs[i].dead = false;
            sim_progress(world, i);
        }
    }
    for (i = 0; i < world->options.nprocs; i++) {
        if (world->procs[i].engine != NULL)
            gdr_engine_destroy(world->procs[i].engine);
        world->procs[i].engine = NULL;
        sim_net_forget(&world->procs[i]);
    }
    while (sim_run_event(world)) {
    }
    if (world->net_live != 0 || world->dev_live != 0)
        sim_fail(world, "left over: %llu network and %llu device objects",
                 (unsigned long long)world->net_live, (unsigned long long)world->dev_live);
}

void sim_destroy(sim_world_t *world)
{
    free(world->events);
    free(world);
}

void sim_kill(sim_world_t *world, int proc)
{
    world->procs[proc].dead = world->procs[proc].broken = true;
    sim_dev_wake(&world->procs[proc]);
}

void sim_cut(sim_world_t *world, int a, int b)
{
    world->cut[a][b] = world->cut[b][a] = true;
    sim_dev_wake(&world->procs[a]);
    sim_dev_wake(&world->procs[b]);
}

bool sim_is_cut(const sim_proc_t *a, const sim_proc_t *b)
{
    return a->broken || b->broken || a->world->cut[a->index][b->index];
}
