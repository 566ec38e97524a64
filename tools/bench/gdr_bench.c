/* gdr_bench: how long an allreduce takes, which way it went, and whether it is right; and what gdr
 * costs calls on host memory. */
#include "bench_cuda.h"
#include "bench_measure.h"
#include "bench_options.h"
#include "bench_pvar.h"
#include "bench_report.h"
#include "bench_tax.h"

#include <mpi.h>
#include <mpi-ext.h>
#include <stdio.h>
#include <string.h>

enum { EXIT_RIGHT = 0, EXIT_FAILED = 1, EXIT_USAGE = 2 };

static int local_rank(void)
{
    MPI_Comm node;
    int rank;

    MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &node);
    MPI_Comm_rank(node, &rank);
    MPI_Comm_free(&node);
    return rank;
}

static bool mpi_takes_device_memory(void)
{
#if defined(MPIX_CUDA_AWARE_SUPPORT)
    return MPIX_Query_cuda_support() == 1;
#else
    return false;
#endif
}

static int open_device(bool have_gdr, int rank)
{
    int rc = bench_cuda_open(local_rank());

    if (rc != 0)
        fprintf(stderr, "gdr_bench: rank %d: no CUDA device: %s\n", rank, bench_cuda_error());
    if (!bench_all(rc == 0))
        return -1;
    if (have_gdr || mpi_takes_device_memory())
        return 0;
    if (rank == 0)
        fprintf(stderr,
                "gdr_bench: coll/gdr is not in this process and this MPI cannot take device "
                "memory: put mca_coll_gdr.so where Open MPI looks\n"); /* else it crashes */
    return -1;
}

static int run_sizes(const bench_options_t *options, bench_way_t *way, bench_way_t *other,
                     bench_report_t *report)
{
    size_t element = bench_type_bytes(options->type);

    for (uint64_t bytes = options->min; bytes <= options->max; bytes *= 2) {
        bench_row_t row;

        if (bench_measure(way, other, bytes / element, &row) != 0)
            return -1;
        if (way->rank == 0)
            bench_report_row(report, &row);
    }
    return 0;
}

static int run(const bench_options_t *options, bool have_gdr, int rank, int ranks)
{
    bench_way_t way = {0}, other = {0};
    bool compare = options->compare != BENCH_COMPARE_NONE;
    bench_report_t report = {.options = options, .ranks = ranks, .device = "none"};
    int rc;

    if (!options->host) {
        if (open_device(have_gdr, rank) != 0)
            return EXIT_FAILED;
        report.device = bench_cuda_name();
        report.emulated = bench_cuda_emulated();
    }
    rc = bench_way_open(&way, options->host ? BENCH_WAY_HOST : BENCH_WAY_DEVICE, options, rank,
                        ranks);
    if (rc == 0 && compare)
        rc = bench_way_open(
            &other, options->compare == BENCH_COMPARE_STAGED ? BENCH_WAY_STAGED : BENCH_WAY_HOST,
            options, rank, ranks);
    if (rc == 0 && rank == 0)
        rc = bench_report_open(&report);
    if (bench_all(rc == 0)) {
        rc = run_sizes(options, &way, compare ? &other : NULL, &report);
        if (rank == 0)
            rc |= bench_report_close(&report);
    } else {
        rc = -1;
    }
    bench_way_close(&way);
    bench_way_close(&other);
    return bench_all(rc == 0 && report.wrong == 0) ? EXIT_RIGHT : EXIT_FAILED;
}

static int usage(int rank, const char *text)
{
    if (rank == 0)
        fputs(text, stdout);
    return EXIT_RIGHT;
}

static int bad_usage(int rank, const char *error)
{
    if (rank == 0)
        fprintf(stderr, "gdr_bench: %s\n", error);
    return EXIT_USAGE;
}

static int allreduce(int argc, char *argv[], bool have_gdr, int rank, int ranks)
{
    bench_options_t options;
    char error[256];

    if (bench_options_parse(argc, argv, &options, error, sizeof(error)) != 0)
        return bad_usage(rank, error);
    if (options.help)
        return usage(rank, bench_options_usage);
    return run(&options, have_gdr, rank, ranks);
}

static int host_tax(int argc, char *argv[], int rank, int ranks)
{
    tax_options_t options;
    char error[256];

    if (tax_options_parse(argc, argv, &options, error, sizeof(error)) != 0)
        return bad_usage(rank, error);
    if (options.help)
        return usage(rank, tax_options_usage);
    return bench_tax(&options, rank, ranks) == 0 ? EXIT_RIGHT : EXIT_FAILED;
}

int main(int argc, char *argv[])
{
    int rank, ranks, status;
    bool have_gdr;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    have_gdr = bench_pvar_open();
    if (argc > 1 && strcmp(argv[1], "host-tax") == 0)
        status = host_tax(argc, argv, rank, ranks);
    else
        status = allreduce(argc, argv, have_gdr, rank, ranks);
    bench_pvar_close();
    MPI_Finalize();
    return status;
}
