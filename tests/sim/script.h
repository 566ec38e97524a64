/* Few of them: NOLINTBEGIN(clang-analyzer-optin.performance.Padding) */
/*
 * What the ranks of a simulated program do: each has a list of actions that it works off in order,
 * while processes, device and network take random turns. Inputs differ by rank, call and element;
 * every element of every result is compared, and so are guard bytes around the buffers.
 */
#ifndef SIM_SCRIPT_H
#define SIM_SCRIPT_H

#include "tests/sim/sim.h"

enum { SIM_TEAMS_MAX = 4100, SIM_CALLS_MAX = 4200 };

typedef struct sim_team {
    int size;
    int procs[SIM_PROCS_MAX];
    int ineligible; /* rank that says so, or -1 */
    uint64_t id, nonce;
    int absent; /* rank whose process uses no device for this communicator, or -1 */
} sim_team_t;

typedef enum sim_expect {
    SIM_EXPECT_OK,
    SIM_EXPECT_DECLINED,
    SIM_EXPECT_HOST,  /* served by the host algorithm, whoever found out how */
    SIM_EXPECT_RIGHT, /* a right result, by whichever way */
    SIM_EXPECT_ERROR, /* any error */
    SIM_EXPECT_END    /* any end; a result, where there is one, must be right */
} sim_expect_t;

typedef struct sim_call {
    int team;
    uint64_t count;
    gdr_op_t op;
    gdr_type_t type;
    bool in_place, blocking;
    sim_expect_t expect;
    bool partly; /* where it fails, every element must be as it was, or final */
    uint64_t host;   /* bit per rank that passes a host buffer */
    uint64_t joined; /* bit per rank that is in the host algorithm, or failed */
    bool broken;     /* a rank failed */
} sim_call_t;

typedef enum sim_action_kind {
    SIM_CREATE,
    SIM_POST,
    SIM_WAIT,
    SIM_FREE,
    SIM_RESET, /* cudaDeviceReset */
    SIM_LOSE,  /* no device can be opened from here on */
    SIM_PAUSE  /* object: so many turns nothing but progress */
} sim_action_kind_t;

typedef struct sim_action {
    sim_action_kind_t kind;
    int object; /* team or call */
} sim_action_t;

typedef struct sim_buffer {
    uint8_t *memory;
    uint64_t bytes;
    uint8_t *data;
} sim_buffer_t;

/*
 * Host calls go through a pretended host algorithm: it ends when all members have joined it.
 * Nonblocking calls join in the order in which they were made.
 */
typedef enum sim_phase {
    SIM_PHASE_DEVICE, /* the engine has it */
    SIM_PHASE_TURNED, /* to be joined */
    SIM_PHASE_JOINED,
    SIM_PHASE_OVER
} sim_phase_t;

typedef struct sim_posted {
    gdr_call_t *call;
    sim_buffer_t send, recv;
    gdr_status_t status;
    sim_phase_t phase;
    uint64_t index;
    bool opened;    /* the end is told to the ways */
    uint8_t *after; /* the receive buffer of a call that the engine gave up: nobody may write it */
} sim_posted_t;

typedef struct sim_rank {
    sim_action_t *actions;
    int nactions, position, capacity;
    gdr_team_t *teams[SIM_TEAMS_MAX];
    gdr_ways_t *ways[SIM_TEAMS_MAX];
    bool used[SIM_TEAMS_MAX]; /* a device call was made */
    int *live;                /* [SIM_CALLS_MAX] calls that are not over, in order */
    int nlive, paused;
    sim_posted_t posted[SIM_CALLS_MAX];
} sim_rank_t;

typedef struct sim_script {
    sim_world_t *world;
    sim_rank_t *ranks; /* [nprocs] */
    sim_team_t *teams;
    sim_call_t *calls;
    int nteams, ncalls;
    uint64_t steps, moved;                   /* turns; the last one in which a rank went on */
    void (*hook)(struct sim_script *script); /* at every turn */
    int hook_state;
} sim_script_t;

sim_script_t *sim_script_new(sim_world_t *world);
void sim_script_free(sim_script_t *script);
/* Whether some rank's call ended with an error. */
bool sim_script_failed(const sim_script_t *script);

/* A team of all processes, rank = process. */
int sim_script_team(sim_script_t *script);
int sim_script_team_of(sim_script_t *script, int size, const int *procs);
int sim_script_call(sim_script_t *script, const sim_call_t *call);
void sim_script_do(sim_script_t *script, int proc, sim_action_kind_t kind, int object);
/* The same action on every process of the team (of the call's team). */
void sim_script_all(sim_script_t *script, sim_action_kind_t kind, int object);

/* Runs until every living rank has done all its actions. False, and world->failure says why,
 * when something was wrong or nothing can happen any more. */
bool sim_script_run(sim_script_t *script);
/* Every living rank has done all its actions. */
bool sim_script_over(const sim_script_t *script);

#endif
/* NOLINTEND(clang-analyzer-optin.performance.Padding) */
