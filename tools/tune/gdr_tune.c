/* gdr_tune: measures a machine and writes the file that coll_gdr_tuning_file names. */
#include "tools/tune/tune_figures.h"
#include "tools/tune/tune_glue.h"
#include "tools/tune/tune_measure.h"
#include "tools/tune/tune_options.h"
#include "tools/tune/tune_rig.h"

#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { EXIT_DONE = 0, EXIT_FAILED = 1, EXIT_USAGE = 2 };

static void describe(const tune_rig_t *rig, tune_figures_t *figures)
{
    time_t now = time(NULL);
    struct tm utc;

    figures->ranks = rig->ranks;
    figures->nodes = rig->nodes;
    figures->emulated = rig->device.emulated;
    snprintf(figures->device, sizeof(figures->device), "%s", rig->device.name);
    snprintf(figures->version, sizeof(figures->version), "%s", GDR_VERSION);
    tune_glue_ucx(figures->ucx, sizeof(figures->ucx));
    if (gethostname(figures->host, sizeof(figures->host) - 1) != 0)
        snprintf(figures->host, sizeof(figures->host), "unknown");
    if (gmtime_r(&now, &utc) != NULL)
        strftime(figures->date, sizeof(figures->date), "%Y-%m-%d %H:%M UTC", &utc);
}

static void say(const tune_rig_t *rig, const char *what)
{
    if (rig->rank == 0)
        fprintf(stderr, "gdr_tune: %d ranks on %d nodes: %s\n", rig->ranks, rig->nodes, what);
}

static void measure(tune_rig_t *rig, tune_figures_t *figures)
{
    say(rig, "kernels and device memory");
    tune_measure_device(rig, figures);
    say(rig, "flags");
    tune_measure_flag(rig, figures);
    say(rig, "puts");
    tune_measure_links(rig, figures);
    describe(rig, figures);
}

static int write_file(const tune_figures_t *figures,
                      void (*print)(const tune_figures_t *figures, FILE *to), const char *name)
{
    char error[512];

    if (tune_figures_write(figures, print, name, error, sizeof(error)) == 0)
        return 0;
    fprintf(stderr, "gdr_tune: %s\n", error);
    return -1;
}

/* On rank 0. */
static int report(const tune_options_t *options, const tune_figures_t *figures)
{
    int rc = 0;

    if (options->output == NULL)
        tune_figures_print(figures, stdout);
    else
        rc = write_file(figures, tune_figures_print, options->output);
    if (options->json != NULL)
        rc |= write_file(figures, tune_figures_print_json, options->json);
    if (rc == 0 && (fflush(stdout) != 0 || ferror(stdout))) {
        fprintf(stderr, "gdr_tune: standard output cannot be written\n");
        rc = -1;
    }
    return rc;
}

static int run(const tune_options_t *options)
{
    static tune_rig_t rig;
    static tune_figures_t figures;
    int rc = tune_rig_open(&rig, options);

    if (rc == 0) {
        measure(&rig, &figures);
        if (rig.rank == 0)
            rc = report(options, &figures);
    }
    tune_rig_close(&rig);
    return tune_all(rc == 0) ? EXIT_DONE : EXIT_FAILED;
}

int main(int argc, char *argv[])
{
    tune_options_t options;
    char error[256];
    int rank, status;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (tune_options_parse(argc, argv, &options, error, sizeof(error)) != 0) {
        if (rank == 0)
            fprintf(stderr, "gdr_tune: %s\n", error);
        status = EXIT_USAGE;
    } else if (options.help) {
        if (rank == 0)
            fputs(tune_options_usage, stdout);
        status = EXIT_DONE;
    } else {
        status = run(&options);
    }
    MPI_Finalize();
    return status;
}
