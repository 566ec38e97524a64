#include "tax_options.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char tax_options_usage[] =
    "usage: gdr_bench host-tax [OPTION]...\n"
    "What gdr costs a call on host memory: of each communicator there are duplicates with gdr and\n"
    "without it (coll_gdr_priority lowered through MPI_T), called in blocks, in random order.\n"
    "  --call CALL           allreduce iallreduce barrier ibarrier bcast reduce allgather "
    "alltoall\n"
    "                        (default allreduce)\n"
    "  --bytes N             of each rank, a multiple of 8 (default 8)\n"
    "  --cuda                in a process that uses CUDA: some addresses must be asked about\n"
    "  --rounds N            rounds, a block of every kind in each (default 4000)\n"
    "  --calls N             calls of a block (default 100)\n"
    "  --seed N              of the order of the blocks (default 1)\n"
    "  --limit RATIO         exit status 1 when a median ratio is above\n"
    "  --json FILE           write the figures there as well\n"
    "  --help\n"
    "exit status: 0 measured; 1 above the limit, or a failure; 2 bad command line\n";

static const char *const call_names[TAX_CALLS] = {
    "allreduce", "iallreduce", "barrier", "ibarrier", "bcast", "reduce", "allgather", "alltoall"};

const char *tax_call_name(tax_call_t call)
{
    return call_names[call];
}

static int parse_call(const char *text, tax_options_t *options)
{
    for (int i = 0; i < TAX_CALLS; i++) {
        if (strcmp(text, call_names[i]) == 0) {
            options->call = (tax_call_t)i;
            return 0;
        }
    }
    return -1;
}

static int parse_number(const char *text, uint64_t low, uint64_t high, uint64_t *out)
{
    char *end;

    if (text[0] < '0' || text[0] > '9')
        return -1;
    errno = 0;
    *out = strtoull(text, &end, 10);
    return errno != 0 || *end != '\0' || *out < low || *out > high ? -1 : 0;
}

static int parse_int(const char *text, int high, int *out)
{
    uint64_t value;

    if (parse_number(text, 1, (uint64_t)high, &value) != 0)
        return -1;
    *out = (int)value;
    return 0;
}

static int parse_limit(const char *text, double *out)
{
    char *end;

    if (text[0] < '0' || text[0] > '9')
        return -1;
    *out = strtod(text, &end);
    return *end != '\0' || !(*out > 0 && *out < 1000) ? -1 : 0;
}

/* An option that has a value: 0, -1 for a bad value, 1 if there is no such option. */
static int parse_valued(const char *name, const char *text, tax_options_t *options)
{
    if (strcmp(name, "--call") == 0)
        return parse_call(text, options);
    if (strcmp(name, "--bytes") == 0)
        return parse_int(text, 1 << 20, &options->bytes) == 0 && options->bytes % 8 == 0 ? 0 : -1;
    if (strcmp(name, "--rounds") == 0)
        return parse_int(text, 1000000, &options->rounds);
    if (strcmp(name, "--calls") == 0)
        return parse_int(text, 1000000, &options->calls);
    if (strcmp(name, "--seed") == 0)
        return parse_number(text, 0, UINT64_MAX, &options->seed);
    if (strcmp(name, "--limit") == 0)
        return parse_limit(text, &options->limit);
    if (strcmp(name, "--json") == 0) {
        options->json = text;
        return 0;
    }
    return 1;
}

static bool parse_flag(const char *name, tax_options_t *options)
{
    if (strcmp(name, "--help") == 0)
        return options->help = true;
    if (strcmp(name, "--cuda") == 0)
        return options->cuda = true;
    return false;
}

int tax_options_parse(int argc, char *const argv[], tax_options_t *options, char *error,
                      size_t error_size)
{
    *options =
        (tax_options_t){.call = TAX_ALLREDUCE, .bytes = 8, .rounds = 4000, .calls = 100, .seed = 1};
    for (int i = 2; i < argc; i++) {
        const char *value = i + 1 < argc ? argv[i + 1] : NULL;
        int rc;

        if (parse_flag(argv[i], options))
            continue;
        rc = parse_valued(argv[i], value == NULL ? "" : value, options);
        if (rc == 1)
            snprintf(error, error_size, "%s: unknown option; --help lists them", argv[i]);
        else if (value == NULL)
            snprintf(error, error_size, "%s: its value is missing", argv[i]);
        else if (rc != 0)
            snprintf(error, error_size, "%s %s: not a value for it; --help says more", argv[i],
                     value);
        if (rc != 0 || value == NULL)
            return -1;
        i++;
    }
    return 0;
}
