/*
 * What the files of this room share: the component's state, a communicator's module, and the
 * functions between them. Thread rules are said where they are not "any thread".
 */
#ifndef GDR_MCA_H
#define GDR_MCA_H

#include "mca/gdr_ompi_compat.h"

#include "base/gdr_log.h"
#include "engine/gdr_engine.h"
#include "mca/asked.h"
#include "mca/gdr_params.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

/* ---- component ------------------------------------------------------------------------------ */

/* Events counted here; the engine counts its own (gdr_engine_stats_t). */
typedef struct gdr_mca_counters {
    atomic_uint_fast64_t staged_bytes; /* payload copied between device and host by this process */
    atomic_uint_fast64_t staged_calls;
    atomic_uint_fast64_t host_calls;  /* passed on because no buffer was on a device, without those
                                       * of gdr_asked_passed() */
    atomic_uint_fast64_t mixed_calls; /* between the buffers of one call or across its ranks */
    const char *_Atomic last_path;    /* gdr_path_*, or the engine's name of an algorithm */
} gdr_mca_counters_t;

extern const char gdr_path_none[], gdr_path_host[], gdr_path_staged[];

typedef struct gdr_mca_state {
    gdr_params_t params;
    gdr_log_t log;
    gdr_mca_counters_t counters;
    char plugin_file[512]; /* path of mca_coll_gdr.so, "" if unknown */
    gdr_engine_t *_Atomic engine;
    atomic_int teams;        /* alive */
    atomic_int device_calls; /* posted to the engine and not yet released */
} gdr_mca_state_t;

extern gdr_mca_state_t gdr_mca;

/* The component itself: the plugin's one exported symbol. */
OMPI_DECLSPEC extern gdr_ompi_coll_component_t mca_coll_gdr_component;

/* ---- module --------------------------------------------------------------------------------- */

typedef enum gdr_mca_reach {
    GDR_REACH_UNKNOWN, /* no device call yet, or something local went wrong in it */
    GDR_REACH_TEAM,    /* the engine serves it */
    GDR_REACH_STAGE /* staged for ever: a member without this component, beyond COMM_WORLD, ... */
} gdr_mca_reach_t;

struct gdr_mca_request;

typedef struct gdr_mca_module {
    mca_coll_base_module_t super;
    struct ompi_communicator_t *comm; /* not retained: the communicator owns the module */
    /* Together, for a small host call: the previous component's, or one that fails, and our count.
     */
    mca_coll_base_module_allreduce_fn_t prev_allreduce;
    mca_coll_base_module_t *prev_allreduce_module;
    gdr_asked_t asked; /* which way its allreduces go; found by others while it is enabled */
    mca_coll_base_module_iallreduce_fn_t prev_iallreduce;
    mca_coll_base_module_t *prev_iallreduce_module;
    mca_coll_base_comm_coll_t prev; /* of the other collectives, see coll_slots.c */
    bool enabled;

    pthread_mutex_t lock; /* of everything below; held for bookkeeping, never over communication */
    gdr_mca_reach_t reach;
    gdr_team_t *team;
    atomic_bool has_team; /* the same, for those without the lock */
    int *procs;
    int device;                        /* of the lane: that of the first device call */
    atomic_uint_fast64_t home_context; /* its primary context, once a buffer has shown it */
    const char *stage_reason;          /* GDR_REACH_STAGE */
    bool said_staged, said_others;
    bool compared, alike; /* whether it is known that all members have our parameters; and if so */
    atomic_uint_fast64_t explained; /* bit k: calls of 2^k bytes have been explained */
    /* Nonblocking calls in call order from the oldest that is undecided, see request.c. */
    struct gdr_mca_request *order_head, *order_tail;
    atomic_int held;          /* length of that list */
    uint64_t persistent_made; /* persistent MPI_Allreduces so far */
} gdr_mca_module_t;

OBJ_CLASS_DECLARATION(gdr_mca_module_t);

/* MCA entry point: a module for `comm`, or NULL (priority 0). Purely local. */
mca_coll_base_module_t *mca_coll_gdr_comm_query(struct ompi_communicator_t *comm, int *priority);

/* A number that is equal on all members and differs from that of every communicator that had the
 * same id before; false: no memory. Once per communicator, when it is made. */
bool gdr_nonce_take(struct ompi_communicator_t *comm, uint64_t *nonce);
void gdr_nonce_shutdown(void);

/* Puts the module in front of the previous components' other collectives; and undoes what that
 * holds. The communicator's slots still are the previous components'. */
void gdr_coll_enable(gdr_mca_module_t *module);
void gdr_coll_disable(gdr_mca_module_t *module);

/* The communicator's nonce, and one for each number that is equal on all members. */
uint64_t gdr_module_nonce(const gdr_mca_module_t *module, uint64_t number);

/* Whether the user has promised that this process has no device buffers on the communicator. */
bool gdr_host_promised(struct ompi_communicator_t *comm);

/* ---- calls ---------------------------------------------------------------------------------- */

typedef struct gdr_mca_args {
    const void *send; /* may be MPI_IN_PLACE */
    void *recv;
    int count;
    struct ompi_datatype_t *dtype;
    struct ompi_op_t *op;
} gdr_mca_args_t;

int mca_coll_gdr_allreduce(const void *send, void *recv, int count, struct ompi_datatype_t *dtype,
                           struct ompi_op_t *op, struct ompi_communicator_t *comm,
                           mca_coll_base_module_t *module);
int mca_coll_gdr_iallreduce(const void *send, void *recv, int count, struct ompi_datatype_t *dtype,
                            struct ompi_op_t *op, struct ompi_communicator_t *comm,
                            ompi_request_t **request, mca_coll_base_module_t *module);

typedef enum gdr_mca_way {
    GDR_WAY_HOST,   /* no device buffer: the previous handler's */
    GDR_WAY_DEVICE, /* the engine's */
    GDR_WAY_STAGE   /* through pinned host memory and the previous handler */
} gdr_mca_way_t;

/*
 * A host call is passed on that gdr_ways_pass() does not count: without an atomic
 * read-modify-write, since it must not be noticed (threads may lose a count).
 */
static inline void gdr_mca_count_host(void)
{
    gdr_mca_counters_t *counters = &gdr_mca.counters;
    uint64_t calls = atomic_load_explicit(&counters->host_calls, memory_order_relaxed);

    atomic_store_explicit(&counters->host_calls, calls + 1, memory_order_relaxed);
    if (atomic_load_explicit(&counters->last_path, memory_order_relaxed) != gdr_path_host)
        atomic_store_explicit(&counters->last_path, gdr_path_host, memory_order_relaxed);
}

/*
 * Which way a call goes on this rank, and for GDR_WAY_DEVICE its description. *reason: for
 * GDR_WAY_STAGE a static text, where all ranks see the same reason, else NULL.
 */
gdr_mca_way_t gdr_mca_choose(gdr_mca_module_t *module, const gdr_mca_args_t *args, bool blocking,
                             gdr_call_desc_t *desc, const char **reason);
/* Counts and, with coll_gdr_explain, says which path a finished device call took. */
void gdr_mca_served(gdr_mca_module_t *module, const gdr_call_t *call, const gdr_call_desc_t *desc);

/* The device operation and type of MPI handles; false if the device does not serve them. */
bool gdr_mca_optype(struct ompi_op_t *op, struct ompi_datatype_t *dtype, gdr_op_t *gdr_op,
                    gdr_type_t *gdr_type);

/*
 * Whether no device call is in flight in this process: then no stream waits for a peer's word, and
 * it is safe to call what the CUDA driver may order behind all work of the context: to pin, to
 * allocate, to free. At entry of a call only, never in progress.
 */
static inline bool gdr_mca_quiet(void)
{
    return atomic_load(&gdr_mca.device_calls) == 0;
}

/*
 * Begins the next call of `ways` as a device call of their team, desc->index. GDR_ERR_MIXED: it was
 * begun, but is a host call, to be ended by gdr_ways_close(). Other errors: it was not begun.
 */
gdr_status_t gdr_mca_post(gdr_team_t *team, gdr_ways_t *ways, gdr_call_desc_t *desc,
                          gdr_call_t **call);
void gdr_mca_release(gdr_call_t *call);

/* The rest of gdr_mca_host_begins(), where there is something to do. */
void gdr_mca_host_waits(gdr_mca_module_t *module, uint64_t index);

/*
 * Begins the communicator's next call as a blocking host call, before it goes to the previous
 * component. Waits for device calls that are older by two: that this one completes then tells the
 * others that they are over (engine/gdr_ways.h).
 */
static inline void gdr_mca_host_begins(gdr_mca_module_t *module)
{
    uint64_t index = gdr_ways_host(&module->asked.ways);

    if (gdr_ways_pending(&module->asked.ways) != 0)
        gdr_mca_host_waits(module, index);
}

/* The Open MPI error code of a status. */
int gdr_mca_error(gdr_status_t status);

/* ---- bring-up ------------------------------------------------------------------------------- */

/*
 * The engine, made at the first call; NULL if it cannot be made (the reason has been said once).
 * Registers the progress callbacks and posts the control plane's receive.
 */
gdr_engine_t *gdr_mca_engine(void);
/* Equal on processes of one node, or of coll_gdr_node_size; 0: not known. */
uint64_t gdr_mca_node(void);
/*
 * Whether the engine serves the module's communicator; makes module->team at the first call, whose
 * buffers lie on `device`.
 * GDR_REACH_STAGE with *reason set; GDR_REACH_UNKNOWN: local failure, said.
 */
gdr_mca_reach_t gdr_mca_reach(gdr_mca_module_t *module, int device, const char **reason);
/*
 * Whether all members, in both groups of an inter-communicator, are of this job and have this
 * component with the same parameters: then what a parameter forbids here is forbidden on all.
 */
bool gdr_mca_alike(gdr_mca_module_t *module);
/* Component close: no communicator is left. */
void gdr_mca_shutdown(void);

/* Port of the engine: opens UCX and the glue (net_open.c). */
gdr_status_t gdr_mca_open_net(void *ctx, const gdr_net_ops_t **ops, gdr_net_t **net);

/* Path `number` (0, 1, ...) of those where an object of that name may lie; false: no more. */
bool gdr_mca_place(int number, const char *name, char *path, size_t size);

/* Whether the text file of long messages is installed (not so in a build tree). */
bool gdr_mca_has_help(void);

/* ---- facts ---------------------------------------------------------------------------------- */

/* Publishes what other processes must know of this one; component open. */
int gdr_facts_publish(void);
/* Whether the process of that name, of this job, has this component in a usable form. It is asked
 * once, and may take as long as a message there and back. */
bool gdr_facts_member_ok(const opal_process_name_t *name);
void gdr_facts_shutdown(void);

/* ---- progress ------------------------------------------------------------------------------- */

void gdr_progress_start(void); /* low-priority callback for good */
void gdr_progress_stop(void);
/* While at least one call is active the callback has high priority. */
void gdr_progress_call_begins(void);
void gdr_progress_call_ends(void);
/* Adds a request to those that the callback drives to completion. */
void gdr_progress_add(struct gdr_mca_request *request);

/* ---- others --------------------------------------------------------------------------------- */

int gdr_providers_ensure(void); /* at component register */
int gdr_pvars_register(void);

#endif
