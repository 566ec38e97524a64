/*
 * Which way each allreduce of a communicator goes on this process. MPI lets the ranks of one call
 * pass host or device memory as they like, so every call has an index, counted alike on all members
 * whatever its way, and a member that waits on the device in vain may ask another one which way it
 * went. A call is a host call on this process or a device call; a device call that ends without a
 * result becomes a host call. "Host" spreads: whoever hears it about a call that it has not
 * completed turns the call into a host call too.
 *
 * The caller makes sure that calls of one communicator begin one after the other, as MPI asks of
 * the application. Everything else may happen in any thread at any time; nothing here blocks, calls
 * anybody, or needs an engine: processes that never use a device answer questions, too.
 */
#ifndef GDR_WAYS_H
#define GDR_WAYS_H

#include "engine/gdr_ctl.h"

#include <stdbool.h>
#include <stdint.h>

/* Device calls that were served last: what is older than so many is complete on all members. */
enum { GDR_WAYS_SERVED = 4 };

/* In an answer instead of an index: this process serves no call of the communicator on a device. */
#define GDR_WAY_ALWAYS UINT64_MAX

typedef struct gdr_question {
    uint64_t index;
    int proc; /* who asks */
    bool there;
} gdr_question_t;

typedef struct gdr_open_call {
    uint64_t index;
    int state;
} gdr_open_call_t;

typedef struct gdr_ways {
    /* Atomic. Calls whose way is known: those that gdr_ways_pass() counts, and the others. */
    uint64_t passed, begun;
    /* Atomic, written under the lock: twice the device calls that are not over; and one if somebody
     * asks about a call that has not begun. */
    uint64_t pending;

    int lock; /* of what follows */
    int32_t size;
    bool failed;
    gdr_open_call_t *open; /* a ring: device calls and noted host calls that are not over */
    uint32_t first, n, room;
    uint64_t served[GDR_WAYS_SERVED];
    uint64_t nserved;
    gdr_question_t *questions; /* [2 * size]: of each member the latest, by parity of the index */
} gdr_ways_t;

void gdr_ways_init(gdr_ways_t *ways, int32_t size); /* size: of the communicator */
void gdr_ways_clear(gdr_ways_t *ways);

/* ---- calls ---------------------------------------------------------------------------------- */

/* All calls so far; the next call's index. Its two parts are read one after the other: whoever
 * reads them in another thread sees no more than has begun, and what has begun before. */
static inline uint64_t gdr_ways_begun(const gdr_ways_t *ways)
{
    return __atomic_load_n(&ways->passed, __ATOMIC_ACQUIRE) +
           __atomic_load_n(&ways->begun, __ATOMIC_ACQUIRE);
}

/*
 * The next call is a host call that nobody needs to know the end of: a blocking one, or any before
 * the communicator's first device call. Returns its index.
 */
static inline uint64_t gdr_ways_host(gdr_ways_t *ways)
{
    uint64_t index = gdr_ways_begun(ways);

    __atomic_store_n(&ways->begun, __atomic_load_n(&ways->begun, __ATOMIC_RELAXED) + 1,
                     __ATOMIC_RELEASE);
    return index;
}

/* The same where nothing is pending, in as few instructions as can be; counted apart. */
static inline void gdr_ways_pass(gdr_ways_t *ways)
{
    __atomic_store_n(&ways->passed, __atomic_load_n(&ways->passed, __ATOMIC_RELAXED) + 1,
                     __ATOMIC_RELEASE);
}

static inline uint64_t gdr_ways_passed(const gdr_ways_t *ways)
{
    return __atomic_load_n(&ways->passed, __ATOMIC_RELAXED);
}

static inline uint64_t gdr_ways_pending(const gdr_ways_t *ways)
{
    return __atomic_load_n(&ways->pending, __ATOMIC_RELAXED);
}

/* Whether gdr_ways_due() may have something, after gdr_ways_host(). A question that comes at this
 * very moment may be missed: it is asked again. */
static inline bool gdr_ways_asked(const gdr_ways_t *ways)
{
    return gdr_ways_pending(ways) % 2 != 0;
}

/* Whether a device call is not over: else gdr_ways_may_pass() for every call. */
static inline bool gdr_ways_busy(const gdr_ways_t *ways)
{
    return gdr_ways_pending(ways) > 1;
}

/* The next call is a device call, or a host call whose end will be told; false: no memory, and
 * nothing was counted. */
bool gdr_ways_open(gdr_ways_t *ways, bool device, uint64_t *index);
/* The device call has its result. */
void gdr_ways_serve(gdr_ways_t *ways, uint64_t index);
/* The device call ends with an error: no question is answered any more, for others fail, too. */
void gdr_ways_fail(gdr_ways_t *ways, uint64_t index);
/* The device call is a host call from now on, of which nothing moves in the lane any more. */
void gdr_ways_turn(gdr_ways_t *ways, uint64_t index);
/* The opened host call is complete. */
void gdr_ways_close(gdr_ways_t *ways, uint64_t index);

/*
 * Whether every opened call up to index - calls is over: then all members have begun it, and none
 * has anything to do with the lane part of call index - 2 * calls (see gdr_layout.h). `calls`: of a
 * lane at once, 1 or more, equal on all members.
 */
bool gdr_ways_may_start(gdr_ways_t *ways, uint64_t index, uint32_t calls);
/* Whether the device calls before this one are over: what every host call must wait for before it
 * is begun elsewhere, so that its completion says as much to the other members, however many calls
 * their lanes will run at once. */
bool gdr_ways_may_pass(gdr_ways_t *ways, uint64_t index);

/* ---- questions ------------------------------------------------------------------------------ */

typedef struct gdr_ask {
    uint64_t team, nonce, index;
    int32_t rank; /* who asks */
} gdr_ask_t;

/* Whether the control message is a question, and which. */
bool gdr_ask_read(const void *message, size_t bytes, gdr_ask_t *ask);
/* Writes the answer "host" of member `rank` about call `index` (or GDR_WAY_ALWAYS); its length. */
size_t gdr_ask_answer(uint64_t team, uint64_t nonce, int32_t rank, uint64_t index,
                      unsigned char message[GDR_CTL_MAX]);

/* A member asks about a call. True: the answer is "host". Else there is nothing to say yet; the
 * question is remembered as long as it may matter. */
bool gdr_ways_ask(gdr_ways_t *ways, int32_t rank, int proc, uint64_t index);
/* Takes a remembered question to which the answer is "host" now; false: there is none. */
bool gdr_ways_due(gdr_ways_t *ways, gdr_question_t *question);

#endif
