/*
 * The collectives that the device does not serve. Host buffers: the previous component's, for a
 * look at two addresses. Device buffers: its, too, on mirrors in host memory; each process decides
 * for itself. On an Open MPI that takes device buffers, what it can do is left to it.
 */
#ifndef GDR_COLL_H
#define GDR_COLL_H

#include "mca/areas.h"
#include "mca/gdr_mca.h"
#include "mca/host_memory.h"
#include "mca/mirror.h"

static inline bool gdr_coll_surely_host(const void *buffer)
{
    return gdr_host_memory_sure(buffer) || buffer == MPI_IN_PLACE;
}

/* What the previous component does: the call itself, posts it, makes a persistent one of it. */
typedef struct gdr_coll_ops {
    const char *name;
    int (*call)(gdr_mca_module_t *module, const gdr_coll_args_t *args);
    int (*post)(gdr_mca_module_t *module, const gdr_coll_args_t *args, ompi_request_t **out);
    int (*init)(gdr_mca_module_t *module, const gdr_coll_args_t *args, struct ompi_info_t *info,
                ompi_request_t **out);
} gdr_coll_ops_t;

const gdr_coll_ops_t *gdr_coll_ops(gdr_coll_t coll);

/* The three forms of a call, complete. */
int gdr_coll_call(gdr_mca_module_t *module, gdr_coll_t coll, const gdr_coll_args_t *args);
int gdr_coll_post(gdr_mca_module_t *module, gdr_coll_t coll, const gdr_coll_args_t *args,
                  ompi_request_t **out);
int gdr_coll_init(gdr_mca_module_t *module, gdr_coll_t coll, const gdr_coll_args_t *args,
                  struct ompi_info_t *info, ompi_request_t **out);

/* Persistent MPI_Allreduce, on the device engine where all ranks have device buffers. */
int mca_coll_gdr_allreduce_init(const void *send, void *recv, int count,
                                struct ompi_datatype_t *dtype, struct ompi_op_t *op,
                                struct ompi_communicator_t *comm, struct ompi_info_t *info,
                                ompi_request_t **out, mca_coll_base_module_t *base);

/* Whether a device buffer of the call is to be staged; fills the mirror then. */
bool gdr_coll_look(gdr_mca_module_t *module, gdr_coll_t coll, const gdr_coll_args_t *args,
                   gdr_mirror_t *mirror);
/* Counts a staged call, and says once per communicator that others than MPI_Allreduce are. */
void gdr_coll_count(gdr_mca_module_t *module, gdr_coll_t coll);

/*
 * A call that outlives its function: the arguments with lists of their own, since Fortran's
 * bindings free what they made of the user's at once, and the mirror, if it is staged.
 */
typedef struct gdr_job {
    gdr_coll_t coll;
    gdr_mirror_t mirror; /* mirror.host: what to post */
    int kept;
    void *lists[8];
} gdr_job_t;

/* NULL: no memory. `staged`: the mirror has been looked at, and is not open. */
gdr_job_t *gdr_job_new(gdr_coll_t coll, const gdr_coll_args_t *args,
                       struct ompi_communicator_t *comm, bool staged);
int gdr_job_post(gdr_job_t *job, gdr_mca_module_t *module, ompi_request_t **out);
/* Of a call that ended with rc: the result goes up; rc, or the error of that. */
int gdr_job_end(gdr_job_t *job, int rc);
void gdr_job_free(gdr_job_t *job); /* NULL is allowed */

/* Waits until earlier nonblocking calls have reached the previous component: what follows counts
 * there, too. They need nobody who waits behind this. */
void gdr_request_settle(gdr_mca_module_t *module);

#endif
