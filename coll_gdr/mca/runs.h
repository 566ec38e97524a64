/* The bytes of MPI types: bounds and runs. */
#ifndef GDR_RUNS_H
#define GDR_RUNS_H

#include "mca/areas.h"
#include "mca/gdr_mca.h"

typedef struct gdr_bounds {
    uintptr_t low, end; /* equal: no bytes */
    size_t used;        /* bytes of data in between, more if pieces overlap */
} gdr_bounds_t;

/* Of one piece of the buffer at address `base`. */
gdr_bounds_t gdr_piece_bounds(const gdr_piece_t *piece, uintptr_t base);

/* `bytes` bytes without holes; what it returns ends the walk unless it is GDR_OK. */
typedef gdr_status_t (*gdr_run_fn_t)(void *ctx, uintptr_t address, size_t bytes);

/* All runs of an area of the buffer at address `base`, neighbours joined, in the order of types. */
gdr_status_t gdr_area_runs(const gdr_area_t *area, uintptr_t base, gdr_run_fn_t fn, void *ctx);

/*
 * Ranges that hold all bytes of an area, ascending, apart by more than `gap` bytes; what lies
 * between pieces and in their types' holes is included. *n of them, the caller's to free().
 */
gdr_status_t gdr_area_ranges(const gdr_area_t *area, uintptr_t base, size_t gap,
                             gdr_bounds_t **ranges, int *n);

#endif
