/*
 * Every collective as the tests call it: what is in its buffers before and after, and its forms.
 * What must come out is computed here, not asked of Open MPI.
 */
#ifndef GDR_TEST_CALLS_H
#define GDR_TEST_CALLS_H

#include "image.h"

enum { MAX_PEERS = 16 };

typedef enum form { BLOCKING, NONBLOCKING, PERSISTENT, FORMS } form_t;

/* One call on this process. `peers`: the processes on the other side, which are those of the
 * communicator itself unless it is an inter-communicator; named by their ranks in the world. */
typedef struct call {
    MPI_Comm comm;
    bool inter;
    int rank, size; /* in the local group */
    int me;         /* in the world */
    int n, peers[MAX_PEERS];
    int root;       /* rank of the root in its group */
    bool root_here; /* an inter-communicator's root is in this group */
    int outs, out[MAX_PEERS], ins, in[MAX_PEERS]; /* neighbours */
    int layout;
    bool in_place;
    MPI_Op op; /* for `layout`; joins what the ranks give, in their order */
    int round;
    form_t form;
    image_t *send, *recv;
    /* Lists: they must stay until the call is done. */
    int scounts[MAX_PEERS], sdispls[MAX_PEERS], rcounts[MAX_PEERS], rdispls[MAX_PEERS];
    MPI_Aint sfar[MAX_PEERS], rfar[MAX_PEERS];
    MPI_Datatype stypes[MAX_PEERS], rtypes[MAX_PEERS];
    MPI_Request request;
} call_t;

/* SCRATCH: in place, Open MPI's own call writes anything behind its result. */
enum { ROOTED = 1, IN_PLACE = 2, INTER = 4, NEIGHBOR = 8, REDUCES = 16, SCRATCH = 32 };

typedef struct kind {
    const char *name;
    unsigned traits;
    void (*fill)(call_t *call);  /* puts data into the images, and lists into the call */
    void (*issue)(call_t *call); /* calls, posts, or makes the persistent request */
} kind_t;

extern const kind_t kinds[];
extern const int n_kinds;

/* The operation that joins: associative, not commutative, wants the layout that was set last. */
void join_ints(void *in, void *inout, int *count, MPI_Datatype *type);
void join_layout(const layout_t *layout);

#endif
