/* MPI_Allreduce on device memory that another component serves in host memory. */
#ifndef GDR_STAGING_H
#define GDR_STAGING_H

#include "mca/gdr_mca.h"
#include "mca/mirror.h"

typedef struct gdr_stage {
    gdr_mca_args_t host; /* what the previous handler gets */
    gdr_mirror_t mirror; /* without a block: none was needed */
} gdr_stage_t;

/* Whether a buffer, as its type describes it, is on a device; *all: both are. */
bool gdr_stage_needed(const gdr_mca_args_t *args, bool *all);

/*
 * Copies what the call reads to the host; the device buffers may be reused for nothing until
 * gdr_stage_end. An OMPI error code; nothing is held then. `entry`: the application waits in this
 * call itself. Elsewhere, in the progress callback, memory is not pinned: the driver may let that
 * wait for the whole context, streams included that wait for what only progress can bring about.
 * `caller`: the context that was current when the application made the call.
 */
int gdr_stage_begin(gdr_stage_t *stage, const gdr_mca_args_t *args, bool entry, uint64_t caller);
/* Copies the result up if rc says that there is one: the typed bytes, never the holes between
 * them; returns rc or the error of the copy. Frees nothing of CUDA's. */
int gdr_stage_end(gdr_stage_t *stage, int rc);

/*
 * Says once per communicator that calls are staged and why; false: the user wants an error, on all
 * ranks alike.
 */
bool gdr_stage_allowed(gdr_mca_module_t *module, const char *reason);

/* Says once per communicator that the other collectives, `name` for one, are staged. */
void gdr_stage_say(gdr_mca_module_t *module, const char *name);

/* The whole blocking call. */
int gdr_stage_allreduce(gdr_mca_module_t *module, const gdr_mca_args_t *args);

#endif
