/*
 * Discrete events in virtual time, the earliest first; events of the same time in the order in
 * which they were added. One thread. Time is in picoseconds: a small chunk takes few nanoseconds.
 */
#ifndef GSIM_EVENTS_H
#define GSIM_EVENTS_H

#include <stdbool.h>
#include <stdint.h>

enum { GSIM_PS = 1000 }; /* picoseconds in a nanosecond */

/* ctx: of the queue; a, b: of the event. */
typedef void (*gsim_event_fn)(void *ctx, uint64_t a, uint64_t b);

typedef struct gsim_event {
    uint64_t time, sequence;
    gsim_event_fn fn;
    uint64_t a, b;
} gsim_event_t;

typedef struct gsim_events {
    gsim_event_t *heap;
    uint64_t n, capacity;
    uint64_t now, sequence; /* events that were added so far */
    void *ctx;
    bool failed; /* no memory: events are lost, the run is void */
} gsim_events_t;

void gsim_events_init(gsim_events_t *events, void *ctx);
void gsim_events_clear(gsim_events_t *events);
/* Not before now. */
void gsim_events_at(gsim_events_t *events, uint64_t time, gsim_event_fn fn, uint64_t a, uint64_t b);
/* Goes to the time of the next event and runs it; false: there is none. */
bool gsim_events_run(gsim_events_t *events);

#endif
