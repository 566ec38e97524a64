/* RACE, COMPLETION, and CREDIT of what has none: which pairs must be ordered. */
#include "plan/gdr_check_parts.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

typedef struct access {
    uint64_t from, to; /* bytes; [from, to) */
    uint32_t node, position;
    bool write;
} access_t;

/* Bytes that every access covers or leaves alone as a whole. */
typedef struct cell {
    uint64_t from;
    uint32_t writer; /* the last one so far: a node, or CHECK_ABSENT */
    uint64_t reader; /* the last one since then: index in reads[] + 1, or 0 */
} cell_t;

typedef struct read {
    uint32_t node;
    uint64_t before; /* the reader before it, as in cell_t */
} read_t;

typedef struct race {
    check_t *check;
    access_t *accesses; /* to one memory */
    uint64_t naccesses, accesses_cap;
    cell_t *cells;
    uint64_t ncells, cells_cap;
    read_t *reads;
    uint64_t nreads, reads_cap;
    check_queries_t queries;
} race_t;

enum { FIRST_CAPACITY = 256 };

static void *grow(void *array, uint64_t n, uint64_t *cap, size_t size)
{
    uint64_t wanted = *cap != 0 ? 2 * *cap : FIRST_CAPACITY;

    if (n < *cap)
        return array;
    array = realloc(array, wanted * size);
    if (array != NULL)
        *cap = wanted;
    return array;
}

static gdr_status_t touch(race_t *race, uint32_t node, uint64_t from, uint64_t bytes, bool write)
{
    void *accesses;

    if (bytes == 0)
        return GDR_OK;
    accesses = grow(race->accesses, race->naccesses, &race->accesses_cap, sizeof(access_t));
    if (accesses == NULL)
        return GDR_ERR_NO_MEMORY;
    race->accesses = accesses;
    race->accesses[race->naccesses++] = (access_t){.from = from,
                                                   .to = from + bytes,
                                                   .node = node,
                                                   .position = race->check->graph.position[node],
                                                   .write = write};
    return GDR_OK;
}

/* A step's reads come before its writes: it works element by element. */
static int by_position(const void *x, const void *y)
{
    const access_t *a = x, *b = y;

    if (a->position != b->position)
        return a->position < b->position ? -1 : 1;
    return (int)a->write - (int)b->write;
}

static int by_from(const void *x, const void *y)
{
    const cell_t *a = x, *b = y;

    return a->from < b->from ? -1 : a->from > b->from;
}

/* Cuts the memory at both ends of every access. */
static gdr_status_t make_cells(race_t *race)
{
    uint64_t n = 0;

    race->ncells = race->nreads = 0;
    for (uint64_t i = 0; i < 2 * race->naccesses; i++) {
        const access_t *access = &race->accesses[i / 2];
        void *cells = grow(race->cells, race->ncells, &race->cells_cap, sizeof(cell_t));

        if (cells == NULL)
            return GDR_ERR_NO_MEMORY;
        race->cells = cells;
        race->cells[race->ncells++] =
            (cell_t){.from = i % 2 == 0 ? access->from : access->to, .writer = CHECK_ABSENT};
    }
    qsort(race->cells, race->ncells, sizeof(cell_t), by_from);
    for (uint64_t i = 0; i < race->ncells; i++)
        if (n == 0 || race->cells[n - 1].from != race->cells[i].from)
            race->cells[n++] = race->cells[i];
    race->ncells = n;
    return GDR_OK;
}

static uint64_t find_cell(const race_t *race, uint64_t from)
{
    uint64_t low = 0, high = race->ncells;

    while (low < high) {
        uint64_t middle = low + (high - low) / 2;

        if (race->cells[middle].from < from)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* `before` and `after` touch a cell, at least one writes it. */
static gdr_status_t conflict(race_t *race, uint32_t before, uint32_t after, uint64_t cell,
                             int32_t owner, bool user)
{
    const check_graph_t *g = &race->check->graph;
    const check_node_t *x = &g->nodes[before], *y = &g->nodes[after];

    if (before == after || (x->rank == y->rank && x->run < y->run))
        return GDR_OK; /* one step, or ordered by the context's reuse */
    return gdr_check_ask(&race->queries, (check_query_t){.before = g->position[before],
                                                         .after = g->position[after],
                                                         .owner = owner,
                                                         .user = user,
                                                         .from = race->cells[cell].from,
                                                         .to = race->cells[cell + 1].from});
}

static gdr_status_t remember_read(race_t *race, cell_t *cell, uint32_t node)
{
    void *reads = grow(race->reads, race->nreads, &race->reads_cap, sizeof(read_t));

    if (reads == NULL)
        return GDR_ERR_NO_MEMORY;
    race->reads = reads;
    race->reads[race->nreads++] = (read_t){.node = node, .before = cell->reader};
    cell->reader = race->nreads;
    return GDR_OK;
}

/*
 * The next access, in topological order, to a cell: behind the last write, and if it writes, behind
 * all reads since then. All other conflicting pairs follow from these.
 */
static gdr_status_t access_cell(race_t *race, const access_t *a, uint64_t index, int32_t owner)
{
    cell_t *cell = &race->cells[index];
    gdr_status_t status = GDR_OK;

    if (cell->writer != CHECK_ABSENT)
        status = conflict(race, cell->writer, a->node, index, owner, false);
    if (status != GDR_OK)
        return status;
    if (!a->write)
        return remember_read(race, cell, a->node);
    for (uint64_t r = cell->reader; r != 0 && status == GDR_OK; r = race->reads[r - 1].before)
        status = conflict(race, race->reads[r - 1].node, a->node, index, owner, false);
    cell->writer = a->node;
    cell->reader = 0;
    return status;
}

/* The output in the input's place: all reads of the input come before the write, wherever the
 * topological order has put them. VALUE sees to it that there is one write. */
static gdr_status_t access_user_cell(race_t *race, const access_t *a, uint64_t index, int32_t owner)
{
    cell_t *cell = &race->cells[index];
    gdr_status_t status = GDR_OK;

    if (!a->write) {
        if (cell->writer != CHECK_ABSENT)
            status = conflict(race, a->node, cell->writer, index, owner, true);
        return status == GDR_OK ? remember_read(race, cell, a->node) : status;
    }
    for (uint64_t r = cell->reader; r != 0 && status == GDR_OK; r = race->reads[r - 1].before)
        status = conflict(race, race->reads[r - 1].node, a->node, index, owner, true);
    cell->writer = a->node;
    return status;
}

static gdr_status_t find_conflicts(race_t *race, int32_t owner, bool user)
{
    gdr_status_t status;

    if (race->naccesses == 0)
        return GDR_OK;
    status = make_cells(race);
    if (status != GDR_OK)
        return status;
    qsort(race->accesses, race->naccesses, sizeof(*race->accesses), by_position);
    for (uint64_t i = 0; i < race->naccesses; i++) {
        const access_t *a = &race->accesses[i];

        for (uint64_t c = find_cell(race, a->from); race->cells[c].from < a->to; c++) {
            status = user ? access_user_cell(race, a, c, owner) : access_cell(race, a, c, owner);
            if (status != GDR_OK)
                return status;
        }
    }
    race->naccesses = 0;
    return GDR_OK;
}

/* A WAIT touches nothing; its output only says where the PUT writes. */
static gdr_status_t touch_all(race_t *race, uint32_t node, int32_t owner, bool user)
{
    const check_t *check = race->check;
    const check_node_t *n = &check->graph.nodes[node];
    const gdr_sched_t *sched = check_sched(check, n->run, n->rank);
    const gdr_step_t *step = &sched->steps[n->step];
    gdr_status_t status = GDR_OK;

    if (step->kind == GDR_STEP_WAIT)
        return GDR_OK;
    for (uint32_t i = 0; i < (uint32_t)step->nin + step->nout && status == GDR_OK; i++) {
        const gdr_operand_t *o = check_in(sched, step, i);

        if (o->rank == owner && (o->buffer != GDR_BUFFER_SLOT) == user)
            status =
                touch(race, node, check_address(check, o),
                      i < step->nin ? gdr_step_input_bytes(step, i) : step->bytes, i >= step->nin);
    }
    return status;
}

static gdr_status_t user_conflicts(race_t *race, uint32_t run, int32_t rank)
{
    const check_t *check = race->check;
    gdr_status_t status = GDR_OK;

    for (uint32_t i = 0; i < check_sched(check, run, rank)->nsteps && status == GDR_OK; i++)
        status = touch_all(race, check_step_node(check, run, rank, i), rank, true);
    return status == GDR_OK ? find_conflicts(race, rank, true) : status;
}

/* Whether a step of another rank can touch a slot of `owner`. */
static bool reaches(const gdr_sched_t *sched, const gdr_step_t *step, int32_t owner)
{
    if (step->peer == owner)
        return true;
    for (uint32_t i = 0; i < step->nin; i++)
        if (check_in(sched, step, i)->rank == owner)
            return true;
    return false;
}

static gdr_status_t slot_conflicts(race_t *race, int32_t owner)
{
    const check_graph_t *g = &race->check->graph;
    gdr_status_t status = GDR_OK;

    for (uint32_t n = 0; n < g->nsteps && status == GDR_OK; n++) {
        const gdr_sched_t *sched = check_sched(race->check, g->nodes[n].run, g->nodes[n].rank);

        if (g->nodes[n].rank == owner || reaches(sched, &sched->steps[g->nodes[n].step], owner))
            status = touch_all(race, n, owner, false);
    }
    return status == GDR_OK ? find_conflicts(race, owner, false) : status;
}

/* Everybody has started before anybody completes. */
static gdr_status_t ask_completion(race_t *race)
{
    const check_t *check = race->check;
    const uint32_t *position = check->graph.position, last = check->nruns - 1;
    gdr_status_t status = GDR_OK;

    for (int32_t r = 0; r < check->subject->size; r++)
        for (int32_t q = 0; q < check->subject->size && status == GDR_OK; q++)
            status = gdr_check_ask(
                &race->queries, (check_query_t){.before = position[check_start_node(check, r)],
                                                .after = position[check_done_node(check, last, q)],
                                                .owner = CHECK_ASK_COMPLETION});
    return status;
}

/* Who has completed may free its window, or lose it with its device. */
static gdr_status_t ask_reads(race_t *race, uint32_t node)
{
    const check_t *check = race->check;
    const check_graph_t *g = &check->graph;
    const gdr_sched_t *sched = check_sched(check, g->nodes[node].run, g->nodes[node].rank);
    const gdr_step_t *step = &sched->steps[g->nodes[node].step];
    gdr_status_t status = GDR_OK;

    for (uint32_t i = 0; i < step->nin && status == GDR_OK; i++) {
        int32_t owner = check_in(sched, step, i)->rank;

        if (owner != sched->rank)
            status = gdr_check_ask(
                &race->queries,
                (check_query_t){.before = g->position[node],
                                .after =
                                    g->position[check_done_node(check, check->nruns - 1, owner)],
                                .owner = CHECK_ASK_READ});
    }
    return status;
}

/* The flag's write before it has been waited for: else the two might arrive in either order. */
static gdr_status_t ask_signal(race_t *race, uint32_t node)
{
    const check_t *check = race->check;
    const check_graph_t *g = &check->graph;
    const check_node_t *n = &g->nodes[node];
    const gdr_step_t *step = &check_sched(check, n->run, n->rank)->steps[n->step];
    uint32_t run = n->run, round = step->round, wait;

    if (step->kind != GDR_STEP_SIGNAL || (run == 0 && round == 0))
        return GDR_OK;
    run = round == 0 ? run - 1 : run;
    round = round == 0 ? check->rounds - 1 : round - 1;
    wait = check->side[check->kind[run]].wait[check_write(check, step->peer, step->flag, round)];
    return gdr_check_ask(
        &race->queries,
        (check_query_t){.before = g->position[check_step_node(check, run, step->peer, wait)],
                        .after = g->position[node],
                        .owner = CHECK_ASK_SIGNAL});
}

static gdr_status_t ask_pulls(race_t *race)
{
    gdr_status_t status = GDR_OK;

    for (uint32_t n = 0; n < race->check->graph.nsteps && status == GDR_OK; n++) {
        status = ask_reads(race, n);
        if (status == GDR_OK)
            status = ask_signal(race, n);
    }
    return status;
}

gdr_status_t gdr_check_races(check_t *check)
{
    race_t race = {.check = check, .reads_cap = FIRST_CAPACITY};
    gdr_status_t status = GDR_OK;

    race.reads = calloc(FIRST_CAPACITY, sizeof(*race.reads));
    if (race.reads == NULL)
        return GDR_ERR_NO_MEMORY;

    for (int32_t r = 0; r < check->subject->size && status == GDR_OK; r++) {
        status = slot_conflicts(&race, r);
        for (uint32_t run = 0; run < check->nruns && status == GDR_OK; run++)
            status = user_conflicts(&race, run, r);
    }
    if (status == GDR_OK)
        status = gdr_check_decide(check, &race.queries);
    if (status == GDR_OK)
        status = ask_completion(&race);
    if (status == GDR_OK)
        status = ask_pulls(&race);
    if (status == GDR_OK)
        status = gdr_check_decide(check, &race.queries);
    free(race.accesses);
    free(race.cells);
    free(race.reads);
    free(race.queries.list);
    return status;
}
