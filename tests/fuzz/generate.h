/*
 * The sequence of steps that a seed stands for. A pure function of (seed, ranks): every process
 * makes the same one by itself, without MPI, so that a replay is exact and a failure can be told
 * in words. What differs between the ranks (memory, order of completion) is hashed from the
 * step's random number and the rank.
 */
#ifndef GDR_FUZZ_GENERATE_H
#define GDR_FUZZ_GENERATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    FZ_RANKS = 16,
    FZ_COMMS = 8, /* 0 is MPI_COMM_WORLD, 1 MPI_COMM_SELF */
    FZ_OUTSTANDING = 8
};

typedef enum fz_kind {
    FZ_CALL,     /* a collective */
    FZ_SOME,     /* each rank completes some of its requests, its own choice */
    FZ_SYNC,     /* each rank completes all of them, in its own order */
    FZ_MAKE,     /* a communicator is made */
    FZ_FREE,     /* a communicator is freed, calls may be pending on it */
    FZ_DISTURB,  /* each rank does something else for a while, or not */
    FZ_MESSAGES, /* point-to-point messages around the ring of MPI_COMM_WORLD */
    FZ_KINDS
} fz_kind_t;

typedef enum fz_coll {
    FZ_ALLREDUCE,
    FZ_REDUCE,
    FZ_BCAST,
    FZ_ALLGATHER,
    FZ_GATHER,
    FZ_SCATTER,
    FZ_ALLTOALL,
    FZ_SCAN,
    FZ_EXSCAN,
    FZ_REDUCE_SCATTER_BLOCK,
    FZ_COLLS
} fz_coll_t;

typedef enum fz_way { FZ_BLOCKING, FZ_NONBLOCKING, FZ_PERSISTENT } fz_way_t;

/* Predefined on a predefined type; the user's on any type. */
typedef enum fz_op_class { FZ_PREDEFINED, FZ_COMMUTATIVE, FZ_ORDERED } fz_op_class_t;

typedef enum fz_make { FZ_DUP, FZ_SPLIT, FZ_INTER, FZ_MAKES } fz_make_t;

/* Who is in a communicator: the groups that share its slot, each a communicator of its own. */
typedef struct fz_comm {
    bool live, inter;
    int8_t group[FZ_RANKS]; /* of a rank of MPI_COMM_WORLD; -1: in none */
    int8_t rank[FZ_RANKS];  /* in its group; of an inter-communicator: in its local group */
    int8_t remote[FZ_RANKS]; /* inter-communicators: the other group, by group */
} fz_comm_t;

typedef struct fz_step {
    fz_kind_t kind;
    long number;     /* of the call; otherwise of the last call before it */
    uint64_t random; /* for all that is decided later */
    int comm;        /* slot of the communicator that is used, made or freed */
    /* calls */
    fz_coll_t coll;
    fz_way_t way;
    fz_op_class_t op_class;
    bool in_place, inexact, on_host;
    uint64_t type, op; /* taken modulo what there is */
    long count;        /* elements, if bytes is 0 */
    size_t bytes;      /* else about so many bytes, and `count` elements more */
    int memory[2];     /* of the send and receive buffer: a kind + 1; 0: any */
    /* communicators */
    fz_make_t make;
    int parent;
} fz_step_t;

typedef struct fz_generator {
    uint64_t seed, state;
    int ranks;
    bool others; /* collectives other than allreduce, persistent calls */
    long number;
    int outstanding, since_sync;
    fz_comm_t comms[FZ_COMMS];
} fz_generator_t;

void fz_start(fz_generator_t *generator, uint64_t seed, int ranks, bool others);
/* The next step; comms are as they are after it. */
void fz_next(fz_generator_t *generator, fz_step_t *step);

/* World ranks of a group in its order; how many there are. */
int fz_members(const fz_comm_t *comm, int group, int *world_ranks);
/* Colour (-1: none) and key of a world rank in a split. */
void fz_split_keys(const fz_step_t *step, int world_rank, int *colour, int *key);
/* Elements of a call on a type of this extent. */
long fz_count(const fz_step_t *step, size_t extent);
/* A number that depends on all of its arguments. */
uint64_t fz_hash(uint64_t a, uint64_t b, uint64_t c);

#endif
