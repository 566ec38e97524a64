#include "mca/areas.h"

#include <stdint.h>
#include <string.h>

/* How much of a buffer a process has to do with. */
typedef enum pattern {
    NONE,
    ONE,    /* `count` elements */
    EACH,   /* `count` elements for each process on the other side */
    LISTED, /* as the lists say for each of them */
    SUM,    /* what the local group gets together */
    MINE    /* this process's part of that */
} pattern_t;

/* Who has to do with a buffer. */
enum { ROOT = GDR_ROLE_ROOT, LEAF = GDR_ROLE_LEAF, ALL = ROOT | LEAF };

enum {
    REDUCES = 1,
    OWN = 2,        /* in place, a process's contribution lies where its own part is received */
    ONE_BUFFER = 4, /* read by the root and written by the others */
    NOT_FIRST = 8,  /* rank 0 gets nothing */
    OPERAND = 16    /* the receive buffer is one, too */
};

typedef struct traits {
    uint8_t senders, send, receivers, recv; /* roles, pattern_t */
    uint8_t flags;
} traits_t;

static const traits_t table[] = {
    [GDR_COLL_allgather] = {ALL, ONE, ALL, EACH, OWN},
    [GDR_COLL_allgatherv] = {ALL, ONE, ALL, LISTED, OWN},
    [GDR_COLL_allreduce] = {ALL, ONE, ALL, ONE, REDUCES},
    [GDR_COLL_alltoall] = {ALL, EACH, ALL, EACH, 0},
    [GDR_COLL_alltoallv] = {ALL, LISTED, ALL, LISTED, 0},
    [GDR_COLL_alltoallw] = {ALL, LISTED, ALL, LISTED, 0},
    [GDR_COLL_barrier] = {0, NONE, 0, NONE, 0},
    [GDR_COLL_bcast] = {0, NONE, ALL, ONE, ONE_BUFFER},
    [GDR_COLL_exscan] = {ALL, ONE, ALL, ONE, REDUCES | NOT_FIRST},
    [GDR_COLL_gather] = {LEAF, ONE, ROOT, EACH, OWN},
    [GDR_COLL_gatherv] = {LEAF, ONE, ROOT, LISTED, OWN},
    [GDR_COLL_reduce] = {LEAF, ONE, ROOT, ONE, REDUCES},
    [GDR_COLL_reduce_local] = {ALL, ONE, ALL, ONE, REDUCES | OPERAND},
    [GDR_COLL_reduce_scatter] = {ALL, SUM, ALL, MINE, REDUCES},
    [GDR_COLL_reduce_scatter_block] = {ALL, SUM, ALL, MINE, REDUCES},
    [GDR_COLL_scan] = {ALL, ONE, ALL, ONE, REDUCES},
    [GDR_COLL_scatter] = {ROOT, EACH, LEAF, ONE, 0},
    [GDR_COLL_scatterv] = {ROOT, LISTED, LEAF, ONE, 0},
    [GDR_COLL_neighbor_allgather] = {ALL, ONE, ALL, EACH, 0},
    [GDR_COLL_neighbor_allgatherv] = {ALL, ONE, ALL, LISTED, 0},
    [GDR_COLL_neighbor_alltoall] = {ALL, EACH, ALL, EACH, 0},
    [GDR_COLL_neighbor_alltoallv] = {ALL, LISTED, ALL, LISTED, 0},
    [GDR_COLL_neighbor_alltoallw] = {ALL, LISTED, ALL, LISTED, 0},
};

bool gdr_coll_reduces(gdr_coll_t coll)
{
    return (table[coll].flags & REDUCES) != 0;
}

bool gdr_coll_has_root(gdr_coll_t coll)
{
    return table[coll].receivers != 0 && table[coll].senders != ALL;
}

static size_t sum(const gdr_side_t *side, int size)
{
    size_t elements = 0;

    if (side->counts == NULL)
        return (size_t)side->count * (size_t)size;
    for (int i = 0; i < size; i++)
        elements += (size_t)side->counts[i];
    return elements;
}

static gdr_area_t area(const gdr_side_t *side, pattern_t pattern, const gdr_coll_place_t *place,
                       int peers)
{
    gdr_area_t area = {.n = 1, .type = side->type};

    switch (pattern) {
    case NONE:
        area.n = 0;
        break;
    case ONE:
        area.count = (size_t)side->count;
        break;
    case EACH:
        area.count = (size_t)side->count * (size_t)peers;
        break;
    case LISTED:
        area.n = peers;
        area.counts = side->counts;
        area.displs = side->displs;
        area.far = side->far;
        area.types = side->types;
        break;
    case SUM:
        area.count = sum(side, place->size);
        break;
    case MINE:
        area.count = (size_t)(side->counts != NULL ? side->counts[place->rank] : side->count);
        break;
    }
    return area;
}

/* What process `rank` contributes in place, where it would be received from it. */
static gdr_area_t own_part(const gdr_side_t *side, int rank)
{
    gdr_area_t area = {.n = 1, .type = side->type};

    if (side->counts != NULL) {
        area.counts = side->counts + rank;
        area.displs = side->displs + rank;
    } else {
        area.count = (size_t)side->count;
        area.skip = (size_t)side->count * (size_t)rank;
    }
    return area;
}

static gdr_area_t in_place(const traits_t *t, const gdr_coll_args_t *args,
                           const gdr_coll_place_t *place)
{
    if ((t->flags & OWN) != 0)
        return own_part(&args->recv, place->rank);
    return area(&args->recv, (t->flags & REDUCES) != 0 ? t->send : t->recv, place, place->from);
}

void gdr_areas_find(gdr_coll_t coll, const gdr_coll_args_t *args, const gdr_coll_place_t *place,
                    gdr_areas_t *areas)
{
    const traits_t *t = &table[coll];
    bool sends = (t->senders & place->role) != 0;
    bool receives = (t->receivers & place->role) != 0;
    gdr_area_t received = area(&args->recv, t->recv, place, place->from);

    memset(areas, 0, sizeof(*areas));
    if ((t->flags & ONE_BUFFER) != 0) {
        /* The root is a leaf, too, where both are of one group. */
        if ((place->role & ROOT) != 0)
            areas->read = received;
        else if (receives)
            areas->write = received;
        return;
    }
    if (place->in_place && t->senders == ROOT && sends)
        receives = false;
    else if (place->in_place && sends)
        areas->read = in_place(t, args, place);
    if (sends && (!place->in_place || t->senders == ROOT))
        areas->send =
            area((t->flags & REDUCES) != 0 ? &args->recv : &args->send, t->send, place, place->to);
    if (!receives || ((t->flags & NOT_FIRST) != 0 && place->rank == 0))
        return;
    areas->write = received;
    if (place->keeps || (t->flags & OPERAND) != 0)
        areas->read = received;
}

int gdr_coll_send_lists(gdr_coll_t coll, const gdr_coll_place_t *place)
{
    const traits_t *t = &table[coll];

    if (t->send != LISTED || (t->senders & place->role) == 0)
        return 0;
    return place->in_place && t->senders != ROOT ? 0 : place->to;
}

int gdr_coll_recv_lists(gdr_coll_t coll, const gdr_coll_place_t *place)
{
    const traits_t *t = &table[coll];

    if ((t->receivers & place->role) == 0)
        return 0;
    if (t->recv == MINE)
        return place->size;
    return t->recv == LISTED ? place->from : 0;
}
