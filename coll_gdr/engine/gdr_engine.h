/*
 * The engine: runs schedules for communicators ("teams") over four ports. It owns windows, lanes,
 * credits and the wire-up vote. No global state: a process (or a test) may hold several engines.
 *
 * Thread rules: every function may be called from any thread. progress() returns 0 at once when
 * another thread, or this thread further up the stack, is inside the engine; it never re-enters.
 * deliver() only queues. Nothing blocks but gdr_team_destroy's and gdr_engine_destroy's clean-up of
 * their own streams.
 */
#ifndef GDR_ENGINE_H
#define GDR_ENGINE_H

#include "base/gdr_log.h"
#include "base/gdr_optypes.h"
#include "base/gdr_status.h"
#include "engine/gdr_clock.h"
#include "engine/gdr_ctl.h"
#include "engine/gdr_dev.h"
#include "engine/gdr_net.h"
#include "engine/gdr_ways.h"
#include "plan/gdr_plan.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct gdr_engine gdr_engine_t;
typedef struct gdr_team gdr_team_t;
typedef struct gdr_call gdr_call_t;

typedef struct gdr_ports {
    /* Called at the first device call, not before: nothing is loaded by programs that have none. */
    gdr_status_t (*open_net)(void *ctx, const gdr_net_ops_t **ops, gdr_net_t **net);
    /* Device by ordinal; again after its generation became 0. */
    gdr_status_t (*open_dev)(void *ctx, int ordinal, const gdr_dev_ops_t **ops, gdr_dev_t **dev);
    void *ctx;
    gdr_ctl_t ctl;
    gdr_clock_t clock;
    const gdr_log_t *log;
} gdr_ports_t;

typedef enum gdr_mode { GDR_MODE_AUTO, GDR_MODE_ON, GDR_MODE_OFF } gdr_mode_t;
typedef enum gdr_flags_mode { GDR_FLAGS_AUTO, GDR_FLAGS_DEVICE, GDR_FLAGS_HOST } gdr_flags_mode_t;

typedef struct gdr_engine_config {
    gdr_plan_params_t plan;
    uint64_t window_bytes;   /* of one window: lanes and their words */
    uint64_t large_lane;     /* bytes of the lane of a communicator whose messages need a larger one
                              * than plan.lane_bytes; 0: as its device's memory allows */
    uint64_t ctl_bytes;      /* of the control page */
    gdr_flags_mode_t flags;  /* auto = device flags for stream-ordered calls, else host flags */
    gdr_mode_t stream_waits; /* auto = blocking calls below MPI_THREAD_MULTIPLE */
    gdr_mode_t mapped;       /* kernels read windows of the node: auto = where they can be mapped;
                              * on = and a process says so where they cannot */
    bool thread_multiple;    /* this process's thread level */
    uint64_t node;           /* equal on processes that share a node; 0: not known */
    uint64_t timeout_ns;     /* say once what a call waits for; 0 = never */
    bool mixed;              /* ask the members that a call waits for which way they went */
    uint64_t ask_ns;         /* after so long, then after twice as long, ... */
} gdr_engine_config_t;

void gdr_engine_config_init(gdr_engine_config_t *config); /* the documented defaults */

/* Counters since gdr_engine_create; plain reads, monotonic. */
typedef struct gdr_engine_stats {
    uint64_t calls;      /* completed on the device */
    uint64_t kernels;    /* launched */
    uint64_t puts;       /* data puts posted */
    uint64_t put_bytes;  /* payload bytes of them */
    uint64_t pull_bytes; /* that kernels read from windows of other ranks */
    uint64_t signals;    /* flag and credit words put */
    uint64_t declined;   /* calls that ended with GDR_ERR_DECLINED */
    uint64_t turned;     /* calls that ended with GDR_ERR_MIXED */
    uint64_t questions;  /* sent to members: which way did you go? */
} gdr_engine_stats_t;

/* Copies config and ports (what ports point to must outlive the engine). */
gdr_status_t gdr_engine_create(const gdr_engine_config_t *config, const gdr_ports_t *ports,
                               gdr_engine_t **engine);
/* All teams must be destroyed. Touches no CUDA object of a dead generation. */
void gdr_engine_destroy(gdr_engine_t *engine);
int gdr_engine_progress(gdr_engine_t *engine); /* number of events */
/* A control message from process `proc`; copies. May come for a team that does not exist yet
 * (kept until it is created) or no longer exists (dropped). */
void gdr_engine_deliver(gdr_engine_t *engine, int proc, const void *message, size_t bytes);
void gdr_engine_stats(const gdr_engine_t *engine, gdr_engine_stats_t *stats);

typedef struct gdr_team_desc {
    uint64_t id;    /* communicator id, equal on all members, unique among live ones */
    uint64_t nonce; /* tells communicators apart that had the same id one after the other; equal
                     * on all members */
    int32_t rank, size;
    const int *procs; /* process number of every rank; must outlive the team */
    bool eligible;    /* false: this process will decline (already known, e.g. no CUDA here) */
    gdr_ways_t *ways; /* of the communicator; must outlive the team */
} gdr_team_desc_t;

/* Local, no communication: wire-up starts with the first posted call. */
gdr_status_t gdr_team_create(gdr_engine_t *engine, const gdr_team_desc_t *desc, gdr_team_t **team);
/* No call of it may be in flight. Local, does not synchronise with the other members. */
void gdr_team_destroy(gdr_team_t *team);

typedef struct gdr_call_desc {
    int device;    /* ordinal of the buffers' device */
    uint64_t send; /* device address; equal to recv when in place */
    uint64_t recv;
    uint64_t count; /* elements, >= 1 */
    gdr_op_t op;
    gdr_type_t type;  /* gdr_optype_supported(op, type) */
    bool apart;       /* recv lies in another context than send: its NULL stream counts, too */
    uint64_t context; /* current in the caller, 0: none; its NULL stream counts, too */
    bool blocking;    /* equal on all members: MPI does not match blocking with nonblocking */
    uint64_t index;   /* from gdr_ways_open(), as a device call */
} gdr_call_desc_t;

/*
 * Posts an allreduce of the team; calls run in the order of their index, in which they are posted.
 * *call stays the caller's until gdr_call_release. After an error nothing was posted: the caller
 * turns the call into a host call (gdr_ways_turn); everything later comes from gdr_call_status.
 */
gdr_status_t gdr_call_post(gdr_team_t *team, const gdr_call_desc_t *desc, gdr_call_t **call);

/*
 * GDR_INPROGRESS, GDR_OK (the receive buffer holds the result, visible to every stream), or:
 * GDR_ERR_DECLINED: all members agreed not to use the device path for this call, or for any;
 * GDR_ERR_MIXED: a member serves this call in host memory, or this one must. After both the send
 * and the receive buffer are as they were, nothing of the call is under way in this process, and
 * the caller serves the call otherwise, then calls gdr_ways_close. Any other error: it failed.
 */
gdr_status_t gdr_call_status(const gdr_call_t *call);
/* "twoshot", ... once decided; "" before. Static. */
const char *gdr_call_path(const gdr_call_t *call);
/* gdr_plan_options() of such calls; only when one of the team's calls has been GDR_OK. Pure. */
uint32_t gdr_team_options(const gdr_team_t *team, uint64_t count, gdr_type_t type,
                          gdr_plan_option_t *options, uint32_t max);
void gdr_call_release(gdr_call_t *call); /* not while GDR_INPROGRESS */

#endif
