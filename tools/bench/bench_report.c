#include "bench_report.h"

#include "bench_format.h"

#include <errno.h>
#include <string.h>

static const char *compared(const bench_options_t *options)
{
    return options->compare == BENCH_COMPARE_STAGED ? "staged" : "host";
}

static void print_head(const bench_report_t *r)
{
    const bench_options_t *o = r->options;

    printf("# gdr_bench allreduce: %d ranks, %s of %s, %s memory%s%s\n", r->ranks,
           bench_op_name(o->op), bench_type_name(o->type), o->host ? "host" : "device",
           o->in_place ? ", in place" : "", o->check ? ", every element checked" : "");
    printf("# device: %s\n", r->device);
    printf("# latency in us over the ranks; algbw and busbw in GB/s; kernels, puts and host-copied "
           "bytes\n# per call, summed over the ranks\n");
    printf("%8s %9s %9s %9s %8s %8s  %-14s %7s %6s %11s", "size", "min", "avg", "max", "algbw",
           "busbw", "path", "kernels", "puts", "host-copied");
    if (o->compare != BENCH_COMPARE_NONE)
        printf(" %9s %6s", compared(o), "ratio");
    printf("%s\n", o->check ? "  wrong" : "");
    fflush(stdout);
}

static void json_head(const bench_report_t *r)
{
    const bench_options_t *o = r->options;
    char text[256];

    if (r->json == NULL)
        return;
    fprintf(r->json,
            "{\"collective\": \"allreduce\", \"ranks\": %d, \"op\": \"%s\", \"type\": \"%s\", "
            "\"memory\": \"%s\",\n \"in_place\": %s, \"checked\": %s, \"device\": %s, "
            "\"emulated\": %s,\n \"rows\": [",
            r->ranks, bench_op_name(o->op), bench_type_name(o->type), o->host ? "host" : "device",
            o->in_place ? "true" : "false", o->check ? "true" : "false",
            bench_format_json(r->device, text, sizeof(text)), r->emulated ? "true" : "false");
}

int bench_report_json(const char *name, FILE **json)
{
    FILE *file;

    if (name == NULL)
        return 0;
    file = fopen(name, "w");
    if (file == NULL) {
        fprintf(stderr, "gdr_bench: --json %s: %s\n", name, strerror(errno));
        return -1;
    }
    *json = file;
    return 0;
}

int bench_report_open(bench_report_t *report)
{
    if (bench_report_json(report->options->json, &report->json) != 0)
        return -1;
    print_head(report);
    json_head(report);
    return 0;
}

static double bandwidth(const bench_row_t *row)
{
    return row->timing.avg_us > 0 ? (double)row->bytes / row->timing.avg_us / 1e3 : 0;
}

static double ratio(const bench_row_t *row)
{
    return row->timing.avg_us > 0 ? row->other.avg_us / row->timing.avg_us : 0;
}

static void print_row(const bench_report_t *r, const bench_row_t *row)
{
    char text[9][32];
    double factor = 2.0 * (r->ranks - 1) / r->ranks;

    printf("%8s %9s %9s %9s %8s %8s  %-14s %7s %6s %11s",
           bench_format_size(row->bytes, text[0], sizeof(text[0])),
           bench_format_number(row->timing.min_us, text[1], sizeof(text[1])),
           bench_format_number(row->timing.avg_us, text[2], sizeof(text[2])),
           bench_format_number(row->timing.max_us, text[3], sizeof(text[3])),
           bench_format_number(bandwidth(row), text[4], sizeof(text[4])),
           bench_format_number(bandwidth(row) * factor, text[5], sizeof(text[5])), row->path,
           bench_format_per(row->counters.kernels, row->iters, text[6], sizeof(text[6])),
           bench_format_per(row->counters.puts, row->iters, text[7], sizeof(text[7])),
           bench_format_per(row->counters.host_bytes, row->iters, text[8], sizeof(text[8])));
    if (r->options->compare != BENCH_COMPARE_NONE)
        printf(" %9s %6s", bench_format_number(row->other.avg_us, text[1], sizeof(text[1])),
               bench_format_number(ratio(row), text[2], sizeof(text[2])));
    if (r->options->check)
        printf("  %llu", (unsigned long long)row->wrong);
    printf("\n");
    fflush(stdout);
}

static void json_row(const bench_report_t *r, const bench_row_t *row)
{
    char path[140];

    if (r->json == NULL)
        return;
    fprintf(r->json,
            "%s\n  {\"bytes\": %llu, \"count\": %llu, \"iters\": %d, \"min_us\": %.3f, "
            "\"avg_us\": %.3f, \"max_us\": %.3f,\n   \"algbw_GBps\": %.6f, \"busbw_GBps\": %.6f, "
            "\"path\": %s,\n   \"kernels\": %llu, \"puts\": %llu, \"put_bytes\": %llu, "
            "\"host_copied_bytes\": %llu, \"wrong\": %llu",
            r->rows == 0 ? "" : ",", (unsigned long long)row->bytes, (unsigned long long)row->count,
            row->iters, row->timing.min_us, row->timing.avg_us, row->timing.max_us, bandwidth(row),
            bandwidth(row) * 2.0 * (r->ranks - 1) / r->ranks,
            bench_format_json(row->path, path, sizeof(path)),
            (unsigned long long)row->counters.kernels, (unsigned long long)row->counters.puts,
            (unsigned long long)row->counters.put_bytes,
            (unsigned long long)row->counters.host_bytes, (unsigned long long)row->wrong);
    if (r->options->compare != BENCH_COMPARE_NONE)
        fprintf(r->json, ",\n   \"%s_avg_us\": %.3f, \"%s_ratio\": %.4f", compared(r->options),
                row->other.avg_us, compared(r->options), ratio(row));
    fprintf(r->json, "}");
}

void bench_report_row(bench_report_t *report, const bench_row_t *row)
{
    print_row(report, row);
    json_row(report, row);
    report->rows++;
    report->host_bytes += row->counters.host_bytes;
    report->wrong += row->wrong;
}

int bench_report_close(bench_report_t *report)
{
    bool written = true;

    if (!report->options->host)
        printf("host-copied payload bytes: %llu\n", (unsigned long long)report->host_bytes);
    if (report->options->check && report->wrong == 0)
        printf("all %d sizes right on %d ranks\n", report->rows, report->ranks);
    else if (report->options->check)
        printf("WRONG: %llu elements\n", (unsigned long long)report->wrong);
    if (report->json != NULL) {
        fprintf(report->json, "],\n \"host_copied_bytes\": %llu, \"wrong\": %llu}\n",
                (unsigned long long)report->host_bytes, (unsigned long long)report->wrong);
        written = !ferror(report->json);
        written = fclose(report->json) == 0 && written;
        if (!written)
            fprintf(stderr, "gdr_bench: --json %s: %s\n", report->options->json, strerror(errno));
    }
    return written ? 0 : -1;
}
