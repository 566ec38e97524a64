/* The table and the JSON file of gdr_bench host-tax; only rank 0 calls these. */
#ifndef TAX_REPORT_H
#define TAX_REPORT_H

#include "bench_stats.h"
#include "tax_options.h"

#include <stdio.h>

typedef struct tax_row {
    const char *place;          /* where the buffers are */
    double with_us, without_us; /* medians of a call */
    bench_ratio_t tax, control;
} tax_row_t;

typedef struct tax_report {
    const tax_options_t *options;
    int ranks, rows;
    const char *device; /* its name, or "none" */
    FILE *json;         /* NULL: none */
    double worst;       /* ratio */
} tax_report_t;

/* -1 after a line on stderr: the JSON file cannot be written. */
int tax_report_open(tax_report_t *report);
void tax_report_row(tax_report_t *report, const tax_row_t *row);
/* 0, or -1: above the limit, or the JSON file could not be written. */
int tax_report_close(tax_report_t *report);

#endif
