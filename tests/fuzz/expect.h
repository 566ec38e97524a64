/* What every element of a collective's receive buffer must be. */
#ifndef GDR_FUZZ_EXPECT_H
#define GDR_FUZZ_EXPECT_H

#include "tests/fuzz/generate.h"

/* One rank's view of a collective; its input number i is a function of (rank, i) alone. */
typedef struct fz_view {
    fz_coll_t coll;
    int size, rank, root;
    bool in_place;
    long count; /* the argument of the call */
} fz_view_t;

typedef struct fz_shape {
    bool sends, receives; /* has that buffer; a broadcast's only one is the receive buffer */
    long send, recv;      /* elements in them */
    long own_at;          /* where the own inputs lie in the receive buffer before the call, */
    long own;             /* and how many: in place, or a broadcast's root */
    int first, last;      /* ranks that are reduced: [first, last) */
} fz_shape_t;

typedef enum fz_what { FZ_ANYTHING, FZ_COPIED, FZ_REDUCED } fz_what_t;

typedef struct fz_part {
    fz_what_t what;
    int from;   /* FZ_COPIED: whose input */
    long index; /* which input */
} fz_part_t;

fz_shape_t fz_shape(const fz_view_t *view);
fz_part_t fz_part(const fz_view_t *view, long element);

#endif
