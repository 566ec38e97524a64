/* Figures of a machine, for estimates of time alone: gdr_cost.h. */
#ifndef GDR_MACHINE_H
#define GDR_MACHINE_H

#include <stdbool.h>
#include <stdint.h>

/* What carries a put. */
typedef enum gdr_link { GDR_LINK_NET, GDR_LINK_NODE, GDR_LINKS } gdr_link_t;

/* All figures are from 1 to GDR_FIGURE_MAX; equal on all ranks. */
typedef struct gdr_machine {
    uint64_t launch_ns;     /* a kernel on few bytes, until the CPU has seen its end */
    uint64_t launch_cpu_ns; /* the CPU is busy with its launch */
    uint64_t flag_ns;       /* from the arrival of a flag until whoever waits has seen it */
    uint64_t memory_mbs; /* device memory that collectives read and write, 10^6 bytes a second, */
    uint64_t kernel_mbs; /* and a kernel alone */
    uint64_t net_ranks;  /* of a node that share a way out of it */
    uint64_t port_mbs;   /* what a rank sends over both links together */
    struct {
        uint64_t latency_ns; /* data, its completion, the flag: until that has arrived */
        uint64_t put_ns;     /* the CPU is busy with a put and its flag */
        uint64_t mbs;        /* what a rank sends that has it for itself, 10^6 bytes a second */
    } link[GDR_LINKS];
} gdr_machine_t;

#define GDR_FIGURE_MAX UINT64_C(1000000000)

/* One GPU of the Hopper generation behind each 400 Gbit/s port; machine.c names the sources. */
void gdr_machine_init(gdr_machine_t *machine);

/*
 * Sets the figure of that name: launch_ns, launch_cpu_ns, flag_ns, memory_mbs, kernel_mbs,
 * net_latency_ns, net_put_ns, net_mbs, net_ranks, node_latency_ns, node_put_ns, node_mbs, port_mbs.
 * False, and nothing set: no such name, or a value out of range.
 */
bool gdr_machine_set(gdr_machine_t *machine, const char *name, uint64_t value);

/* The i-th name and its value; NULL behind the last. */
const char *gdr_machine_figure(const gdr_machine_t *machine, uint32_t i, uint64_t *value);

#endif
