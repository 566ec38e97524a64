/*
 * A simulated machine for the engine: n processes in one thread, each with the real engine on a
 * fake device, a fake network, fake control messages and one virtual clock. Everything that takes
 * time takes a random time drawn from the seed; the same seed replays the same run.
 *
 * The fakes are strict: an address that is no memory of that process, a word that crosses between
 * host and device memory, an op that is posted twice, a call into a port from inside a port are
 * failures of the run. They are also nasty: a put spoils its target the moment it is posted and
 * reads its source only when it arrives; a kernel spoils its outputs while it runs.
 */
#ifndef SIM_H
#define SIM_H

#include "engine/gdr_engine.h"

#include <stdbool.h>
#include <stdint.h>

enum { SIM_PROCS_MAX = 64, SIM_REGIONS_MAX = 4096, SIM_PAGES_MAX = 8 };

typedef struct sim_world sim_world_t;
typedef struct sim_proc sim_proc_t;

typedef struct sim_options {
    int nprocs;
    uint64_t seed;
    uint64_t net_delay, dev_delay, ctl_delay; /* up to, in virtual nanoseconds */
    bool stream_words, flush_rdma;
    bool keeps_mappings;   /* of the network: as UCX */
    bool emulates;         /* of the network: the target's CPU writes what is put to its device */
    bool maps;             /* of the network: windows of a node can be mapped */
    uint64_t large_lane;   /* bytes that a lane may have, where messages need it; 0: none */
    unsigned slow_streams; /* one stream of so many does all of it long after others; 0: none */
    unsigned
        late_words; /* one word of so many comes long after its put is complete here; 0: none */
    bool overtake;  /* break the network: a word may come before its data */
    bool reenter;   /* ports call progress, which must do nothing */
    int log_level;
} sim_options_t;

/* A process is asked which way a call went. */
typedef void (*sim_asked_fn)(void *ctx, int proc, int from, const gdr_ask_t *ask);

typedef void (*sim_event_fn)(sim_world_t *world, void *a, void *b);

typedef struct sim_region {
    uintptr_t start, end;
    const sim_proc_t *of; /* mapped: whose it is; else NULL */
} sim_region_t;

struct sim_proc {
    sim_world_t *world;
    int index;
    bool dead;   /* it does nothing more */
    bool broken; /* killed: nothing reaches it or comes from it */
    bool is_progressing;
    bool awake; /* it has made a device call */
    bool in_port;
    gdr_engine_t *engine;
    gdr_engine_config_t config;

    /* device */
    struct gdr_dev *devs;
    uint64_t generation; /* of the context; 0 after a reset until the next open */
    int compute_capability;
    bool no_device;
    uint64_t largest_alloc; /* bytes of device memory that can be had at once */
    bool maps_nothing;      /* although it says that it could */
    struct sim_late *late;  /* data that has arrived but is not in the device's memory yet */
    sim_region_t regions[SIM_REGIONS_MAX];
    unsigned nregions;
    uint64_t kernels;

    /* network */
    struct gdr_net *net;
    uint64_t puts, put_bytes, words;

    /* faults: the n-th fallible port call fails; 0 = none */
    uint64_t port_calls, fail_port_call;
    const char *failed_port;
};

struct sim_world {
    sim_options_t options;
    uint64_t now, random, sequence;
    struct sim_event *events;
    unsigned nevents, events_capacity;
    sim_proc_t procs[SIM_PROCS_MAX];
    uint64_t ctl_last[SIM_PROCS_MAX][SIM_PROCS_MAX];
    bool cut[SIM_PROCS_MAX][SIM_PROCS_MAX]; /* no data passes between the two, either way */
    uint64_t events_run;
    uint64_t generations, net_live, dev_live;
    bool deaf; /* a process hears nothing but questions until it has made a device call */
    sim_asked_fn asked;
    void *asked_ctx;
    gdr_log_t log;
    char last_log[1100];
    bool verbose; /* log lines go to stderr */
    unsigned warnings, errors, rejected;
    char failure[600]; /* the first one */
};

sim_options_t sim_options(int nprocs, uint64_t seed);
sim_world_t *sim_create(const sim_options_t *options);
/* Creates the engines; each proc's config may be changed between sim_create and this. */
void sim_start(sim_world_t *world);
/* Lets everything come to rest and destroys the engines; a leak is a failure. */
void sim_finish(sim_world_t *world);
void sim_destroy(sim_world_t *world);

void sim_fail(sim_world_t *world, const char *format, ...) __attribute__((format(printf, 2, 3)));
uint64_t sim_random(sim_world_t *world, uint64_t below); /* below >= 1 */
void sim_after(sim_world_t *world, uint64_t delay, sim_event_fn fn, void *a, void *b);
void sim_at(sim_world_t *world, uint64_t time, sim_event_fn fn, void *a, void *b);
bool sim_run_event(sim_world_t *world); /* false: there is none */
int sim_progress(sim_world_t *world, int proc);

void sim_region_add(sim_proc_t *proc, const void *start, size_t bytes);
/* Memory of `of`, as long as it is. */
void sim_region_map(sim_proc_t *proc, const sim_proc_t *of, uint64_t start, uint64_t bytes);
void sim_region_remove(sim_proc_t *proc, const void *start);
bool sim_region_holds(const sim_proc_t *proc, uint64_t address, uint64_t bytes);

/* Counts a fallible port call; true: it shall fail. Also tries to re-enter. */
bool sim_port_fails(sim_proc_t *proc, const char *name);
/* The process vanishes: what it has in flight is lost, its peers learn of it after a while. */
void sim_kill(sim_world_t *world, int proc);
/* The transport loses its connection between two processes; control messages still pass. */
void sim_cut(sim_world_t *world, int a, int b);
bool sim_is_cut(const sim_proc_t *a, const sim_proc_t *b); /* or one of them is broken */
/* cudaDeviceReset */
void sim_reset_device(sim_world_t *world, int proc);

gdr_status_t sim_open_dev(void *ctx, int ordinal, const gdr_dev_ops_t **ops, gdr_dev_t **dev);
gdr_status_t sim_open_net(void *ctx, const gdr_net_ops_t **ops, gdr_net_t **net);
gdr_status_t sim_ctl_send(void *ctx, int proc, const void *message, size_t bytes);
/* Data has come for `address`; it gets there when a flush or time brings it. */
void sim_net_late(sim_proc_t *proc, uint64_t address, uint64_t source, uint64_t bytes);
void sim_net_settle(sim_proc_t *proc); /* brings late data into the device's memory */
void sim_net_forget(sim_proc_t *proc);
bool sim_dev_waits(const sim_proc_t *proc); /* some stream will wait for a word that is not there */
void sim_dev_wake(sim_proc_t *proc);        /* a word of its memory has changed */
void sim_dev_break(sim_proc_t *proc);       /* a sticky error of the context */
void sim_reduce(const gdr_dev_reduce_t *reduce, void *out);
bool sim_reduce_aborted(const gdr_dev_reduce_t *reduce);
/* A digest of the inputs that are no outputs. False: one is no memory of the process, a failure. */
bool sim_reduce_inputs(const sim_proc_t *proc, const gdr_dev_reduce_t *reduce, uint64_t *digest);

/* Allocation faults: the n-th malloc, calloc or realloc inside the engine fails. 0 = none. */
void *sim_alloc(size_t bytes); /* zeroed, never counted, never fails */
extern uint64_t sim_alloc_fail_at, sim_alloc_count;
extern int sim_alloc_inside;

#endif
