#include "plan/gdr_topology.h"

#include "base/gdr_math.h"

#include <stdlib.h>

static gdr_status_t count_ranks(gdr_topology_t *t, const uint32_t *node, uint32_t size)
{
    for (uint32_t r = 0; r < size; r++) {
        if (node[r] >= size)
            return GDR_ERR_INVALID;
        t->node[r] = node[r];
        t->local[r] = t->first[node[r] + 1]++;
        t->nnodes = (uint32_t)gdr_max_u64(t->nnodes, (uint64_t)node[r] + 1);
    }
    t->least = size;
    t->in_row = true;
    for (uint32_t n = 0; n < t->nnodes; n++) {
        uint32_t ranks = t->first[n + 1];

        if (ranks == 0)
            return GDR_ERR_INVALID;
        t->least = (uint32_t)gdr_min_u64(t->least, ranks);
        t->most = (uint32_t)gdr_max_u64(t->most, ranks);
        t->first[n + 1] += t->first[n];
    }
    for (uint32_t r = 0; r < size; r++) {
        t->members[t->first[node[r]] + t->local[r]] = (int32_t)r;
        t->in_row = t->in_row && t->first[node[r]] + t->local[r] == r;
    }
    return GDR_OK;
}

gdr_status_t gdr_topology_make(const uint32_t *node, int32_t size, gdr_topology_t **topology)
{
    gdr_topology_t *made;
    gdr_status_t status;
    size_t n = (size_t)size;

    if (size < 1)
        return GDR_ERR_INVALID;
    made = calloc(1, sizeof(*made));
    if (made == NULL)
        return GDR_ERR_NO_MEMORY;
    made->node = calloc(n, sizeof(*made->node));
    made->local = calloc(n, sizeof(*made->local));
    made->first = calloc(n + 1, sizeof(*made->first));
    made->members = calloc(n, sizeof(*made->members));
    status = GDR_ERR_NO_MEMORY;
    if (made->node != NULL && made->local != NULL && made->first != NULL && made->members != NULL)
        status = count_ranks(made, node, (uint32_t)size);
    if (status != GDR_OK) {
        gdr_topology_free(made);
        return status;
    }
    *topology = made;
    return GDR_OK;
}

void gdr_topology_free(gdr_topology_t *topology)
{
    if (topology == NULL)
        return;
    free(topology->node);
    free(topology->local);
    free(topology->first);
    free(topology->members);
    free(topology);
}
