/*
 * Port of the engine: small control messages between processes (wire-up, votes, abort).
 * The other direction is gdr_engine_deliver().
 */
#ifndef GDR_CTL_H
#define GDR_CTL_H

#include "base/gdr_status.h"

#include <stddef.h>

enum { GDR_CTL_MAX = 1024 }; /* bytes of one message; the engine cuts longer ones */

typedef struct gdr_ctl {
    /*
     * Sends `bytes` (<= GDR_CTL_MAX) to process `proc` (the number that gdr_team_desc_t.procs
     * holds). Copies, never blocks, may be called with the engine busy; messages between two
     * processes arrive in order, once. May deliver to the own process.
     */
    gdr_status_t (*send)(void *ctx, int proc, const void *message, size_t bytes);
    void *ctx;
} gdr_ctl_t;

#endif
