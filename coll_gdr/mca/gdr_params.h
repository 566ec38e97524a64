/* The MCA parameters coll_gdr_*, parsed. */
#ifndef GDR_PARAMS_H
#define GDR_PARAMS_H

#include "engine/gdr_engine.h"

#include <stdbool.h>

typedef enum gdr_staging { GDR_STAGING_ALLOW, GDR_STAGING_WARN, GDR_STAGING_ERROR } gdr_staging_t;

/* Who serves the other collectives on device buffers. */
typedef enum gdr_collectives {
    GDR_COLLECTIVES_AUTO, /* this component, unless Open MPI can */
    GDR_COLLECTIVES_STAGE,
    GDR_COLLECTIVES_PASS
} gdr_collectives_t;

typedef struct gdr_params {
    int priority; /* read when a communicator is made */
    int verbose;
    bool reproducible, explain;
    gdr_staging_t staging;
    gdr_collectives_t collectives;
    const char *ucx_lib; /* "" = none; the MCA system's storage */
    uint64_t node_size; /* processes; 0: a node is a host */
    gdr_engine_config_t engine; /* .node is not set: gdr_mca_node() */
} gdr_params_t;

/*
 * Registers the parameters with Open MPI and fills *params; once per process, at component
 * register. A value that cannot be used is named in one line and its default is taken.
 */
int gdr_params_register(gdr_params_t *params);

/* Reads figures over those of *machine; if the file is no good, says so and leaves them. */
void gdr_tuning_read(const char *path, gdr_machine_t *machine);

/* Equal on processes whose parameters let them share a schedule. */
uint64_t gdr_params_hash(const gdr_params_t *params);

#endif
