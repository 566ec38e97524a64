/* The ways to reduce that gdr_bench times: device buffers, host buffers, staged by hand. */
#ifndef BENCH_WAY_H
#define BENCH_WAY_H

#include "bench_options.h"

#include <mpi.h>
#include <stdbool.h>

typedef enum bench_way_kind { BENCH_WAY_DEVICE, BENCH_WAY_HOST, BENCH_WAY_STAGED } bench_way_kind_t;

/* One way with its buffers, on one rank. */
typedef struct bench_way {
    bench_way_kind_t kind;
    const bench_options_t *options;
    int rank, ranks;
    void *send, *recv;           /* of the kind's memory */
    void *host_send, *host_recv; /* pinned: where BENCH_WAY_STAGED copies to and from */
    size_t capacity;             /* bytes of each, without the guard */
    char *image;                 /* host memory, capacity + guard: what is filled in or read */
    char *input, *expected;      /* one period each */
} bench_way_t;

/* The verdict over one rank's result. */
typedef struct bench_verdict {
    uint64_t wrong; /* elements, and guard words counted as one each */
    size_t first;   /* index of the first of them */
    char got[40], expected[40];
} bench_verdict_t;

/* Functions return 0, or -1 after a line on stderr. */
int bench_way_open(bench_way_t *way, bench_way_kind_t kind, const bench_options_t *options,
                   int rank, int ranks);
void bench_way_close(bench_way_t *way); /* also after a failed open */
/* Input into the send buffer (in place: the receive buffer), rubbish into the rest, a guard behind.
 */
int bench_way_fill(bench_way_t *way, size_t count);
int bench_way_call(bench_way_t *way, size_t count);
int bench_way_verify(bench_way_t *way, size_t count, bench_verdict_t *verdict);
const char *bench_way_name(bench_way_kind_t kind);

#endif
