#include "plan/gdr_machine.h"

#include <stddef.h>
#include <string.h>

/*
 * Where the figures come from: a step of launch, put, wire and detection takes 7 to 12 us, here 9,
 * of which the kernel is about half, and half of that its launch. UCX posts a put and its flag in
 * about 1 us once both are mapped and registered (published: 2.5 us for a GPUDirect put, 4 us for
 * one through cuda_ipc, with their completion). A 400 Gbit/s port carries 50 GB/s; NVLink of an
 * H100 450 GB/s each way, of which copies reach two thirds. HBM3 gives 3.35 TB/s (H100), half of it
 * to collectives.
 */
void gdr_machine_init(gdr_machine_t *machine)
{
    *machine = (gdr_machine_t){
        .launch_ns = 4000,
        .launch_cpu_ns = 2000,
        .flag_ns = 1000,
        .memory_mbs = 1600000,
        .kernel_mbs = 1600000,
        .net_ranks = 1,
        .port_mbs = 100000000, /* as good as none */
        .link = {[GDR_LINK_NET] = {.latency_ns = 4000, .put_ns = 1000, .mbs = 50000},
                 [GDR_LINK_NODE] = {.latency_ns = 4000, .put_ns = 1000, .mbs = 300000}}};
}

static const struct {
    const char *name;
    size_t offset;
} figures[] = {
    {"launch_ns", offsetof(gdr_machine_t, launch_ns)},
    {"launch_cpu_ns", offsetof(gdr_machine_t, launch_cpu_ns)},
    {"flag_ns", offsetof(gdr_machine_t, flag_ns)},
    {"memory_mbs", offsetof(gdr_machine_t, memory_mbs)},
    {"kernel_mbs", offsetof(gdr_machine_t, kernel_mbs)},
    {"net_latency_ns", offsetof(gdr_machine_t, link[GDR_LINK_NET].latency_ns)},
    {"net_put_ns", offsetof(gdr_machine_t, link[GDR_LINK_NET].put_ns)},
    {"net_mbs", offsetof(gdr_machine_t, link[GDR_LINK_NET].mbs)},
    {"net_ranks", offsetof(gdr_machine_t, net_ranks)},
    {"node_latency_ns", offsetof(gdr_machine_t, link[GDR_LINK_NODE].latency_ns)},
    {"node_put_ns", offsetof(gdr_machine_t, link[GDR_LINK_NODE].put_ns)},
    {"node_mbs", offsetof(gdr_machine_t, link[GDR_LINK_NODE].mbs)},
    {"port_mbs", offsetof(gdr_machine_t, port_mbs)},
};

enum { FIGURES = sizeof(figures) / sizeof(figures[0]) };

bool gdr_machine_set(gdr_machine_t *machine, const char *name, uint64_t value)
{
    if (value == 0 || value > GDR_FIGURE_MAX)
        return false;
    for (uint32_t i = 0; i < FIGURES; i++)
        if (strcmp(figures[i].name, name) == 0) {
            memcpy((char *)machine + figures[i].offset, &value, sizeof(value));
            return true;
        }
    return false;
}

const char *gdr_machine_figure(const gdr_machine_t *machine, uint32_t i, uint64_t *value)
{
    if (i >= FIGURES)
        return NULL;
    memcpy(value, (const char *)machine + figures[i].offset, sizeof(*value));
    return figures[i].name;
}
