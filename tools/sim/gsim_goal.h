/*
 * The schedules of a call in GOAL, the language of LogGOPSim (T. Hoefler, T. Schneider,
 * A. Lumsdaine: LogGOPSim, HPDC 2010): a put is a send, a wait a receive, a kernel a calculation in
 * nanoseconds, a credit a message of 8 bytes; all segments, with what the engine waits for between
 * them. One rank after the other, so memory is that of one rank.
 */
#ifndef GSIM_GOAL_H
#define GSIM_GOAL_H

#include "tools/sim/gsim_world.h"

#include <stdio.h>

/* -1: *error holds one line (no algorithm serves the call, no memory, too many tags). What the
 * file itself suffers is the caller's to ask (ferror). */
int gsim_goal_write(const gsim_setup_t *setup, FILE *file, char *error, size_t error_size);

#endif
