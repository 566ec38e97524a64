/*
 * A simulated cluster that does one allreduce: n processes in one thread, each with the real engine
 * (libgdr_engine, libgdr_plan) on a timed device and a timed network. Payload is not moved: device
 * memory is reserved addresses, of which only the words are ever touched.
 *
 * What takes time, and how (gsim_cluster.h names the parameters):
 * - a process's CPU does one thing after the other: each call into a port adds its time, and what
 *   it starts begins when the CPU has come to it;
 * - a stream does one command after the other; the kernels of a GPU share its memory bandwidth;
 * - a put passes the ports on its way (GPU out, NIC out, NIC in, GPU in) cut-through; each port is
 *   a queue that serves whoever's first byte comes first, and is busy for bytes / rate;
 * - its word is posted when the sender's CPU has noticed that the data has landed (as ucx_glue
 *   does it), and does not queue behind data;
 * - what a kernel reads from a mapped window passes the GPU ports of both from the kernel's start
 *   on; the kernel ends when all of it has come and its own memory traffic is over.
 * Control messages take no time: the wire-up is over at time 0.
 */
#ifndef GSIM_WORLD_H
#define GSIM_WORLD_H

#include "engine/gdr_engine.h"
#include "tools/sim/gsim_cluster.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct gsim_setup {
    const gsim_cluster_t *cluster;
    uint32_t nodes, gpus;   /* gpus of each node take part, at most the cluster's */
    gdr_plan_params_t plan; /* algorithm, lane, depth, chunk */
    uint64_t large_lane;    /* as coll_gdr_large_lane_size */
    uint64_t count;         /* elements of 4 bytes, summed */
    bool mapped;            /* kernels read windows of their node (coll_gdr_mapped) */
    bool ahead;             /* stream-ordered: kernels behind stream waits (stream_waits = on) */
} gsim_setup_t;

typedef struct gsim_result {
    char algorithm[32];       /* "" where none serves the call */
    double ns;                /* until the last rank has its result */
    double predicted_ns;      /* by what chooses algorithms, */
    uint64_t segments, depth; /* and what it has chosen */
    double first_ns;          /* until the first rank has */
    gdr_engine_stats_t stats; /* of all ranks together */
    uint64_t nic_bytes;       /* payload that passed NICs */
    uint64_t events;          /* of the simulation */
} gsim_result_t;

/*
 * Runs the call from an idle cluster until all ranks have their results. -1: *error holds one line
 * (no memory, a rank that never ends). A call that no algorithm serves is no error.
 */
int gsim_run(const gsim_setup_t *setup, gsim_result_t *result, char *error, size_t error_size);

#endif
