#include "plan/gdr_algorithms.h"

#include "base/gdr_math.h"

void gdr_work_to_all(const gdr_plan_request_t *request, uint64_t steps, uint64_t bytes,
                     gdr_work_t *work)
{
    const gdr_topology_t *t = request->topology;
    uint64_t p = (uint64_t)request->size, most = gdr_topology_most(t);
    uint64_t outside = p - (t != NULL ? t->least : 1), inside = most - 1;
    uint64_t to[GDR_LINKS] = {outside, inside};
    gdr_link_t last = outside > 0 ? GDR_LINK_NET : GDR_LINK_NODE;

    work->link[GDR_LINK_NET].puts = steps * outside;
    work->link[GDR_LINK_NODE].puts = gdr_has_mapped(request) ? 0 : steps * inside;
    for (uint32_t i = 0; i < GDR_LINKS; i++)
        work->link[i].sent = steps * to[i] * bytes;
    work->link[last].steps = steps;
    work->link[last].passed = work->link[last].sent; /* the others pass the node meanwhile */
    work->sent = steps * (p - 1) * bytes;
    work->senders = most;
}

/* Three words to each peer, and three from it, take the CPU about half as long as a launch. */
void gdr_work_mapped(uint64_t peers, uint64_t copies, gdr_work_t *work)
{
    uint64_t words = gdr_div_up(peers, 2), gathers = gdr_div_up(peers + 1, GDR_STEP_MAX_IN);

    work->link[GDR_LINK_NODE].puts = 0;
    work->kernels = work->kernels - copies + gathers + words;
    work->way.launches = work->way.launches - gdr_min_u64(copies, 1) + gathers + words;
}
