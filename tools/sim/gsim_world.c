#include "tools/sim/gsim_priv.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

/* The user's buffers: addresses that nobody touches. */
#define SEND_ADDRESS (UINT64_C(1) << 60)
#define RECV_ADDRESS (UINT64_C(2) << 60)

/* A page of a process's memory; a window with the words behind its lane ends in a second one. */
#define PAGE UINT64_C(4096)

enum { OPTIONS_MAX = 16 };

typedef struct parcel {
    int from, to;
    size_t bytes;
    unsigned char data[];
} parcel_t;

void gsim_fail(gsim_world_t *world, const char *format, ...)
{
    va_list args;

    if (world->error[0] != '\0')
        return;
    va_start(args, format);
    vsnprintf(world->error, sizeof(world->error), format, args);
    va_end(args);
}

static void log_emit(void *ctx, gdr_log_level_t level, const char *message)
{
    (void)level;
    gsim_fail(ctx, "%s", message);
}

static uint64_t clock_now(void *ctx)
{
    const gsim_proc_t *proc = ctx;

    return proc->cpu / GSIM_PS + 1;
}

/* ---- progress ---- */

static void see_end(gsim_proc_t *proc)
{
    gdr_status_t status = gdr_call_status(proc->call);

    if (status == GDR_INPROGRESS)
        return;
    proc->status = status;
    proc->path = gdr_call_path(proc->call);
    proc->finished = proc->cpu;
    proc->world->pending--;
    gdr_call_release(proc->call);
    proc->call = NULL;
}

static void cpu_idle(void *ctx, uint64_t rank, uint64_t unused)
{
    gsim_proc_t *proc = &gsim_world(ctx)->procs[rank];

    (void)unused;
    proc->waking = false;
    gsim_wake(proc);
}

static void wake_when_idle(gsim_proc_t *proc)
{
    if (proc->waking)
        return;
    proc->waking = true;
    gsim_events_at(&proc->world->events, proc->cpu, cpu_idle, (uint64_t)proc->rank, 0);
}

/* The engine goes on at once only while that takes no time: others have theirs meanwhile. */
static void progress(gsim_proc_t *proc)
{
    bool more;

    do {
        more = gdr_engine_progress(proc->engine) > 0;
    } while (more && proc->cpu <= proc->world->events.now);
    if (proc->call != NULL)
        see_end(proc);
    if (more)
        wake_when_idle(proc);
}

static void look_around(gsim_proc_t *proc)
{
    gsim_world_t *world = proc->world;

    if (proc->cpu < world->events.now)
        proc->cpu = world->events.now;
    proc->cpu += world->poll_cpu;
    progress(proc);
}

void gsim_wake(gsim_proc_t *proc)
{
    if (proc->waking)
        return;
    if (proc->cpu <= proc->world->events.now)
        look_around(proc);
    else
        wake_when_idle(proc);
}

/* ---- control messages: they take no time, nor does what a process does with them ---- */

static void parcel_arrives(void *ctx, uint64_t address, uint64_t unused)
{
    gsim_world_t *world = gsim_world(ctx);
    parcel_t *parcel = (parcel_t *)(uintptr_t)address;
    gsim_proc_t *to = &world->procs[parcel->to];

    (void)unused;
    gdr_engine_deliver(to->engine, parcel->from, parcel->data, parcel->bytes);
    free(parcel);
    progress(to);
}

static gdr_status_t ctl_send(void *ctx, int proc, const void *message, size_t bytes)
{
    const gsim_proc_t *from = ctx;
    parcel_t *parcel = malloc(sizeof(*parcel) + bytes);

    if (parcel == NULL)
        return GDR_ERR_NO_MEMORY;
    parcel->from = from->rank;
    parcel->to = proc;
    parcel->bytes = bytes;
    memcpy(parcel->data, message, bytes);
    gsim_events_at(&from->world->events, from->world->events.now, parcel_arrives, (uintptr_t)parcel,
                   0);
    return GDR_OK;
}

/* ---- making and ending a world ---- */

static void configure(const gsim_proc_t *proc, gdr_engine_config_t *config)
{
    const gsim_world_t *world = proc->world;

    gdr_engine_config_init(config);
    config->plan = world->setup.plan;
    config->window_bytes = config->plan.lane_bytes;
    config->large_lane = world->setup.large_lane;
    config->ctl_bytes = 2 * config->plan.ctl_bytes;
    config->stream_waits = world->setup.ahead ? GDR_MODE_ON : GDR_MODE_OFF;
    config->flags = world->setup.ahead ? GDR_FLAGS_AUTO : GDR_FLAGS_HOST;
    config->node = (uint64_t)proc->node + 1;
    config->timeout_ns = 0;
    config->mixed = false; /* nobody goes otherwise: nobody asks */
}

static gdr_status_t proc_start(gsim_world_t *world, int32_t rank)
{
    gsim_proc_t *proc = &world->procs[rank];
    gdr_ports_t ports = {.open_net = gsim_open_net,
                         .open_dev = gsim_open_dev,
                         .ctx = proc,
                         .ctl = {ctl_send, proc},
                         .clock = {clock_now, proc},
                         .log = &world->log};
    gdr_team_desc_t desc = {.id = 1,
                            .nonce = 1,
                            .rank = rank,
                            .size = world->ranks,
                            .procs = world->numbers,
                            .eligible = true,
                            .ways = &proc->ways};
    gdr_engine_config_t config;
    gdr_status_t status;

    proc->world = world;
    proc->rank = rank;
    proc->node = rank / (int32_t)world->setup.gpus;
    proc->gpu = rank % (int32_t)world->setup.gpus;
    configure(proc, &config);
    gdr_ways_init(&proc->ways, world->ranks);
    status = gdr_engine_create(&config, &ports, &proc->engine);
    return status == GDR_OK ? gdr_team_create(proc->engine, &desc, &proc->team) : status;
}

static gdr_status_t proc_post(gsim_world_t *world, gsim_proc_t *proc)
{
    gdr_call_desc_t desc = {.send = SEND_ADDRESS,
                            .recv = RECV_ADDRESS,
                            .count = world->setup.count,
                            .op = GDR_OP_SUM,
                            .type = GDR_TYPE_FLOAT32,
                            .blocking = true};
    gdr_status_t status;

    if (!gdr_ways_open(&proc->ways, true, &desc.index))
        return GDR_ERR_NO_MEMORY;
    status = gdr_call_post(proc->team, &desc, &proc->call);
    if (status == GDR_OK)
        world->pending++;
    return status;
}

static void set_times(gsim_world_t *world)
{
    const gsim_cluster_t *c = world->setup.cluster;

    world->launch_cpu = gsim_ps(c->launch_cpu);
    world->launch = gsim_ps(c->launch_ns);
    world->kernel = gsim_ps(c->kernel_ns);
    world->mark_cpu = gsim_ps(c->mark_cpu);
    world->mark = gsim_ps(c->mark_ns);
    world->poll_cpu = gsim_ps(c->poll_cpu);
    world->kernel_rate = c->kernel_gbs / GSIM_PS;
    world->memory_rate = c->memory_gbs / GSIM_PS;
}

/* With the words behind its lane. */
static uint64_t window_bytes(uint64_t lane_bytes)
{
    return (lane_bytes + 2 * PAGE - 1) / PAGE * PAGE;
}

/* Reserved, and read as zeros; only what is touched takes memory. */
static bool arena_make(gsim_world_t *world)
{
    const gdr_plan_params_t *plan = &world->setup.plan;
    uint64_t large = gdr_plan_lane_most(plan, world->setup.large_lane, gsim_memory_bytes(world));
    void *arena;

    /* A lane that grows takes further words. */
    world->page_bytes = (2 * plan->ctl_bytes + PAGE - 1) / PAGE * PAGE;
    world->stride = world->page_bytes + window_bytes(plan->lane_bytes);
    if (large > plan->lane_bytes)
        world->stride += window_bytes(large);
    arena = mmap(NULL, world->stride * (uint64_t)world->ranks, PROT_READ | PROT_WRITE,
                 MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (arena == MAP_FAILED)
        return false;
    world->arena = arena;
    return true;
}

static bool world_make(gsim_world_t *world, const gsim_setup_t *setup)
{
    int32_t i;

    memset(world, 0, sizeof(*world));
    world->setup = *setup;
    world->ranks = (int32_t)(setup->nodes * setup->gpus);
    world->log = (gdr_log_t){.level = GDR_LOG_ERROR, .emit = log_emit, .ctx = world};
    gsim_events_init(&world->events, world);
    set_times(world);
    world->procs = calloc((size_t)world->ranks, sizeof(*world->procs));
    world->numbers = calloc((size_t)world->ranks, sizeof(*world->numbers));
    if (world->procs == NULL || world->numbers == NULL || !arena_make(world) ||
        !gsim_ports_make(world))
        return false;
    for (i = 0; i < world->ranks; i++)
        world->numbers[i] = i;
    for (i = 0; i < world->ranks; i++) {
        if (proc_start(world, i) != GDR_OK)
            return false;
    }
    return true;
}

/* After an error calls are in flight, and a team with such cannot be destroyed: the engines are
 * left to the end of the process. */
static void world_end(gsim_world_t *world)
{
    bool idle = world->pending == 0 && world->error[0] == '\0';
    int32_t i;

    for (i = 0; i < world->ranks && world->procs != NULL && idle; i++) {
        gsim_proc_t *proc = &world->procs[i];

        if (proc->team != NULL)
            gdr_team_destroy(proc->team);
        if (proc->engine != NULL)
            gdr_engine_destroy(proc->engine);
        gdr_ways_clear(&proc->ways);
    }
    gsim_dev_clear(world);
    gsim_ports_free(world);
    gsim_events_clear(&world->events);
    if (world->arena != NULL)
        munmap(world->arena, world->stride * (uint64_t)world->ranks);
    free(world->numbers);
    free(world->procs);
}

/* ---- the call ---- */

static void add_stats(gdr_engine_stats_t *sum, const gsim_proc_t *proc)
{
    gdr_engine_stats_t stats;

    gdr_engine_stats(proc->engine, &stats);
    sum->calls += stats.calls;
    sum->kernels += stats.kernels;
    sum->puts += stats.puts;
    sum->put_bytes += stats.put_bytes;
    sum->pull_bytes += stats.pull_bytes;
    sum->signals += stats.signals;
    sum->declined += stats.declined;
}

/* What the plan says of the algorithm that it took. */
static void ask_plan(const gsim_world_t *world, gsim_result_t *result)
{
    gdr_plan_option_t options[OPTIONS_MAX];
    uint32_t n = gdr_team_options(world->procs[0].team, world->setup.count, GDR_TYPE_FLOAT32,
                                  options, OPTIONS_MAX);

    for (uint32_t i = 0; i < n; i++) {
        if (!options[i].serves || !options[i].taken)
            continue;
        result->predicted_ns = (double)options[i].ns;
        result->segments = options[i].nsegments;
        result->depth = options[i].depth;
    }
}

static void collect(gsim_world_t *world, gsim_result_t *result)
{
    uint64_t first = UINT64_MAX, last = 0;
    int32_t i;

    for (i = 0; i < world->ranks; i++) {
        const gsim_proc_t *proc = &world->procs[i];

        if (proc->status != GDR_OK && proc->status != GDR_ERR_DECLINED)
            gsim_fail(world, "rank %d: %s", i, gdr_status_string(proc->status));
        first = proc->finished < first ? proc->finished : first;
        last = proc->finished > last ? proc->finished : last;
        add_stats(&result->stats, proc);
    }
    if (world->procs[0].status == GDR_OK)
        snprintf(result->algorithm, sizeof(result->algorithm), "%s", world->procs[0].path);
    if (world->error[0] == '\0')
        ask_plan(world, result);
    result->ns = (double)last / GSIM_PS;
    result->first_ns = (double)first / GSIM_PS;
    result->nic_bytes = world->nic_bytes;
    result->events = world->events.sequence;
}

static void call_run(gsim_world_t *world)
{
    uint64_t all = (uint64_t)world->ranks;
    int32_t i;

    for (i = 0; i < world->ranks && world->error[0] == '\0'; i++) {
        gdr_status_t status = proc_post(world, &world->procs[i]);

        if (status != GDR_OK)
            gsim_fail(world, "rank %d: %s", i, gdr_status_string(status));
    }
    for (i = 0; i < world->ranks && world->error[0] == '\0'; i++)
        progress(&world->procs[i]); /* one that waits for nobody is woken by nothing */
    while (world->error[0] == '\0' && gsim_events_run(&world->events)) {
    }
    if (world->events.failed)
        gsim_fail(world, "no memory");
    else if (world->pending > 0)
        gsim_fail(world, "%llu of %llu ranks wait for ever", (unsigned long long)world->pending,
                  (unsigned long long)all);
}

int gsim_run(const gsim_setup_t *setup, gsim_result_t *result, char *error, size_t error_size)
{
    gsim_world_t *world = malloc(sizeof(*world));
    gsim_result_t got = {.algorithm = ""};
    int rc = -1;

    if (world == NULL || !world_make(world, setup)) {
        if (world != NULL)
            gsim_fail(world, "no memory for %d ranks", world->ranks);
        snprintf(error, error_size, "%s", world != NULL ? world->error : "no memory");
    } else {
        call_run(world);
        collect(world, &got);
        snprintf(error, error_size, "%s", world->error);
        rc = world->error[0] == '\0' ? 0 : -1;
    }
    if (world != NULL)
        world_end(world);
    free(world);
    if (rc == 0)
        *result = got;
    return rc;
}
