/* The communicators of this process about whose calls others may ask. */
#ifndef GDR_ASKED_H
#define GDR_ASKED_H

#include "engine/gdr_ways.h"

#include <stdbool.h>
#include <stdint.h>

/* A sequence of allreduces: a communicator's own, or another one with a number of its own. */
typedef struct gdr_asked {
    gdr_ways_t ways; /* first: what a small host call touches lies together (gdr_mca_module_t) */
    struct gdr_asked *next;
    uint64_t id, nonce; /* as of the engine's team */
    int32_t rank;       /* of this process */
} gdr_asked_t;

/* Between these two others find it. The rest is set, and `ways` initialised, before. */
void gdr_asked_add(gdr_asked_t *asked);
void gdr_asked_remove(gdr_asked_t *asked);
/* This process, of that rank, uses no device for that communicator, and answers so. */
void gdr_asked_absent(uint64_t id, uint64_t nonce, int32_t rank);
void gdr_asked_shutdown(void);
/* Calls that were counted by gdr_ways_pass(), on these and on communicators that are freed. */
uint64_t gdr_asked_passed(void);

/* Whether the control message of process `proc` is a question; then it has been dealt with. */
bool gdr_asked_take(int proc, const void *message, size_t bytes);
/* Answers what could not be answered before. */
void gdr_asked_answer_due(gdr_asked_t *asked);

#endif
