#include "tools/tune/tune_options.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char tune_options_usage[] =
    "usage: mpirun -np N gdr_tune [OPTION]...\n"
    "Measures what coll/gdr's choice between algorithms rests on, one rank for each GPU, and\n"
    "writes the file that coll_gdr_tuning_file names. The figures of both links need two ranks on\n"
    "a node and two nodes; what was not measured stays at its default.\n"
    "  --output FILE     the file (default: standard output); replaced when all has been measured\n"
    "  --json FILE       the same figures, and their spread over the ranks, as JSON\n"
    "  --node-size N     so many ranks in a row count as a node (default: those on one host)\n"
    "  --quick           less of everything\n"
    "  --timeout SECONDS for all of it (default 300); then each rank says where it was\n"
    "  --verbose N       0 to 3: what devices and UCX say (default 1)\n"
    "  --help\n"
    "exit status: 0 all right; 1 a failure; 2 bad command line\n";

static int take_number(const char *name, const char *text, int low, int high, int *out, char *error,
                       size_t size)
{
    char *end = NULL;
    long value;

    errno = 0;
    value = text[0] >= '0' && text[0] <= '9' ? strtol(text, &end, 10) : -1;
    if (end == NULL || *end != '\0' || errno != 0 || value < low || value > high) {
        snprintf(error, size, "%s %s: not a number from %d to %d", name, text, low, high);
        return -1;
    }
    *out = (int)value;
    return 0;
}

/* 1: there is no such option. */
static int take_valued(tune_options_t *o, const char *name, const char *text, char *error,
                       size_t size)
{
    if (strcmp(name, "--node-size") == 0)
        return take_number(name, text, 1, INT_MAX, &o->node_size, error, size);
    if (strcmp(name, "--timeout") == 0)
        return take_number(name, text, 1, 86400, &o->timeout, error, size);
    if (strcmp(name, "--verbose") == 0)
        return take_number(name, text, 0, 3, &o->verbose, error, size);
    if (text[0] == '\0') {
        snprintf(error, size, "%s: the file has no name", name);
        return -1;
    }
    if (strcmp(name, "--output") == 0)
        o->output = text;
    else
        o->json = text;
    return 0;
}

static bool is_valued(const char *name)
{
    static const char *const names[] = {"--output", "--json", "--node-size", "--timeout",
                                        "--verbose"};

    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        if (strcmp(name, names[i]) == 0)
            return true;
    return false;
}

int tune_options_parse(int argc, char *const argv[], tune_options_t *options, char *error,
                       size_t error_size)
{
    *options = (tune_options_t){.timeout = 300, .verbose = 1};
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--help") == 0) {
            options->help = true;
        } else if (strcmp(argv[i], "--quick") == 0) {
            options->quick = true;
        } else if (!is_valued(argv[i])) {
            snprintf(error, error_size, "%s: unknown option; --help lists them", argv[i]);
            return -1;
        } else if (i + 1 == argc) {
            snprintf(error, error_size, "%s: its value is missing", argv[i]);
            return -1;
        } else {
            if (take_valued(options, argv[i], argv[i + 1], error, error_size) != 0)
                return -1;
            i++;
        }
    }
    return 0;
}
