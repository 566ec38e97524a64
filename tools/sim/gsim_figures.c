/* What follows from a cluster's description: a bound on times, and figures for estimates of them.
 */
#include "tools/sim/gsim_cluster.h"

static double greater(double a, double b)
{
    return a > b ? a : b;
}

double gsim_cluster_bound(const gsim_cluster_t *c, uint32_t nodes, uint32_t gpus, uint64_t bytes)
{
    const gsim_link_t *link = nodes > 1 ? &c->nic : &c->gpu;
    double n = nodes, g = gpus, size = (double)bytes;
    double nics = greater(1, (double)c->nics * gpus / c->gpus);
    double node = 2 * (g - 1) / g * size, net = 2 * (n - 1) / n * size; /* a GPU, a node sends */
    double first = c->launch_cpu + c->launch_ns + c->kernel_ns; /* the next may be launched ahead */
    double wire = link->put_cpu + link->put_ns + link->done_ns + link->word_ns;

    if (nodes * gpus < 2)
        return first;
    if (c->fabric == GSIM_PCIE)
        node += net / g;
    return greater(first + wire + c->kernel_ns,
                   greater(node / c->gpu.gbs, net / (nics * c->nic.gbs)));
}

static uint64_t figure(double value)
{
    double limit = (double)GDR_FIGURE_MAX;

    return value < 1 ? 1 : value > limit ? GDR_FIGURE_MAX : (uint64_t)(value + 0.5);
}

static void set_link(gdr_machine_t *machine, gdr_link_t link, const gsim_link_t *from, double poll)
{
    machine->link[link].latency_ns = figure(from->put_ns + from->done_ns + from->word_ns);
    machine->link[link].put_ns = figure(from->put_cpu + from->word_cpu + poll);
    machine->link[link].mbs = figure(from->gbs * 1000);
}

void gsim_cluster_machine(const gsim_cluster_t *c, gdr_machine_t *machine)
{
    machine->launch_ns = figure(c->launch_cpu + c->launch_ns + c->kernel_ns + c->mark_ns);
    machine->launch_cpu_ns = figure(c->launch_cpu + c->poll_cpu);
    machine->flag_ns = figure(c->poll_cpu);
    machine->memory_mbs = figure(c->memory_gbs * 1000);
    machine->kernel_mbs = figure(c->kernel_gbs * 1000);
    machine->net_ranks = c->gpus / c->nics;
    machine->port_mbs = c->fabric == GSIM_PCIE ? figure(c->gpu.gbs * 1000) : GDR_FIGURE_MAX;
    set_link(machine, GDR_LINK_NODE, &c->gpu, c->poll_cpu);
    set_link(machine, GDR_LINK_NET, &c->nic, c->poll_cpu);
}
