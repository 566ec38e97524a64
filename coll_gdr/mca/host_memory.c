#define _GNU_SOURCE /* dl_iterate_phdr */

#include "mca/host_memory.h"

#include <link.h>
#include <stddef.h>
#include <sys/auxv.h>
#include <unistd.h>

gdr_host_range_t gdr_host_ranges[2];

/* The kernel keeps at least 128 MiB below the main stack's top free of other mappings. */
enum { STACK_SPAN = 100 << 20 };

/* The first object is the program: where its lowest segment lies; the heap follows its last. */
static int find_program(struct dl_phdr_info *info, size_t size, void *low)
{
    uintptr_t lowest = UINTPTR_MAX;

    (void)size;
    for (int i = 0; i < info->dlpi_phnum; i++)
        if (info->dlpi_phdr[i].p_type == PT_LOAD &&
            info->dlpi_addr + info->dlpi_phdr[i].p_vaddr < lowest)
            lowest = info->dlpi_addr + info->dlpi_phdr[i].p_vaddr;
    *(uintptr_t *)low = lowest;
    return 1;
}

static void measure_heap(void)
{
    uintptr_t end = (uintptr_t)sbrk(0);

    if (end > gdr_host_ranges[0].low)
        gdr_host_ranges[0].span = end - gdr_host_ranges[0].low;
}

void gdr_host_memory_init(void)
{
    uintptr_t top = getauxval(AT_RANDOM); /* bytes that the kernel puts above the first frame */

    gdr_host_ranges[0].low = UINTPTR_MAX;
    dl_iterate_phdr(find_program, &gdr_host_ranges[0].low);
    measure_heap();
    if (top > STACK_SPAN) {
        gdr_host_ranges[1].low = top - STACK_SPAN;
        gdr_host_ranges[1].span = STACK_SPAN;
    }
}

bool gdr_host_memory_look(const void *address)
{
    measure_heap();
    return gdr_host_memory_sure(address);
}
