/* Whether pairs of nodes are ordered: a question of reachability, for many pairs at once. */
#include "plan/gdr_check_parts.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum {
    WORDS = 4, /* sources that are followed at once: 64 each */
    BATCH = WORDS * 64,
    FIRST_CAPACITY = 256
};

gdr_status_t gdr_check_ask(check_queries_t *queries, check_query_t query)
{
    uint64_t wanted = queries->cap != 0 ? 2 * queries->cap : FIRST_CAPACITY;

    if (queries->n == queries->cap) {
        void *list = realloc(queries->list, wanted * sizeof(query));

        if (list == NULL)
            return GDR_ERR_NO_MEMORY;
        queries->list = list;
        queries->cap = wanted;
    }
    queries->list[queries->n++] = query;
    return GDR_OK;
}

static gdr_status_t unordered(check_t *check, const check_query_t *q)
{
    const check_graph_t *g = &check->graph;
    uint32_t size = (uint32_t)check->subject->size;
    uint32_t before = g->order[q->before], after = g->order[q->after];

    if (q->owner == CHECK_ASK_COMPLETION)
        return gdr_check_fail(check, GDR_CHECK_COMPLETION,
                              "rank %" PRIu32 " may complete before rank %" PRIu32 " has started",
                              (after - g->nsteps) % size, (before - g->nsteps) % size);
    if (q->owner == CHECK_ASK_READ)
        return gdr_check_fail(
            check, GDR_CHECK_COMPLETION, "rank %" PRIu32 " may complete while %s reads its slots",
            (after - g->nsteps) % size, gdr_check_name(check, g->nodes[before]).text);
    if (q->owner == CHECK_ASK_SIGNAL)
        return gdr_check_fail(check, GDR_CHECK_CREDIT,
                              "%s may overtake the one before it, which %s waits for",
                              gdr_check_name(check, g->nodes[after]).text,
                              gdr_check_name(check, g->nodes[before]).text);
    return gdr_check_fail(
        check, GDR_CHECK_RACE,
        "%s does not come before %s: bytes %" PRIu64 " to %" PRIu64 " of the %s of rank %" PRId32,
        gdr_check_name(check, g->nodes[before]).text, gdr_check_name(check, g->nodes[after]).text,
        q->from, q->to, q->user ? "user's buffer in place" : "context's slots", q->owner);
}

/* Sources of a batch, as bits that travel along the edges. */
typedef struct wave {
    uint64_t (*mask)[WORDS]; /* [nnodes], by position */
    uint32_t first, last;    /* positions */
} wave_t;

static void follow(const check_graph_t *g, wave_t *wave)
{
    for (uint32_t p = wave->first; p < wave->last; p++) {
        const uint64_t *m = wave->mask[p];

        if ((m[0] | m[1] | m[2] | m[3]) == 0)
            continue;
        for (uint64_t i = g->first[g->order[p]]; i < g->first[g->order[p] + 1]; i++) {
            uint64_t *to = wave->mask[g->position[g->successor[i]]];

            for (uint32_t w = 0; w < WORDS; w++)
                to[w] |= m[w];
        }
    }
}

static bool new_source(const check_query_t *queries, uint64_t begin, uint64_t i)
{
    return i == begin || queries[i].before != queries[i - 1].before;
}

/* The wave of queries[begin ..] for at most BATCH sources; the first query left. */
static uint64_t start_wave(const check_graph_t *g, wave_t *wave, const check_query_t *queries,
                           uint64_t begin, uint64_t n)
{
    uint32_t bit = 0;
    uint64_t i;

    wave->first = wave->last = queries[begin].before;
    memset(wave->mask[wave->first], 0, (g->nnodes - wave->first) * sizeof(*wave->mask));
    for (i = begin; i < n; i++) {
        if (new_source(queries, begin, i)) {
            if (bit == BATCH)
                break;
            wave->mask[queries[i].before][bit / 64] |= UINT64_C(1) << bit % 64;
            bit++;
        }
        if (queries[i].after > wave->last)
            wave->last = queries[i].after;
    }
    return i;
}

/* Decides queries[begin ..] of at most BATCH sources; *end: the first one left. */
static gdr_status_t decide(check_t *check, wave_t *wave, const check_query_t *queries,
                           uint64_t begin, uint64_t n, uint64_t *end)
{
    uint32_t bit = 0;

    *end = start_wave(&check->graph, wave, queries, begin, n);
    follow(&check->graph, wave);
    for (uint64_t i = begin; i < *end; i++) {
        const uint64_t *mask = wave->mask[queries[i].after];

        if (i > begin && new_source(queries, begin, i))
            bit++;
        if (queries[i].after < queries[i].before || (mask[bit / 64] >> bit % 64 & 1) == 0)
            return unordered(check, &queries[i]);
    }
    return GDR_OK;
}

static int by_source(const void *x, const void *y)
{
    const check_query_t *a = x, *b = y;

    if (a->before != b->before)
        return a->before < b->before ? -1 : 1;
    return a->after < b->after ? -1 : a->after > b->after;
}

gdr_status_t gdr_check_decide(check_t *check, check_queries_t *queries)
{
    wave_t wave = {0};
    gdr_status_t status = GDR_OK;

    if (queries->n == 0)
        return GDR_OK;
    wave.mask = calloc(check->graph.nnodes + (size_t)1, sizeof(*wave.mask));
    if (wave.mask == NULL)
        return GDR_ERR_NO_MEMORY;
    qsort(queries->list, queries->n, sizeof(*queries->list), by_source);
    for (uint64_t i = 0; i < queries->n && status == GDR_OK;)
        status = decide(check, &wave, queries->list, i, queries->n, &i);
    queries->n = 0;
    free(wave.mask);
    return status;
}
