#include "plan/gdr_cost.h"

#include "base/gdr_math.h"

/* Products and sums of costs stop here. */
#define COST_MAX (UINT64_MAX / 8)

enum { QUEUE = 4 }; /* the part of the time of one that it waits for another as long; simulated */

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

/* The CPU's time for a segment's puts. */
static uint64_t posting(const gdr_machine_t *m, const gdr_work_t *w)
{
    uint64_t time = 0;

    for (uint32_t i = 0; i < GDR_LINKS; i++)
        time += times(w->link[i].puts, m->link[i].put_ns);
    return time;
}

/* Of the puts in a step the first is posted and the last travels by itself; in between the CPU
 * posts one while another is on its way, and other puts, that take it `beside`. */
static uint64_t exchanges(const gdr_flow_t *flow, uint64_t put_ns, uint64_t passing,
                          uint64_t beside)
{
    uint64_t apart = gdr_min_u64(flow->steps, flow->puts), between = flow->puts - apart;

    if (flow->puts == 0) /* kernels read it */
        return passing + beside;
    passing /= flow->puts;
    return times(apart, put_ns + passing) +
           gdr_max_u64(times(between, put_ns) + beside, times(between, passing));
}

/* What a segment takes from its first kernel's launch to its end: n are in the call. */
static uint64_t way(const gdr_machine_t *m, const gdr_work_t *w, uint64_t n)
{
    uint64_t launch = gdr_max_u64(m->launch_ns, m->launch_cpu_ns) - m->launch_cpu_ns;
    uint64_t time = times(w->way.launches, m->launch_cpu_ns) +
                    times(w->way.kernels, launch + m->flag_ns) +
                    transfer(w->way.touched / n, m->kernel_mbs);
    uint64_t beside = 0;

    for (uint32_t i = 0; i < GDR_LINKS; i++)
        if (w->link[i].steps == 0)
            beside += times(w->link[i].puts, m->link[i].put_ns);
    for (uint32_t i = 0; i < GDR_LINKS; i++) {
        uint64_t ranks = i == GDR_LINK_NET ? gdr_min_u64(w->senders, m->net_ranks) : 1;
        uint64_t passed = times(w->link[i].passed / n, ranks);

        if (w->link[i].steps == 0)
            continue;
        time += times(w->link[i].steps, m->link[i].latency_ns + m->flag_ns);
        /* Others that share the way out fill it meanwhile. */
        time += exchanges(&w->link[i], m->link[i].put_ns, transfer(passed, m->link[i].mbs),
                          beside - beside / ranks) +
                beside / ranks;
        beside = 0;
    }
    return time;
}

typedef struct load {
    uint64_t most, second;
} load_t;

static void add_load(load_t *load, uint64_t time)
{
    load->second = gdr_max_u64(load->second, gdr_min_u64(load->most, time));
    load->most = gdr_max_u64(load->most, time);
}

/* What keeps the CPU, a link, the port of both or the memory busy longest in one of n segments. */
static load_t busy(const gdr_machine_t *m, const gdr_work_t *w, uint64_t n)
{
    uint64_t ranks = gdr_min_u64(w->senders, m->net_ranks);
    const gdr_flow_t *net = &w->link[GDR_LINK_NET], *node = &w->link[GDR_LINK_NODE];
    load_t load = {0, 0};

    add_load(&load, times(w->kernels, m->launch_cpu_ns) + posting(m, w));
    add_load(&load, transfer(times(net->sent / n, ranks), m->link[GDR_LINK_NET].mbs));
    add_load(&load, gdr_max_u64(transfer(node->sent / n, m->link[GDR_LINK_NODE].mbs),
                                transfer(w->sent / n, m->port_mbs)));
    add_load(&load, transfer(w->touched / n, m->memory_mbs));
    return load;
}

/* How long those wait that use two things after each other, the one busy for `longer`, the other
 * for `shorter`, not longer: a part of what the shorter one takes, the less the more they differ.
 */
static uint64_t queueing(uint64_t shorter, uint64_t longer)
{
    uint64_t percent = times(shorter, 100) / gdr_max_u64(longer, 1);

    return times(shorter, percent) / 100 / QUEUE;
}

/* Equal steps of several segments fill each other's gaps: what is saved of others' time. */
static uint64_t interleaved(const gdr_work_t *w, uint64_t first, uint64_t each, uint64_t others)
{
    uint64_t steps = w->link[GDR_LINK_NET].steps + w->link[GDR_LINK_NODE].steps;

    if (!w->even || steps <= 2 || first <= each)
        return 0;
    return gdr_min_u64(first - each, others) / (4 * steps) * (3 * (steps - 2));
}

/*
 * The first segment takes its whole way. The others follow as fast as what is busy longest allows,
 * or as contexts, each of which has a segment at a time, become free.
 */
uint64_t gdr_cost(const gdr_machine_t *machine, const gdr_work_t *work, uint64_t nsegments,
                  uint32_t depth)
{
    uint64_t first = way(machine, work, nsegments), turns = gdr_div_up(nsegments, depth);
    uint64_t n = nsegments - 1, others, longer, shorter;
    load_t load = busy(machine, work, nsegments);

    depth = (uint32_t)gdr_min_u64(depth, nsegments);
    others = times(n, load.most);
    if (depth > 1)
        others -= interleaved(work, first, load.most, others);
    longer = gdr_max_u64(others, times(first, turns - 1));
    shorter = gdr_max_u64(work->even ? 0 : load.second, gdr_min_u64(load.most, first / depth));
    shorter = gdr_min_u64(times(n, shorter), longer);
    longer += queueing(shorter, longer);
    return gdr_min_u64(first + longer, COST_MAX);
}
