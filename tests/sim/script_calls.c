/* One call of one rank: its buffers, its way through engine or host algorithm, its result. */
#include "tests/sim/script_priv.h"

#include <stdlib.h>
#include <string.h>

enum { POISON = 0xa5 };
#define GUARD UINT64_C(64) /* bytes on either side of a buffer */

int sim_rank_in(const sim_team_t *team, int proc)
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
                   input_of(call, index, sim_rank_in(team, proc), i))) {
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
    int rank = sim_rank_in(&script->teams[call->team], proc);
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
        if (is_original(call, index, sim_rank_in(team, proc), data, i) ||
            holds(call->type, data, i, result_of(call, index, team->size, i)))
            continue;
        sim_fail(script->world, "process %d: failed call %d: element %llu is neither old nor final",
                 proc, index, (unsigned long long)i);
        return;
    }
}

static bool is_right(sim_expect_t expect, gdr_status_t status)
{
    bool host = status == GDR_ERR_DECLINED || status == GDR_ERR_MIXED;

    switch (expect) {
    case SIM_EXPECT_OK:
        return status == GDR_OK;
    case SIM_EXPECT_DECLINED:
        return status == GDR_ERR_DECLINED;
    case SIM_EXPECT_HOST:
        return host;
    case SIM_EXPECT_RIGHT:
        return host || status == GDR_OK;
    case SIM_EXPECT_ERROR:
        return status < 0 && !host;
    default:
        return true;
    }
}

static void check_end(sim_script_t *script, int proc, int index)
{
    const sim_call_t *call = &script->calls[index];
    sim_posted_t *posted = &script->ranks[proc].posted[index];

    if (!is_right(call->expect, posted->status))
        sim_fail(script->world, "process %d: call %d ended with: %s", proc, index,
                 gdr_status_string(posted->status));
    if (!guards_intact(&posted->send) || !guards_intact(&posted->recv))
        sim_fail(script->world, "process %d: call %d wrote beside its buffers", proc, index);
    if (posted->status == GDR_OK)
        check_result(script, proc, index);
    else if (posted->status != GDR_ERR_MIXED && posted->status != GDR_ERR_DECLINED)
        check_partly(script, proc, index);
    if (posted->status != GDR_OK && posted->call != NULL) {
        posted->after = sim_alloc(posted->recv.bytes);
        memcpy(posted->after, posted->recv.data, posted->recv.bytes);
        return;
    }
    buffer_free(&script->world->procs[proc], &posted->send);
    buffer_free(&script->world->procs[proc], &posted->recv);
}

void sim_calls_check_later(sim_script_t *script, int proc)
{
    int c;

    for (c = 0; c < script->ncalls; c++) {
        sim_posted_t *posted = &script->ranks[proc].posted[c];

        if (posted->after != NULL &&
            memcmp(posted->after, posted->recv.data, posted->recv.bytes) != 0)
            sim_fail(script->world, "process %d: call %d, given up, wrote its buffer afterwards",
                     proc, c);
    }
}

void sim_calls_free(sim_script_t *script, int proc)
{
    int c;

    for (c = 0; c < script->ncalls; c++) {
        sim_posted_t *posted = &script->ranks[proc].posted[c];

        buffer_free(&script->world->procs[proc], &posted->send);
        buffer_free(&script->world->procs[proc], &posted->recv);
        free(posted->after);
    }
}

/* ---- begin ---------------------------------------------------------------------------------- */

static uint8_t *make_buffers(sim_script_t *script, int proc, int index)
{
    const sim_call_t *call = &script->calls[index];
    sim_posted_t *posted = &script->ranks[proc].posted[index];
    sim_proc_t *p = &script->world->procs[proc];
    int rank = sim_rank_in(&script->teams[call->team], proc);
    uint64_t bytes = call->count * gdr_type_bytes(call->type), i;
    uint8_t *input;

    buffer_make(p, &posted->recv, bytes);
    if (!call->in_place)
        buffer_make(p, &posted->send, bytes);
    input = call->in_place ? posted->recv.data : posted->send.data;
    for (i = 0; i < call->count; i++)
        store(call->type, input, i, input_of(call, index, rank, i));
    return input;
}

static void answer_due(sim_script_t *script, int proc, int team)
{
    unsigned char message[GDR_CTL_MAX];
    const sim_team_t *t = &script->teams[team];
    gdr_question_t question;

    while (gdr_ways_due(script->ranks[proc].ways[team], &question)) {
        size_t bytes =
            gdr_ask_answer(t->id, t->nonce, sim_rank_in(t, proc), question.index, message);

        sim_ctl_send(&script->world->procs[proc], question.proc, message, bytes);
    }
}

static void begin_host(sim_script_t *script, int proc, int index)
{
    const sim_call_t *call = &script->calls[index];
    sim_rank_t *rank = &script->ranks[proc];
    sim_posted_t *posted = &rank->posted[index];
    gdr_ways_t *ways = rank->ways[call->team];

    posted->phase = SIM_PHASE_TURNED;
    posted->status = GDR_ERR_MIXED;
    posted->opened = !call->blocking && rank->used[call->team];
    posted->index = gdr_ways_begun(ways);
    if (posted->opened)
        gdr_ways_open(ways, false, &posted->index);
    else if (gdr_ways_pending(ways) == 0)
        gdr_ways_pass(ways);
    else
        gdr_ways_host(ways);
    if (gdr_ways_asked(ways))
        answer_due(script, proc, call->team);
}

static void begin_device(sim_script_t *script, int proc, int index, uint8_t *input)
{
    const sim_call_t *call = &script->calls[index];
    sim_rank_t *rank = &script->ranks[proc];
    sim_posted_t *posted = &rank->posted[index];
    sim_proc_t *p = &script->world->procs[proc];
    gdr_call_desc_t desc = {.device = 0,
                            .send = (uintptr_t)input,
                            .recv = (uintptr_t)posted->recv.data,
                            .count = call->count,
                            .op = call->op,
                            .type = call->type,
                            .blocking = call->blocking};

    rank->used[call->team] = true;
    posted->opened = true;
    posted->phase = SIM_PHASE_DEVICE;
    posted->status = GDR_INPROGRESS;
    gdr_ways_open(rank->ways[call->team], true, &posted->index);
    desc.index = posted->index;
    p->awake = p->is_progressing = true;
    sim_alloc_inside++;
    if (gdr_call_post(rank->teams[call->team], &desc, &posted->call) != GDR_OK) {
        gdr_ways_turn(rank->ways[call->team], posted->index);
        posted->status = GDR_ERR_MIXED;
        posted->phase = SIM_PHASE_TURNED;
    }
    sim_alloc_inside--;
    p->is_progressing = false;
}

void sim_call_post(sim_script_t *script, int proc, int index)
{
    const sim_call_t *call = &script->calls[index];
    sim_rank_t *rank = &script->ranks[proc];
    uint8_t *input = make_buffers(script, proc, index);

    rank->live[rank->nlive++] = index;
    if (call->host >> sim_rank_in(&script->teams[call->team], proc) & 1)
        begin_host(script, proc, index);
    else
        begin_device(script, proc, index, input);
}

/* ---- end ------------------------------------------------------------------------------------ */

static void check_path(sim_script_t *script, int proc, const sim_posted_t *posted)
{
    const char *wanted = script->world->procs[proc].config.plan.algorithm;
    const char *path = gdr_call_path(posted->call);

    if (posted->status == GDR_OK &&
        (path[0] == 0 || (strcmp(wanted, "auto") != 0 && strcmp(wanted, path) != 0)))
        sim_fail(script->world, "a call with %s says that it went by \"%s\"", wanted, path);
}

static uint64_t bit_of(const sim_script_t *script, int proc, int index)
{
    return 1ull << sim_rank_in(&script->teams[script->calls[index].team], proc);
}

/* One that failed will never join: the host algorithm fails as well. */
static void leave(sim_script_t *script, int proc, int index)
{
    script->calls[index].joined |= bit_of(script, proc, index);
    script->calls[index].broken = true;
}

static bool drive_device(sim_script_t *script, int proc, int index)
{
    sim_posted_t *posted = &script->ranks[proc].posted[index];

    posted->status = gdr_call_status(posted->call);
    if (posted->status == GDR_INPROGRESS)
        return false;
    check_path(script, proc, posted);
    gdr_call_release(posted->call);
    if (posted->status == GDR_ERR_MIXED || posted->status == GDR_ERR_DECLINED) {
        posted->phase = SIM_PHASE_TURNED;
        return true;
    }
    if (posted->status != GDR_OK)
        leave(script, proc, index);
    posted->phase = SIM_PHASE_OVER;
    return true;
}

/* Without mixed calls the way is known when the call starts. */
static bool is_decided(const sim_script_t *script, int proc, int index)
{
    const sim_posted_t *posted = &script->ranks[proc].posted[index];

    return posted->phase >= SIM_PHASE_JOINED ||
           (posted->phase == SIM_PHASE_DEVICE && !script->world->procs[proc].config.mixed &&
            gdr_call_path(posted->call)[0] != 0);
}

/* Nonblocking calls reach the host algorithm in call order; before any those device calls must be
 * over that the engine relies on. */
static bool may_join(const sim_script_t *script, int proc, int index)
{
    const sim_rank_t *rank = &script->ranks[proc];
    const sim_call_t *call = &script->calls[index];
    int i;

    if (!gdr_ways_may_pass(rank->ways[call->team], rank->posted[index].index))
        return false;
    for (i = 0; rank->live[i] != index && !call->blocking; i++) {
        if (script->calls[rank->live[i]].team == call->team &&
            !is_decided(script, proc, rank->live[i]))
            return false;
    }
    return true;
}

static bool drive_turned(sim_script_t *script, int proc, int index)
{
    if (!may_join(script, proc, index))
        return false;
    check_untouched(script, proc, index);
    script->calls[index].joined |= bit_of(script, proc, index);
    script->ranks[proc].posted[index].phase = SIM_PHASE_JOINED;
    return true;
}

static bool all_joined(const sim_script_t *script, int index, bool *broken)
{
    const sim_call_t *call = &script->calls[index];
    const sim_team_t *team = &script->teams[call->team];
    int rank;

    *broken = call->broken;
    for (rank = 0; rank < team->size; rank++) {
        if (script->world->procs[team->procs[rank]].broken)
            *broken = true;
        else if ((call->joined >> rank & 1) == 0)
            return false;
    }
    return true;
}

static bool drive_joined(sim_script_t *script, int proc, int index)
{
    const sim_call_t *call = &script->calls[index];
    sim_posted_t *posted = &script->ranks[proc].posted[index];
    uint64_t i;
    bool broken;

    if (!all_joined(script, index, &broken))
        return false;
    check_untouched(script, proc, index);
    for (i = 0; i < call->count; i++)
        store(call->type, posted->recv.data, i,
              result_of(call, index, script->teams[call->team].size, i));
    if (broken)
        posted->status = GDR_ERR_ABORTED;
    if (posted->opened)
        gdr_ways_close(script->ranks[proc].ways[call->team], posted->index);
    posted->phase = SIM_PHASE_OVER;
    return true;
}

static bool drive(sim_script_t *script, int proc, int index)
{
    switch (script->ranks[proc].posted[index].phase) {
    case SIM_PHASE_DEVICE:
        return drive_device(script, proc, index);
    case SIM_PHASE_TURNED:
        return drive_turned(script, proc, index);
    case SIM_PHASE_JOINED:
        return drive_joined(script, proc, index);
    default:
        return false;
    }
}

bool sim_calls_drive(sim_script_t *script, int proc)
{
    sim_rank_t *rank = &script->ranks[proc];
    bool moved = false;
    int i, kept = 0;

    for (i = 0; i < rank->nlive; i++)
        moved = drive(script, proc, rank->live[i]) || moved;
    for (i = 0; i < rank->nlive; i++) {
        if (rank->posted[rank->live[i]].phase != SIM_PHASE_OVER)
            rank->live[kept++] = rank->live[i];
    }
    rank->nlive = kept;
    return moved;
}

bool sim_call_wait(sim_script_t *script, int proc, int index)
{
    sim_calls_drive(script, proc);
    if (script->ranks[proc].posted[index].phase != SIM_PHASE_OVER)
        return false;
    check_end(script, proc, index);
    return true;
}
