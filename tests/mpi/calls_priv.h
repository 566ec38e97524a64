/* What the files of calls.h share: data of a call, and how its three forms are called. */
#ifndef GDR_TEST_CALLS_PRIV_H
#define GDR_TEST_CALLS_PRIV_H

#include "calls.h"

#if OMPI_MAJOR_VERSION >= 5
#define PERSISTENT_OF(name) MPI_##name##_init
#else
#include <mpi-ext.h>
#define PERSISTENT_OF(name) MPIX_##name##_init
#endif

/* ISSUE(MPI_Bcast, MPI_Ibcast, Bcast, arguments...) of call c */
#define ISSUE(blocking, nonblocking, name, ...)                                                    \
    do {                                                                                           \
        if (c->form == BLOCKING)                                                                   \
            blocking(__VA_ARGS__, c->comm);                                                        \
        else if (c->form == NONBLOCKING)                                                           \
            nonblocking(__VA_ARGS__, c->comm, &c->request);                                        \
        else                                                                                       \
            PERSISTENT_OF(name)(__VA_ARGS__, c->comm, MPI_INFO_NULL, &c->request);                 \
    } while (0)

enum { COUNT = 2, SLOT = 4, BELOW = 3, SLOT_BYTES = 128 };

#define KINDS(X)                                                                                   \
    X(allgather, IN_PLACE | INTER)                                                                 \
    X(allgatherv, IN_PLACE | INTER)                                                                \
    X(allreduce, IN_PLACE | INTER | REDUCES)                                                       \
    X(alltoall, IN_PLACE | INTER)                                                                  \
    X(alltoallv, IN_PLACE | INTER)                                                                 \
    X(alltoallw, IN_PLACE | INTER)                                                                 \
    X(bcast, ROOTED | INTER)                                                                       \
    X(exscan, IN_PLACE | REDUCES)                                                                  \
    X(gather, ROOTED | IN_PLACE | INTER)                                                           \
    X(gatherv, ROOTED | IN_PLACE | INTER)                                                          \
    X(reduce, ROOTED | IN_PLACE | INTER | REDUCES)                                                 \
    X(reduce_scatter, IN_PLACE | INTER | REDUCES | SCRATCH)                                        \
    X(reduce_scatter_block, IN_PLACE | INTER | REDUCES | SCRATCH)                                  \
    X(scan, IN_PLACE | REDUCES)                                                                    \
    X(scatter, ROOTED | IN_PLACE | INTER)                                                          \
    X(scatterv, ROOTED | IN_PLACE | INTER)                                                         \
    X(neighbor_allgather, NEIGHBOR)                                                                \
    X(neighbor_allgatherv, NEIGHBOR)                                                               \
    X(neighbor_alltoall, NEIGHBOR)                                                                 \
    X(neighbor_alltoallv, NEIGHBOR)                                                                \
    X(neighbor_alltoallw, NEIGHBOR)

#define DECLARE(name, ...)                                                                         \
    void fill_##name(call_t *c);                                                                   \
    void issue_##name(call_t *c);
KINDS(DECLARE)

/* ---- data */
void holds(call_t *c, image_t *image, int element, int count, int from, int to);
void gets(call_t *c, int element, int count, int from, int to);
bool is_root(const call_t *c);
bool is_leaf(const call_t *c);
int the_root(const call_t *c);
int root_argument(const call_t *c);
const void *send_buffer(call_t *c);
void own(call_t *c, int place, int count);
int given(int p);
int falling(int n, int i);
void list_received(call_t *c, int n, const int *from);
void list_exchanged(call_t *c, int outs, const int *to, int ins, const int *from);
void list_types(call_t *c, int outs, const int *to, int ins, const int *from);
int digit(const call_t *c, int from, int i, int k);
int reduced(const call_t *c, int n, int i, int k);
const layout_t *layout_of(const call_t *c);
image_t *given_in(call_t *c);
void piece(call_t *c, image_t *image, bool before, ptrdiff_t bytes, int count, int from, int to);

#endif
