/* VALUE: runs the schedules on symbols. A symbol is a sequence of ranks whose inputs were combined
 * in that order; memory is a list of pieces that hold one symbol each. */
#include "plan/gdr_check_parts.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

typedef struct piece {
    uint64_t from, to; /* addresses, [from, to) */
    uint64_t place;    /* byte of the segment that `from` holds */
    uint32_t run;      /* of which segment */
    uint32_t symbol;
} piece_t;

typedef struct memory {
    piece_t *pieces; /* sorted, apart from each other */
    uint32_t n, cap;
} memory_t;

typedef struct symbol {
    uint64_t first; /* in ranks[] */
    uint32_t n;
} symbol_t;

typedef struct value {
    check_t *check;
    memory_t *slots, *recv; /* [size], [run * size + rank] */
    symbol_t *symbols;      /* the first `size`: one rank's input each */
    uint64_t nsymbols, symbols_cap;
    int32_t *ranks;
    uint64_t nranks, ranks_cap;
    uint32_t run; /* of the step that is being executed */
    int32_t rank;
    const gdr_step_t *step;
    const gdr_sched_t *sched;
    uint32_t index;
    uint32_t first, nin;     /* inputs that are combined: all of the step's, or one of a GATHER */
    uint64_t skipped, bytes; /* of the outputs before what these make, and what they make */
} value_t;

static gdr_status_t wrong(value_t *v, const char *what)
{
    check_node_t node = {.rank = v->rank, .run = v->run, .step = v->index};

    return gdr_check_fail(v->check, GDR_CHECK_VALUE, "%s: %s", gdr_check_name(v->check, node).text,
                          what);
}

/* Room for `more` elements behind n. */
static bool reserve(void **array, uint64_t n, uint64_t more, uint64_t *cap, size_t size)
{
    uint64_t wanted = *cap != 0 ? *cap : 64;
    void *larger;

    while (wanted < n + more)
        wanted *= 2;
    if (wanted == *cap)
        return true;
    larger = realloc(*array, wanted * size);
    if (larger == NULL)
        return false;
    *array = larger;
    *cap = wanted;
    return true;
}

/* The first piece that ends behind `at`. */
static uint32_t find(const memory_t *m, uint64_t at)
{
    uint32_t low = 0, high = m->n;

    while (low < high) {
        uint32_t middle = low + (high - low) / 2;

        if (m->pieces[middle].to <= at)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static void cut_front(piece_t *piece, uint64_t from)
{
    piece->place += from - piece->from;
    piece->from = from;
}

/* Replaces whatever was in the piece's place. */
static bool store(memory_t *m, piece_t piece)
{
    uint64_t cap = m->cap;
    void *pieces = m->pieces;
    uint32_t first, end;
    piece_t tail = {0};
    bool split;

    if (!reserve(&pieces, m->n, 2, &cap, sizeof(piece)))
        return false;
    m->pieces = pieces;
    m->cap = (uint32_t)cap;
    first = find(m, piece.from);
    split = first < m->n && m->pieces[first].from < piece.from && m->pieces[first].to > piece.to;
    if (split)
        tail = m->pieces[first];
    if (first < m->n && m->pieces[first].from < piece.from)
        m->pieces[first++].to = piece.from;
    for (end = first; end < m->n && m->pieces[end].to <= piece.to; end++)
        ;
    if (end < m->n && m->pieces[end].from < piece.to)
        cut_front(&m->pieces[end], piece.to);
    memmove(m->pieces + first + 1 + (split ? 1 : 0), m->pieces + end, (m->n - end) * sizeof(piece));
    m->pieces[first] = piece;
    if (split) {
        cut_front(&tail, piece.to);
        m->pieces[first + 1] = tail;
    }
    m->n = m->n - (end - first) + 1 + (split ? 1 : 0);
    return true;
}

/* What input `o` holds `skip` bytes behind its start, as a piece that begins at address 0. */
static gdr_status_t load(value_t *v, const gdr_operand_t *o, uint64_t skip, piece_t *piece)
{
    uint64_t at = check_address(v->check, o) + skip;
    const memory_t *m = &v->slots[o->rank];
    uint32_t i;

    if (o->buffer == GDR_BUFFER_SEND) {
        *piece = (piece_t){
            .to = v->bytes - skip, .place = at, .run = v->run, .symbol = (uint32_t)o->rank};
        return GDR_OK;
    }
    i = find(m, at);
    if (m->pieces == NULL || i == m->n || m->pieces[i].from > at)
        return wrong(v, "reads bytes that were never written");
    *piece = m->pieces[i];
    cut_front(piece, at);
    piece->to -= at;
    piece->from = 0;
    return GDR_OK;
}

/* The symbol of `in` one after the other. */
static gdr_status_t combine(value_t *v, const uint32_t *in, uint32_t nin, uint32_t *out)
{
    void *ranks = v->ranks, *symbols = v->symbols;
    uint64_t n = 0, at = v->nranks;
    bool ok;

    if (nin == 1) {
        *out = in[0];
        return GDR_OK;
    }
    for (uint32_t i = 0; i < nin; i++)
        n += v->symbols[in[i]].n;
    if (n > (uint64_t)v->check->subject->size)
        return wrong(v, "combines more inputs than there are ranks");
    ok = reserve(&ranks, v->nranks, n, &v->ranks_cap, sizeof(*v->ranks));
    v->ranks = ranks;
    ok = ok && reserve(&symbols, v->nsymbols, 1, &v->symbols_cap, sizeof(*v->symbols));
    v->symbols = symbols;
    if (!ok)
        return GDR_ERR_NO_MEMORY;
    for (uint32_t i = 0; i < nin; i++)
        for (uint32_t j = 0; j < v->symbols[in[i]].n; j++)
            v->ranks[v->nranks++] = v->ranks[v->symbols[in[i]].first + j];
    v->symbols[v->nsymbols] = (symbol_t){.first = at, .n = (uint32_t)n};
    *out = (uint32_t)v->nsymbols++;
    return GDR_OK;
}

static gdr_status_t check_final(value_t *v, const piece_t *piece)
{
    const gdr_check_subject_t *s = v->check->subject;
    const symbol_t *symbol = &v->symbols[piece->symbol];
    bool *seen, twice = false;

    if (piece->run != v->run || piece->place != piece->from)
        return wrong(v, "writes another place's values into the output");
    if (symbol->n != (uint32_t)s->size)
        return wrong(v, "writes a partial result into the output");
    seen = calloc((size_t)s->size, sizeof(*seen));
    if (seen == NULL)
        return GDR_ERR_NO_MEMORY;
    for (uint32_t i = 0; i < symbol->n; i++) {
        int32_t rank = v->ranks[symbol->first + i];

        twice = twice || seen[rank] || (s->rank_order && rank != (int32_t)i);
        seen[rank] = true;
    }
    free(seen);
    return twice ? wrong(v, "a rank's input twice, or not in rank order, in the output") : GDR_OK;
}

static gdr_status_t write_output(value_t *v, const gdr_operand_t *o, uint64_t skip, piece_t piece)
{
    uint64_t at = check_address(v->check, o) + skip;
    memory_t *m = &v->slots[o->rank];
    gdr_status_t status = GDR_OK;

    piece.to += at;
    piece.from = at;
    if (o->buffer == GDR_BUFFER_RECV) {
        uint32_t i;

        m = &v->recv[(size_t)v->run * (size_t)v->check->subject->size + (size_t)o->rank];
        i = find(m, at);
        if (i < m->n && m->pieces[i].from < piece.to)
            return wrong(v, "writes bytes of the output a second time");
        status = check_final(v, &piece);
    }
    if (status == GDR_OK && !store(m, piece))
        status = GDR_ERR_NO_MEMORY;
    return status;
}

/* Executes `bytes` for as many bytes as all inputs hold one symbol each. */
static gdr_status_t execute_piece(value_t *v, uint64_t done, uint64_t *length)
{
    uint32_t in[GDR_STEP_MAX_IN];
    gdr_status_t status = GDR_OK;
    piece_t first = {0}, next = {0};

    for (uint32_t i = 0; i < v->nin; i++) {
        status = load(v, check_in(v->sched, v->step, v->first + i), done, &next);
        if (status != GDR_OK)
            return status;
        if (i == 0)
            first = next;
        if (next.run != first.run || next.place != first.place)
            return wrong(v, "combines different places of the message");
        if (next.to < first.to)
            first.to = next.to;
        in[i] = next.symbol;
    }
    if (first.to > v->bytes - done)
        first.to = v->bytes - done;
    status = combine(v, in, v->nin, &first.symbol);
    for (uint32_t i = 0; i < v->step->nout && status == GDR_OK; i++)
        status = write_output(v, check_out(v->sched, v->step, i), v->skipped + done, first);
    *length = first.to;
    return status;
}

static gdr_status_t execute_inputs(value_t *v, uint32_t first, uint32_t nin, uint64_t skipped)
{
    gdr_status_t status = GDR_OK;
    uint64_t length = 0;

    v->first = first;
    v->nin = nin;
    v->skipped = skipped;
    v->bytes = gdr_step_input_bytes(v->step, first);
    for (uint64_t done = 0; done < v->bytes && status == GDR_OK; done += length)
        status = execute_piece(v, done, &length);
    return status;
}

static gdr_status_t execute(value_t *v, const check_node_t *node)
{
    gdr_status_t status = GDR_OK;

    v->run = node->run;
    v->rank = node->rank;
    v->index = node->step;
    v->sched = check_sched(v->check, node->run, node->rank);
    v->step = &v->sched->steps[node->step];
    if (v->step->kind == GDR_STEP_WAIT)
        return GDR_OK;
    if (v->step->kind != GDR_STEP_GATHER)
        return execute_inputs(v, 0, v->step->nin, 0);
    for (uint32_t i = 0; i < v->step->nin && status == GDR_OK; i++)
        status = execute_inputs(v, i, 1, i * v->step->block);
    return status;
}

static gdr_status_t check_complete(value_t *v)
{
    check_t *check = v->check;

    for (uint32_t run = 0; run < check->nruns; run++)
        for (int32_t r = 0; r < check->subject->size; r++) {
            const memory_t *m = &v->recv[(size_t)run * (size_t)check->subject->size + (size_t)r];
            uint64_t at = 0;

            for (uint32_t i = 0; i < m->n && m->pieces[i].from == at; i++)
                at = m->pieces[i].to;
            if (at != check_sched(check, run, r)->bytes)
                return gdr_check_fail(check, GDR_CHECK_VALUE,
                                      "rank %" PRId32 " segment %" PRIu32 ": byte %" PRIu64
                                      " of the output is never written",
                                      r, run, at);
        }
    return GDR_OK;
}

static gdr_status_t make_inputs(value_t *v)
{
    uint32_t size = (uint32_t)v->check->subject->size;

    v->slots = calloc(size, sizeof(*v->slots));
    v->recv = calloc((size_t)size * v->check->nruns, sizeof(*v->recv));
    v->symbols = calloc(size, sizeof(*v->symbols));
    v->ranks = calloc(size, sizeof(*v->ranks));
    if (v->slots == NULL || v->recv == NULL || v->symbols == NULL || v->ranks == NULL)
        return GDR_ERR_NO_MEMORY;
    v->nsymbols = v->symbols_cap = v->nranks = v->ranks_cap = size;
    for (uint32_t r = 0; r < size; r++) {
        v->symbols[r] = (symbol_t){.first = r, .n = 1};
        v->ranks[r] = (int32_t)r;
    }
    return GDR_OK;
}

gdr_status_t gdr_check_values(check_t *check)
{
    const check_graph_t *g = &check->graph;
    value_t v = {.check = check};
    gdr_status_t status = make_inputs(&v);

    for (uint32_t i = 0; i < g->nnodes && status == GDR_OK; i++)
        if (g->order[i] < g->nsteps)
            status = execute(&v, &g->nodes[g->order[i]]);
    if (status == GDR_OK)
        status = check_complete(&v);
    for (int32_t r = 0; v.slots != NULL && r < check->subject->size; r++)
        free(v.slots[r].pieces);
    for (size_t i = 0; v.recv != NULL && i < (size_t)check->subject->size * check->nruns; i++)
        free(v.recv[i].pieces);
    free(v.slots);
    free(v.recv);
    free(v.symbols);
    free(v.ranks);
    return status;
}
