/* Collectives with a root, and reductions. */
#include "calls_priv.h"

/* The caller waits: NOLINTBEGIN(clang-analyzer-optin.mpi*) */

/* ---- with a root ---------------------------------------------------------------------------- */

void fill_bcast(call_t *c)
{
    if (is_root(c))
        holds(c, c->recv, 0, COUNT, c->me, -1);
    else if (is_leaf(c))
        gets(c, 0, COUNT, the_root(c), -1);
}

void issue_bcast(call_t *c)
{
    ISSUE(MPI_Bcast, MPI_Ibcast, Bcast, image_buffer(c->recv), COUNT, layout_of(c)->type,
          root_argument(c));
}

static const void *unless_root(call_t *c)
{
    return is_root(c) ? send_buffer(c) : image_buffer(c->send);
}

/* MPI does not look at the receive buffer elsewhere: it may be anything. */
static void *at_root(call_t *c)
{
    return is_root(c) ? image_buffer(c->recv) : (void *)0x10;
}

void fill_gather(call_t *c)
{
    if (is_leaf(c)) {
        if (is_root(c))
            own(c, c->rank * COUNT, COUNT);
        else
            holds(c, c->send, 0, COUNT, c->me, -1);
    }
    for (int i = 0; i < c->n && is_root(c); i++)
        gets(c, i * COUNT, COUNT, c->peers[i], -1);
}

void issue_gather(call_t *c)
{
    MPI_Datatype type = layout_of(c)->type;

    ISSUE(MPI_Gather, MPI_Igather, Gather, unless_root(c), COUNT, type, at_root(c), COUNT, type,
          root_argument(c));
}

void fill_gatherv(call_t *c)
{
    list_received(c, c->n, c->peers);
    if (is_leaf(c)) {
        if (is_root(c))
            own(c, falling(c->n, c->rank), given(c->me));
        else
            holds(c, c->send, 0, given(c->me), c->me, -1);
    }
    for (int i = 0; i < c->n && is_root(c); i++)
        gets(c, c->rdispls[i], c->rcounts[i], c->peers[i], -1);
}

void issue_gatherv(call_t *c)
{
    MPI_Datatype type = layout_of(c)->type;
    bool root = is_root(c);

    ISSUE(MPI_Gatherv, MPI_Igatherv, Gatherv, unless_root(c), given(c->me), type, at_root(c),
          root ? c->rcounts : NULL, root ? c->rdispls : NULL, type, root_argument(c));
}

/* At the root in place stands for the receive buffer. */
static void *received_in(call_t *c)
{
    return is_root(c) && c->in_place ? MPI_IN_PLACE : image_buffer(c->recv);
}

static const void *root_sends(call_t *c)
{
    return is_root(c) ? image_buffer(c->send) : (void *)0x10;
}

void fill_scatter(call_t *c)
{
    for (int i = 0; i < c->n && is_root(c); i++)
        holds(c, c->send, i * COUNT, COUNT, c->me, c->peers[i]);
    if (is_leaf(c) && !(is_root(c) && c->in_place))
        gets(c, 0, COUNT, the_root(c), c->me);
}

void issue_scatter(call_t *c)
{
    MPI_Datatype type = layout_of(c)->type;

    ISSUE(MPI_Scatter, MPI_Iscatter, Scatter, root_sends(c), COUNT, type, received_in(c), COUNT,
          type, root_argument(c));
}

void fill_scatterv(call_t *c)
{
    for (int i = 0; i < c->n && is_root(c); i++) {
        c->scounts[i] = given(c->peers[i]);
        c->sdispls[i] = falling(c->n, i);
        holds(c, c->send, c->sdispls[i], c->scounts[i], c->me, c->peers[i]);
    }
    if (is_leaf(c) && !(is_root(c) && c->in_place))
        gets(c, 0, given(c->me), the_root(c), c->me);
}

void issue_scatterv(call_t *c)
{
    MPI_Datatype type = layout_of(c)->type;
    bool root = is_root(c);

    ISSUE(MPI_Scatterv, MPI_Iscatterv, Scatterv, root_sends(c), root ? c->scounts : NULL,
          root ? c->sdispls : NULL, type, received_in(c), given(c->me), type, root_argument(c));
}

/* ---- reductions ----------------------------------------------------------------------------- */

static void operand(call_t *c, image_t *image, int count)
{
    for (int i = 0; i < count; i++)
        for (int k = 0; k < layout_of(c)->ints; k++)
            image_holds(image, layout_of(c), 0, i, k, digit(c, c->me, i, k));
}

/* `count` elements of the result of the first n, from number `first` on. */
static void result(call_t *c, int n, int first, int count)
{
    for (int i = 0; i < count; i++)
        for (int k = 0; k < layout_of(c)->ints; k++)
            image_gets(c->recv, layout_of(c), 0, i, k, reduced(c, n, first + i, k));
}

void fill_allreduce(call_t *c)
{
    operand(c, given_in(c), COUNT);
    result(c, c->n, 0, COUNT);
}

void issue_allreduce(call_t *c)
{
    ISSUE(MPI_Allreduce, MPI_Iallreduce, Allreduce, send_buffer(c), image_buffer(c->recv), COUNT,
          layout_of(c)->type, c->op);
}

void fill_exscan(call_t *c)
{
    operand(c, given_in(c), COUNT);
    if (c->rank > 0)
        result(c, c->rank, 0, COUNT);
}

void issue_exscan(call_t *c)
{
    ISSUE(MPI_Exscan, MPI_Iexscan, Exscan, send_buffer(c), image_buffer(c->recv), COUNT,
          layout_of(c)->type, c->op);
}

void fill_scan(call_t *c)
{
    operand(c, given_in(c), COUNT);
    result(c, c->rank + 1, 0, COUNT);
}

void issue_scan(call_t *c)
{
    ISSUE(MPI_Scan, MPI_Iscan, Scan, send_buffer(c), image_buffer(c->recv), COUNT,
          layout_of(c)->type, c->op);
}

void fill_reduce(call_t *c)
{
    if (is_leaf(c))
        operand(c, is_root(c) ? given_in(c) : c->send, COUNT);
    if (is_root(c))
        result(c, c->n, 0, COUNT);
}

void issue_reduce(call_t *c)
{
    ISSUE(MPI_Reduce, MPI_Ireduce, Reduce, unless_root(c), at_root(c), COUNT, layout_of(c)->type,
          c->op, root_argument(c));
}

/* Both groups of an inter-communicator have the same total. */
static void list_scattered(call_t *c)
{
    for (int i = 0; i < c->size; i++)
        c->rcounts[i] = c->inter ? 1 : (i + 1) % 3;
    if (c->inter)
        c->rcounts[0] += MAX_PEERS / 2 - c->size;
}

static int sum_of(const int *counts, int n)
{
    int sum = 0;

    for (int i = 0; i < n; i++)
        sum += counts[i];
    return sum;
}

void fill_reduce_scatter(call_t *c)
{
    list_scattered(c);
    operand(c, given_in(c), sum_of(c->rcounts, c->size));
    result(c, c->n, sum_of(c->rcounts, c->rank), c->rcounts[c->rank]);
}

void issue_reduce_scatter(call_t *c)
{
    ISSUE(MPI_Reduce_scatter, MPI_Ireduce_scatter, Reduce_scatter, send_buffer(c),
          image_buffer(c->recv), c->rcounts, layout_of(c)->type, c->op);
}

static int block_count(const call_t *c)
{
    return c->inter ? c->n : COUNT;
}

void fill_reduce_scatter_block(call_t *c)
{
    operand(c, given_in(c), block_count(c) * c->size);
    result(c, c->n, block_count(c) * c->rank, block_count(c));
}

void issue_reduce_scatter_block(call_t *c)
{
    ISSUE(MPI_Reduce_scatter_block, MPI_Ireduce_scatter_block, Reduce_scatter_block, send_buffer(c),
          image_buffer(c->recv), block_count(c), layout_of(c)->type, c->op);
}

/* NOLINTEND(clang-analyzer-optin.mpi*) */
