/*
 * What each collective reads and writes of a process's buffers: a pure function of the call's
 * arguments and of the process's place in it. No MPI header: types stay opaque.
 */
#ifndef GDR_AREAS_H
#define GDR_AREAS_H

#include <stdbool.h>
#include <stddef.h>

struct ompi_datatype_t;
struct ompi_op_t;

/*
 * The collectives that are staged: name as in Open MPI's slots, arguments of the send and of the
 * receive side, whether there is a root (shapes.h spells them out).
 */
#define GDR_COLLECTIVES(X)                                                                         \
    X(allgather, S1, R1, NOROOT)                                                                   \
    X(allgatherv, S1, RV, NOROOT)                                                                  \
    X(alltoall, S1, R1, NOROOT)                                                                    \
    X(alltoallv, SV, RV, NOROOT)                                                                   \
    X(alltoallw, SW, RW, NOROOT)                                                                   \
    X(bcast, NOSEND, R1, ROOT)                                                                     \
    X(exscan, S0, RED, NOROOT)                                                                     \
    X(gather, S1, R1, ROOT)                                                                        \
    X(gatherv, S1, RV, ROOT)                                                                       \
    X(reduce, S0, RED, ROOT)                                                                       \
    X(reduce_scatter, S0, REDV, NOROOT)                                                            \
    X(reduce_scatter_block, S0, RED, NOROOT)                                                       \
    X(scan, S0, RED, NOROOT)                                                                       \
    X(scatter, S1, R1, ROOT)                                                                       \
    X(scatterv, SV, R1, ROOT)                                                                      \
    X(neighbor_allgather, S1, R1, NOROOT)                                                          \
    X(neighbor_allgatherv, S1, RV, NOROOT)                                                         \
    X(neighbor_alltoall, S1, R1, NOROOT)                                                           \
    X(neighbor_alltoallv, SV, RV, NOROOT)                                                          \
    X(neighbor_alltoallw, SF, RF, NOROOT)

#define GDR_COLL_ENUM(name, ...) GDR_COLL_##name,
typedef enum gdr_coll {
    GDR_COLLECTIVES(GDR_COLL_ENUM) GDR_COLL_allreduce,
    GDR_COLL_reduce_local,
    GDR_COLL_barrier /* no buffers */
} gdr_coll_t;

/* One buffer as it was described; what a call does not have is 0. */
typedef struct gdr_side {
    void *buffer;
    int count;
    const int *counts, *displs; /* in extents of `type`; with `types`, in bytes */
    const ptrdiff_t *far;       /* displacements in bytes */
    struct ompi_datatype_t *type;
    struct ompi_datatype_t *const *types;
} gdr_side_t;

/* A reduction describes both of its buffers on the receive side. */
typedef struct gdr_coll_args {
    gdr_side_t send, recv;
    struct ompi_op_t *op;
    int root;
} gdr_coll_args_t;

enum { GDR_ROLE_ROOT = 1, GDR_ROLE_LEAF = 2 };

typedef struct gdr_coll_place {
    int rank, size; /* in and of the local group */
    int to, from;   /* processes that get from this one, and that this one gets from */
    unsigned role;  /* in calls with a root: GDR_ROLE_*; in the others both */
    bool in_place;  /* MPI_IN_PLACE stands for the send buffer; at scatter's root, for the other */
    bool keeps;     /* some of `from` may send nothing: what is there stays */
} gdr_coll_place_t;

/* n pieces of a buffer, see gdr_area_piece(). */
typedef struct gdr_area {
    int n;
    size_t count, skip; /* without lists: elements, after so many others */
    const int *counts, *displs;
    const ptrdiff_t *far;
    struct ompi_datatype_t *type;
    struct ompi_datatype_t *const *types;
} gdr_area_t;

typedef struct gdr_areas {
    gdr_area_t send;  /* what is read of the send buffer */
    gdr_area_t read;  /* what is read of the receive buffer */
    gdr_area_t write; /* what is written there */
} gdr_areas_t;

void gdr_areas_find(gdr_coll_t coll, const gdr_coll_args_t *args, const gdr_coll_place_t *place,
                    gdr_areas_t *areas);

/* Whether it reduces, and needs `op`. */
bool gdr_coll_reduces(gdr_coll_t coll);
bool gdr_coll_has_root(gdr_coll_t coll);

/* Length of the lists (counts, ...) of a side that are there: 0 where MPI does not look at them. */
int gdr_coll_send_lists(gdr_coll_t coll, const gdr_coll_place_t *place);
int gdr_coll_recv_lists(gdr_coll_t coll, const gdr_coll_place_t *place);

/* Piece i: `count` elements of `type`, `skip` elements and `bytes` bytes behind the address. */
typedef struct gdr_piece {
    struct ompi_datatype_t *type;
    size_t count;
    ptrdiff_t skip, bytes;
} gdr_piece_t;

static inline gdr_piece_t gdr_area_piece(const gdr_area_t *area, int i)
{
    gdr_piece_t piece = {.type = area->types != NULL ? area->types[i] : area->type,
                         .count = area->counts != NULL ? (size_t)area->counts[i] : area->count,
                         .skip = (ptrdiff_t)area->skip};

    if (area->far != NULL)
        piece.bytes = area->far[i];
    else if (area->displs != NULL && area->types != NULL)
        piece.bytes = area->displs[i];
    else if (area->displs != NULL)
        piece.skip = area->displs[i];
    return piece;
}

#endif
