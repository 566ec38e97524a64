#include "tools/sim/gsim_cluster.h"

#include <ctype.h>
#include <errno.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LINE_MAX_BYTES = 400, FILE_MAX_BYTES = 64 << 10 };

typedef enum kind { KIND_NAME, KIND_COUNT, KIND_FABRIC, KIND_TIME, KIND_RATE } kind_t;

typedef struct parameter {
    const char *name;
    kind_t kind;
    size_t offset;
    const char *what;
} parameter_t;

#define PLACE(member) offsetof(gsim_cluster_t, member)

static const parameter_t parameters[] = {
    {"name", KIND_NAME, PLACE(name), "what the cluster is called in reports"},
    {"gpus_per_node", KIND_COUNT, PLACE(gpus), "GPUs in a node"},
    {"nics_per_node", KIND_COUNT, PLACE(nics), "NICs in a node"},
    {"gpu_fabric", KIND_FABRIC, PLACE(fabric), "nvlink, or pcie: one port for peers and NIC"},
    {"gpu_gbs", KIND_RATE, PLACE(gpu.gbs), "a GPU's port to its node, each direction"},
    {"gpu_put_ns", KIND_TIME, PLACE(gpu.put_ns), "latency of a put in the node"},
    {"gpu_put_cpu_ns", KIND_TIME, PLACE(gpu.put_cpu), "the CPU's time for it"},
    {"gpu_done_ns", KIND_TIME, PLACE(gpu.done_ns), "from its arrival to its completion"},
    {"gpu_word_ns", KIND_TIME, PLACE(gpu.word_ns), "latency of a flag in the node"},
    {"gpu_word_cpu_ns", KIND_TIME, PLACE(gpu.word_cpu), "the CPU's time for it"},
    {"nic_gbs", KIND_RATE, PLACE(nic.gbs), "a NIC, each direction"},
    {"nic_put_ns", KIND_TIME, PLACE(nic.put_ns), "latency of a put between nodes"},
    {"nic_put_cpu_ns", KIND_TIME, PLACE(nic.put_cpu), "the CPU's time for it"},
    {"nic_done_ns", KIND_TIME, PLACE(nic.done_ns), "from its arrival to its completion"},
    {"nic_word_ns", KIND_TIME, PLACE(nic.word_ns), "latency of a flag between nodes"},
    {"nic_word_cpu_ns", KIND_TIME, PLACE(nic.word_cpu), "the CPU's time for it"},
    {"launch_cpu_ns", KIND_TIME, PLACE(launch_cpu), "the CPU's time for a kernel launch"},
    {"launch_ns", KIND_TIME, PLACE(launch_ns), "from the launch to the kernel's begin"},
    {"kernel_ns", KIND_TIME, PLACE(kernel_ns), "a kernel of few bytes"},
    {"kernel_gbs", KIND_RATE, PLACE(kernel_gbs), "bytes that one kernel reads and writes"},
    {"memory_gbs", KIND_RATE, PLACE(memory_gbs), "bytes that all kernels of a GPU do"},
    {"memory_gb", KIND_RATE, PLACE(memory_gb), "memory of a GPU"},
    {"mark_cpu_ns", KIND_TIME, PLACE(mark_cpu), "the CPU's time for a stream's word or wait"},
    {"mark_ns", KIND_TIME, PLACE(mark_ns), "until the CPU sees a stream's word"},
    {"poll_cpu_ns", KIND_TIME, PLACE(poll_cpu), "the CPU's time to notice something"},
};

enum { PARAMETERS = sizeof(parameters) / sizeof(parameters[0]) };

typedef struct parser {
    const char *file;
    unsigned line;
    char *error;
    size_t error_size;
    gsim_cluster_t *cluster;
    bool seen[PARAMETERS];
} parser_t;

static int fail(const parser_t *p, const char *format, ...) __attribute__((format(printf, 2, 3)));

static int fail(const parser_t *p, const char *format, ...)
{
    char text[300];
    va_list args;

    va_start(args, format);
    vsnprintf(text, sizeof(text), format, args);
    va_end(args);
    if (p->line > 0)
        snprintf(p->error, p->error_size, "%s:%u: %s", p->file, p->line, text);
    else
        snprintf(p->error, p->error_size, "%s: %s", p->file, text);
    return -1;
}

/* Without the blanks at both ends; in place. */
static char *trim(char *text)
{
    size_t n;

    while (*text == ' ' || *text == '\t')
        text++;
    n = strlen(text);
    while (n > 0 && (text[n - 1] == ' ' || text[n - 1] == '\t' || text[n - 1] == '\r'))
        text[--n] = '\0';
    return text;
}

static int parse_name(const parser_t *p, const char *value, char *out)
{
    size_t n = strlen(value), i;

    for (i = 0; i < n && (isalnum((unsigned char)value[i]) || strchr("-_.", value[i])); i++) {
    }
    if (n == 0 || n >= GSIM_NAME_MAX || i < n)
        return fail(p, "name = %.80s: 1 to %d letters, digits, '-', '_' or '.'", value,
                    GSIM_NAME_MAX - 1);
    memcpy(out, value, n + 1);
    return 0;
}

static int parse_count(const parser_t *p, const parameter_t *parameter, const char *value,
                       uint32_t *out)
{
    char *end = NULL;
    unsigned long number = isdigit((unsigned char)value[0]) ? strtoul(value, &end, 10) : 0;

    if (number < 1 || number > GSIM_GPUS_MAX || end == NULL || *end != '\0')
        return fail(p, "%s = %.80s: a whole number from 1 to %d (%s)", parameter->name, value,
                    GSIM_GPUS_MAX, parameter->what);
    *out = (uint32_t)number;
    return 0;
}

static int parse_fabric(const parser_t *p, const char *value, gsim_fabric_t *out)
{
    if (strcmp(value, "nvlink") == 0)
        *out = GSIM_NVLINK;
    else if (strcmp(value, "pcie") == 0)
        *out = GSIM_PCIE;
    else
        return fail(p, "gpu_fabric = %.80s: nvlink or pcie", value);
    return 0;
}

/* Times from 0 to a second, rates above 0 up to 1 PB/s. Decimal digits: no "nan", no "0x". */
static int parse_number(const parser_t *p, const parameter_t *parameter, const char *value,
                        double *out)
{
    bool is_time = parameter->kind == KIND_TIME;
    double low = is_time ? 0 : 1e-3, high = is_time ? 1e9 : 1e6, number = -1;
    size_t n = strspn(value, "0123456789.");
    char *end = NULL;

    if (n > 0 && value[n] == '\0' && n < 32)
        number = strtod(value, &end);
    if (end == NULL || *end != '\0' || !(number >= low && number <= high))
        return fail(p, "%s = %.80s: a decimal number %s (%s)", parameter->name, value,
                    is_time ? "of nanoseconds from 0 to 1000000000"
                            : "of GB/s (10^9 bytes) from 0.001 to 1000000",
                    parameter->what);
    *out = number;
    return 0;
}

static int parse_value(parser_t *p, const parameter_t *parameter, const char *value)
{
    char *place = (char *)p->cluster + parameter->offset;

    switch (parameter->kind) {
    case KIND_NAME:
        return parse_name(p, value, place);
    case KIND_COUNT:
        return parse_count(p, parameter, value, (uint32_t *)(void *)place);
    case KIND_FABRIC:
        return parse_fabric(p, value, (gsim_fabric_t *)(void *)place);
    default:
        return parse_number(p, parameter, value, (double *)(void *)place);
    }
}

static int parse_assignment(parser_t *p, char *name, const char *value, const char *source)
{
    unsigned i = 0;

    while (i < PARAMETERS && strcmp(parameters[i].name, name) != 0)
        i++;
    if (i == PARAMETERS)
        return fail(p, "%.80s: no parameter of that name; docs/simulator.md lists them", name);
    if (p->seen[i])
        return fail(p, "%s: given for the second time: leave one of them out", name);
    if (*source == '\0')
        return fail(p, "%s: its source is missing: add a comment, \"# where it is from\"", name);
    p->seen[i] = true;
    return parse_value(p, &parameters[i], value);
}

static int parse_line(parser_t *p, char *line)
{
    char *comment = strchr(line, '#'), *equals;

    for (const char *c = line; *c != '\0'; c++) {
        if ((unsigned char)*c < ' ' && *c != '\t' && *c != '\r')
            return fail(p, "a control character (code %d): this must be plain text", *c);
    }
    if (comment != NULL)
        *comment++ = '\0';
    line = trim(line);
    if (*line == '\0')
        return 0;
    equals = strchr(line, '=');
    if (equals == NULL)
        return fail(p, "%.80s: no '=': write \"name = value # source\"", line);
    *equals = '\0';
    return parse_assignment(p, trim(line), trim(equals + 1), comment != NULL ? trim(comment) : "");
}

static int check_whole(parser_t *p)
{
    const gsim_cluster_t *c = p->cluster;
    unsigned i;

    p->line = 0;
    for (i = 0; i < PARAMETERS; i++) {
        if (!p->seen[i])
            return fail(p, "%s is missing: add \"%s = value # source\" (%s)", parameters[i].name,
                        parameters[i].name, parameters[i].what);
    }
    if (c->nics > c->gpus || c->gpus % c->nics != 0)
        return fail(p,
                    "nics_per_node = %u: gpus_per_node = %u must be a multiple of it, so that "
                    "each NIC serves as many GPUs",
                    c->nics, c->gpus);
    if (c->kernel_gbs > c->memory_gbs)
        return fail(p, "kernel_gbs is greater than memory_gbs: one kernel cannot do more than all");
    return 0;
}

int gsim_cluster_parse(const char *text, size_t bytes, const char *name, gsim_cluster_t *cluster,
                       char *error, size_t error_size)
{
    gsim_cluster_t read;
    parser_t p = {.file = name, .error = error, .error_size = error_size, .cluster = &read};
    char line[LINE_MAX_BYTES + 1];
    const char *end = text + bytes, *next;
    int rc = 0;

    memset(&read, 0, sizeof(read));
    for (; text < end && rc == 0; text = next) {
        const char *newline = memchr(text, '\n', (size_t)(end - text));
        size_t length = (size_t)((newline != NULL ? newline : end) - text);

        p.line++;
        next = newline != NULL ? newline + 1 : end;
        if (length > LINE_MAX_BYTES)
            return fail(&p, "longer than %d bytes: cut it", LINE_MAX_BYTES);
        if (memchr(text, '\0', length) != NULL)
            return fail(&p, "a control character (code 0): this must be plain text");
        memcpy(line, text, length);
        line[length] = '\0';
        rc = parse_line(&p, line);
    }
    if (rc == 0)
        rc = check_whole(&p);
    if (rc == 0)
        *cluster = read;
    return rc;
}

static FILE *open_file(const char *path, const char *directory, char *where, size_t size)
{
    FILE *file = fopen(path, "rb");

    snprintf(where, size, "%s", path);
    if (file != NULL || strchr(path, '/') != NULL || directory == NULL)
        return file;
    snprintf(where, size, "%s/%s", directory, path);
    return fopen(where, "rb");
}

int gsim_cluster_read(const char *path, const char *directory, gsim_cluster_t *cluster, char *error,
                      size_t error_size)
{
    char where[1024], *text = malloc(FILE_MAX_BYTES + 1);
    FILE *file;
    size_t bytes;
    int rc = -1;

    if (text == NULL) {
        snprintf(error, error_size, "%s: no memory", path);
        return -1;
    }
    file = open_file(path, directory, where, sizeof(where));
    if (file == NULL) {
        snprintf(error, error_size, "%s: %s: name a file, or one of the clusters that --help lists",
                 where, strerror(errno));
        free(text);
        return -1;
    }
    bytes = fread(text, 1, FILE_MAX_BYTES + 1, file);
    if (ferror(file) != 0)
        snprintf(error, error_size, "%s: cannot be read", where);
    else if (bytes > FILE_MAX_BYTES)
        snprintf(error, error_size, "%s: larger than %d bytes: no cluster description", where,
                 FILE_MAX_BYTES);
    else
        rc = gsim_cluster_parse(text, bytes, where, cluster, error, error_size);
    fclose(file);
    free(text);
    return rc;
}
