/* The requests that are outstanding on this rank, and the ways to complete them. */
#ifndef GDR_FUZZ_REQUESTS_H
#define GDR_FUZZ_REQUESTS_H

#include "tests/fuzz/call.h"

/* How each call of the time between two meetings ended, in the order of calls. */
typedef struct fz_results {
    int n;
    long number[2 * FZ_OUTSTANDING];
    uint64_t hash[2 * FZ_OUTSTANDING]; /* 0: nothing to compare */
} fz_results_t;

typedef struct fz_requests {
    fz_call_t call[FZ_OUTSTANDING];
    bool used[FZ_OUTSTANDING];
    fz_results_t results;
} fz_requests_t;

/* A free place. */
fz_call_t *fz_requests_place(fz_requests_t *all);
void fz_requests_posted(fz_requests_t *all, fz_call_t *call);
/* Checks and frees a call that was complete at once. */
void fz_requests_blocking(fz_requests_t *all, fz_call_t *call);
/* Some of them, or none. */
void fz_requests_some(fz_requests_t *all, uint64_t random);
/* All, persistent ones as often as they are to be started. */
void fz_requests_all(fz_requests_t *all, uint64_t random);
/* Before a communicator goes away: its persistent calls are not started again. */
void fz_requests_leave(fz_requests_t *all, int comm);

#endif
