/*
 * The engine's own types. Everything here is touched only by the thread that holds the engine
 * (gdr_engine_t.busy), but for what is marked "queue lock" or "atomic".
 */
#ifndef GDR_ENGINE_TYPES_H
#define GDR_ENGINE_TYPES_H

#include "engine/gdr_engine.h"
#include "engine/gdr_program.h"

typedef struct gdr_device gdr_device_t;
typedef struct gdr_window gdr_window_t;
typedef struct gdr_stream gdr_stream_t;
typedef struct gdr_context gdr_context_t;
typedef struct gdr_proc gdr_proc_t;
typedef struct gdr_inbox_entry gdr_inbox_entry_t;

enum {
    GDR_TEAM_BUCKETS = 64,
    GDR_PLAN_CACHE = 16,        /* plans that a team remembers */
    GDR_STREAMS_MAX = 1024,     /* completion words of a device */
    GDR_STREAMS_HOST = 8,       /* per device: beyond it host-driven contexts share streams */
    GDR_WINDOWS_MAX = 4,        /* per device, of ordinary lanes, */
    GDR_LARGE_LANES_MAX = 4,    /* and with a large lane each */
    GDR_STREAM_WORD_BYTES = 64, /* one cache line: the device writes it, the CPU polls it */
    GDR_STREAM_AREA_BYTES = GDR_STREAMS_MAX * GDR_STREAM_WORD_BYTES,
    GDR_GONE_TEAMS = 64, /* destroyed teams remembered, to drop late messages */
    GDR_REASON_BYTES = 160
};

/* A part of the control page that a lane uses. */
typedef struct gdr_ctl_lane {
    uint64_t last_call; /* greatest call number that its words may hold */
    bool in_use;
} gdr_ctl_lane_t;

/* A part of a window. */
typedef struct gdr_lane {
    gdr_window_t *window;
    uint64_t offset; /* in the window */
    uint64_t last_call;
    bool in_use;
    uint32_t ctl_index;     /* while in use */
    struct gdr_lane *older; /* in a team's list of those that it had */
} gdr_lane_t;

struct gdr_window {
    gdr_window_t *next;
    gdr_device_t *device;
    uint32_t id; /* unique in the process, never reused */
    uint64_t address;
    gdr_net_mem_t *mem;
    uint64_t lane_bytes;
    uint64_t abort_offset; /* GDR_LANE_PARTS words per lane */
    uint32_t nlanes;
    gdr_lane_t lanes[];
};

/* What a stream still has to finish, in its order. */
typedef struct gdr_token {
    struct gdr_token *next;
    gdr_context_t *context;
    uint64_t sequence; /* done when the stream's word has reached it */
    uint32_t item;
} gdr_token_t;

struct gdr_stream {
    gdr_stream_t *next; /* in the device's list of all */
    gdr_device_t *device;
    gdr_dev_stream_t *handle;
    const uint64_t *word; /* in device->words, written by the device */
    uint64_t word_address;
    uint64_t written;    /* last sequence enqueued */
    bool wanted, urgent; /* somebody waits for what was enqueued after `written` */
    bool ordered;        /* may be blocked by a stream wait: not to be shared */
    uint32_t users;      /* contexts */
    uint32_t slot;       /* of the word */
    gdr_token_t *first, **last;
};

struct gdr_device {
    gdr_device_t *next;
    gdr_engine_t *engine;
    const gdr_dev_ops_t *ops;
    gdr_dev_t *dev;
    int ordinal;
    uint64_t generation;
    gdr_dev_caps_t caps;
    void *words_memory;
    uint8_t *words;                            /* host memory that this device alone writes */
    uint64_t words_address;                    /* and where it sees it */
    uint64_t word_slots[GDR_STREAMS_MAX / 64]; /* bit set: taken */
    bool flush_due;                            /* a host flag was seen since the last flush */
    uint32_t prepared[GDR_OP_COUNT];           /* bit per type: its kernel is there */
    uint32_t nwindows, nlarge; /* of ordinary lanes, of large ones */
    gdr_window_t *windows;
    gdr_stream_t *streams;
    gdr_stream_t *side; /* one of them: it never waits, so it can let the others go */
};

/* A process that this one talks to. */
struct gdr_proc {
    gdr_proc_t *next; /* in the hash bucket */
    int proc;
    bool announced;           /* our address and control page were sent to it */
    uint64_t windows_sent[2]; /* bit per window id: our windows that it knows */
    uint8_t *address;         /* its message: address and control page's key */
    uint32_t address_bytes, page_bytes;
    gdr_net_peer_t *peer; /* NULL until first needed */
    gdr_net_rmem_t *page;
    struct gdr_rwindow *windows;
    /* A message in pieces, under assembly. */
    uint8_t *parts;
    uint32_t parts_total, parts_have;
    uint8_t parts_type;
};

/* What puts from one of our devices to another process's window need, and kernels that read it. */
typedef struct gdr_import {
    struct gdr_import *next;
    const gdr_device_t *from;
    gdr_net_rmem_t *rmem;
    uint64_t mapped; /* device address, 0: not asked for yet */
} gdr_import_t;

/* A window of another process. */
typedef struct gdr_rwindow {
    struct gdr_rwindow *next;
    gdr_import_t *imports; /* one for each device, made when first needed */
    uint32_t id;
    uint32_t bytes;
    uint8_t packed[];
} gdr_rwindow_t;

/* A member as seen by this process's team. */
typedef struct gdr_member {
    gdr_proc_t *proc;
    gdr_import_t *import;
    gdr_net_rmem_t *window, *page; /* window: the import's */
    uint64_t offset, ctl_offset;   /* of its lane */
    uint64_t begun;                /* index, plus one, of the last call that it has come to */
    uint32_t window_id;
    uint32_t asked; /* the last round of questions that it was in */
    int32_t rank;
    uint8_t modes; /* GDR_MODE_BIT_*: where it wants its flags */
    bool pushed;   /* our lane was announced to it */
    bool known;    /* its lane was announced to us */
    bool ready;    /* connected, keys imported */
} gdr_member_t;

/* Flags in the window, for calls of this kind; else in the control page. */
enum { GDR_MODE_BIT_BLOCKING = 1, GDR_MODE_BIT_NONBLOCKING = 2 };

/* A plan with what the engine derives from it. */
typedef struct gdr_planned {
    uint64_t count;
    uint32_t type_bytes;
    bool commutative;
    bool wired;       /* all its peers are ready */
    bool pulls;       /* kernels read windows of the node's other ranks */
    bool grows;       /* a lane as large as all members can have would make it faster */
    uint32_t users;   /* calls in flight */
    uint64_t used;    /* for replacing the one that was used least recently */
    gdr_plan_t *plan; /* NULL: no algorithm serves it */
    gdr_program_t *full, *last;
    gdr_member_t **peers; /* by rank */
    uint32_t npeers;
} gdr_planned_t;

typedef enum gdr_team_state {
    GDR_TEAM_NEW,   /* no call posted */
    GDR_TEAM_VOTED, /* waits for the verdict */
    GDR_TEAM_READY,
    GDR_TEAM_DECLINED, /* for good */
    GDR_TEAM_DEAD      /* every call ends with `status` */
} gdr_team_state_t;

struct gdr_team {
    gdr_team_t *next;        /* hash bucket; before, under the queue lock: new ones */
    gdr_team_t *next_dying;  /* queue lock */
    gdr_team_t *next_active; /* engine's list of teams with calls */
    gdr_engine_t *engine;
    uint64_t id, nonce;
    int *procs;
    int32_t rank, size;
    gdr_team_state_t state;
    gdr_status_t status;
    gdr_status_t unreached; /* why a member could not be connected to: no call begins any more */
    uint32_t epoch;
    bool eligible, active;
    bool device_flags; /* every member's device has stream words */
    bool renewing;     /* the epoch has ended but some of its calls still run */
    bool unmapped;     /* a window of the node could not be mapped: all vote again */
    bool together;     /* a member's CPU writes what is put to it: see begin.c */
    uint64_t served;   /* index, plus one, of the first call on the device in this epoch; 0: none */

    gdr_device_t *device;
    gdr_lane_t *lane;
    gdr_lane_t *old_lanes; /* lost or too small; their words may be written until all have voted */
    bool lane_short;       /* there was no larger lane here */
    gdr_plan_params_t plan; /* the engine's, but for the lane: the least of the members' */
    uint64_t lane_most;     /* that all members could have, as of the verdict */
    uint64_t lane_wish;     /* for the next epoch */
    gdr_ways_t *ways;
    uint64_t base;  /* the lane's call number is base + 1 for the call with index `first`, */
    uint64_t first; /* the first one that is served in the lanes of this epoch */
    uint64_t last;  /* greatest number that this process has started */
    uint64_t from;  /* the epoch began with this call of the member that had to renew */
    uint64_t begun; /* when the team is destroyed: calls of the communicator */

    gdr_member_t **members; /* those that this process has to do with: see members.c */
    uint32_t nmembers, member_bits;
    gdr_planned_t plans[GDR_PLAN_CACHE];
    uint64_t plan_clock;

    gdr_call_t *queue, **queue_end;      /* posted, not started */
    gdr_call_t *running[GDR_LANE_CALLS]; /* by number % GDR_LANE_CALLS */

    /* Questions, see ask.c. */
    const gdr_planned_t *wiring; /* the first queued call waits for lanes of its peers, */
    bool gathering;              /* or for all members */
    uint32_t ask_round;
    uint32_t eager; /* so many calls yet ask at once: one before them was mixed */

    gdr_topology_t *topology; /* NULL: not known, or of no use; for good */
    uint32_t *nodes;          /* [size]: of the members, as far as told; NULL but during a vote */
    int32_t nodes_told;

    void *vote; /* ours, to be sent again if rank 0 has lost it */
    /* Rank 0: the vote. */
    uint8_t *voted;       /* [size] */
    uint64_t *node_names; /* [size]: as voted */
    uint64_t max_call, max_index, config_hash, least_lane, least_most;
    int32_t votes;
    int32_t compute_capability;
    bool verdict_given, words_all, maps_all, any_emulates, any_waits;
};

/* Of an item (step or credit) of the segment that a context runs. */
typedef enum gdr_item_state {
    GDR_ITEM_IDLE,
    GDR_ITEM_ENQUEUED, /* in the stream */
    GDR_ITEM_POLLED,   /* a host flag is polled for it */
    GDR_ITEM_HELD,     /* a put that may not go yet: credit, or its channel is busy */
    GDR_ITEM_POSTED,   /* in the network */
    GDR_ITEM_DONE
} gdr_item_state_t;

/* A list of item indices; capacity = the context's. */
typedef struct gdr_index_list {
    uint32_t *index;
    uint32_t n;
} gdr_index_list_t;

/* A host flag that is looked at again and again. */
typedef struct gdr_polled {
    const uint64_t *word;
    uint64_t value; /* there when the word has reached it */
    uint32_t item;
} gdr_polled_t;

/* A put or a credit in the network. */
typedef struct gdr_posted {
    const gdr_net_op_t *op;
    uint32_t item;
} gdr_posted_t;

/* Runs one segment at a time of one call. */
struct gdr_context {
    gdr_context_t *next; /* free list */
    gdr_call_t *call;
    gdr_stream_t *stream;
    int32_t rank;   /* of this process in the team */
    uint32_t index; /* context number: segment % depth */
    uint64_t segment;
    const gdr_program_t *program;
    const gdr_item_t *items;  /* the program's, */
    const gdr_step_t *steps;  /* its schedule's, */
    gdr_member_t **peers;     /* and whom they are about */
    uint32_t remaining;       /* items not done */
    uint32_t cursor;          /* stream-ordered: next step to enqueue */
    uint64_t stop;            /* abandoned: at rest when the stream has reached it */
    uint8_t mode_bit;         /* GDR_MODE_BIT_* of the call */
    bool ordered;             /* device flags: the cursor decides about steps */
    bool moved;               /* ordered: something was done since the cursor stopped */
    bool followed;            /* ordered after the application's default stream */
    bool cut_short;           /* what is ready was left for the next turn */
    uint64_t part_offset;     /* of the part's words, from a lane's start, on every member */
    uint64_t ctl_part_offset; /* likewise, of the lane's words in the control page */
    uint64_t window_offset;   /* of these, from this process's window's start */
    uint64_t ctl_offset;      /* from its control page's start */
    uint64_t part_address;    /* of these in this process's window, for the device */
    gdr_net_mem_t *mem;       /* the window */
    uint64_t chunk_bytes;
    uint64_t slot_offset;    /* of the context's first slot, from the part's words */
    const uint64_t *flags;   /* the context's words in the control page: what comes in, */
    const uint64_t *credits; /* and what may go out */
    uint64_t send, recv;     /* device addresses of the segment */
    uint64_t instance;       /* of round 0 */
    uint64_t value;          /* of its flags */

    uint32_t capacity, op_capacity;
    /* [items] */
    gdr_token_t *tokens;
    uint32_t *missing; /* predecessors not done */
    uint8_t *state;    /* gdr_item_state_t */
    gdr_net_op_t *ops; /* [channels] data and flags, then [flags] credits */
    gdr_index_list_t ready, held;
    gdr_polled_t *polled;
    gdr_posted_t *posted;
    uint32_t npolled, nposted;
    void *memory;
};

typedef enum gdr_call_state {
    GDR_CALL_QUEUED,
    GDR_CALL_RUNNING,
    GDR_CALL_ABANDONED, /* failed; its streams and puts are being waited for */
    GDR_CALL_OVER
} gdr_call_state_t;

struct gdr_call {
    int status; /* gdr_status_t; atomic */
    gdr_call_state_t state;
    const char *path; /* atomic */
    gdr_call_t *next; /* queue lock while posted or free; else the team's */
    gdr_engine_t *engine;
    gdr_team_t *team;
    gdr_call_desc_t desc;

    uint64_t number; /* lane call number */
    gdr_planned_t *planned;
    uint64_t abort_address;
    bool told; /* abandoned: its number has been given to the abort word */
    uint32_t part;
    uint32_t ncontexts, active, context_capacity;
    gdr_context_t **contexts; /* [depth] */

    gdr_status_t failure;
    uint64_t side_stop; /* 0, or what the side stream has been given is done at this value */
    uint32_t nflushes, flush_capacity;
    gdr_net_op_t *flushes; /* abandoned: one per peer */
    bool flushing;         /* abandoned, and streams and puts rest */
    bool again;            /* abandoned for a new epoch, not for good */
    bool device_flags, ahead;

    bool warned;
    uint64_t events, events_seen, since; /* for the timeout */
    uint64_t events_counted;             /* by the engine's progress */
    uint64_t ask_at, ask_step;
    bool ask_quiet;     /* nothing had happened at the last look */
    uint32_t announced; /* in this epoch, plus one; 0: in none */
};

struct gdr_engine {
    gdr_engine_config_t config;
    gdr_ports_t ports;
    uint64_t config_hash;
    int busy;       /* atomic: somebody is inside */
    int queue_lock; /* atomic */
    int work;       /* atomic: something was queued from outside */
    int missed;     /* atomic: a control message was, for want of memory */

    /* queue lock */
    gdr_call_t *posted, **posted_end;
    gdr_call_t *free_calls;
    gdr_team_t *new_teams, *dying_teams;
    gdr_inbox_entry_t *inbox, **inbox_end;

    const gdr_net_ops_t *net_ops;
    gdr_net_t *net;
    gdr_status_t net_status; /* GDR_INPROGRESS: not tried */
    uint8_t *page;
    gdr_net_mem_t *page_mem;
    gdr_ctl_lane_t *ctl_lanes;
    uint32_t nctl_lanes;
    uint32_t next_window;

    gdr_device_t *devices;
    bool unmapped_said;
    bool maps_failed;  /* a window could not be mapped: this process asks for no more */
    bool lost;         /* a peer has failed, and the calls have not been told yet */
    const char *unfit; /* why this process serves no further call on the device; NULL: it does */
    gdr_team_t *teams[GDR_TEAM_BUCKETS];
    gdr_proc_t *procs[GDR_TEAM_BUCKETS];
    gdr_team_t *active;
    gdr_context_t *free_contexts;

    gdr_inbox_entry_t *orphans, **orphans_end; /* for teams that do not exist yet */
    size_t orphan_bytes;
    struct {
        uint64_t id, nonce;
    } gone[GDR_GONE_TEAMS];
    uint32_t ngone;

    uint32_t ticks;           /* progress calls, for what is done now and then */
    gdr_engine_stats_t stats; /* atomic, relaxed */
};

#endif
