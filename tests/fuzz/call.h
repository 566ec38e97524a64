/* One collective on this rank: its buffers, how it is posted, and whether its result is right. */
#ifndef GDR_FUZZ_CALL_H
#define GDR_FUZZ_CALL_H

#include "tests/fuzz/element.h"
#include "tests/fuzz/expect.h"
#include "tests/fuzz/memory.h"

typedef struct fz_call {
    fz_step_t step;
    MPI_Comm comm;
    const fz_type_t *type;
    fz_op_t op;
    fz_view_t view;
    fz_shape_t shape;
    int contributors, contributor[FZ_RANKS]; /* ranks of MPI_COMM_WORLD, in order */
    fz_buffer_t send, recv;
    char *send_image, *recv_image; /* what was written into them */
    size_t send_origin, recv_origin;
    MPI_Request request;
    int starts; /* persistent: that are still to come */
    uint64_t data; /* what the inputs are hashed from */
    bool active;
    char words[400];
} fz_call_t;

/* Makes the buffers and posts; a blocking call is complete afterwards. The request is
 * MPI_REQUEST_NULL then. */
void fz_call_begin(fz_call_t *call, const fz_step_t *step, const fz_comm_t *comm, MPI_Comm handle,
                   bool mixed);
/* A persistent one again. */
void fz_call_restart(fz_call_t *call);
/* After completion: counts what is wrong; the hash of the result's bytes. */
uint64_t fz_call_check(const fz_call_t *call);
/* Frees everything, a persistent request too. */
void fz_call_end(fz_call_t *call);

/* post.c */
int fz_post(fz_call_t *call, const void *send, void *recv);
const char *fz_call_name(const fz_step_t *step);

#endif
