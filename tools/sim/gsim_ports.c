/* The ports of GPUs and NICs, and which of them lie between two GPUs. */
#include "tools/sim/gsim_priv.h"

#include <stdlib.h>

static gsim_port_t *ports(uint64_t n, double gbs)
{
    gsim_port_t *made = calloc(n, sizeof(*made));

    for (uint64_t i = 0; made != NULL && i < n; i++)
        made[i].ps_per_byte = GSIM_PS / gbs;
    return made;
}

static gsim_cost_t cost(const gsim_link_t *link)
{
    return (gsim_cost_t){.put = gsim_ps(link->put_ns),
                         .put_cpu = gsim_ps(link->put_cpu),
                         .done = gsim_ps(link->done_ns),
                         .word = gsim_ps(link->word_ns),
                         .word_cpu = gsim_ps(link->word_cpu)};
}

bool gsim_ports_make(gsim_world_t *world)
{
    const gsim_cluster_t *c = world->setup.cluster;
    uint64_t ranks = (uint64_t)world->ranks, nics;

    /* Where fewer GPUs of a node take part they use the NICs that are theirs. */
    world->nics = (world->setup.gpus * c->nics + c->gpus - 1) / c->gpus;
    world->own_nic = c->nics == c->gpus;
    world->gpu = cost(&c->gpu);
    world->nic = cost(&c->nic);
    nics = (uint64_t)world->setup.nodes * world->nics;
    world->gpu_out = ports(ranks, c->gpu.gbs);
    world->gpu_in = ports(ranks, c->gpu.gbs);
    world->nic_out = ports(nics, c->nic.gbs);
    world->nic_in = ports(nics, c->nic.gbs);
    return world->gpu_out != NULL && world->gpu_in != NULL && world->nic_out != NULL &&
           world->nic_in != NULL;
}

void gsim_ports_free(gsim_world_t *world)
{
    free(world->gpu_out);
    free(world->gpu_in);
    free(world->nic_out);
    free(world->nic_in);
}

static void pass(gsim_way_t *way, gsim_port_t *port, bool shared)
{
    way->port[way->n] = port;
    way->shared[way->n++] = shared;
}

static uint64_t nic_of(const gsim_world_t *world, const gsim_proc_t *proc)
{
    const gsim_cluster_t *c = world->setup.cluster;

    return (uint64_t)proc->node * world->nics + (uint64_t)proc->gpu * c->nics / c->gpus;
}

void gsim_way(gsim_world_t *world, const gsim_proc_t *from, const gsim_proc_t *to, gsim_way_t *way)
{
    bool net = from->node != to->node;
    bool port = !net || world->setup.cluster->fabric == GSIM_PCIE;

    way->n = 0;
    way->cost = net ? &world->nic : &world->gpu;
    if (port)
        pass(way, &world->gpu_out[from->rank], false);
    if (net)
        pass(way, &world->nic_out[nic_of(world, from)], !world->own_nic);
    way->out = way->n;
    if (net)
        pass(way, &world->nic_in[nic_of(world, to)], true);
    if (port)
        pass(way, &world->gpu_in[to->rank], true);
}
