/* The command line of gdr_sim. Pure. */
#ifndef GSIM_OPTIONS_H
#define GSIM_OPTIONS_H

#include "tools/sim/gsim_world.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct gsim_options {
    const char *cluster;
    uint64_t nodes_min, nodes_max;  /* doubled from one to the other */
    uint64_t gpus;                  /* of each node; 0: all */
    uint64_t size_min, size_max;    /* bytes, doubled */
    bool all;                       /* every algorithm, one after the other, beside "auto" */
    gdr_plan_params_t plan;         /* with the algorithm's name */
    uint64_t large_lane;            /* bytes, 0: by the GPU's memory */
    bool ahead;                     /* --waits stream */
    bool mapped;                    /* --mapped on */
    bool tuned;                     /* --figures cluster */
    const char *json, *plot, *goal; /* NULL: not wanted */
    bool help;
} gsim_options_t;

extern const char gsim_options_usage[];

/* 0, or -1: *error holds one line. */
int gsim_options_parse(int argc, char *const argv[], gsim_options_t *options, char *error,
                       size_t error_size);

/* The first call that the options ask for, but for its count; *cluster must outlive it. -1: they do
 * not fit the cluster. */
int gsim_options_setup(const gsim_options_t *options, const gsim_cluster_t *cluster,
                       gsim_setup_t *setup, char *error, size_t error_size);

#endif
