/* What the rail-hierarchical algorithm needs of a lane and of the machine. */
#include "plan/gdr_circulant.h"
#include "plan/gdr_hierarchical.h"

gdr_hier_needs_t gdr_hier_needs(const gdr_topology_t *t)
{
    gdr_hier_needs_t needs = {.rails = t->most, .nodes = t->nnodes};

    needs.turns = (uint32_t)gdr_div_up(t->most, t->least);
    needs.steps = gdr_circulant_steps(t->nnodes);
    for (uint32_t i = 0; i < t->nnodes; i++) {
        uint32_t n = gdr_topology_ranks(t, i);

        needs.parts =
            (uint32_t)gdr_max_u64(needs.parts, gdr_div_up(needs.rails, n) * (uint64_t)(n - 1));
    }
    return needs;
}

uint32_t gdr_hier_first_read(const gdr_hier_needs_t *needs)
{
    return needs->rails + needs->parts + needs->turns * 2 * needs->steps;
}

uint32_t gdr_hier_part_slots(const gdr_hier_needs_t *needs, const gdr_topology_t *t)
{
    return t->mapped ? needs->turns : needs->parts;
}

bool gdr_hier_shape(const gdr_plan_request_t *request, gdr_shape_t *shape)
{
    const gdr_topology_t *t = request->topology;
    uint32_t flags;
    gdr_hier_needs_t needs;

    if (t == NULL || t->nnodes < 2 || t->most < 2 || !request->commutative)
        return false;
    needs = gdr_hier_needs(t);
    flags = gdr_hier_first_read(&needs);
    if (t->mapped)
        flags += (uint32_t)gdr_max_u64(needs.parts, needs.rails);
    *shape = (gdr_shape_t){.nslots = needs.rails + gdr_hier_part_slots(&needs, t) +
                                     needs.turns * (GDR_HIER_ARRIVAL_SLOTS + 1),
                           .nflags = flags,
                           .nchannels = flags,
                           .seg_chunks = needs.rails,
                           .least_chunk = needs.nodes * gdr_blocks_unit(request->type_bytes) *
                                          request->type_bytes};
    return true;
}

/* Of a rank that owns `own` rails in a node of n. */
static gdr_work_t work_of(const gdr_hier_needs_t *needs, uint64_t n, uint64_t own, uint64_t bytes)
{
    uint64_t block = gdr_div_up(bytes, needs->rails), part = gdr_div_up(block, needs->nodes);
    uint64_t reductions = n < 2 ? 1 : gdr_build_reductions(n), away = needs->rails - own;
    uint64_t between = own * (block - part), inside = (away + own * (n - 1)) * block;
    uint64_t launches = own + 1 + own * (2 * reductions + 2 * (uint64_t)needs->steps - 1);
    uint64_t reduced = own * (n + 1 + 2 * (reductions - 1)) * block;

    /* Others' blocks: copied out, put, put back, copied to the result. Own ones: n inputs, partial
     * results, the sum; between nodes added to, put twice; copied to where it is put from to the
     * node's ranks, and to the result. */
    return (gdr_work_t){.link = {[GDR_LINK_NET] = {own * 2 * needs->steps, 2 * between,
                                                   2 * (uint64_t)needs->steps, 2 * between},
                                 [GDR_LINK_NODE] = {away + own * (n - 1), inside, 2, inside}},
                        .sent = 2 * between + inside,
                        .senders = n,
                        .kernels = launches + 2 * own + own + 1,
                        .touched = (2 + 2 + 2) * away * block + reduced +
                                   own * (2 * (n - 1) + 3) * block + (3 + 4) * between,
                        .way = {3 + reductions + needs->steps, launches + 2 * own + own + 1,
                                4 * away * block + reduced + 3 * between + 3 * own * block}};
}

static void keep_greater_flow(gdr_flow_t *flow, const gdr_flow_t *other)
{
    flow->puts = gdr_max_u64(flow->puts, other->puts);
    flow->sent = gdr_max_u64(flow->sent, other->sent);
    flow->steps = gdr_max_u64(flow->steps, other->steps);
    flow->passed = gdr_max_u64(flow->passed, other->passed);
}

static void keep_greater(gdr_work_t *work, const gdr_work_t *other)
{
    for (uint32_t i = 0; i < GDR_LINKS; i++)
        keep_greater_flow(&work->link[i], &other->link[i]);
    work->sent = gdr_max_u64(work->sent, other->sent);
    work->senders = gdr_max_u64(work->senders, other->senders);
    work->kernels = gdr_max_u64(work->kernels, other->kernels);
    work->touched = gdr_max_u64(work->touched, other->touched);
    work->way.kernels = gdr_max_u64(work->way.kernels, other->way.kernels);
    work->way.launches = gdr_max_u64(work->way.launches, other->way.launches);
    work->way.touched = gdr_max_u64(work->way.touched, other->way.touched);
}

/* Of the rank that has most of each. */
void gdr_hier_work(const gdr_plan_request_t *request, uint64_t bytes, gdr_work_t *work)
{
    gdr_hier_needs_t needs = gdr_hier_needs(request->topology);

    *work = (gdr_work_t){0};
    for (uint32_t i = 0; i < needs.nodes; i++) {
        uint64_t n = gdr_topology_ranks(request->topology, i);

        for (uint64_t own = needs.rails / n; own <= gdr_div_up(needs.rails, n); own++) {
            gdr_work_t w = work_of(&needs, n, own, bytes);

            if (gdr_has_mapped(request) && n > 1)
                gdr_work_mapped(needs.rails - 1, own + 1, &w);
            keep_greater(work, &w);
        }
    }
}
