/*
 * Reduce-scatter and allgather on a circulant graph: 2 ceil(log2 p) steps and 2 (p - 1) / p N of
 * traffic for any number p of members (J. L. Traeff, "Optimal, Non-pipelined Reduce-scatter and
 * Allreduce Algorithms", arXiv:2410.14234, 2024). Only commutative operations: the order of
 * operands differs from block to block, but each block is finished by one member. For algorithms
 * of this room; a member may take part in several of these at once, step by step.
 *
 * Member r numbers the blocks from its own: i stands for block (r + i) mod p. The distances are
 * s(0) = p, s(k + 1) = ceil(s(k) / 2), down to 1. Step k of the reduce-scatter: blocks s(k + 1) ..
 * s(k) - 1 go to member r + s(k + 1), for whom they are 0 .. s(k) - s(k + 1) - 1; what comes from
 * member r - s(k + 1) is added to these here. In the end block 0 is complete. The allgather runs
 * the steps backwards: what was sent comes back finished.
 *
 * Blocks lie side by side in the order of i, and a run of them is put at once: block 0 follows
 * block p - 1 without a gap, also where that one is shorter. What comes in a step of the
 * reduce-scatter has a place of its own, since the sender of a step knows nothing of what is read
 * in the step before. A finished block lands where its partial sum was: its sender is whom that
 * sum was put to, and has received it.
 */
#ifndef GDR_CIRCULANT_H
#define GDR_CIRCULANT_H

#include "plan/gdr_blocks.h"
#include "plan/gdr_builder.h"

enum { GDR_CIRCULANT_STEPS = 32 };

/* Where a member keeps what belongs to it. */
typedef struct gdr_circulant_member {
    int32_t rank;
    uint32_t slot;     /* of the blocks, */
    uint64_t offset;   /* with so many bytes before them */
    uint32_t arrivals; /* slot: room for (p - 1) blocks, as long as the first */
    uint32_t number;   /* the first of 2 * nsteps flags, and of as many channels */
} gdr_circulant_member_t;

typedef struct gdr_circulant {
    gdr_build_t *build;
    gdr_blocks_t blocks; /* one for each member */
    uint64_t user;       /* bytes from the segment's start to block 0 in the user's buffers */
    uint32_t p, r;       /* members, and which one this rank is */
    gdr_circulant_member_t (*member)(const void *ctx, uint32_t index);
    const void *ctx;
    bool from_send;            /* blocks below p / 2 are still in SEND: step 0 reads them there */
    bool relays;               /* the result is for others, too: in the user's order, in this */
    uint32_t result;           /* slot of the member, */
    bool apart;                /* and only there: whoever takes it writes RECV, too */
    uint32_t ready[2], nready; /* the newest steps that put something into the blocks */

    uint32_t nsteps;
    uint32_t distance[GDR_CIRCULANT_STEPS + 1];  /* s(0) .. s(nsteps) */
    uint32_t waits[GDR_CIRCULANT_STEPS], nwaits; /* steps of the allgather */
} gdr_circulant_t;

/* A run of blocks in the order of i is one run of the user's buffer, or two around its end. */
typedef struct gdr_circulant_run {
    uint32_t first; /* i */
    uint64_t user;  /* bytes from the segment's start */
    uint64_t bytes; /* > 0 */
} gdr_circulant_run_t;

/* Steps of one half for p members. */
uint32_t gdr_circulant_steps(uint32_t p);
/* Fills nsteps and distance[] from p. */
void gdr_circulant_init(gdr_circulant_t *c);

/* Blocks first .. end - 1 as runs; their number, 0 to 2. */
uint32_t gdr_circulant_runs(const gdr_circulant_t *c, uint32_t first, uint32_t end,
                            gdr_circulant_run_t runs[2]);
/* Own block i. */
gdr_operand_t gdr_circulant_block(const gdr_circulant_t *c, uint32_t i);

/* Step k of the reduce-scatter, 0 .. nsteps - 1: a put, then a wait and the addition. The last one
 * writes the own block into RECV as well, unless the result is relayed. */
void gdr_circulant_scatter_put(gdr_circulant_t *c, uint32_t k);
void gdr_circulant_scatter_add(gdr_circulant_t *c, uint32_t k);
/* Step k of the allgather, nsteps - 1 .. 0. */
void gdr_circulant_gather_put(gdr_circulant_t *c, uint32_t k);
void gdr_circulant_gather_wait(gdr_circulant_t *c, uint32_t k);

/* The newest step comes after all of this: all blocks are complete, and the input was read. */
void gdr_circulant_after(const gdr_circulant_t *c);
/* Copies what others have finished to RECV, or, if it is relayed, all to its slot and, unless
 * apart, to RECV. Into copies[] the steps; their number. */
uint32_t gdr_circulant_copy_results(const gdr_circulant_t *c, uint32_t copies[2]);

#endif
