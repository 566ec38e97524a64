/* The command line of gdr_bench. Pure: no MPI, no CUDA, no output. */
#ifndef BENCH_OPTIONS_H
#define BENCH_OPTIONS_H

#include "bench_data.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef enum bench_compare {
    BENCH_COMPARE_NONE,
    BENCH_COMPARE_STAGED,
    BENCH_COMPARE_HOST
} bench_compare_t;

typedef struct bench_options {
    bool help;
    bool host;         /* buffers in host memory */
    bool in_place;     /* MPI_IN_PLACE */
    bool check;        /* compare every element */
    uint64_t min, max; /* bytes; sizes double from min to max */
    int iters, warmup; /* -1: chosen by size */
    bench_op_t op;
    bench_type_t type;
    bench_compare_t compare;
    const char *json; /* file to write, or NULL; points into argv */
} bench_options_t;

/*
 * Fills *options from the command line. 0, or -1 with one line that says what is wrong (and
 * *options unspecified).
 */
int bench_options_parse(int argc, char *const argv[], bench_options_t *options, char *error,
                        size_t error_size);

/* Calls per size, and calls before them that are not counted. */
int bench_options_iters(const bench_options_t *options, uint64_t bytes);
int bench_options_warmup(const bench_options_t *options, uint64_t bytes);

extern const char bench_options_usage[];

#endif
