#include "tests/sim/script.h"
#include "engine/gdr_engine_types.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { POISON = 0xa5, IDLE_TURNS = 2000 };
#define GUARD UINT64_C(64) /* bytes on either side of a buffer */

sim_script_t *sim_script_new(sim_world_t *world)
{
    sim_script_t *script = sim_alloc(sizeof(*script));

    script->world = world;
    script->ranks = sim_alloc((size_t)world->options.nprocs * sizeof(*script->ranks));
    script->teams = sim_alloc(SIM_TEAMS_MAX * sizeof(*script->teams));
    script->calls = sim_alloc(SIM_CALLS_MAX * sizeof(*script->calls));
    return script;
}

int sim_script_team_of(sim_script_t *script, int size, const int *procs)
{
    sim_team_t *team = &script->teams[script->nteams];

    team->size = size;
    team->ineligible = -1;
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

static int rank_in(const sim_team_t *team, int proc)
{
    int i = 0;

    while (team->procs[i] != proc)
        i++;
    return i;
}

/* Small enough for every sum and product to be exact in a float. */
static int64_t input_of(const sim_call_t *call, int index, int rank, uint64_t element)
{
    uint64_t mixed = (uint64_t)rank * 7 + (uint64_t)index * 13 + element * 3;

    if (call->op == GDR_OP_PROD)
        return mixed % 5 == 0 ? 2 : 1;
    return (int64_t)(mixed % 17) + 1;
}

static int64_t result_of(const sim_call_t *call, int index, int size, uint64_t element)
{
    int64_t result = input_of(call, index, 0, element), next;
    int r;

    for (r = 1; r < size; r++) {
        next = input_of(call, index, r, element);
        if (call->op == GDR_OP_SUM)
            result += next;
        else if (call->op == GDR_OP_PROD)
            result *= next;
        else if (call->op == GDR_OP_MAX)
            result = next > result ? next : result;
        else
            result = next < result ? next : result;
    }
    return result;
}

static void store(gdr_type_t type, void *data, uint64_t element, int64_t value)
{
    if (type == GDR_TYPE_FLOAT32)
        ((float *)data)[element] = (float)value;
    else if (type == GDR_TYPE_FLOAT64)
        ((double *)data)[element] = (double)value;
    else if (type == GDR_TYPE_INT32)
        ((int32_t *)data)[element] = (int32_t)value;
    else
        ((int64_t *)data)[element] = value;
}

static bool holds(gdr_type_t type, const void *data, uint64_t element, int64_t value)
{
    union {
        float f;
        double d;
        int32_t i;
        int64_t l;
    } wanted;

    store(type, &wanted, 0, value);
    return memcmp(&wanted, (const uint8_t *)data + element * gdr_type_bytes(type),
                  gdr_type_bytes(type)) == 0;
}

static void buffer_make(sim_proc_t *proc, sim_buffer_t *buffer, uint64_t bytes)
{
    *buffer = (sim_buffer_t){sim_alloc(bytes + 2 * GUARD), bytes, NULL};
    memset(buffer->memory, POISON, bytes + 2 * GUARD);
    buffer->data = buffer->memory + GUARD;
    sim_region_add(proc, buffer->data, bytes);
}

static void buffer_free(sim_proc_t *proc, sim_buffer_t *buffer)
{
    if (buffer->memory == NULL)
        return;
    sim_region_remove(proc, buffer->data);
    free(buffer->memory);
    memset(buffer, 0, sizeof(*buffer));
}

static bool guards_intact(const sim_buffer_t *buffer)
{
    uint64_t i;

    for (i = 0; i < GUARD && buffer->memory != NULL; i++) {
        if (buffer->memory[i] != POISON || buffer->memory[GUARD + buffer->bytes + i] != POISON)
            return false;
    }
    return true;
}

static void check_result(sim_script_t *script, int proc, int index)
{
    const sim_call_t *call = &script->calls[index];
    const sim_team_t *team = &script->teams[call->team];
    const sim_posted_t *posted = &script->ranks[proc].posted[index];
    uint64_t i;

    for (i = 0; i < call->count; i++) {
        int64_t wanted = result_of(call, index, team->size, i);

        if (!holds(call->type, posted->recv.data, i, wanted)) {
            sim_fail(script->world, "process %d: call %d: element %llu of %llu is not %lld", proc,
                     index, (unsigned long long)i, (unsigned long long)call->count,
                     (long long)wanted);
            return;
        }
    }
    for (i = 0; i < call->count && !call->in_place; i++) {
        if (!holds(call->type, posted->send.data, i,
                   input_of(call, index, rank_in(team, proc), i))) {
            sim_fail(script->world, "process %d: call %d: the send buffer was written", proc,
                     index);
            return;
        }
    }
}

static bool is_original(const sim_call_t *call, int index, int rank, const uint8_t *data,
                        uint64_t element)
{
    size_t bytes = gdr_type_bytes(call->type), i;

    if (call->in_place)
        return holds(call->type, data, element, input_of(call, index, rank, element));
    for (i = 0; i < bytes; i++) {
        if (data[element * bytes + i] != POISON)
            return false;
    }
    return true;
}

static void check_untouched(sim_script_t *script, int proc, int index)
{
    const sim_call_t *call = &script->calls[index];
    const sim_posted_t *posted = &script->ranks[proc].posted[index];
    int rank = rank_in(&script->teams[call->team], proc);
    uint64_t i;

    for (i = 0; i < call->count; i++) {
        if (!is_original(call, index, rank, posted->recv.data, i)) {
            sim_fail(script->world, "process %d: declined call %d wrote its buffer", proc, index);
            return;
        }
    }
}

/* A failed call has written final values only; one in place has kept the rest of its input. */
static void check_partly(sim_script_t *script, int proc, int index)
{
    const sim_call_t *call = &script->calls[index];
    const sim_team_t *team = &script->teams[call->team];
    const uint8_t *data = script->ranks[proc].posted[index].recv.data;
    uint64_t i;

    for (i = 0; i < call->count && call->partly; i++) {
        if (is_original(call, index, rank_in(team, proc), data, i) ||
            holds(call->type, data, i, result_of(call, index, team->size, i)))
            continue;
        sim_fail(script->world, "process %d: failed call %d: element %llu is neither old nor final",
                 proc, index, (unsigned long long)i);
        return;
    }
}

static void check_end(sim_script_t *script, int proc, int index)
{
    const sim_call_t *call = &script->calls[index];
    sim_posted_t *posted = &script->ranks[proc].posted[index];
    gdr_status_t status = posted->status;
    bool expected = call->expect == SIM_EXPECT_END ||
                    (call->expect == SIM_EXPECT_OK && status == GDR_OK) ||
                    (call->expect == SIM_EXPECT_DECLINED && status == GDR_ERR_DECLINED) ||
                    (call->expect == SIM_EXPECT_ERROR && status < 0 && status != GDR_ERR_DECLINED);

    if (!expected)
        sim_fail(script->world, "process %d: call %d ended with: %s", proc, index,
                 gdr_status_string(status));
    if (!guards_intact(&posted->send) || !guards_intact(&posted->recv))
        sim_fail(script->world, "process %d: call %d wrote beside its buffers", proc, index);
    if (status == GDR_OK) {
        check_result(script, proc, index);
    } else if (status == GDR_ERR_DECLINED) {
        check_untouched(script, proc, index);
    } else {
        check_partly(script, proc, index);
        posted->after = sim_alloc(posted->recv.bytes);
        memcpy(posted->after, posted->recv.data, posted->recv.bytes);
        return;
    }
    buffer_free(&script->world->procs[proc], &posted->send);
    buffer_free(&script->world->procs[proc], &posted->recv);
}

static void do_create(sim_script_t *script, int proc, int index)
{
    const sim_team_t *team = &script->teams[index];
    int rank = rank_in(team, proc);
    gdr_team_desc_t desc = {.id = team->id,
                            .nonce = team->nonce,
                            .rank = rank,
                            .size = team->size,
                            .procs = team->procs,
                            .eligible = rank != team->ineligible};

    if (gdr_team_create(script->world->procs[proc].engine, &desc,
                        &script->ranks[proc].teams[index]) != GDR_OK)
        sim_fail(script->world, "team %d was not created", index);
}

static void do_post(sim_script_t *script, int proc, int index)
{
    const sim_call_t *call = &script->calls[index];
    const sim_team_t *team = &script->teams[call->team];
    sim_posted_t *posted = &script->ranks[proc].posted[index];
    sim_proc_t *p = &script->world->procs[proc];
    uint64_t bytes = call->count * gdr_type_bytes(call->type), i;
    gdr_call_desc_t desc = {.device = 0,
                            .count = call->count,
                            .op = call->op,
                            .type = call->type,
                            .blocking = call->blocking};
    uint8_t *input;

    buffer_make(p, &posted->recv, bytes);
    if (!call->in_place)
        buffer_make(p, &posted->send, bytes);
    input = call->in_place ? posted->recv.data : posted->send.data;
    for (i = 0; i < call->count; i++)
        store(call->type, input, i, input_of(call, index, rank_in(team, proc), i));
    desc.send = (uintptr_t)input;
    desc.recv = (uintptr_t)posted->recv.data;
    p->is_progressing = true;
    sim_alloc_inside++;
    posted->status = gdr_call_post(script->ranks[proc].teams[call->team], &desc, &posted->call);
    sim_alloc_inside--;
    p->is_progressing = false;
    if (posted->status == GDR_OK)
        posted->status = GDR_INPROGRESS;
}

static void check_path(sim_script_t *script, int proc, const sim_posted_t *posted)
{
    const char *wanted = script->world->procs[proc].config.plan.algorithm;
    const char *path = gdr_call_path(posted->call);

    if (posted->status == GDR_OK &&
        (path[0] == 0 || (strcmp(wanted, "auto") != 0 && strcmp(wanted, path) != 0)))
        sim_fail(script->world, "a call with %s says that it went by \"%s\"", wanted, path);
}

/* False: not yet. */
static bool do_wait(sim_script_t *script, int proc, int index)
{
    sim_posted_t *posted = &script->ranks[proc].posted[index];

    if (posted->status == GDR_INPROGRESS) {
        posted->status = gdr_call_status(posted->call);
        if (posted->status == GDR_INPROGRESS)
            return false;
        check_path(script, proc, posted);
        gdr_call_release(posted->call);
    }
    check_end(script, proc, index);
    return true;
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
        do_post(script, proc, action->object);
        break;
    case SIM_WAIT:
        if (!do_wait(script, proc, action->object))
            return false;
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
        break;
    }
    rank->position++;
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
    static const char *const kinds[] = {"create team", "post call",    "wait for call",
                                        "free team",   "reset device", "lose device"};
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
            fprintf(stderr, " (state %d, team state %d, call number %llu, %llu events)",
                    call->state, call->team->state, (unsigned long long)call->number,
                    (unsigned long long)call->events);
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
    moved = act(script, proc) || moved;
    return sim_progress(world, proc) != 0 || moved;
}

static void check_later_writes(sim_script_t *script, int proc)
{
    int c;

    for (c = 0; c < script->ncalls; c++) {
        sim_posted_t *posted = &script->ranks[proc].posted[c];

        if (posted->after != NULL &&
            memcmp(posted->after, posted->recv.data, posted->recv.bytes) != 0)
            sim_fail(script->world, "process %d: failed call %d wrote its buffer afterwards", proc,
                     c);
    }
}

static void run_all(sim_script_t *script)
{
    sim_world_t *world = script->world;
    int idle = 0;

    while (!sim_script_over(script) && world->failure[0] == 0) {
        idle = turn(script) ? 0 : idle + 1;
        if (idle > IDLE_TURNS * world->options.nprocs && world->nevents == 0) {
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
        check_later_writes(script, i);
    return world->failure[0] == 0;
}

void sim_script_free(sim_script_t *script)
{
    int i, c;

    for (i = 0; i < script->world->options.nprocs; i++) {
        for (c = 0; c < script->ncalls; c++) {
            sim_posted_t *posted = &script->ranks[i].posted[c];

            buffer_free(&script->world->procs[i], &posted->send);
            buffer_free(&script->world->procs[i], &posted->recv);
            free(posted->after);
        }
        free(script->ranks[i].actions);
    }
    free(script->ranks);
    free(script->teams);
    free(script->calls);
    free(script);
}
