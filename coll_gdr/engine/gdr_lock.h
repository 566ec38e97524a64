/* A lock that is held for a few instructions only and never across a call into a port. */
#ifndef GDR_LOCK_H
#define GDR_LOCK_H

#include <sched.h>
#include <stdbool.h>

static inline bool gdr_lock_try(int *lock)
{
    return __atomic_load_n(lock, __ATOMIC_RELAXED) == 0 &&
           __atomic_exchange_n(lock, 1, __ATOMIC_ACQUIRE) == 0;
}

static inline void gdr_lock(int *lock)
{
    while (!gdr_lock_try(lock))
        sched_yield();
}

static inline void gdr_unlock(int *lock)
{
    __atomic_store_n(lock, 0, __ATOMIC_RELEASE);
}

#endif
