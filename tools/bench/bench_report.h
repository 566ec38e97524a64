/* The table and the JSON file; only rank 0 calls these. */
#ifndef BENCH_REPORT_H
#define BENCH_REPORT_H

#include "bench_measure.h"
#include "bench_options.h"

#include <stdbool.h>
#include <stdio.h>

typedef struct bench_report {
    const bench_options_t *options;
    int ranks;
    const char *device; /* its name, or "none" */
    bool emulated;
    FILE *json; /* NULL: none */
    int rows;
    uint64_t host_bytes, wrong;
} bench_report_t;

/* Opens the file that --json names (NULL: none, *json stays as it is). 0, or -1 and it was said. */
int bench_report_json(const char *name, FILE **json);

/* -1 after a line on stderr: the JSON file cannot be written. */
int bench_report_open(bench_report_t *report);
void bench_report_row(bench_report_t *report, const bench_row_t *row);
/* The last lines; 0, or -1 if the JSON file could not be written. */
int bench_report_close(bench_report_t *report);

#endif
