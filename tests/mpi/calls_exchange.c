/* Collectives in which all processes, or all neighbours, exchange data. */
#include "calls_priv.h"

/* The caller waits: NOLINTBEGIN(clang-analyzer-optin.mpi*) */

/* ---- all to all ----------------------------------------------------------------------------- */

void fill_allgather(call_t *c)
{
    own(c, c->rank * COUNT, COUNT);
    for (int i = 0; i < c->n; i++)
        gets(c, i * COUNT, COUNT, c->peers[i], -1);
}

void issue_allgather(call_t *c)
{
    MPI_Datatype type = layout_of(c)->type;

    ISSUE(MPI_Allgather, MPI_Iallgather, Allgather, send_buffer(c), COUNT, type,
          image_buffer(c->recv), COUNT, type);
}

void fill_allgatherv(call_t *c)
{
    list_received(c, c->n, c->peers);
    own(c, falling(c->n, c->rank), given(c->me));
    for (int i = 0; i < c->n; i++)
        gets(c, c->rdispls[i], c->rcounts[i], c->peers[i], -1);
}

void issue_allgatherv(call_t *c)
{
    MPI_Datatype type = layout_of(c)->type;

    ISSUE(MPI_Allgatherv, MPI_Iallgatherv, Allgatherv, send_buffer(c), given(c->me), type,
          image_buffer(c->recv), c->rcounts, c->rdispls, type);
}

void fill_alltoall(call_t *c)
{
    for (int i = 0; i < c->n; i++)
        holds(c, given_in(c), i * COUNT, COUNT, c->me, c->peers[i]);
    for (int i = 0; i < c->n; i++)
        gets(c, i * COUNT, COUNT, c->peers[i], c->me);
}

void issue_alltoall(call_t *c)
{
    MPI_Datatype type = layout_of(c)->type;

    ISSUE(MPI_Alltoall, MPI_Ialltoall, Alltoall, send_buffer(c), COUNT, type, image_buffer(c->recv),
          COUNT, type);
}

/* In place both directions have the same count. */
static void even_out(call_t *c)
{
    for (int i = 0; i < c->n && c->in_place; i++)
        c->rcounts[i] = (c->me + c->peers[i]) % 3;
}

void fill_alltoallv(call_t *c)
{
    list_exchanged(c, c->n, c->peers, c->n, c->peers);
    even_out(c);
    for (int i = 0; i < c->n; i++)
        if (c->in_place)
            holds(c, c->recv, c->rdispls[i], c->rcounts[i], c->me, c->peers[i]);
        else
            holds(c, c->send, c->sdispls[i], c->scounts[i], c->me, c->peers[i]);
    for (int i = 0; i < c->n; i++)
        gets(c, c->rdispls[i], c->rcounts[i], c->peers[i], c->me);
}

void issue_alltoallv(call_t *c)
{
    MPI_Datatype type = layout_of(c)->type;

    ISSUE(MPI_Alltoallv, MPI_Ialltoallv, Alltoallv, send_buffer(c), c->scounts, c->sdispls, type,
          image_buffer(c->recv), c->rcounts, c->rdispls, type);
}

void fill_alltoallw(call_t *c)
{
    list_types(c, c->n, c->peers, c->n, c->peers);
    even_out(c);
    for (int i = 0; i < c->n; i++)
        if (c->in_place)
            piece(c, c->recv, true, c->rdispls[i], c->rcounts[i], c->me, c->peers[i]);
        else
            piece(c, c->send, true, c->sdispls[i], c->scounts[i], c->me, c->peers[i]);
    for (int i = 0; i < c->n; i++)
        piece(c, c->recv, false, c->rdispls[i], c->rcounts[i], c->peers[i], c->me);
}

void issue_alltoallw(call_t *c)
{
    ISSUE(MPI_Alltoallw, MPI_Ialltoallw, Alltoallw, send_buffer(c), c->scounts, c->sdispls,
          c->stypes, image_buffer(c->recv), c->rcounts, c->rdispls, c->rtypes);
}

/* ---- neighbours ----------------------------------------------------------------------------- */

void fill_neighbor_allgather(call_t *c)
{
    holds(c, c->send, 0, COUNT, c->me, -1);
    for (int i = 0; i < c->ins; i++)
        if (c->in[i] >= 0)
            gets(c, i * COUNT, COUNT, c->in[i], -1);
}

void issue_neighbor_allgather(call_t *c)
{
    MPI_Datatype type = layout_of(c)->type;

    ISSUE(MPI_Neighbor_allgather, MPI_Ineighbor_allgather, Neighbor_allgather,
          image_buffer(c->send), COUNT, type, image_buffer(c->recv), COUNT, type);
}

void fill_neighbor_allgatherv(call_t *c)
{
    list_received(c, c->ins, c->in);
    holds(c, c->send, 0, given(c->me), c->me, -1);
    for (int i = 0; i < c->ins; i++)
        if (c->in[i] >= 0)
            gets(c, c->rdispls[i], c->rcounts[i], c->in[i], -1);
}

void issue_neighbor_allgatherv(call_t *c)
{
    MPI_Datatype type = layout_of(c)->type;

    ISSUE(MPI_Neighbor_allgatherv, MPI_Ineighbor_allgatherv, Neighbor_allgatherv,
          image_buffer(c->send), given(c->me), type, image_buffer(c->recv), c->rcounts, c->rdispls,
          type);
}

void fill_neighbor_alltoall(call_t *c)
{
    for (int i = 0; i < c->outs; i++)
        if (c->out[i] >= 0)
            holds(c, c->send, i * COUNT, COUNT, c->me, c->out[i]);
    for (int i = 0; i < c->ins; i++)
        if (c->in[i] >= 0)
            gets(c, i * COUNT, COUNT, c->in[i], c->me);
}

void issue_neighbor_alltoall(call_t *c)
{
    MPI_Datatype type = layout_of(c)->type;

    ISSUE(MPI_Neighbor_alltoall, MPI_Ineighbor_alltoall, Neighbor_alltoall, image_buffer(c->send),
          COUNT, type, image_buffer(c->recv), COUNT, type);
}

void fill_neighbor_alltoallv(call_t *c)
{
    list_exchanged(c, c->outs, c->out, c->ins, c->in);
    for (int i = 0; i < c->outs; i++)
        if (c->out[i] >= 0)
            holds(c, c->send, c->sdispls[i], c->scounts[i], c->me, c->out[i]);
    for (int i = 0; i < c->ins; i++)
        if (c->in[i] >= 0)
            gets(c, c->rdispls[i], c->rcounts[i], c->in[i], c->me);
}

void issue_neighbor_alltoallv(call_t *c)
{
    MPI_Datatype type = layout_of(c)->type;

    ISSUE(MPI_Neighbor_alltoallv, MPI_Ineighbor_alltoallv, Neighbor_alltoallv,
          image_buffer(c->send), c->scounts, c->sdispls, type, image_buffer(c->recv), c->rcounts,
          c->rdispls, type);
}

void fill_neighbor_alltoallw(call_t *c)
{
    list_types(c, c->outs, c->out, c->ins, c->in);
    for (int i = 0; i < c->outs; i++)
        if (c->out[i] >= 0)
            piece(c, c->send, true, c->sfar[i], c->scounts[i], c->me, c->out[i]);
    for (int i = 0; i < c->ins; i++)
        if (c->in[i] >= 0)
            piece(c, c->recv, false, c->rfar[i], c->rcounts[i], c->in[i], c->me);
}

void issue_neighbor_alltoallw(call_t *c)
{
    ISSUE(MPI_Neighbor_alltoallw, MPI_Ineighbor_alltoallw, Neighbor_alltoallw,
          image_buffer(c->send), c->scounts, c->sfar, c->stypes, image_buffer(c->recv), c->rcounts,
          c->rfar, c->rtypes);
}

/* NOLINTEND(clang-analyzer-optin.mpi*) */
