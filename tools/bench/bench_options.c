#include "bench_options.h"

#include "bench_format.h"

#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ITERS_MAX = 1000000 };

const char bench_options_usage[] =
    "usage: gdr_bench allreduce [OPTION]...     gdr_bench host-tax --help says more of that one\n"
    "  --device | --host     where the buffers are (default: device)\n"
    "  --min SIZE            smallest message in bytes (default 8); suffixes K, M, G\n"
    "  --max SIZE            largest message in bytes (default 16M); sizes double\n"
    "  --op OP               sum prod min max land lor lxor band bor bxor (default sum)\n"
    "  --type TYPE           int8 int16 int32 int64 uint8 uint16 uint32 uint64 float double\n"
    "                        (default float)\n"
    "  --in-place            with MPI_IN_PLACE\n"
    "  --check               compare every element of the result\n"
    "  --compare staged      in turn with copies to host memory, a host allreduce, copies back\n"
    "  --compare host        in turn with an allreduce of as much host memory\n"
    "  --iters N, --warmup N calls that are timed, calls before them (default: by size)\n"
    "  --json FILE           write the figures there as well\n"
    "  --help\n"
    "exit status: 0 all right; 1 wrong elements or a failure; 2 bad command line\n";

static int fail(char *error, size_t size, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

static int fail(char *error, size_t size, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    vsnprintf(error, size, format, args);
    va_end(args);
    return -1;
}

typedef struct parser {
    bench_options_t *options;
    char *error;
    size_t error_size;
    bool device;
} parser_t;

static int parse_bytes(const parser_t *p, const char *name, const char *text, uint64_t *out)
{
    if (bench_parse_size(text, out) != 0)
        return fail(p->error, p->error_size,
                    "%s %s: not a size (1 or more bytes, as in 8, 64K, 16M, 1G)", name, text);
    return 0;
}

static int parse_count(const parser_t *p, const char *name, const char *text, int low, int *out)
{
    char *end;
    long value = text[0] >= '0' && text[0] <= '9' ? strtol(text, &end, 10) : -1;

    if (value < low || value > ITERS_MAX || *end != '\0')
        return fail(p->error, p->error_size, "%s %s: not a number from %d to %d", name, text, low,
                    ITERS_MAX);
    *out = (int)value;
    return 0;
}

static int parse_compare(const parser_t *p, const char *text)
{
    if (strcmp(text, "staged") == 0)
        p->options->compare = BENCH_COMPARE_STAGED;
    else if (strcmp(text, "host") == 0)
        p->options->compare = BENCH_COMPARE_HOST;
    else
        return fail(p->error, p->error_size, "--compare %s: staged or host", text);
    return 0;
}

/* An option that has a value; 1: there is no such option. */
static int parse_valued(const parser_t *p, const char *name, const char *text)
{
    bench_options_t *o = p->options;

    if (strcmp(name, "--min") == 0)
        return parse_bytes(p, name, text, &o->min);
    if (strcmp(name, "--max") == 0)
        return parse_bytes(p, name, text, &o->max);
    if (strcmp(name, "--iters") == 0)
        return parse_count(p, name, text, 1, &o->iters);
    if (strcmp(name, "--warmup") == 0)
        return parse_count(p, name, text, 0, &o->warmup);
    if (strcmp(name, "--compare") == 0)
        return parse_compare(p, text);
    if (strcmp(name, "--op") == 0)
        return bench_op_parse(text, &o->op) == 0
                   ? 0
                   : fail(p->error, p->error_size, "--op %s: unknown operation", text);
    if (strcmp(name, "--type") == 0)
        return bench_type_parse(text, &o->type) == 0
                   ? 0
                   : fail(p->error, p->error_size, "--type %s: unknown type", text);
    o->json = text;
    return 0;
}

static bool is_valued(const char *name)
{
    static const char *const names[] = {"--min",     "--max", "--iters", "--warmup",
                                        "--compare", "--op",  "--type",  "--json"};

    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        if (strcmp(name, names[i]) == 0)
            return true;
    }
    return false;
}

static int parse_flag(parser_t *p, const char *name)
{
    bench_options_t *o = p->options;

    if (strcmp(name, "--device") == 0)
        p->device = true;
    else if (strcmp(name, "--host") == 0)
        o->host = true;
    else if (strcmp(name, "--in-place") == 0)
        o->in_place = true;
    else if (strcmp(name, "--check") == 0)
        o->check = true;
    else if (strcmp(name, "--help") == 0)
        o->help = true;
    else
        return fail(p->error, p->error_size, "%s: unknown option; --help lists them", name);
    return 0;
}

/* What no single option can see. */
static int check_together(const parser_t *p)
{
    const bench_options_t *o = p->options;
    uint64_t bytes = bench_type_bytes(o->type);

    if (p->device && o->host)
        return fail(p->error, p->error_size, "--device and --host exclude each other");
    if (o->host && o->compare != BENCH_COMPARE_NONE)
        return fail(p->error, p->error_size, "--compare is for device buffers, not for --host");
    if (!bench_op_applies(o->op, o->type))
        return fail(p->error, p->error_size, "MPI does not define %s on %s", bench_op_name(o->op),
                    bench_type_name(o->type));
    if (o->min < bytes)
        return fail(p->error, p->error_size, "--min %llu: less than one %s (%llu bytes)",
                    (unsigned long long)o->min, bench_type_name(o->type),
                    (unsigned long long)bytes);
    if (o->min > o->max)
        return fail(p->error, p->error_size, "--min is greater than --max");
    if (o->max / bytes > INT_MAX)
        return fail(p->error, p->error_size, "--max: more than %d elements, MPI's limit", INT_MAX);
    return 0;
}

int bench_options_parse(int argc, char *const argv[], bench_options_t *options, char *error,
                        size_t error_size)
{
    parser_t p = {.options = options, .error = error, .error_size = error_size};
    int rc = 0;

    *options = (bench_options_t){.min = 8,
                                 .max = 16u << 20,
                                 .iters = -1,
                                 .warmup = -1,
                                 .op = BENCH_SUM,
                                 .type = BENCH_FLOAT};
    if (argc < 2)
        return fail(error, error_size,
                    "what? gdr_bench allreduce, or gdr_bench host-tax; --help for options");
    if (strcmp(argv[1], "--help") == 0) {
        options->help = true;
        return 0;
    }
    if (strcmp(argv[1], "allreduce") != 0)
        return fail(error, error_size, "%s: there is allreduce, and host-tax", argv[1]);
    for (int i = 2; i < argc && rc == 0; i++) {
        if (!is_valued(argv[i]))
            rc = parse_flag(&p, argv[i]);
        else if (i + 1 == argc)
            rc = fail(error, error_size, "%s: its value is missing", argv[i]);
        else
            rc = parse_valued(&p, argv[i], argv[i + 1]), i++;
    }
    return rc != 0 || options->help ? rc : check_together(&p);
}

int bench_options_iters(const bench_options_t *options, uint64_t bytes)
{
    if (options->iters >= 0)
        return options->iters;
    return bytes <= 64u << 10 ? 40 : bytes <= 1u << 20 ? 16 : bytes <= 16u << 20 ? 8 : 4;
}

int bench_options_warmup(const bench_options_t *options, uint64_t bytes)
{
    if (options->warmup >= 0)
        return options->warmup;
    return bytes <= 1u << 20 ? 4 : 1;
}
