#include "tests/sim/script_priv.h"
#include "engine/gdr_engine_types.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { IDLE_TURNS = 2000, STUCK_TURNS = 3000000, PAUSES = 4, PAUSE = 1000000000 };

/* As Open MPI's receive of control messages does, whether or not there is an engine's team. */
static void asked(void *ctx, int proc, int from, const gdr_ask_t *ask)
{
    sim_script_t *script = ctx;
    unsigned char message[GDR_CTL_MAX];
    int i = 0;

    while (i < script->nteams &&
           (script->teams[i].id != ask->team || script->teams[i].nonce != ask->nonce ||
            script->ranks[proc].ways[i] == NULL))
        i++;
    if (i == script->nteams)
        return;
    if (script->teams[i].absent == sim_rank_in(&script->teams[i], proc))
        sim_ctl_send(&script->world->procs[proc], from, message,
                     gdr_ask_answer(ask->team, ask->nonce, sim_rank_in(&script->teams[i], proc),
                                    GDR_WAY_ALWAYS, message));
    else if (gdr_ways_ask(script->ranks[proc].ways[i], ask->rank, from, ask->index))
        sim_ctl_send(&script->world->procs[proc], from, message,
                     gdr_ask_answer(ask->team, ask->nonce, sim_rank_in(&script->teams[i], proc),
                                    ask->index, message));
}

sim_script_t *sim_script_new(sim_world_t *world)
{
    sim_script_t *script = sim_alloc(sizeof(*script));
    int i;

    script->world = world;
    script->ranks = sim_alloc((size_t)world->options.nprocs * sizeof(*script->ranks));
    script->teams = sim_alloc(SIM_TEAMS_MAX * sizeof(*script->teams));
    script->calls = sim_alloc(SIM_CALLS_MAX * sizeof(*script->calls));
    for (i = 0; i < world->options.nprocs; i++)
        script->ranks[i].live = sim_alloc(SIM_CALLS_MAX * sizeof(int));
    world->asked = asked;
    world->asked_ctx = script;
    return script;
}

int sim_script_team_of(sim_script_t *script, int size, const int *procs)
{
    sim_team_t *team = &script->teams[script->nteams];

    team->size = size;
    team->ineligible = team->absent = -1;
    team->id = (uint64_t)script->nteams % 3; /* ids are used again */
    team->nonce = (uint64_t)script->nteams + 77;
    memcpy(team->procs, procs, (size_t)size * sizeof(*procs));
    return script->nteams++;
}

int sim_script_team(sim_script_t *script)
{
    int procs[SIM_PROCS_MAX], i;

    for (i = 0; i < SIM_PROCS_MAX; i++)
        procs[i] = i;
    return sim_script_team_of(script, script->world->options.nprocs, procs);
}

int sim_script_call(sim_script_t *script, const sim_call_t *call)
{
    script->calls[script->ncalls] = *call;
    return script->ncalls++;
}

void sim_script_do(sim_script_t *script, int proc, sim_action_kind_t kind, int object)
{
    sim_rank_t *rank = &script->ranks[proc];

    if (rank->nactions == rank->capacity) {
        sim_action_t *grown = sim_alloc((2 * (size_t)rank->capacity + 16) * sizeof(*grown));

        if (rank->nactions > 0)
            memcpy(grown, rank->actions, (size_t)rank->nactions * sizeof(*grown));
        free(rank->actions);
        rank->actions = grown;
        rank->capacity = 2 * rank->capacity + 16;
    }
    rank->actions[rank->nactions].kind = kind;
    rank->actions[rank->nactions++].object = object;
}

void sim_script_all(sim_script_t *script, sim_action_kind_t kind, int object)
{
    bool is_call = kind == SIM_POST || kind == SIM_WAIT;
    const sim_team_t *team = &script->teams[is_call ? script->calls[object].team : object];
    int i;

    for (i = 0; i < team->size; i++)
        sim_script_do(script, team->procs[i], kind, object);
}

static void do_create(sim_script_t *script, int proc, int index)
{
    const sim_team_t *team = &script->teams[index];
    int rank = sim_rank_in(team, proc);
    gdr_ways_t *ways = sim_alloc(sizeof(*ways));
    gdr_team_desc_t desc = {.id = team->id,
                            .nonce = team->nonce,
                            .rank = rank,
                            .size = team->size,
                            .procs = team->procs,
                            .eligible = rank != team->ineligible,
                            .ways = ways};

    gdr_ways_init(ways, team->size);
    script->ranks[proc].ways[index] = ways;
    if (gdr_team_create(script->world->procs[proc].engine, &desc,
                        &script->ranks[proc].teams[index]) != GDR_OK)
        sim_fail(script->world, "team %d was not created", index);
}

static bool act(sim_script_t *script, int proc)
{
    sim_rank_t *rank = &script->ranks[proc];
    const sim_action_t *action = &rank->actions[rank->position];

    if (script->world->procs[proc].dead || rank->position == rank->nactions)
        return false;
    switch (action->kind) {
    case SIM_CREATE:
        do_create(script, proc, action->object);
        break;
    case SIM_POST:
        sim_call_post(script, proc, action->object);
        break;
    case SIM_WAIT:
        if (!sim_call_wait(script, proc, action->object))
            return false;
        break;
    case SIM_PAUSE:
        if (rank->paused++ < action->object)
            return false;
        rank->paused = 0;
        break;
    case SIM_RESET:
        sim_reset_device(script->world, proc);
        break;
    case SIM_LOSE:
        script->world->procs[proc].no_device = true;
        break;
    default:
        gdr_team_destroy(rank->teams[action->object]);
        rank->teams[action->object] = NULL;
        gdr_ways_clear(rank->ways[action->object]);
        free(rank->ways[action->object]);
        rank->ways[action->object] = NULL;
        break;
    }
    rank->position++;
    script->moved = script->steps;
    return true;
}

bool sim_script_over(const sim_script_t *script)
{
    int i;

    for (i = 0; i < script->world->options.nprocs; i++) {
        if (!script->world->procs[i].dead && script->ranks[i].position < script->ranks[i].nactions)
            return false;
    }
    return true;
}

static void say_where(sim_script_t *script)
{
    static const char *const kinds[] = {"create team",  "post call",   "wait for call", "free team",
                                        "reset device", "lose device", "pause"};
    int i;

    for (i = 0; i < script->world->options.nprocs; i++) {
        const sim_rank_t *rank = &script->ranks[i];
        const sim_action_t *action = &rank->actions[rank->position];
        const gdr_call_t *call;

        if (rank->position == rank->nactions) {
            fprintf(stderr, "process %d: done\n", i);
            continue;
        }
        fprintf(stderr, "process %d: %s %d", i, kinds[action->kind], action->object);
        call = rank->posted[action->object].call;
        if (action->kind == SIM_WAIT && call != NULL)
            fprintf(stderr, " (phase %d, state %d, team state %d, call number %llu, %llu events)",
                    rank->posted[action->object].phase, call->state, call->team->state,
                    (unsigned long long)call->number, (unsigned long long)call->events);
        fprintf(stderr, "\n");
    }
    /* The engines' own account: their timeout passes. */
    script->world->verbose = true;
    script->world->now += 120000000000u;
    for (i = 0; i < 2048 * script->world->options.nprocs; i++) {
        if (i == 1024 * script->world->options.nprocs)
            script->world->now += 120000000000u;
        sim_progress(script->world, i % script->world->options.nprocs);
    }
}

static bool turn(sim_script_t *script)
{
    sim_world_t *world = script->world;
    int proc = (int)sim_random(world, (uint64_t)world->options.nprocs);
    bool moved = false;

    script->steps++;
    if (script->hook != NULL)
        script->hook(script);
    if (sim_random(world, 2) == 0)
        moved = sim_run_event(world);
    world->now += sim_random(world, 200);
    moved = act(script, proc) || moved;
    if (!world->procs[proc].dead)
        moved = sim_calls_drive(script, proc) || moved;
    return sim_progress(world, proc) != 0 || moved;
}

static void run_all(sim_script_t *script)
{
    sim_world_t *world = script->world;
    int idle = 0, pauses = 0;

    while (!sim_script_over(script) && world->failure[0] == 0) {
        if (turn(script))
            idle = pauses = 0;
        else
            idle++;
        if (idle > IDLE_TURNS * world->options.nprocs && world->nevents == 0) {
            world->now += PAUSE; /* somebody may ask then */
            idle = 0;
            pauses++;
        }
        if (pauses > PAUSES || script->steps - script->moved > STUCK_TURNS) {
            sim_fail(world, "nothing can happen any more (seed %llu)",
                     (unsigned long long)world->options.seed);
            say_where(script);
        }
    }
}

bool sim_script_run(sim_script_t *script)
{
    sim_world_t *world = script->world;
    int i;

    run_all(script);
    /* Those that were killed come back cut off from all others: their calls must end as well. */
    for (i = 0; i < world->options.nprocs; i++)
        world->procs[i].dead = false;
    run_all(script);
    while (world->failure[0] == 0 && sim_run_event(world)) {
    }
    for (i = 0; i < world->options.nprocs; i++)
        sim_calls_check_later(script, i);
    return world->failure[0] == 0;
}

bool sim_script_failed(const sim_script_t *script)
{
    int i, k;

    for (i = 0; i < script->world->options.nprocs; i++) {
        for (k = 0; k < script->ncalls; k++) {
            if (script->ranks[i].posted[k].status < 0)
                return true;
        }
    }
    return false;
}

void sim_script_free(sim_script_t *script)
{
    int i, t;

    for (i = 0; i < script->world->options.nprocs; i++) {
        sim_calls_free(script, i);
        free(script->ranks[i].actions);
        free(script->ranks[i].live);
        /* After a failure teams may still have calls. */
        for (t = 0; t < script->nteams && script->world->failure[0] == 0; t++) {
            if (script->ranks[i].ways[t] != NULL)
                gdr_ways_clear(script->ranks[i].ways[t]);
            free(script->ranks[i].ways[t]);
        }
    }
    script->world->asked = NULL;
    free(script->ranks);
    free(script->teams);
    free(script->calls);
    free(script);
}
