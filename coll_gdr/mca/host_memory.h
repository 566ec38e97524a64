/*
 * Addresses that can be told to be host memory without asking anybody: the main program's static
 * data, the heap, the main stack. Small host calls must not notice that gdr is there.
 */
#ifndef GDR_HOST_MEMORY_H
#define GDR_HOST_MEMORY_H

#include <stdbool.h>
#include <stdint.h>

typedef struct gdr_host_range {
    uintptr_t low, span;
} gdr_host_range_t;

/* [0]: static data and heap, [1]: the main stack. Written at component open and when the heap has
 * grown; a reader that sees an old span asks the slow way. */
extern gdr_host_range_t gdr_host_ranges[2];

void gdr_host_memory_init(void);
/* Looks whether the heap has grown; then as gdr_host_memory_sure(). */
bool gdr_host_memory_look(const void *address);

static inline bool gdr_host_memory_sure(const void *address)
{
    uintptr_t a = (uintptr_t)address;

    return a - gdr_host_ranges[0].low < gdr_host_ranges[0].span ||
           a - gdr_host_ranges[1].low < gdr_host_ranges[1].span;
}

#endif
