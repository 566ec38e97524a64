/* The parts of the checker; within plan/check_*.c and gdr_check.c. */
#ifndef GDR_CHECK_PARTS_H
#define GDR_CHECK_PARTS_H

#include "plan/gdr_check.h"

enum {
    CHECK_FULL,
    CHECK_LAST,
    CHECK_KINDS,        /* of segments */
    CHECK_MAX_FULL = 3, /* full segments in a run */
    CHECK_MAX_RUNS = CHECK_MAX_FULL + 1
};

#define CHECK_ABSENT UINT32_MAX

/* All ranks' schedules of one kind of segment, and who writes and awaits which flag. */
typedef struct check_side {
    const gdr_sched_t **sched; /* [size]; NULL: there is no segment of this kind */
    uint32_t *first;           /* [size + 1]: steps of lower ranks */
    uint32_t *put, *wait;      /* [check_write()]: step, or CHECK_ABSENT */
} check_side_t;

typedef struct check_node {
    int32_t rank;
    uint32_t run, step; /* run: number of the segment in the context */
} check_node_t;

typedef struct check_edge {
    uint32_t from, to;
} check_edge_t;

/* Two nodes that must be ordered, and why. */
enum {
    CHECK_ASK_COMPLETION = -1, /* a start and a completion */
    CHECK_ASK_READ = -2,       /* a read of another rank's slots, and that one's completion */
    CHECK_ASK_SIGNAL = -3      /* a WAIT for a SIGNAL, and the next one */
};

typedef struct check_query {
    uint32_t before, after; /* positions in the order */
    int32_t owner;          /* of the memory; or one of the following */
    bool user;              /* the user's buffers, else slots */
    uint64_t from, to;
} check_query_t;

typedef struct check_queries {
    check_query_t *list; /* the caller frees it */
    uint64_t n, cap;
} check_queries_t;

typedef struct check_graph {
    uint32_t nnodes, nsteps; /* nodes 0 .. nsteps - 1 are steps, then starts, then completions */
    uint32_t base[CHECK_MAX_RUNS];
    check_node_t *nodes; /* of steps */
    check_edge_t *edges;
    uint64_t nedges, edges_cap;
    uint64_t *first; /* [nnodes + 1], into successor[] */
    uint32_t *successor;
    uint32_t *order, *position; /* a topological order and its inverse */
} check_graph_t;

typedef struct check {
    const gdr_check_subject_t *subject;
    gdr_check_result_t *result;
    const gdr_layout_t *layout;
    uint32_t rounds;
    check_side_t side[CHECK_KINDS];
    int32_t *sender;   /* [rank * nflags + flag]: who writes the flag, -1: nobody */
    uint32_t *channel; /* [rank * nflags + flag]: the sender's channel */
    uint32_t nruns;
    uint8_t kind[CHECK_MAX_RUNS]; /* of the segment in each run */
    check_graph_t graph;
} check_t;

/* All return GDR_OK, GDR_ERR_INVALID after gdr_check_fail(), or GDR_ERR_NO_MEMORY. */
gdr_status_t gdr_check_form(check_t *check);
gdr_status_t gdr_check_match(check_t *check);
gdr_status_t gdr_check_graph(check_t *check); /* the caller frees it, also after an error */
gdr_status_t gdr_check_races(check_t *check);
gdr_status_t gdr_check_values(check_t *check);
gdr_status_t gdr_check_credits(check_t *check);

/* check_order.c: adds a pair; and whether each pair is ordered, which empties the list. */
gdr_status_t gdr_check_ask(check_queries_t *queries, check_query_t query);
gdr_status_t gdr_check_decide(check_t *check, check_queries_t *queries);

/* Records the fault; always GDR_ERR_INVALID. */
gdr_status_t gdr_check_fail(check_t *check, gdr_check_fault_t fault, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* "rank 1 segment 2 step 7 (put)" */
typedef struct check_name {
    char text[64];
} check_name_t;
check_name_t gdr_check_name(const check_t *check, check_node_t node);
check_name_t gdr_check_step_name(const gdr_sched_t *sched, const char *kind, uint32_t step);

static inline const gdr_sched_t *check_sched(const check_t *check, uint32_t run, int32_t rank)
{
    return check->side[check->kind[run]].sched[rank];
}

static inline uint32_t check_step_node(const check_t *check, uint32_t run, int32_t rank,
                                       uint32_t step)
{
    return check->graph.base[run] + check->side[check->kind[run]].first[rank] + step;
}

static inline uint32_t check_start_node(const check_t *check, int32_t rank)
{
    return check->graph.nsteps + (uint32_t)rank;
}

static inline uint32_t check_done_node(const check_t *check, uint32_t run, int32_t rank)
{
    return check->graph.nsteps + (run + 1) * (uint32_t)check->subject->size + (uint32_t)rank;
}

/* Index of a write of a flag of `rank` in check_side_t.put and .wait. */
static inline size_t check_write(const check_t *check, int32_t rank, uint32_t flag, uint32_t round)
{
    return ((size_t)rank * check->layout->shape.nflags + flag) * check->rounds + round;
}

static inline const gdr_operand_t *check_in(const gdr_sched_t *sched, const gdr_step_t *step,
                                            uint32_t i)
{
    return &sched->operands[step->operand + i];
}

static inline const gdr_operand_t *check_out(const gdr_sched_t *sched, const gdr_step_t *step,
                                             uint32_t i)
{
    return &sched->operands[step->operand + step->nin + i];
}

/* Bytes from the start of the context's slots, or of the user's segment. */
static inline uint64_t check_address(const check_t *check, const gdr_operand_t *operand)
{
    if (operand->buffer != GDR_BUFFER_SLOT)
        return operand->offset;
    return operand->slot * check->layout->chunk_bytes + operand->offset;
}

static inline bool check_writes_flag(const gdr_step_t *step)
{
    return step->kind == GDR_STEP_PUT || step->kind == GDR_STEP_SIGNAL;
}

#endif
