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
} sim_team_t;

typedef enum sim_expect {
    SIM_EXPECT_OK,
    SIM_EXPECT_DECLINED,
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
} sim_call_t;

typedef enum sim_action_kind {
    SIM_CREATE,
    SIM_POST,
    SIM_WAIT,
    SIM_FREE,
    SIM_RESET, /* cudaDeviceReset */
    SIM_LOSE   /* no device can be opened from here on */
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

typedef struct sim_posted {
    gdr_call_t *call;
    sim_buffer_t send, recv;
    gdr_status_t status;
    uint8_t *after; /* the receive buffer when a call had failed: nobody may write it later */
} sim_posted_t;

typedef struct sim_rank {
    sim_action_t *actions;
    int nactions, position, capacity;
    gdr_team_t *teams[SIM_TEAMS_MAX];
    sim_posted_t posted[SIM_CALLS_MAX];
} sim_rank_t;

typedef struct sim_script {
    sim_world_t *world;
    sim_rank_t *ranks; /* [nprocs] */
    sim_team_t *teams;
    sim_call_t *calls;
    int nteams, ncalls;
    uint64_t steps;
    void (*hook)(struct sim_script *script); /* at every turn */
    int hook_state;
} sim_script_t;

sim_script_t *sim_script_new(sim_world_t *world);
void sim_script_free(sim_script_t *script);

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
