/*
 * A schedule as data: what one rank does for one segment of a call. No pointers, handles or MPI
 * datatypes: it can be printed, proved (plan/gdr_check.h) and run on any ports.
 *
 * Words. A call's message is cut into segments of equal size (the last may be shorter); segment s
 * runs in context s % depth, so at most `depth` segments are in flight. A lane part holds, for
 * every context, `nslots` slots of `chunk_bytes`, contiguous: slot k + 1 follows slot k.
 *
 * Flow control. An outgoing channel is one flag of one peer; its writes are numbered through the
 * call: instance i = (s / depth) * rounds + round, where `rounds` is the number of writes of this
 * flag in one segment. The flag's value is gdr_flag_value(call, i). Instance i >= 1 may be written
 * only when the credit of instance i - 1 has come back; its receiver sends that credit when the
 * last local step that reads the data (gdr_sched_t.credits) is done, and only if instance i exists.
 * Instance 0 needs no credit: see gdr_layout.h, "parts".
 *
 * Pulls. Where a peer's window is mapped its kernels may read our slots (operands of another rank).
 * A SIGNAL tells them that the slots are written, another one tells us that they have been read;
 * the schedule waits for the latter before the segment ends. So slots are written again, and the
 * call is over, only when nobody reads them any more. A SIGNAL has no credit: nothing lies where it
 * arrives, and every one comes after the one before it was waited for, by the schedule's own order.
 */
#ifndef GDR_SCHEDULE_H
#define GDR_SCHEDULE_H

#include "base/gdr_status.h"

#include <stdint.h>
#include <stdio.h>

typedef enum gdr_step_kind {
    GDR_STEP_PUT, /* in[0]: own slot -> out[0]: peer's slot, then its flag (0 bytes: flag alone) */
    GDR_STEP_SIGNAL, /* the peer's flag alone: own slots may be read there, or were read here */
    GDR_STEP_WAIT,   /* own flag; out[0]: where the peer's PUT has put its data (none for SIGNAL) */
    GDR_STEP_REDUCE, /* out = in[0] op in[1] op ... in this order; 2..MAX_IN inputs, 1..2 outputs */
    GDR_STEP_COPY,   /* out = in[0]; 1..2 outputs */
    GDR_STEP_GATHER  /* out[0] = in[0], in[1], ... one behind the other; 2..MAX_IN inputs */
} gdr_step_kind_t;

enum { GDR_STEP_MAX_IN = 8, GDR_STEP_MAX_OUT = 2 };

typedef enum gdr_buffer {
    GDR_BUFFER_SEND, /* the user's send buffer, at the segment's start; never written */
    GDR_BUFFER_RECV, /* the user's receive buffer, at the segment's start; final values only */
    GDR_BUFFER_SLOT  /* a slot of this segment's context in the owner's lane part */
} gdr_buffer_t;

typedef struct gdr_operand {
    int32_t rank;    /* owner: rank in the communicator (a mapped peer's slot may be an input) */
    uint16_t buffer; /* gdr_buffer_t */
    uint32_t slot;   /* SLOT only */
    uint64_t offset; /* bytes from the segment's or the slot's start; may run into later slots */
} gdr_operand_t;

typedef struct gdr_step {
    uint8_t kind; /* gdr_step_kind_t */
    uint8_t nin, nout;
    uint32_t operand; /* index of in[0] in operands[]; the outputs follow the inputs */
    uint64_t bytes;   /* of every operand; GATHER: of the output */
    uint64_t block;   /* GATHER: of every input but the last one, which may be shorter; else 0 */
    int32_t peer;     /* PUT, SIGNAL: receiver; WAIT: sender; else -1 */
    uint32_t flag;    /* PUT, SIGNAL: flag index at the peer; WAIT: own flag index */
    uint32_t channel; /* PUT, SIGNAL: own channel index; WAIT: the sender's channel index */
    uint32_t round;   /* which of this flag's writes in a segment, from 0 */
    uint32_t dep;     /* deps[dep .. dep + ndep - 1]: earlier steps that must be done */
    uint32_t ndep;
} gdr_step_t;

/* Bytes of input i: all of the step's, or what a GATHER takes of it; */
static inline uint64_t gdr_step_input_bytes(const gdr_step_t *step, uint32_t i)
{
    uint64_t at = i * step->block, rest = step->bytes > at ? step->bytes - at : 0;

    if (step->kind != GDR_STEP_GATHER)
        return step->bytes;
    return rest < step->block ? rest : step->block;
}

/* and of all of them: what a kernel reads. */
static inline uint64_t gdr_step_reads(const gdr_step_t *step)
{
    return step->kind == GDR_STEP_GATHER ? step->bytes : step->bytes * step->nin;
}

/* A credit that this rank owes: for WAIT step `wait`, after all of readers[first .. first+n-1]. */
typedef struct gdr_credit {
    uint32_t wait;
    uint32_t first, n; /* n == 0: the WAIT itself is the last reader */
} gdr_credit_t;

typedef struct gdr_sched {
    int32_t rank, size;
    uint64_t bytes; /* of the segment */
    uint32_t nsteps, noperands, ndeps, ncredits, nreaders;
    /* Writes per segment of every flag: equal for all flags, on all ranks and in all segments of a
     * plan. A flag that occurs in a schedule occurs in exactly rounds 0 .. rounds - 1; in a plan of
     * more than one segment the same flags occur in all of them (empty blocks: 0-byte PUTs). So
     * instance i + 1 exists if and only if round + 1 < rounds or segment s + depth exists. */
    uint32_t rounds;
    gdr_step_t *steps; /* in a valid execution order */
    gdr_operand_t *operands;
    uint32_t *deps;
    gdr_credit_t *credits; /* derived: gdr_sched_derive_credits() */
    uint32_t *readers;     /* step indices */
} gdr_sched_t;

/*
 * Fills credits[] and readers[] from the steps: for every WAIT for a PUT, all later steps before
 * the next WAIT of the same flag that read what the WAIT announces (the source of a PUT is read
 * until the PUT is locally complete). chunk_bytes: of the layout that the steps were made for.
 * GDR_ERR_NO_MEMORY.
 */
gdr_status_t gdr_sched_derive_credits(gdr_sched_t *sched, uint64_t chunk_bytes);
void gdr_sched_free(gdr_sched_t *sched); /* NULL: nothing */
/* One line per step and credit, for people: explain, trace and failed tests. */
void gdr_sched_print(const gdr_sched_t *sched, FILE *file);

/* Flags and credits: 64-bit, compared >=, never reset: an abandoned call's are simply overtaken. */
enum { GDR_FLAG_INSTANCE_BITS = 24 };

static inline uint64_t gdr_flag_value(uint64_t call, uint64_t instance)
{
    return call << GDR_FLAG_INSTANCE_BITS | (instance + 1);
}

#endif
