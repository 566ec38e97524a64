/* What the simulator's files share. */
#ifndef GSIM_PRIV_H
#define GSIM_PRIV_H

#include "tools/sim/gsim_events.h"
#include "tools/sim/gsim_world.h"

typedef struct gsim_proc gsim_proc_t;
typedef struct gsim_world gsim_world_t;

/* Serves one put after the other. */
typedef struct gsim_port {
    uint64_t free; /* picoseconds: since when it is idle */
    double ps_per_byte;
} gsim_port_t;

/* A link's parameters in picoseconds. */
typedef struct gsim_cost {
    uint64_t put, put_cpu, done, word, word_cpu;
} gsim_cost_t;

/* A GPU whose running kernels share its memory: `work` bytes have been done of each since it was
 * idle, so one that joins at work w with b bytes ends at work w + b. */
typedef struct gsim_memory {
    double work;
    uint64_t last; /* when `work` was brought up to date */
    uint32_t running;
    uint64_t epoch;               /* of the event that is due: others are void */
    struct gdr_dev_stream *first; /* running kernels, the one that ends first in front */
} gsim_memory_t;

struct gsim_proc {
    gsim_world_t *world;
    int32_t rank, node, gpu;
    gdr_engine_t *engine;
    gdr_team_t *team;
    gdr_call_t *call; /* NULL: over */
    gdr_ways_t ways;
    uint64_t cpu; /* picoseconds: since when the CPU is idle */
    bool waking;  /* it will look around when the CPU is idle */
    uint64_t allocated; /* bytes of device memory, never given back */
    gdr_status_t status;
    const char *path;
    uint64_t finished;

    struct gdr_dev *dev;
    struct gdr_net *net;
    gsim_memory_t memory;
};

struct gsim_world {
    gsim_setup_t setup;
    gsim_events_t events;
    int32_t ranks;
    gsim_proc_t *procs;
    int *numbers;     /* of the processes, for the teams */
    uint64_t pending; /* calls that are not over */

    /* Device windows and control pages: [page][window] of each process. */
    uint8_t *arena;
    uint64_t page_bytes, stride;

    gsim_port_t *gpu_out, *gpu_in, *nic_out, *nic_in;
    uint32_t nics; /* of a node, as many as are used */
    bool own_nic;  /* each GPU has one */
    gsim_cost_t gpu, nic;
    uint64_t launch_cpu, launch, kernel, mark_cpu, mark, poll_cpu;
    double kernel_rate, memory_rate; /* bytes per picosecond */
    struct gsim_command *free_commands;
    uint64_t nic_bytes;
    gdr_log_t log;
    char error[400]; /* the first one */
};

static inline gsim_world_t *gsim_world(void *ctx)
{
    return ctx;
}

static inline uint64_t gsim_ps(double ns)
{
    return (uint64_t)(ns * GSIM_PS + 0.5);
}

static inline uint64_t gsim_memory_bytes(const gsim_world_t *world)
{
    return (uint64_t)(world->setup.cluster->memory_gb * 1e9);
}

/* Else it is a user's buffer. */
static inline bool gsim_is_window(const gsim_world_t *world, uint64_t address)
{
    return address >= (uintptr_t)world->arena &&
           address - (uintptr_t)world->arena < (uint64_t)world->ranks * world->stride;
}

/* The process that the address belongs to. */
static inline gsim_proc_t *gsim_owner(const gsim_world_t *world, uint64_t address)
{
    return &world->procs[(address - (uintptr_t)world->arena) / world->stride];
}

static inline void gsim_store(uint64_t address, uint64_t value)
{
    __atomic_store_n((uint64_t *)(uintptr_t)address, value, __ATOMIC_RELEASE);
}

static inline uint64_t gsim_load(uint64_t address)
{
    return __atomic_load_n((const uint64_t *)(uintptr_t)address, __ATOMIC_ACQUIRE);
}

/* gsim_world.c */

/* Something has changed that the process polls: it looks around as soon as its CPU is idle. */
void gsim_wake(gsim_proc_t *proc);
void gsim_fail(gsim_world_t *world, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* gsim_dev.c */

gdr_status_t gsim_open_dev(void *ctx, int ordinal, const gdr_dev_ops_t **ops, gdr_dev_t **dev);
/* A word of the process's window has changed: streams may wait for it. */
void gsim_dev_look(gsim_proc_t *proc);
void gsim_dev_clear(gsim_world_t *world);

/* gsim_net.c */

gdr_status_t gsim_open_net(void *ctx, const gdr_net_ops_t **ops, gdr_net_t **net);

/* gsim_ports.c */

/* The ports of the world's cluster; false: no memory. */
bool gsim_ports_make(gsim_world_t *world);
void gsim_ports_free(gsim_world_t *world);

typedef struct gsim_way {
    gsim_port_t *port[4]; /* in the order of passing */
    uint32_t n, out;      /* ports; of them the sender's side */
    bool shared[4];       /* others put into it as well: its queue is joined at the time itself */
    const gsim_cost_t *cost;
} gsim_way_t;

void gsim_way(gsim_world_t *world, const gsim_proc_t *from, const gsim_proc_t *to, gsim_way_t *way);

#endif
