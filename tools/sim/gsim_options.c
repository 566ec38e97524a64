#include "tools/sim/gsim_options.h"

#include "tools/bench/bench_format.h"
#include "tools/sim/gsim_cluster.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char gsim_options_usage[] =
    "usage: gdr_sim [OPTION]...\n"
    "How long an allreduce of coll/gdr takes on a cluster, by running its engine on all ranks in\n"
    "virtual time. docs/simulator.md says what is modelled.\n"
    "  --cluster NAME|FILE     the cluster's description (default h200-8x400g); with coll/gdr "
    "come\n"
    "                          h200-8x400g h100-8x400g a100-4x200g pcie-1nic\n"
    "  --nodes N|MIN:MAX       nodes; a range doubles (default 1)\n"
    "  --gpus-per-node N       ranks on each node (default: all its GPUs)\n"
    "  --size SIZE|MIN:MAX     bytes, suffixes K, M, G; a range doubles (default 8:1G)\n"
    "  --algorithm NAME|auto|all\n"
    "                          as coll_gdr_algorithm (default auto); all: auto, then each of them\n"
    "  --waits host|stream     the CPU waits for flags, or streams do (default host)\n"
    "  --mapped on|off         kernels read the windows of their node's other ranks, as\n"
    "                          coll_gdr_mapped (default off)\n"
    "  --lane SIZE, --depth N, --chunk SIZE\n"
    "                          a communicator's part of the window, chunks in flight, their limit\n"
    "                          (defaults: those of the engine)\n"
    "  --large-lane SIZE       as coll_gdr_large_lane_size (default: by the memory); as small as\n"
    "                          --lane: none\n"
    "  --figures cluster|default\n"
    "                          what the choice of algorithms goes by: the cluster's figures, as a\n"
    "                          tuning file would hold them, or the built-in ones (default "
    "cluster)\n"
    "  --json FILE             write the figures there as well\n"
    "  --plot DIR              draw charts there (SVG): busbw against size, and against nodes\n"
    "  --goal FILE             write the schedule of the first call in GOAL, for LogGOPSim, and\n"
    "                          simulate nothing\n"
    "  --help\n"
    "exit status: 0 all right; 1 a failure; 2 bad command line or cluster\n";

typedef struct parser {
    gsim_options_t *options;
    char *error;
    size_t error_size;
} parser_t;

static int fail(const parser_t *p, const char *format, ...) __attribute__((format(printf, 2, 3)));

static int fail(const parser_t *p, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    vsnprintf(p->error, p->error_size, format, args);
    va_end(args);
    return -1;
}

static int parse_number(const char *text, uint64_t high, uint64_t *out)
{
    char *end;
    unsigned long long value = text[0] >= '0' && text[0] <= '9' ? strtoull(text, &end, 10) : 0;

    if (value < 1 || value > high || *end != '\0')
        return -1;
    *out = value;
    return 0;
}

/* "A" or "A:B" into two texts. */
static int split(const char *text, char low[32], char high[32])
{
    const char *colon = strchr(text, ':');
    size_t n = colon != NULL ? (size_t)(colon - text) : strlen(text);

    if (n >= 32 || strlen(text) - n > 32)
        return -1;
    memcpy(low, text, n);
    low[n] = '\0';
    snprintf(high, 32, "%s", colon != NULL ? colon + 1 : low);
    return 0;
}

static int parse_nodes(const parser_t *p, const char *text)
{
    gsim_options_t *o = p->options;
    char low[32], high[32];

    if (split(text, low, high) != 0 || parse_number(low, GSIM_NODES_MAX, &o->nodes_min) != 0 ||
        parse_number(high, GSIM_NODES_MAX, &o->nodes_max) != 0 || o->nodes_min > o->nodes_max)
        return fail(p, "--nodes %s: a number from 1 to %d, or two, MIN:MAX", text, GSIM_NODES_MAX);
    return 0;
}

static int parse_sizes(const parser_t *p, const char *text)
{
    gsim_options_t *o = p->options;
    char low[32], high[32];

    if (split(text, low, high) != 0 || bench_parse_size(low, &o->size_min) != 0 ||
        bench_parse_size(high, &o->size_max) != 0 || o->size_min > o->size_max || o->size_min < 4 ||
        o->size_max > UINT64_C(1) << 40)
        return fail(p,
                    "--size %s: from 4 bytes (one element) to 1024G, as in 8, 64K, 1G, or two, "
                    "MIN:MAX",
                    text);
    return 0;
}

static int parse_algorithm(const parser_t *p, const char *text)
{
    gdr_plan_params_t *plan = &p->options->plan;

    p->options->all = strcmp(text, "all") == 0;
    if (p->options->all)
        text = "auto";
    if (strlen(text) >= sizeof(plan->algorithm))
        return fail(p, "--algorithm %.60s: no algorithm of that name", text);
    snprintf(plan->algorithm, sizeof(plan->algorithm), "%s", text);
    return 0;
}

static int parse_waits(const parser_t *p, const char *text)
{
    p->options->ahead = strcmp(text, "stream") == 0;
    if (!p->options->ahead && strcmp(text, "host") != 0)
        return fail(p, "--waits %s: host or stream", text);
    return 0;
}

static int parse_mapped(const parser_t *p, const char *text)
{
    p->options->mapped = strcmp(text, "on") == 0;
    if (!p->options->mapped && strcmp(text, "off") != 0)
        return fail(p, "--mapped %s: on or off", text);
    return 0;
}

static int parse_figures(const parser_t *p, const char *text)
{
    p->options->tuned = strcmp(text, "cluster") == 0;
    if (!p->options->tuned && strcmp(text, "default") != 0)
        return fail(p, "--figures %s: cluster or default", text);
    return 0;
}

static int parse_bytes(const parser_t *p, const char *name, const char *text, uint64_t *out)
{
    if (bench_parse_size(text, out) != 0)
        return fail(p, "%s %s: not a size (1 or more bytes, as in 8, 64K, 16M, 1G)", name, text);
    return 0;
}

static int parse_small(const parser_t *p, const char *name, const char *text, uint64_t high,
                       uint64_t *out)
{
    if (parse_number(text, high, out) != 0)
        return fail(p, "%s %s: not a number from 1 to %llu", name, text, (unsigned long long)high);
    return 0;
}

static int parse_depth(const parser_t *p, const char *text)
{
    uint64_t depth = 0;
    int rc = parse_small(p, "--depth", text, 1024, &depth);

    p->options->plan.depth = (uint32_t)depth;
    return rc;
}

static int parse_valued(const parser_t *p, const char *name, const char *text)
{
    gsim_options_t *o = p->options;

    if (strcmp(name, "--nodes") == 0)
        return parse_nodes(p, text);
    if (strcmp(name, "--gpus-per-node") == 0)
        return parse_small(p, name, text, GSIM_GPUS_MAX, &o->gpus);
    if (strcmp(name, "--size") == 0)
        return parse_sizes(p, text);
    if (strcmp(name, "--algorithm") == 0)
        return parse_algorithm(p, text);
    if (strcmp(name, "--waits") == 0)
        return parse_waits(p, text);
    if (strcmp(name, "--mapped") == 0)
        return parse_mapped(p, text);
    if (strcmp(name, "--lane") == 0)
        return parse_bytes(p, name, text, &o->plan.lane_bytes);
    if (strcmp(name, "--large-lane") == 0)
        return parse_bytes(p, name, text, &o->large_lane);
    if (strcmp(name, "--chunk") == 0)
        return parse_bytes(p, name, text, &o->plan.chunk_size);
    if (strcmp(name, "--depth") == 0)
        return parse_depth(p, text);
    if (strcmp(name, "--figures") == 0)
        return parse_figures(p, text);
    if (strcmp(name, "--cluster") == 0)
        o->cluster = text;
    else if (strcmp(name, "--json") == 0)
        o->json = text;
    else if (strcmp(name, "--plot") == 0)
        o->plot = text;
    else
        o->goal = text;
    return 0;
}

static bool is_valued(const char *name)
{
    static const char *const names[] = {"--cluster",   "--nodes", "--gpus-per-node", "--size",
                                        "--algorithm", "--waits", "--lane",          "--depth",
                                        "--chunk",     "--json",  "--plot",          "--goal",
                                        "--figures",   "--mapped", "--large-lane"};

    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        if (strcmp(name, names[i]) == 0)
            return true;
    }
    return false;
}

int gsim_options_parse(int argc, char *const argv[], gsim_options_t *options, char *error,
                       size_t error_size)
{
    parser_t p = {.options = options, .error = error, .error_size = error_size};
    const char *wrong;
    int rc = 0;

    *options = (gsim_options_t){.cluster = "h200-8x400g",
                                .nodes_min = 1,
                                .nodes_max = 1,
                                .size_min = 8,
                                .size_max = 1 << 30,
                                .tuned = true};
    gdr_plan_params_init(&options->plan);
    for (int i = 1; i < argc && rc == 0; i += 2) {
        if (strcmp(argv[i], "--help") == 0) {
            options->help = true;
            return 0;
        }
        if (!is_valued(argv[i]))
            return fail(&p, "%.80s: unknown option; --help lists them", argv[i]);
        if (i + 1 == argc)
            return fail(&p, "%s: its value is missing", argv[i]);
        rc = parse_valued(&p, argv[i], argv[i + 1]);
    }
    wrong = rc == 0 ? gdr_plan_params_error(&options->plan) : NULL;
    return wrong != NULL ? fail(&p, "%s", wrong) : rc;
}

int gsim_options_setup(const gsim_options_t *options, const gsim_cluster_t *cluster,
                       gsim_setup_t *setup, char *error, size_t error_size)
{
    parser_t p = {.error = error, .error_size = error_size};
    uint64_t gpus = options->gpus != 0 ? options->gpus : cluster->gpus;

    if (gpus > cluster->gpus)
        return fail(&p, "--gpus-per-node %llu: a node of %s has %u", (unsigned long long)gpus,
                    cluster->name, cluster->gpus);
    if (options->nodes_max * gpus > GSIM_RANKS_MAX)
        return fail(&p, "more than %d ranks: fewer --nodes or --gpus-per-node", GSIM_RANKS_MAX);
    *setup = (gsim_setup_t){.cluster = cluster,
                            .nodes = (uint32_t)options->nodes_min,
                            .gpus = (uint32_t)gpus,
                            .plan = options->plan,
                            .large_lane = options->large_lane,
                            .mapped = options->mapped,
                            .ahead = options->ahead};
    if (options->tuned)
        gsim_cluster_machine(cluster, &setup->plan.machine);
    return 0;
}
