#include "tax_report.h"

#include "bench_format.h"
#include "bench_report.h"

#include <errno.h>
#include <string.h>

static void print_head(const tax_report_t *r)
{
    const tax_options_t *o = r->options;

    printf("# gdr_bench host-tax: %d ranks, %s of %d bytes in host memory, device: %s\n", r->ranks,
           tax_call_name(o->call), o->bytes, r->device);
    printf("# %d rounds, a block of %d calls of each kind in each, in random order, seed %llu\n",
           o->rounds, o->calls, (unsigned long long)o->seed);
    printf("# us: median of a call; ratio: with / without gdr, of the medians, and between what\n"
           "# 95 %% of resamples lie; control: without / without\n");
    printf("%8s %9s %9s %8s %17s %9s %17s\n", "buffers", "with us", "without", "ratio", "95 %",
           "control", "95 %");
    fflush(stdout);
}

static void json_head(const tax_report_t *r)
{
    const tax_options_t *o = r->options;
    char text[256];

    if (r->json != NULL)
        fprintf(r->json,
                "{\"host_tax\": \"%s\", \"ranks\": %d, \"bytes\": %d, \"device\": %s,\n"
                " \"rounds\": %d, \"calls\": %d, \"seed\": %llu,\n \"rows\": [",
                tax_call_name(o->call), r->ranks, o->bytes,
                bench_format_json(r->device, text, sizeof(text)), o->rounds, o->calls,
                (unsigned long long)o->seed);
}

int tax_report_open(tax_report_t *report)
{
    if (bench_report_json(report->options->json, &report->json) != 0)
        return -1;
    print_head(report);
    json_head(report);
    return 0;
}

void tax_report_row(tax_report_t *report, const tax_row_t *row)
{
    printf("%8s %9.4f %9.4f %8.4f %8.4f %8.4f %9.4f %8.4f %8.4f\n", row->place, row->with_us,
           row->without_us, row->tax.ratio, row->tax.low, row->tax.high, row->control.ratio,
           row->control.low, row->control.high);
    fflush(stdout);
    if (report->json != NULL)
        fprintf(report->json,
                "%s\n  {\"buffers\": \"%s\", \"with_us\": %.5f, \"without_us\": %.5f,\n"
                "   \"ratio\": %.5f, \"low\": %.5f, \"high\": %.5f,\n"
                "   \"control\": %.5f, \"control_low\": %.5f, \"control_high\": %.5f}",
                report->rows == 0 ? "" : ",", row->place, row->with_us, row->without_us,
                row->tax.ratio, row->tax.low, row->tax.high, row->control.ratio, row->control.low,
                row->control.high);
    report->rows++;
    if (row->tax.ratio > report->worst)
        report->worst = row->tax.ratio;
}

int tax_report_close(tax_report_t *report)
{
    double limit = report->options->limit;
    bool good = limit == 0 || report->worst <= limit;

    if (limit != 0)
        printf("%s: largest ratio %.4f, limit %.4f\n", good ? "within" : "ABOVE", report->worst,
               limit);
    if (report->json != NULL) {
        fprintf(report->json, "],\n \"largest_ratio\": %.5f}\n", report->worst);
        bool written = !ferror(report->json);

        written = fclose(report->json) == 0 && written;
        if (!written)
            fprintf(stderr, "gdr_bench: --json %s: %s\n", report->options->json, strerror(errno));
        good = good && written;
    }
    return good ? 0 : -1;
}
