#include "mca/runs.h"

#include <stdlib.h>

gdr_bounds_t gdr_piece_bounds(const gdr_piece_t *piece, uintptr_t base)
{
    gdr_bounds_t bounds = {0};
    ptrdiff_t lb, extent, true_lb, true_extent, reach;
    size_t size;

    if (piece->count == 0)
        return bounds;
    ompi_datatype_type_size(piece->type, &size);
    if (size == 0) /* no bytes; its bounds may be anything */
        return bounds;
    ompi_datatype_get_extent(piece->type, &lb, &extent);
    ompi_datatype_get_true_extent(piece->type, &true_lb, &true_extent);
    reach = (ptrdiff_t)(piece->count - 1) * extent;
    base += (uintptr_t)(piece->skip * extent + piece->bytes + true_lb);
    bounds.low = base + (uintptr_t)(reach < 0 ? reach : 0);
    bounds.end = base + (uintptr_t)(reach < 0 ? 0 : reach) + (uintptr_t)true_extent;
    bounds.used = piece->count * size;
    return bounds;
}

/* ---- runs ----------------------------------------------------------------------------------- */

/* Joins neighbours. */
typedef struct walk {
    gdr_run_fn_t fn;
    void *ctx;
    uintptr_t start;
    size_t bytes;
} walk_t;

static gdr_status_t flush(walk_t *walk)
{
    size_t bytes = walk->bytes;

    walk->bytes = 0;
    return bytes == 0 ? GDR_OK : walk->fn(walk->ctx, walk->start, bytes);
}

static gdr_status_t add(walk_t *walk, uintptr_t address, size_t bytes)
{
    gdr_status_t status = GDR_OK;

    if (address != walk->start + walk->bytes || walk->bytes == 0) {
        status = flush(walk);
        walk->start = address;
    }
    walk->bytes += bytes;
    return status;
}

/* The runs of a type with holes, from Open MPI's walk over it. */
static gdr_status_t scattered(walk_t *walk, const gdr_piece_t *piece, uintptr_t base)
{
    enum { RUNS = 32 };
    gdr_status_t status = GDR_OK;
    struct iovec runs[RUNS];
    opal_convertor_t convertor;
    bool last = false;
    size_t moved;

    OBJ_CONSTRUCT(&convertor, opal_convertor_t);
    if (opal_convertor_copy_and_prepare_for_send(ompi_mpi_local_convertor, &piece->type->super,
                                                 piece->count, (void *)base, 0,
                                                 &convertor) != OPAL_SUCCESS)
        status = GDR_ERR_UNSUPPORTED;
    while (status == GDR_OK && !last) {
        uint32_t n = RUNS;

        last = opal_convertor_raw(&convertor, runs, &n, &moved) != 0;
        for (uint32_t i = 0; i < n && status == GDR_OK; i++)
            status = add(walk, (uintptr_t)runs[i].iov_base, runs[i].iov_len);
    }
    OBJ_DESTRUCT(&convertor);
    return status;
}

static gdr_status_t piece_runs(walk_t *walk, const gdr_piece_t *piece, uintptr_t base)
{
    gdr_bounds_t bounds = gdr_piece_bounds(piece, base);
    ptrdiff_t lb, extent;

    if (bounds.used == 0)
        return GDR_OK;
    if (ompi_datatype_is_contiguous_memory_layout(piece->type, piece->count > 1 ? 2 : 1))
        return add(walk, bounds.low, bounds.used);
    ompi_datatype_get_extent(piece->type, &lb, &extent);
    return scattered(walk, piece, base + (uintptr_t)(piece->skip * extent + piece->bytes));
}

gdr_status_t gdr_area_runs(const gdr_area_t *area, uintptr_t base, gdr_run_fn_t fn, void *ctx)
{
    walk_t walk = {.fn = fn, .ctx = ctx};
    gdr_status_t status = GDR_OK;

    for (int i = 0; i < area->n && status == GDR_OK; i++) {
        gdr_piece_t piece = gdr_area_piece(area, i);

        status = piece_runs(&walk, &piece, base);
    }
    return status == GDR_OK ? flush(&walk) : status;
}

/* ---- ranges --------------------------------------------------------------------------------- */

static int ascending(const void *a, const void *b)
{
    uintptr_t left = ((const gdr_bounds_t *)a)->low, right = ((const gdr_bounds_t *)b)->low;

    return (left > right) - (left < right);
}

static int join(gdr_bounds_t *ranges, int n, size_t gap)
{
    int last = 0;

    qsort(ranges, (size_t)n, sizeof(*ranges), ascending);
    for (int i = 1; i < n; i++) {
        if (ranges[i].low > ranges[last].end && ranges[i].low - ranges[last].end > gap)
            ranges[++last] = ranges[i];
        else if (ranges[i].end > ranges[last].end)
            ranges[last].end = ranges[i].end;
    }
    return n == 0 ? 0 : last + 1;
}

gdr_status_t gdr_area_ranges(const gdr_area_t *area, uintptr_t base, size_t gap, gdr_bounds_t **out,
                             int *n)
{
    gdr_bounds_t *ranges = malloc(((size_t)area->n + 1) * sizeof(*ranges));
    int used = 0;

    if (ranges == NULL)
        return GDR_ERR_NO_MEMORY;
    for (int i = 0; i < area->n; i++) {
        gdr_piece_t piece = gdr_area_piece(area, i);

        ranges[used] = gdr_piece_bounds(&piece, base);
        used += ranges[used].low != ranges[used].end;
    }
    *n = join(ranges, used, gap);
    *out = ranges;
    return GDR_OK;
}
