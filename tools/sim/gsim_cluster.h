/*
 * What a simulated cluster is made of, read from a small text file: one "name = value # source" a
 * line. A file is parsed as hostile: whatever is wrong gives one line that says where, what, and
 * how to mend it. Every parameter must be there, once, and its comment must name its source.
 */
#ifndef GSIM_CLUSTER_H
#define GSIM_CLUSTER_H

#include "plan/gdr_machine.h"

#include <stddef.h>
#include <stdint.h>

enum {
    GSIM_GPUS_MAX = 64,       /* in a node */
    GSIM_NODES_MAX = 1 << 16, /* of a simulation */
    GSIM_RANKS_MAX = 1 << 16,
    GSIM_NAME_MAX = 64
};

typedef enum gsim_fabric { GSIM_NVLINK, GSIM_PCIE } gsim_fabric_t;

/* What a put takes; times in nanoseconds, rates in GB/s (10^9 bytes), which is bytes/ns. */
typedef struct gsim_link {
    double gbs;     /* payload, each direction of one port */
    double put_ns;  /* from the post to the first byte at the target */
    double put_cpu; /* the CPU's time to post a put */
    double done_ns; /* from the last byte at the target to the completion at the sender */
    double word_ns; /* from the post of a word to its visibility for who polls it */
    double word_cpu;
} gsim_link_t;

typedef struct gsim_cluster {
    char name[GSIM_NAME_MAX];
    uint32_t gpus, nics; /* of a node; a NIC serves gpus / nics of them */
    gsim_fabric_t fabric;
    gsim_link_t gpu;   /* between GPUs of a node */
    gsim_link_t nic;   /* between nodes */
    double launch_cpu; /* the CPU's time to launch a kernel */
    double launch_ns;  /* from there until an idle stream begins with it */
    double kernel_ns;  /* a kernel of few bytes */
    double kernel_gbs; /* bytes read and written by one kernel alone */
    double memory_gbs; /* by all kernels of a GPU together */
    double memory_gb;  /* of a GPU, 10^9 bytes */
    double mark_cpu;   /* the CPU's time to enqueue a stream's word or wait */
    double mark_ns;    /* from the end of the work before it until the CPU sees the word */
    double poll_cpu;   /* the CPU's time to notice something */
} gsim_cluster_t;

/* Reads a description. -1: *error holds one line. `name`: of the file, for the line. */
int gsim_cluster_parse(const char *text, size_t bytes, const char *name, gsim_cluster_t *cluster,
                       char *error, size_t error_size);
/* `path`: a file, or, where there is no '/' in it and no such file, NAME of `directory`/NAME. */
int gsim_cluster_read(const char *path, const char *directory, gsim_cluster_t *cluster, char *error,
                      size_t error_size);

/*
 * A time in nanoseconds that no way of doing an allreduce through windows beats. Bandwidth: each
 * GPU of a node with g of them must send 2(g-1)/g N to the others, each of n nodes 2(n-1)/n N
 * through its NICs; over PCIe both pass the GPU's one port. Latency: a kernel that copies the input
 * to the window, one put and its word, and a kernel that reduces. The greater one is the bound.
 */
double gsim_cluster_bound(const gsim_cluster_t *cluster, uint32_t nodes, uint32_t gpus,
                          uint64_t bytes);

/* The figures that a tuning file of such a cluster holds: what the choice of algorithms goes by. */
void gsim_cluster_machine(const gsim_cluster_t *cluster, gdr_machine_t *machine);

#endif
