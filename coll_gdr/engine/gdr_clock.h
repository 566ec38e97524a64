/* Port of the engine: time. Monotonic nanoseconds; any thread. Virtual in tests/sim. */
#ifndef GDR_CLOCK_H
#define GDR_CLOCK_H

#include <stdint.h>

typedef struct gdr_clock {
    uint64_t (*now)(void *ctx);
    void *ctx;
} gdr_clock_t;

#endif
