#include "tools/tune/tune_figures.h"

#include "plan/gdr_machine.h"
#include "tools/bench/bench_format.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static int compare(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

void tune_figures_add(tune_figures_t *figures, const char *name, double *values, int n,
                      const char *how)
{
    tune_figure_t *figure = &figures->list[figures->n];

    if (figures->n == TUNE_FIGURES_MAX)
        return;
    figures->n++;
    qsort(values, (size_t)n, sizeof(*values), compare);
    *figure = (tune_figure_t){
        .value = values[n / 2], .low = values[0], .high = values[n - 1], .ranks = n, .how = how};
    snprintf(figure->name, sizeof(figure->name), "%s", name);
}

const tune_figure_t *tune_figures_find(const tune_figures_t *figures, const char *name)
{
    for (int i = 0; i < figures->n; i++)
        if (strcmp(figures->list[i].name, name) == 0)
            return &figures->list[i];
    return NULL;
}

/* As a figure of the machine: a whole number in its range. */
static uint64_t whole(double value)
{
    if (!(value > 1))
        return 1;
    return value < (double)GDR_FIGURE_MAX ? (uint64_t)(value + 0.5) : GDR_FIGURE_MAX;
}

/* The component reads lines of at most 255 bytes; a name from outside brings no line of its own. */
static void print_text(FILE *to, const char *what, const char *text)
{
    fprintf(to, "# %s: ", what);
    for (int i = 0; i < TUNE_LINE_MAX && text[i] != '\0'; i++)
        fputc((unsigned char)text[i] < ' ' ? ' ' : text[i], to);
    fputc('\n', to);
}

static void print_head(const tune_figures_t *figures, FILE *to)
{
    fprintf(to, "# coll/gdr: figures of a machine, for coll_gdr_tuning_file (docs/tuning.md)\n");
    fprintf(to, "# measured by gdr_tune %s on %s, %d ranks on %d nodes\n", figures->version,
            figures->date, figures->ranks, figures->nodes);
    print_text(to, "host of rank 0", figures->host);
    print_text(to, "device", figures->device);
    print_text(to, "UCX", figures->ucx);
    if (figures->emulated)
        fprintf(to, "# AN EMULATED DEVICE: nothing here says anything about a card\n");
}

static void print_measured(const tune_figure_t *figure, bool known, FILE *to)
{
    fprintf(to, "%s%s %llu # measured: %s; %d ranks, %llu to %llu\n", known ? "" : "# ",
            figure->name, (unsigned long long)whole(figure->value), figure->how, figure->ranks,
            (unsigned long long)whole(figure->low), (unsigned long long)whole(figure->high));
}

void tune_figures_print(const tune_figures_t *figures, FILE *to)
{
    gdr_machine_t machine;
    const tune_figure_t *figure;
    const char *name;
    uint64_t value;

    gdr_machine_init(&machine);
    print_head(figures, to);
    for (uint32_t i = 0; (name = gdr_machine_figure(&machine, i, &value)) != NULL; i++) {
        figure = tune_figures_find(figures, name);
        if (figure != NULL)
            print_measured(figure, true, to);
        else
            fprintf(to, "# %s %llu: the default; not measured\n", name, (unsigned long long)value);
    }
    fprintf(to, "# for who reads this; the component has no such figure:\n");
    for (int i = 0; i < figures->n; i++)
        if (!gdr_machine_set(&machine, figures->list[i].name, 1))
            print_measured(&figures->list[i], false, to);
}

void tune_figures_print_json(const tune_figures_t *figures, FILE *to)
{
    char host[160], device[300], ucx[80];

    fprintf(to,
            "{\"version\": \"%s\", \"date\": \"%s\", \"ranks\": %d, \"nodes\": %d,\n"
            " \"host\": %s, \"device\": %s, \"emulated\": %s, \"ucx\": %s,\n \"figures\": [",
            figures->version, figures->date, figures->ranks, figures->nodes,
            bench_format_json(figures->host, host, sizeof(host)),
            bench_format_json(figures->device, device, sizeof(device)),
            figures->emulated ? "true" : "false",
            bench_format_json(figures->ucx, ucx, sizeof(ucx)));
    for (int i = 0; i < figures->n; i++) {
        const tune_figure_t *figure = &figures->list[i];

        fprintf(to,
                "%s\n  {\"name\": \"%s\", \"value\": %.1f, \"low\": %.1f, \"high\": %.1f, "
                "\"ranks\": %d, \"how\": \"%s\"}",
                i == 0 ? "" : ",", figure->name, figure->value, figure->low, figure->high,
                figure->ranks, figure->how);
    }
    fprintf(to, "]}\n");
}

/* As open() would have made it: mkstemp gives it to the owner alone. */
static int open_beside(const char *name, char *path, size_t size)
{
    mode_t mask = umask(0);
    int fd;

    umask(mask);
    if ((size_t)snprintf(path, size, "%s.XXXXXX", name) >= size) {
        errno = ENAMETOOLONG;
        return -1;
    }
    fd = mkstemp(path);
    if (fd >= 0 && fchmod(fd, 0666 & ~mask) != 0) {
        close(fd);
        unlink(path);
        return -1;
    }
    return fd;
}

static bool print_all(const tune_figures_t *figures,
                      void (*print)(const tune_figures_t *figures, FILE *to), int fd)
{
    FILE *to = fdopen(fd, "w");
    bool good;

    if (to == NULL) {
        close(fd);
        return false;
    }
    print(figures, to);
    good = fflush(to) == 0 && !ferror(to) && fsync(fd) == 0;
    return fclose(to) == 0 && good;
}

int tune_figures_write(const tune_figures_t *figures,
                       void (*print)(const tune_figures_t *figures, FILE *to), const char *name,
                       char *error, size_t error_size)
{
    char path[PATH_MAX];
    int fd = open_beside(name, path, sizeof(path));

    if (fd < 0) {
        snprintf(error, error_size, "%s: %s", name, strerror(errno));
        return -1;
    }
    if (print_all(figures, print, fd) && rename(path, name) == 0)
        return 0;
    snprintf(error, error_size, "%s: %s", name, strerror(errno));
    unlink(path);
    return -1;
}
