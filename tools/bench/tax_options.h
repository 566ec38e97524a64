/* The command line of gdr_bench host-tax. Pure: no MPI, no CUDA, no output. */
#ifndef TAX_OPTIONS_H
#define TAX_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef enum tax_call {
    TAX_ALLREDUCE,
    TAX_IALLREDUCE,
    TAX_BARRIER,
    TAX_IBARRIER,
    TAX_BCAST,
    TAX_REDUCE,
    TAX_ALLGATHER,
    TAX_ALLTOALL,
    TAX_CALLS
} tax_call_t;

typedef struct tax_options {
    bool help;
    bool cuda; /* the process uses CUDA */
    tax_call_t call;
    int bytes;         /* of a rank's contribution */
    int rounds, calls; /* rounds, and calls of one block */
    uint64_t seed;     /* of the order of the blocks */
    double limit;      /* 0: none */
    const char *json;  /* file to write, or NULL; points into argv */
} tax_options_t;

const char *tax_call_name(tax_call_t call);

/* argv[1] is "host-tax". 0, or -1 with one line that says what is wrong. */
int tax_options_parse(int argc, char *const argv[], tax_options_t *options, char *error,
                      size_t error_size);

extern const char tax_options_usage[];

#endif
