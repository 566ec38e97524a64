/*
 * Appends steps to a schedule under construction; for the algorithms of this room. The first error
 * sticks (build->status): an algorithm needs to look at it only once, at its end. One thread.
 *
 * Step functions return the index of the new step. Dependencies are added to the newest step only.
 */
#ifndef GDR_BUILDER_H
#define GDR_BUILDER_H

#include "plan/gdr_plan.h"

struct gdr_build {
    gdr_status_t status;
    gdr_sched_t *sched;
    uint32_t steps_cap, operands_cap, deps_cap;
};

#define GDR_BUILD_NONE UINT32_MAX /* as a dependency: none */

/* The identity of a flag's write; see gdr_step_t. */
typedef struct gdr_edge {
    int32_t peer;
    uint32_t flag, channel, round;
} gdr_edge_t;

/* An empty schedule of `rank` of `size` for a segment of `bytes`; one write per flag and segment.
 */
void gdr_build_init(gdr_build_t *build, int32_t rank, int32_t size, uint64_t bytes);

/*
 * Derives the credits and hands the schedule over (gdr_sched_free). After an error, that error, and
 * everything is freed.
 */
gdr_status_t gdr_build_finish(gdr_build_t *build, uint64_t chunk_bytes, gdr_sched_t **sched);

gdr_operand_t gdr_operand_send(const gdr_build_t *build, uint64_t offset);
gdr_operand_t gdr_operand_recv(const gdr_build_t *build, uint64_t offset);
gdr_operand_t gdr_operand_slot(int32_t rank, uint32_t slot, uint64_t offset);

uint32_t gdr_build_put(gdr_build_t *build, gdr_edge_t edge, gdr_operand_t from, gdr_operand_t to,
                       uint64_t bytes);
/* `at`: where the peer's PUT of `bytes` lands. */
uint32_t gdr_build_wait(gdr_build_t *build, gdr_edge_t edge, gdr_operand_t at, uint64_t bytes);
/* The flag alone, and what waits for it. */
uint32_t gdr_build_signal(gdr_build_t *build, gdr_edge_t edge);
uint32_t gdr_build_await(gdr_build_t *build, gdr_edge_t edge);
uint32_t gdr_build_copy(gdr_build_t *build, gdr_operand_t from, gdr_operand_t to, uint64_t bytes);
uint32_t gdr_build_copy_twice(gdr_build_t *build, gdr_operand_t from, const gdr_operand_t to[2],
                              uint64_t bytes);
/* nin in 2..GDR_STEP_MAX_IN, nout in 1..GDR_STEP_MAX_OUT */
uint32_t gdr_build_reduce(gdr_build_t *build, const gdr_operand_t *in, uint32_t nin,
                          const gdr_operand_t *out, uint32_t nout, uint64_t bytes);

/* in[0], in[1], ... one behind the other: `bytes` in all, `block` of each but the last, which has
 * what is left (more than nothing, no more than `block`). nin in 1..GDR_STEP_MAX_IN; of one it is a
 * copy. No input overlaps the output. */
uint32_t gdr_build_gather(gdr_build_t *build, const gdr_operand_t *in, uint32_t nin,
                          gdr_operand_t to, uint64_t block, uint64_t bytes);

/* REDUCEs that p >= 2 inputs need, each but the first with the result of the one before. */
static inline uint64_t gdr_build_reductions(uint64_t p)
{
    return (p + GDR_STEP_MAX_IN - 3) / (GDR_STEP_MAX_IN - 1);
}

/* The newest step starts only when `step` is done. */
void gdr_build_after(gdr_build_t *build, uint32_t step);

#endif
