/* What gdr_sim says: a table, and JSON for programs. */
#ifndef GSIM_REPORT_H
#define GSIM_REPORT_H

#include "tools/sim/gsim_world.h"

#include <stdio.h>

/* One point: what was asked, what came out. */
typedef struct gsim_row {
    const gsim_cluster_t *cluster;
    char wanted[32]; /* the algorithm that was asked for */
    uint32_t nodes, gpus;
    bool ahead;
    uint64_t bytes;
    gsim_result_t result;
} gsim_row_t;

typedef struct gsim_report {
    const char *json_path; /* NULL: none */
    FILE *json;
    gsim_row_t *rows; /* of all so far */
    uint64_t n, capacity;
} gsim_report_t;

/* GB/s (10^9 bytes) of the call and, as nccl-tests counts, of each rank's traffic. */
double gsim_row_algbw(const gsim_row_t *row);
double gsim_row_busbw(const gsim_row_t *row);
double gsim_row_bound(const gsim_row_t *row); /* the bus bandwidth that nothing exceeds */

/* 0, or -1 after one line on stderr. */
int gsim_report_open(gsim_report_t *report);
void gsim_report_head(const gsim_row_t *row);
int gsim_report_row(gsim_report_t *report, const gsim_row_t *row);
/* Where "auto" and each algorithm were asked for: how far the choice was from the best, at worst.
 */
void gsim_report_choice(const gsim_report_t *report);
int gsim_report_close(gsim_report_t *report);
void gsim_report_free(gsim_report_t *report);

#endif
