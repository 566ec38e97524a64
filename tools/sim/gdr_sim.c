/* gdr_sim: what an allreduce of coll/gdr takes on a cluster that is not here. */
#include "tools/sim/gsim_goal.h"
#include "tools/sim/gsim_options.h"
#include "tools/sim/gsim_plot.h"
#include "tools/sim/gsim_report.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

enum { EXIT_RIGHT = 0, EXIT_FAILED = 1, EXIT_USAGE = 2, TYPE_BYTES = 4 };

static int run_sizes(const gsim_options_t *options, gsim_setup_t *setup, gsim_report_t *report)
{
    gsim_row_t row = {.cluster = setup->cluster,
                      .nodes = setup->nodes,
                      .gpus = setup->gpus,
                      .ahead = setup->ahead};
    char error[400];
    int rc = 0;

    memcpy(row.wanted, setup->plan.algorithm, sizeof(row.wanted));
    gsim_report_head(&row);
    for (uint64_t bytes = options->size_min; bytes <= options->size_max && rc == 0; bytes *= 2) {
        setup->count = bytes / TYPE_BYTES;
        row.bytes = setup->count * TYPE_BYTES;
        rc = gsim_run(setup, &row.result, error, sizeof(error));
        if (rc != 0)
            fprintf(stderr, "gdr_sim: %llu bytes: %s\n", (unsigned long long)bytes, error);
        else
            rc = gsim_report_row(report, &row);
    }
    return rc;
}

static int run_algorithms(const gsim_options_t *options, gsim_setup_t *setup, gsim_report_t *report)
{
    const gdr_algorithm_t *const *algorithm = gdr_plan_algorithms();
    int rc = run_sizes(options, setup, report);

    for (; options->all && rc == 0 && *algorithm != NULL; algorithm++) {
        snprintf(setup->plan.algorithm, sizeof(setup->plan.algorithm), "%s", (*algorithm)->name);
        rc = run_sizes(options, setup, report);
    }
    memcpy(setup->plan.algorithm, options->plan.algorithm, sizeof(setup->plan.algorithm));
    return rc;
}

static int plot(const gsim_options_t *options, const gsim_report_t *report)
{
    char error[1200];

    if (options->plot == NULL ||
        gsim_plot_write(options->plot, report->rows, report->n, error, sizeof(error)) == 0)
        return 0;
    fprintf(stderr, "gdr_sim: %s\n", error);
    return -1;
}

static int run(const gsim_options_t *options, gsim_setup_t *setup)
{
    gsim_report_t report = {.json_path = options->json};
    int rc = gsim_report_open(&report);

    if (rc != 0)
        return EXIT_FAILED;
    for (uint64_t nodes = options->nodes_min; nodes <= options->nodes_max && rc == 0; nodes *= 2) {
        setup->nodes = (uint32_t)nodes;
        rc = run_algorithms(options, setup, &report);
    }
    if (options->all)
        gsim_report_choice(&report);
    rc |= gsim_report_close(&report);
    if (rc == 0)
        rc = plot(options, &report);
    gsim_report_free(&report);
    return rc == 0 ? EXIT_RIGHT : EXIT_FAILED;
}

static int write_goal(const gsim_options_t *options, gsim_setup_t *setup)
{
    FILE *file = fopen(options->goal, "w");
    char error[400];
    int rc;

    if (file == NULL) {
        fprintf(stderr, "gdr_sim: %s: %s\n", options->goal, strerror(errno));
        return EXIT_FAILED;
    }
    setup->count = options->size_min / TYPE_BYTES;
    rc = gsim_goal_write(setup, file, error, sizeof(error));
    if (rc != 0)
        fprintf(stderr, "gdr_sim: %s\n", error);
    rc |= ferror(file);
    if (fclose(file) != 0 || rc != 0) {
        fprintf(stderr, "gdr_sim: %s: not written\n", options->goal);
        return EXIT_FAILED;
    }
    return EXIT_RIGHT;
}

static int bad_usage(const char *error)
{
    fprintf(stderr, "gdr_sim: %s\n", error);
    return EXIT_USAGE;
}

int main(int argc, char *argv[])
{
    gsim_options_t options;
    gsim_cluster_t cluster;
    gsim_setup_t setup;
    char error[600];

    if (gsim_options_parse(argc, argv, &options, error, sizeof(error)) != 0)
        return bad_usage(error);
    if (options.help) {
        fputs(gsim_options_usage, stdout);
        return EXIT_RIGHT;
    }
    if (gsim_cluster_read(options.cluster, GSIM_CLUSTERS_DIR, &cluster, error, sizeof(error)) != 0)
        return bad_usage(error);
    if (gsim_options_setup(&options, &cluster, &setup, error, sizeof(error)) != 0)
        return bad_usage(error);
    return options.goal != NULL ? write_goal(&options, &setup) : run(&options, &setup);
}
