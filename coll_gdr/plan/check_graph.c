/* Happens-before over the runs of one context, and DEADLOCK. */
#include "plan/gdr_check_parts.h"

#include <stdlib.h>

static gdr_status_t add(check_graph_t *g, uint32_t from, uint32_t to)
{
    if (g->nedges == g->edges_cap) {
        uint64_t cap = g->edges_cap != 0 ? 2 * g->edges_cap : 1024;
        check_edge_t *edges = realloc(g->edges, cap * sizeof(*edges));

        if (edges == NULL)
            return GDR_ERR_NO_MEMORY;
        g->edges = edges;
        g->edges_cap = cap;
    }
    g->edges[g->nedges++] = (check_edge_t){.from = from, .to = to};
    return GDR_OK;
}

/* A node stands for a whole step; of a PUT it ends with data, flag and local completion: whatever
 * follows any of these follows the PUT. */
static gdr_status_t make_nodes(check_t *check)
{
    check_graph_t *g = &check->graph;
    uint32_t size = (uint32_t)check->subject->size;

    for (uint32_t run = 0; run < check->nruns; run++) {
        g->base[run] = g->nsteps;
        g->nsteps += check->side[check->kind[run]].first[size];
    }
    g->nnodes = g->nsteps + (check->nruns + 1) * size;
    g->nodes = calloc(g->nsteps + (size_t)1, sizeof(*g->nodes));
    if (g->nodes == NULL)
        return GDR_ERR_NO_MEMORY;
    for (uint32_t run = 0; run < check->nruns; run++)
        for (int32_t r = 0; r < check->subject->size; r++)
            for (uint32_t i = 0; i < check_sched(check, run, r)->nsteps; i++)
                g->nodes[check_step_node(check, run, r, i)] =
                    (check_node_t){.rank = r, .run = run, .step = i};
    return GDR_OK;
}

static const gdr_credit_t *find_credit(const gdr_sched_t *sched, uint32_t wait)
{
    for (uint32_t i = 0; i < sched->ncredits; i++)
        if (sched->credits[i].wait == wait)
            return &sched->credits[i];
    return NULL;
}

/* The PUT follows the credit of the flag's write before it. */
static gdr_status_t add_credit(check_t *check, check_node_t put, const gdr_step_t *step)
{
    uint32_t node = check_step_node(check, put.run, put.rank, put.step);
    uint32_t run = put.run, round = step->round, wait;
    const gdr_credit_t *credit;
    const gdr_sched_t *peer;
    gdr_status_t status = GDR_OK;

    if (round == 0 && run == 0)
        return GDR_OK;
    run = round == 0 ? run - 1 : run;
    round = round == 0 ? check->rounds - 1 : round - 1;
    wait = check->side[check->kind[run]].wait[check_write(check, step->peer, step->flag, round)];
    peer = check_sched(check, run, step->peer);
    credit = find_credit(peer, wait);
    if (credit == NULL) /* gdr_check_credits() says so, unless a race is found first */
        return GDR_OK;
    if (credit->n == 0)
        return add(&check->graph, check_step_node(check, run, step->peer, wait), node);
    for (uint32_t i = 0; i < credit->n && status == GDR_OK; i++)
        status =
            add(&check->graph,
                check_step_node(check, run, step->peer, peer->readers[credit->first + i]), node);
    return status;
}

static gdr_status_t add_step(check_t *check, check_node_t node)
{
    const gdr_sched_t *sched = check_sched(check, node.run, node.rank);
    const check_side_t *side = &check->side[check->kind[node.run]];
    const gdr_step_t *step = &sched->steps[node.step];
    uint32_t id = check_step_node(check, node.run, node.rank, node.step);
    uint32_t before = node.run == 0 ? check_start_node(check, node.rank)
                                    : check_done_node(check, node.run - 1, node.rank);
    gdr_status_t status;

    status = add(&check->graph, before, id);
    if (status == GDR_OK)
        status = add(&check->graph, id, check_done_node(check, node.run, node.rank));
    for (uint32_t i = 0; i < step->ndep && status == GDR_OK; i++)
        status = add(&check->graph,
                     check_step_node(check, node.run, node.rank, sched->deps[step->dep + i]), id);
    if (status != GDR_OK || !check_writes_flag(step))
        return status;
    status =
        add(&check->graph, id,
            check_step_node(check, node.run, step->peer,
                            side->wait[check_write(check, step->peer, step->flag, step->round)]));
    return status == GDR_OK && step->kind == GDR_STEP_PUT ? add_credit(check, node, step) : status;
}

static gdr_status_t make_edges(check_t *check)
{
    gdr_status_t status = GDR_OK;

    for (uint32_t i = 0; i < check->graph.nsteps && status == GDR_OK; i++)
        status = add_step(check, check->graph.nodes[i]);
    for (uint32_t run = 0; run < check->nruns; run++)
        for (int32_t r = 0; r < check->subject->size && status == GDR_OK; r++)
            status = add(&check->graph,
                         run == 0 ? check_start_node(check, r) : check_done_node(check, run - 1, r),
                         check_done_node(check, run, r));
    return status;
}

/* Kernels and WAITs of a schedule one after the other, as in one stream. */
static gdr_status_t add_streams(check_t *check)
{
    gdr_status_t status = GDR_OK;

    for (uint32_t run = 0; run < check->nruns; run++)
        for (int32_t r = 0; r < check->subject->size; r++) {
            const gdr_sched_t *sched = check_sched(check, run, r);
            uint32_t before = CHECK_ABSENT;

            for (uint32_t i = 0; i < sched->nsteps && status == GDR_OK; i++) {
                if (check_writes_flag(&sched->steps[i]))
                    continue;
                if (before != CHECK_ABSENT)
                    status = add(&check->graph, check_step_node(check, run, r, before),
                                 check_step_node(check, run, r, i));
                before = i;
            }
        }
    return status;
}

static gdr_status_t index_edges(check_graph_t *g)
{
    free(g->first);
    free(g->successor);
    g->first = calloc(g->nnodes + (size_t)2, sizeof(*g->first));
    g->successor = calloc(g->nedges + 1, sizeof(*g->successor));
    if (g->first == NULL || g->successor == NULL)
        return GDR_ERR_NO_MEMORY;
    /* first[n + 2] counts, then first[n + 1] runs from the start to the end of n's list. */
    for (uint64_t i = 0; i < g->nedges; i++)
        g->first[g->edges[i].from + 1]++;
    for (uint32_t n = 0; n < g->nnodes; n++)
        g->first[n + 1] += g->first[n];
    for (uint64_t i = g->nedges; i-- > 0;)
        g->successor[--g->first[g->edges[i].from + 1]] = g->edges[i].to;
    for (uint32_t n = 0; n < g->nnodes; n++)
        g->first[n] = g->first[n + 1];
    g->first[g->nnodes] = g->nedges;
    return GDR_OK;
}

/* Kahn's order into g->order; false: a cycle, and order[] holds what could be ordered. */
static bool sort(check_graph_t *g, uint32_t *indegree, uint32_t *ordered)
{
    uint32_t head = 0, tail = 0;

    for (uint64_t i = 0; i < g->nedges; i++)
        indegree[g->edges[i].to]++;
    for (uint32_t n = 0; n < g->nnodes; n++)
        if (indegree[n] == 0)
            g->order[tail++] = n;
    while (head < tail) {
        uint32_t n = g->order[head++];

        for (uint64_t i = g->first[n]; i < g->first[n + 1]; i++)
            if (--indegree[g->successor[i]] == 0)
                g->order[tail++] = g->successor[i];
    }
    *ordered = tail;
    return tail == g->nnodes;
}

static gdr_status_t blocked(check_t *check, const uint32_t *indegree, const char *how)
{
    for (uint32_t n = 0; n < check->graph.nsteps; n++)
        if (indegree[n] != 0)
            return gdr_check_fail(check, GDR_CHECK_DEADLOCK, "%s: waits for itself%s",
                                  gdr_check_name(check, check->graph.nodes[n]).text, how);
    return gdr_check_fail(check, GDR_CHECK_DEADLOCK, "completion waits for itself%s", how);
}

static gdr_status_t order_nodes(check_t *check, const char *how)
{
    check_graph_t *g = &check->graph;
    uint32_t *indegree = calloc(g->nnodes + (size_t)1, sizeof(*indegree));
    gdr_status_t status = indegree == NULL ? GDR_ERR_NO_MEMORY : index_edges(g);
    uint32_t ordered;

    if (status == GDR_OK && !sort(g, indegree, &ordered))
        status = blocked(check, indegree, how);
    free(indegree);
    return status;
}

gdr_status_t gdr_check_graph(check_t *check)
{
    check_graph_t *g = &check->graph;
    gdr_status_t status = make_nodes(check);
    uint64_t nedges;

    if (status == GDR_OK)
        status = make_edges(check);
    if (status != GDR_OK)
        return status;
    g->order = calloc(g->nnodes + (size_t)1, sizeof(*g->order));
    g->position = calloc(g->nnodes + (size_t)1, sizeof(*g->position));
    if (g->order == NULL || g->position == NULL)
        return GDR_ERR_NO_MEMORY;
    nedges = g->nedges;
    status = add_streams(check);
    if (status == GDR_OK)
        status = order_nodes(check, " with one stream per context");
    if (status != GDR_OK)
        return status;
    /* Without the streams' edges: host-driven kernels may run in any order that this allows. */
    g->nedges = nedges;
    status = order_nodes(check, "");
    for (uint32_t i = 0; i < g->nnodes && status == GDR_OK; i++)
        g->position[g->order[i]] = i;
    return status;
}
