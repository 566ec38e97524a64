/* Windows of peers, mapped: a kernel may read what another process holds. */
#include "tests/sim/fake_net.h"

#include <stdlib.h>

void sim_net_release(gdr_net_rmem_t *rmem)
{
    if (rmem->mapped)
        sim_region_remove(rmem->peer->net->proc, (void *)(uintptr_t)rmem->address);
    rmem->peer->net->proc->world->net_live--;
    free(rmem);
}

/* All processes are one here: what is mapped is where it is, but only then may a kernel read it. */
gdr_status_t sim_net_map(gdr_net_rmem_t *rmem, uint64_t *address)
{
    sim_proc_t *proc = rmem->peer->net->proc;

    if (rmem->host || sim_port_fails(proc, "net.map") || proc->maps_nothing)
        return GDR_ERR_UNSUPPORTED;
    if (rmem->mapped)
        sim_fail(proc->world, "maps a window twice");
    rmem->mapped = true;
    sim_region_map(proc, rmem->peer->to, rmem->address, rmem->bytes);
    *address = rmem->address;
    return GDR_OK;
}

bool sim_net_maps(const gdr_net_t *net)
{
    return net->proc->world->options.maps;
}
