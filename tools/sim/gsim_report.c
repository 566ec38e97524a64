#include "tools/sim/gsim_report.h"

#include "tools/bench/bench_format.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static double bus_factor(const gsim_row_t *row)
{
    double p = (double)row->nodes * row->gpus;

    return p > 1 ? 2 * (p - 1) / p : 1;
}

double gsim_row_algbw(const gsim_row_t *row)
{
    return (double)row->bytes / row->result.ns;
}

double gsim_row_busbw(const gsim_row_t *row)
{
    return gsim_row_algbw(row) * bus_factor(row);
}

double gsim_row_bound(const gsim_row_t *row)
{
    return (double)row->bytes * bus_factor(row) /
           gsim_cluster_bound(row->cluster, row->nodes, row->gpus, row->bytes);
}

int gsim_report_open(gsim_report_t *report)
{
    report->rows = NULL;
    report->n = report->capacity = 0;
    report->json = NULL;
    if (report->json_path == NULL)
        return 0;
    report->json = fopen(report->json_path, "w");
    if (report->json == NULL) {
        fprintf(stderr, "gdr_sim: %s: %s\n", report->json_path, strerror(errno));
        return -1;
    }
    fputs("[", report->json);
    return 0;
}

void gsim_report_head(const gsim_row_t *row)
{
    printf("# %s, %u x %u GPUs, %s, float sum, %s waits\n"
           "#%9s %14s %12s %12s %12s %6s  %s\n",
           row->cluster->name, row->nodes, row->gpus, row->wanted, row->ahead ? "stream" : "host",
           "size", "time us", "algbw GB/s", "busbw GB/s", "bound GB/s", "%", "algorithm");
}

static void json_row(const gsim_report_t *report, const gsim_row_t *row)
{
    const gdr_engine_stats_t *stats = &row->result.stats;
    char name[2 * GSIM_NAME_MAX];

    fprintf(report->json, "%s\n{\"cluster\": %s, \"nodes\": %u, \"gpus_per_node\": %u, ",
            report->n == 0 ? "" : ",", bench_format_json(row->cluster->name, name, sizeof(name)),
            row->nodes, row->gpus);
    fprintf(report->json, "\"wanted\": \"%s\", \"waits\": \"%s\", \"bytes\": %" PRIu64 ", ",
            row->wanted, row->ahead ? "stream" : "host", row->bytes);
    if (row->result.algorithm[0] == '\0') {
        fputs("\"algorithm\": null}", report->json);
        return;
    }
    fprintf(report->json,
            "\"algorithm\": \"%s\", \"segments\": %" PRIu64 ", \"depth\": %" PRIu64
            ", \"ns\": %.3f, \"predicted_ns\": %.0f, \"first_ns\": %.3f, \"bound_ns\": %.3f, "
            "\"algbw\": %.6f, \"busbw\": %.6f, \"bound_busbw\": %.6f, ",
            row->result.algorithm, row->result.segments, row->result.depth, row->result.ns,
            row->result.predicted_ns, row->result.first_ns,
            gsim_cluster_bound(row->cluster, row->nodes, row->gpus, row->bytes),
            gsim_row_algbw(row), gsim_row_busbw(row), gsim_row_bound(row));
    fprintf(report->json,
            "\"kernels\": %" PRIu64 ", \"puts\": %" PRIu64 ", \"put_bytes\": %" PRIu64
            ", \"nic_bytes\": %" PRIu64 ", \"words\": %" PRIu64 ", \"events\": %" PRIu64 "}",
            stats->kernels, stats->puts, stats->put_bytes, row->result.nic_bytes, stats->signals,
            row->result.events);
}

static int keep(gsim_report_t *report, const gsim_row_t *row)
{
    uint64_t capacity = 2 * report->capacity + 16;
    gsim_row_t *grown;

    if (report->n == report->capacity) {
        grown = realloc(report->rows, capacity * sizeof(*grown));
        if (grown == NULL) {
            fprintf(stderr, "gdr_sim: no memory\n");
            return -1;
        }
        report->rows = grown;
        report->capacity = capacity;
    }
    report->rows[report->n++] = *row;
    return 0;
}

int gsim_report_row(gsim_report_t *report, const gsim_row_t *row)
{
    char size[32];
    double busbw = gsim_row_busbw(row), bound = gsim_row_bound(row);

    bench_format_size(row->bytes, size, sizeof(size));
    if (row->result.algorithm[0] == '\0')
        printf("%10s %14s %12s %12s %12.3f %6s  none serves it\n", size, "-", "-", "-", bound, "-");
    else
        printf("%10s %14.3f %12.3f %12.3f %12.3f %6.1f  %s\n", size, row->result.ns / 1000,
               gsim_row_algbw(row), busbw, bound, 100 * busbw / bound, row->result.algorithm);
    fflush(stdout);
    if (report->json != NULL)
        json_row(report, row);
    return keep(report, row);
}

/* The fastest row of the same call, the given one if none is faster. */
static const gsim_row_t *best_of(const gsim_report_t *report, const gsim_row_t *row)
{
    const gsim_row_t *best = row;

    for (uint64_t i = 0; i < report->n; i++) {
        const gsim_row_t *other = &report->rows[i];

        if (other->nodes == row->nodes && other->bytes == row->bytes &&
            other->result.algorithm[0] != '\0' && other->result.ns < best->result.ns)
            best = other;
    }
    return best;
}

void gsim_report_choice(const gsim_report_t *report)
{
    const gsim_row_t *worst = NULL, *better = NULL;
    double most = 0;
    char size[32];

    for (uint64_t i = 0; i < report->n; i++) {
        const gsim_row_t *row = &report->rows[i], *best;

        if (strcmp(row->wanted, "auto") != 0 || row->result.algorithm[0] == '\0')
            continue;
        best = best_of(report, row);
        if (row->result.ns / best->result.ns <= most)
            continue;
        most = row->result.ns / best->result.ns;
        worst = row;
        better = best;
    }
    if (worst != NULL)
        printf("# auto takes at most %.2f x the best time: %s on %u nodes, %s, best %s\n", most,
               bench_format_size(worst->bytes, size, sizeof(size)), worst->nodes,
               worst->result.algorithm, better->result.algorithm);
}

int gsim_report_close(gsim_report_t *report)
{
    int failed;

    if (report->json == NULL)
        return 0;
    fputs("\n]\n", report->json);
    failed = ferror(report->json);
    failed |= fclose(report->json);
    report->json = NULL;
    if (failed != 0)
        fprintf(stderr, "gdr_sim: %s: cannot be written: %s\n", report->json_path, strerror(errno));
    return failed != 0 ? -1 : 0;
}

void gsim_report_free(gsim_report_t *report)
{
    free(report->rows);
    report->rows = NULL;
}
