/*
 * What the engine derives once from a schedule so that running it needs no searching: successors
 * instead of dependencies, credits as items of their own, the neighbours of every write of a flag.
 * Immutable when made; any number of contexts run it at once.
 */
#ifndef GDR_PROGRAM_H
#define GDR_PROGRAM_H

#include "base/gdr_status.h"
#include "plan/gdr_schedule.h"

#include <stdbool.h>
#include <stdint.h>

enum { GDR_ITEM_CREDIT = 16 }; /* the kind of an item that is no step */

/* Items 0 .. nsteps - 1 are the steps, the rest are the credits. */
typedef struct gdr_item {
    uint8_t kind;    /* gdr_step_kind_t or GDR_ITEM_CREDIT */
    bool wanted;     /* somebody must learn of its end, also where steps follow it in the stream */
    bool urgent;     /* a step other than a WAIT needs its end at once, not with the next kernel */
    bool last_round; /* WAIT: no later write of its flag in the segment */
    uint32_t wait;   /* CREDIT: its WAIT step */
    uint32_t peer;   /* PUT, SIGNAL, WAIT, CREDIT: whom it is about, an index of `ranks` */
    uint32_t op;     /* PUT, SIGNAL, CREDIT: index of its network operation in a context */
    uint32_t succ;   /* successors[succ ...]: first those that may follow in the stream, */
    uint32_t norder; /* this many; */
    uint32_t ndone;  /* then those that need the item done */
    int64_t prior;   /* PUT, SIGNAL: the channel's write before it in the segment, WAIT: the flag's
                      * WAIT before it; or -1 */
} gdr_item_t;

typedef struct gdr_program {
    const gdr_sched_t *sched;
    uint32_t nitems, nflags, nchannels, nops;
    gdr_item_t *items;
    uint32_t *missing; /* [nitems] predecessors */
    uint32_t *first;   /* the items without one, */
    uint32_t nfirst;   /* that many: steps all of them */
    uint32_t *successors;
    bool *waited;          /* [nflags] the segment has a WAIT of this flag */
    int64_t *last_written; /* [nchannels] the channel's last write, or -1 */
} gdr_program_t;

static inline bool gdr_kind_is_kernel(uint8_t kind)
{
    return kind == GDR_STEP_REDUCE || kind == GDR_STEP_COPY || kind == GDR_STEP_GATHER;
}

static inline bool gdr_kind_is_put(uint8_t kind)
{
    return kind == GDR_STEP_PUT || kind == GDR_STEP_SIGNAL;
}

/*
 * nflags, nchannels: of the layout. ranks: the schedule's peers, maybe with others, ascending. The
 * schedule must outlive the program.
 * GDR_ERR_INVALID for a schedule whose indices are out of range; GDR_ERR_NO_MEMORY.
 */
gdr_status_t gdr_program_make(const gdr_sched_t *sched, uint32_t nflags, uint32_t nchannels,
                              const int32_t *ranks, uint32_t nranks, gdr_program_t **program);
void gdr_program_free(gdr_program_t *program);

#endif
