#include "tests/fuzz/expect.h"

/* One block to or from every rank, on this side. */
static long wide(const fz_view_t *v)
{
    return v->count * v->size;
}

static void with_own(fz_shape_t *shape, bool in_place, long at)
{
    shape->sends = !in_place;
    if (in_place) {
        shape->own = shape->send;
        shape->own_at = at;
        shape->send = 0;
    }
}

fz_shape_t fz_shape(const fz_view_t *v)
{
    bool root = v->rank == v->root;
    fz_shape_t s = {.receives = true, .send = v->count, .recv = v->count, .last = v->size};

    switch (v->coll) {
    case FZ_ALLREDUCE:
    case FZ_COLLS:
        with_own(&s, v->in_place, 0);
        break;
    case FZ_SCAN:
    case FZ_EXSCAN:
        s.last = v->rank + (v->coll == FZ_SCAN);
        with_own(&s, v->in_place, 0);
        break;
    case FZ_REDUCE:
        s.receives = root;
        with_own(&s, v->in_place && root, 0);
        break;
    case FZ_BCAST:
        s.send = root ? v->count : 0;
        with_own(&s, true, 0);
        break;
    case FZ_ALLGATHER:
        s.recv = wide(v);
        with_own(&s, v->in_place, v->rank * v->count);
        break;
    case FZ_GATHER:
        s.receives = root;
        s.recv = wide(v);
        with_own(&s, v->in_place && root, v->rank * v->count);
        break;
    case FZ_SCATTER:
        s.sends = root;
        s.send = wide(v);
        s.receives = !(v->in_place && root);
        break;
    case FZ_ALLTOALL:
        s.send = s.recv = wide(v);
        with_own(&s, v->in_place, 0);
        break;
    case FZ_REDUCE_SCATTER_BLOCK:
        s.send = wide(v);
        s.recv = v->in_place ? wide(v) : v->count;
        with_own(&s, v->in_place, 0);
        break;
    }
    return s;
}

fz_part_t fz_part(const fz_view_t *v, long element)
{
    fz_part_t part = {FZ_REDUCED, 0, element};

    switch (v->coll) {
    case FZ_ALLREDUCE:
    case FZ_REDUCE:
    case FZ_SCAN:
    case FZ_COLLS:
        break;
    case FZ_EXSCAN:
        if (v->rank == 0)
            part.what = FZ_ANYTHING;
        break;
    case FZ_BCAST:
        part = (fz_part_t){FZ_COPIED, v->root, element};
        break;
    case FZ_ALLGATHER:
    case FZ_GATHER:
        part = (fz_part_t){FZ_COPIED, (int)(element / v->count), element % v->count};
        break;
    case FZ_SCATTER:
        part = (fz_part_t){FZ_COPIED, v->root, v->rank * v->count + element};
        break;
    case FZ_ALLTOALL:
        part = (fz_part_t){FZ_COPIED, (int)(element / v->count),
                           v->rank * v->count + element % v->count};
        break;
    case FZ_REDUCE_SCATTER_BLOCK:
        part.index = v->rank * v->count + element;
        if (element >= v->count)
            part.what = FZ_ANYTHING;
        break;
    }
    return part;
}
