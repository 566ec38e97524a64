/* Plans of all ranks of a call, to be broken one way or another before the checker sees them. */
#ifndef BROKEN_CALL_H
#define BROKEN_CALL_H

#include "plan_test.h"

enum { MAX_RANKS = 16 };

typedef struct call {
    gdr_plan_params_t params;
    gdr_plan_t *plans[MAX_RANKS];
    gdr_check_subject_t subject;
    gdr_check_result_t result;
} call_t;

/* Elements of 4 bytes, chunks of 256 bytes, depth 2. */
void call_make(call_t *call, const char *algorithm, int32_t p, uint64_t count);
/* Five full segments and a short one. */
void call_make_long(call_t *call, const char *algorithm, int32_t p);
void call_drop(call_t *call);
/* What the checker finds; the call stays. */
gdr_check_fault_t call_verdict(call_t *call);
/* The call must be found broken for this reason, in words that hold `word`; then it is freed. */
void call_expect(call_t *call, gdr_check_fault_t fault, const char *word);
/* The n-th step of a kind, from 0: its index. */
uint32_t sched_nth(const gdr_sched_t *sched, gdr_step_kind_t kind, uint32_t n);
/* The same: the step. */
gdr_step_t *sched_step(gdr_sched_t *sched, gdr_step_kind_t kind, uint32_t n);
gdr_operand_t *sched_operand(gdr_sched_t *sched, const gdr_step_t *step, uint32_t i);
gdr_operand_t *sched_output(gdr_sched_t *sched, const gdr_step_t *step, uint32_t i);
/* Credits that fit the changed steps. */
void call_rederive(call_t *call, gdr_sched_t *sched);
void sched_remove_dep(gdr_step_t *step, gdr_sched_t *sched, uint32_t i);
/* Moves a step to an earlier place. */
void sched_move_step(gdr_sched_t *sched, uint32_t from, uint32_t to);
/* With all dependencies on it; credits must be derived again. */
void sched_remove_step(gdr_sched_t *sched, uint32_t index);

#endif
