#include "generate.h"

#include <string.h>

uint64_t fz_hash(uint64_t a, uint64_t b, uint64_t c)
{
    uint64_t x = a * UINT64_C(0x9e3779b97f4a7c15) + b * UINT64_C(0xc2b2ae3d27d4eb4f) +
                 c * UINT64_C(0x165667b19e3779f9) + 1;

    x ^= x >> 30;
    x *= UINT64_C(0xbf58476d1ce4e5b9);
    x ^= x >> 27;
    x *= UINT64_C(0x94d049bb133111eb);
    return x ^ x >> 31;
}

static uint64_t draw(fz_generator_t *g)
{
    g->state++;
    return fz_hash(g->seed, g->state, (uint64_t)g->ranks);
}

static bool chance(fz_generator_t *g, unsigned percent)
{
    return draw(g) % 100 < percent;
}

/* ---- communicators -------------------------------------------------------------------------- */

int fz_members(const fz_comm_t *comm, int group, int *world_ranks)
{
    int n = 0;

    for (int r = 0; r < FZ_RANKS; r++)
        if (group >= 0 && comm->group[r] == group) {
            world_ranks[comm->rank[r]] = r;
            n++;
        }
    return n;
}

void fz_split_keys(const fz_step_t *step, int world_rank, int *colour, int *key)
{
    uint64_t random = fz_hash(step->random, (uint64_t)world_rank, 17);

    *colour = (int)(random % 5 / 2) - (step->random % 3 == 0 ? 1 : 0);
    *key = (int)(random / 5 % 4);
}

static void split(const fz_step_t *step, const fz_comm_t *parent, fz_comm_t *made)
{
    enum { COLOURS = 4 };
    int8_t ids[FZ_RANKS * COLOURS];
    int colours[FZ_RANKS], keys[FZ_RANKS], next = 0;

    memset(ids, -1, sizeof(ids));
    for (int r = 0; r < FZ_RANKS; r++) {
        fz_split_keys(step, r, &colours[r], &keys[r]);
        if (parent->group[r] >= 0 && colours[r] >= 0) {
            int8_t *id = &ids[parent->group[r] * COLOURS + colours[r]];

            if (*id < 0)
                *id = (int8_t)next++;
            made->group[r] = *id;
        }
    }
    for (int r = 0; r < FZ_RANKS; r++)
        for (int q = 0; q < FZ_RANKS && made->group[r] >= 0; q++)
            if (made->group[q] == made->group[r] &&
                (keys[q] < keys[r] || (keys[q] == keys[r] && parent->rank[q] < parent->rank[r])))
                made->rank[r]++;
}

/* The halves of each group; a group of one has none. */
static void halves(const fz_comm_t *parent, fz_comm_t *made)
{
    int members[FZ_RANKS], next = 0;

    made->inter = true;
    for (int group = 0; group < FZ_RANKS; group++) {
        int n = fz_members(parent, group, members);

        if (n < 2)
            continue;
        for (int i = 0; i < n; i++) {
            bool second = i >= n / 2;

            made->group[members[i]] = (int8_t)(next + second);
            made->rank[members[i]] = (int8_t)(second ? i - n / 2 : i);
        }
        made->remote[next] = (int8_t)(next + 1);
        made->remote[next + 1] = (int8_t)next;
        next += 2;
    }
}

static void make(fz_generator_t *g, const fz_step_t *step)
{
    const fz_comm_t *parent = &g->comms[step->parent];
    fz_comm_t made = {0};

    memset(made.group, -1, sizeof(made.group));
    memset(made.remote, -1, sizeof(made.remote));
    if (step->make == FZ_DUP)
        made = *parent;
    else if (step->make == FZ_SPLIT)
        split(step, parent, &made);
    else
        halves(parent, &made);
    made.live = true;
    g->comms[step->comm] = made;
}

static bool make_step(fz_generator_t *g, fz_step_t *step)
{
    step->comm = -1;
    for (int c = 2; c < FZ_COMMS; c++)
        if (!g->comms[c].live)
            step->comm = c;
    do
        step->parent = (int)(draw(g) % FZ_COMMS);
    while (!g->comms[step->parent].live);
    step->make = (fz_make_t)(draw(g) % FZ_MAKES);
    if (g->comms[step->parent].inter)
        step->make = FZ_DUP;
    if (step->comm < 0)
        return false;
    step->kind = FZ_MAKE;
    make(g, step);
    return true;
}

static bool free_step(fz_generator_t *g, fz_step_t *step)
{
    step->comm = 2 + (int)(draw(g) % (FZ_COMMS - 2));
    if (!g->comms[step->comm].live)
        return false;
    step->kind = FZ_FREE;
    g->comms[step->comm].live = false;
    return true;
}

/* ---- calls ---------------------------------------------------------------------------------- */

/* Mostly few elements; around powers of two, where chunks and segments end; rarely MiBs. */
static void choose_count(fz_generator_t *g, fz_step_t *step)
{
    static const long small[] = {0, 1, 1, 2, 3, 5, 7, 16, 17, 63, 100, 255, 1023, 1024, 1025};
    uint64_t random = draw(g);

    if (random % 100 < 45) {
        step->count = small[random / 100 % (sizeof(small) / sizeof(small[0]))];
    } else if (random % 100 < 70) {
        step->count = (long)(random / 100 % 5000);
    } else {
        unsigned most = random % 100 < 98 ? 18 : 22;

        step->bytes = (size_t)1 << (10 + random / 100 % (most - 9));
        step->count = (long)(random / 10000 % 5) - 2;
    }
}

long fz_count(const fz_step_t *step, size_t extent)
{
    long count = step->count;

    if (step->bytes > 0)
        count += (long)(step->bytes / extent);
    return count < 0 ? 0 : count;
}

static void choose_way(fz_generator_t *g, fz_step_t *step)
{
    uint64_t random = draw(g) % 100;

    step->way = random < 45 ? FZ_BLOCKING : FZ_NONBLOCKING;
    if (g->others && step->coll == FZ_ALLREDUCE && random >= 93)
        step->way = FZ_PERSISTENT;
    if (step->way != FZ_BLOCKING)
        g->outstanding++;
}

static void choose_op(fz_generator_t *g, fz_step_t *step)
{
    uint64_t random = draw(g) % 100;

    step->op_class = random < 80 ? FZ_PREDEFINED : random < 90 ? FZ_COMMUTATIVE : FZ_ORDERED;
    step->inexact = chance(g, 15);
    step->type = draw(g);
    step->op = draw(g);
}

static void call_step(fz_generator_t *g, fz_step_t *step)
{
    step->kind = FZ_CALL;
    step->number = ++g->number;
    do
        step->comm = chance(g, 40) ? 0 : (int)(draw(g) % FZ_COMMS);
    while (!g->comms[step->comm].live);
    step->coll = FZ_ALLREDUCE;
    if (chance(g, 30) && g->others && !g->comms[step->comm].inter)
        step->coll = (fz_coll_t)(draw(g) % FZ_COLLS);
    step->in_place = chance(g, 35) && !g->comms[step->comm].inter;
    step->on_host = chance(g, 12);
    choose_way(g, step);
    choose_op(g, step);
    choose_count(g, step);
    g->since_sync++;
}

static bool other_step(fz_generator_t *g, fz_step_t *step)
{
    uint64_t random = draw(g) % 1000;

    step->kind = FZ_DISTURB;
    if (random < 50)
        return make_step(g, step);
    if (random < 95)
        return free_step(g, step);
    if (random < 200)
        step->kind = FZ_SOME;
    else if (random < 240)
        step->kind = FZ_MESSAGES;
    else if (random < 260)
        step->kind = FZ_SYNC;
    else
        return random < 340;
    return true;
}

void fz_next(fz_generator_t *g, fz_step_t *step)
{
    memset(step, 0, sizeof(*step));
    step->random = draw(g);
    step->number = g->number;
    if (g->outstanding == FZ_OUTSTANDING || g->since_sync == 2 * FZ_OUTSTANDING)
        step->kind = FZ_SYNC;
    else if (!other_step(g, step))
        call_step(g, step);
    if (step->kind == FZ_SYNC)
        g->outstanding = g->since_sync = 0;
}

void fz_start(fz_generator_t *g, uint64_t seed, int ranks, bool others)
{
    memset(g, 0, sizeof(*g));
    g->seed = seed;
    g->ranks = ranks;
    g->others = others;
    for (int c = 0; c < 2; c++) {
        memset(g->comms[c].group, -1, sizeof(g->comms[c].group));
        g->comms[c].live = true;
    }
    for (int r = 0; r < ranks; r++) {
        g->comms[0].group[r] = 0;
        g->comms[0].rank[r] = (int8_t)r;
        g->comms[1].group[r] = (int8_t)r;
    }
}
