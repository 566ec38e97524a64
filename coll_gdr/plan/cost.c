#include "plan/gdr_cost.h"

#include "base/gdr_math.h"

/* Products and sums of costs stop here. */
#define COST_MAX (UINT64_MAX / 8)

static uint64_t times(uint64_t a, uint64_t b)
{
    uint64_t product;

    return gdr_mul_u64(a, b, &product) ? gdr_min_u64(product, COST_MAX) : COST_MAX;
}

/* 10^6 bytes a second are 1 byte in 1000 ns. */
static uint64_t transfer(uint64_t bytes, uint64_t mbs)
{
    return times(bytes, 1000) / mbs;
}

static uint64_t step(const gdr_machine_t *m, gdr_link_t link)
{
    return m->launch_ns + m->link[link].latency_ns + m->flag_ns;
}

/*
 * The first segment takes its latency, and a kernel writes the result. Then what is busy longest
 * decides: contexts (each has a segment at a time), the CPU with its puts, a link, or the memory.
 */
uint64_t gdr_cost(const gdr_plan_request_t *request, const gdr_candidate_t *candidate,
                  gdr_work_t *work)
{
    const gdr_machine_t *m = &request->params->machine;
    bool one_node = request->topology != NULL && request->topology->nnodes == 1;
    gdr_link_t any = one_node ? GDR_LINK_NODE : GDR_LINK_NET, inside = GDR_LINK_NODE;
    uint64_t bytes = gdr_min_u64(times(request->count, request->type_bytes), GDR_COST_MAX_BYTES);
    uint64_t turns = gdr_div_up(candidate->nsegments, candidate->layout.depth);
    uint64_t latency, posting, busy;

    candidate->algorithm->work(request, bytes, work);
    latency = times(work->any.steps, step(m, any)) + times(work->inside.steps, step(m, inside));
    posting = times(work->any.puts, m->link[any].put_ns) +
              times(work->inside.puts, m->link[inside].put_ns);
    busy = times(latency, turns - 1);
    busy = gdr_max_u64(busy, times(posting, candidate->nsegments));
    busy = gdr_max_u64(busy, transfer(work->any.sent, m->link[any].mbs));
    busy = gdr_max_u64(busy, transfer(work->inside.sent, m->link[inside].mbs));
    busy = gdr_max_u64(busy, transfer(work->touched, m->memory_mbs));
    return m->launch_ns + latency + busy;
}
