/* gdr_sim: what an allreduce of coll/gdr takes on a cluster that is not here. */
#include "tools/sim/gsim_options.h"
#include "tools/sim/gsim_report.h"

#include <stdio.h>
#include <string.h>

enum { EXIT_RIGHT = 0, EXIT_FAILED = 1, EXIT_USAGE = 2, TYPE_BYTES = 4 };

static int run_sizes(const gsim_options_t *options, gsim_setup_t *setup, gsim_report_t *report)
{
    gsim_row_t row = {.cluster = setup->cluster,
                      .wanted = setup->plan.algorithm,
                      .nodes = setup->nodes,
                      .gpus = setup->gpus,
                      .ahead = setup->ahead};
    char error[400];

    gsim_report_head(&row);
    for (uint64_t bytes = options->size_min; bytes <= options->size_max; bytes *= 2) {
        setup->count = bytes / TYPE_BYTES;
        row.bytes = setup->count * TYPE_BYTES;
        if (gsim_run(setup, &row.result, error, sizeof(error)) != 0) {
            fprintf(stderr, "gdr_sim: %llu bytes: %s\n", (unsigned long long)bytes, error);
            return -1;
        }
        gsim_report_row(report, &row);
    }
    return 0;
}

static int run_algorithms(const gsim_options_t *options, gsim_setup_t *setup, gsim_report_t *report)
{
    const gdr_algorithm_t *const *algorithm = gdr_plan_algorithms();
    int rc;

    setup->plan = options->plan;
    rc = run_sizes(options, setup, report);
    for (; options->all && rc == 0 && *algorithm != NULL; algorithm++) {
        snprintf(setup->plan.algorithm, sizeof(setup->plan.algorithm), "%s", (*algorithm)->name);
        rc = run_sizes(options, setup, report);
    }
    return rc;
}

static int run(const gsim_options_t *options, const gsim_cluster_t *cluster)
{
    gsim_setup_t setup = {.cluster = cluster,
                          .gpus = options->gpus != 0 ? (uint32_t)options->gpus : cluster->gpus,
                          .ahead = options->ahead};
    gsim_report_t report = {.json_path = options->json};
    int rc = gsim_report_open(&report);

    if (rc != 0)
        return EXIT_FAILED;
    for (uint64_t nodes = options->nodes_min; nodes <= options->nodes_max && rc == 0; nodes *= 2) {
        setup.nodes = (uint32_t)nodes;
        rc = run_algorithms(options, &setup, &report);
    }
    rc |= gsim_report_close(&report);
    return rc == 0 ? EXIT_RIGHT : EXIT_FAILED;
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
    char error[600];

    if (gsim_options_parse(argc, argv, &options, error, sizeof(error)) != 0)
        return bad_usage(error);
    if (options.help) {
        fputs(gsim_options_usage, stdout);
        return EXIT_RIGHT;
    }
    if (gsim_cluster_read(options.cluster, GSIM_CLUSTERS_DIR, &cluster, error, sizeof(error)) != 0)
        return bad_usage(error);
    if (options.gpus > cluster.gpus) {
        snprintf(error, sizeof(error), "--gpus-per-node %llu: a node of %s has %u",
                 (unsigned long long)options.gpus, cluster.name, cluster.gpus);
        return bad_usage(error);
    }
    if (options.nodes_max * (options.gpus != 0 ? options.gpus : cluster.gpus) > GSIM_RANKS_MAX) {
        snprintf(error, sizeof(error), "more than %d ranks: fewer --nodes or --gpus-per-node",
                 GSIM_RANKS_MAX);
        return bad_usage(error);
    }
    return run(&options, &cluster);
}
