/* coll/gdr's counters, read through MPI_T. One thread; between MPI_Init and MPI_Finalize. */
#ifndef BENCH_PVAR_H
#define BENCH_PVAR_H

#include <stdbool.h>
#include <stdint.h>

typedef struct bench_counters {
    uint64_t kernels, puts, put_bytes;
    uint64_t host_bytes; /* payload copied by the host: staged by gdr, or seen by the emulator */
} bench_counters_t;

/* Whether coll/gdr is in this process; false: every counter reads 0. */
bool bench_pvar_open(void);
void bench_pvar_close(void);
void bench_pvar_read(bench_counters_t *counters);
/* sum += b - a */
void bench_counters_add(bench_counters_t *sum, const bench_counters_t *a,
                        const bench_counters_t *b);
/* Calls that gdr has passed on because no buffer was on a device. */
uint64_t bench_pvar_host_calls(void);
/* "gdr/twoshot", "staged", ... of the last call; "?" if nobody says. Static. */
const char *bench_pvar_path(void);

#endif
