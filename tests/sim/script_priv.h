/* What the files of the script share. */
#ifndef SIM_SCRIPT_PRIV_H
#define SIM_SCRIPT_PRIV_H

#include "tests/sim/script.h"

int sim_rank_in(const sim_team_t *team, int proc);
void sim_call_post(sim_script_t *script, int proc, int index);
/* False: the call is not over yet. */
bool sim_call_wait(sim_script_t *script, int proc, int index);
/* What Open MPI's progress would do for the calls of the process; whether something happened. */
bool sim_calls_drive(sim_script_t *script, int proc);
/* Nobody may have written the buffers of calls that the engine has given up. */
void sim_calls_check_later(sim_script_t *script, int proc);
void sim_calls_free(sim_script_t *script, int proc);

#endif
