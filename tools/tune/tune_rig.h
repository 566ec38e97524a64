/*
 * One rank as the engine has it: a window on the device, a page of words in host memory, a
 * connection, and rings of ranks in which each puts to the next: one inside each node, and one
 * through the nodes for each place in a node. Collective; one thread.
 */
#ifndef TUNE_RIG_H
#define TUNE_RIG_H

#include "engine/gdr_net.h"
#include "tools/tune/tune_device.h"
#include "tools/tune/tune_options.h"

#include <mpi.h>

#define TUNE_WINDOW ((uint64_t)32 << 20) /* the first half is put from, the other one put to */
#define TUNE_PAGE   ((size_t)16384)

enum { TUNE_OPS = 16 }; /* puts under way at once, at most */

/* A ring's words of the page, by index behind its first one. */
enum {
    TUNE_TOKEN_SOURCE = 0,
    TUNE_TOKEN = 8,
    TUNE_SOURCES = 64,
    TUNE_ARRIVALS = 128,
    TUNE_RING_WORDS = 256
};

typedef struct tune_ring {
    MPI_Comm comm;
    int rank, size; /* less than 2: there is nobody to put to */
    gdr_net_peer_t *next;
    gdr_net_rmem_t *window, *page; /* of the next one */
    int words;                     /* index of its first word in the page */
    uint64_t token;                /* the last value of the token */
} tune_ring_t;

typedef struct tune_rig {
    const tune_options_t *options;
    gdr_log_t log;
    int rank, ranks, nodes;
    tune_device_t device;
    uint64_t memory; /* for kernels */
    uint64_t window;
    const gdr_net_ops_t *ops;
    gdr_net_t *net;
    gdr_net_mem_t *window_mem, *page_mem;
    uint64_t *page;
    tune_ring_t inside, between;
} tune_rig_t;

/* True on all ranks when it is on every one. */
bool tune_all(bool good);

/* 0, or -1 on all ranks, after a line of the first that could not. Close also after a failure. */
int tune_rig_open(tune_rig_t *rig, const tune_options_t *options);
void tune_rig_close(tune_rig_t *rig);

/* All ranks of the ring are here; the network makes progress meanwhile. */
void tune_rig_barrier(tune_rig_t *rig, MPI_Comm comm);

/* What the watchdog says that this rank was at when the time is over; a string literal. */
void tune_rig_state(const char *what);

/* After an error that other ranks wait behind; the cause was said. */
void tune_rig_fail(void) __attribute__((noreturn));

#endif
