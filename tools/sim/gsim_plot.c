#include "tools/sim/gsim_plot.h"

#include "tools/bench/bench_format.h"

#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum {
    WIDTH = 860,
    HEIGHT = 480,
    LEFT = 70,
    RIGHT = 150, /* the legend */
    TOP = 40,
    BOTTOM = 50,
    LINES_MAX = 16,
    TICKS_MAX = 12
};

typedef struct point {
    double x, busbw, bound; /* x: doubles from tick to tick; busbw < 0: not served */
    const char *line;
} point_t;

typedef struct chart {
    FILE *file;
    point_t *points;
    uint64_t n;
    double x_min, x_max, y_max;
    bool is_size; /* x is in bytes */
    const char *lines[LINES_MAX];
    int nlines;
} chart_t;

static const char *const colors[] = {"#0b6fc2", "#d1495b", "#2e933c", "#8e44ad",
                                     "#e08e0b", "#111111", "#7f5539", "#c2185b"};

static int wrong(char *error, size_t size, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

static int wrong(char *error, size_t size, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    vsnprintf(error, size, format, args);
    va_end(args);
    return -1;
}

/* x as the number of doublings from the first: exact for powers of two, straight between them. */
static double doublings(const chart_t *chart, double x)
{
    double low = chart->x_min, n = 0;

    for (; 2 * low <= x; low *= 2)
        n++;
    return n + (x - low) / low;
}

static double place_x(const chart_t *chart, double x)
{
    return LEFT + (WIDTH - LEFT - RIGHT) * doublings(chart, x) / doublings(chart, chart->x_max);
}

static double place_y(const chart_t *chart, double y)
{
    return HEIGHT - BOTTOM - (HEIGHT - TOP - BOTTOM) * y / chart->y_max;
}

/* 1, 2 or 5 times a power of ten, so that about five of them make `range`. */
static double nice_step(double range)
{
    double step = 1e-6;
    int i;

    for (i = 0; step * 6 < range; i++)
        step *= i % 3 == 1 ? 2.5 : 2;
    return step;
}

static const char *x_label(const chart_t *chart, double x, char *text, size_t size)
{
    if (chart->is_size)
        return bench_format_size((uint64_t)x, text, size);
    snprintf(text, size, "%.0f", x);
    return text;
}

static void draw_x(const chart_t *chart)
{
    int ticks = (int)doublings(chart, chart->x_max) + 1, every = (ticks - 1) / TICKS_MAX + 1, i;
    char text[32];

    for (i = 0; i < ticks; i += every) {
        double x = chart->x_min * (double)(UINT64_C(1) << i);

        fprintf(chart->file,
                "<line x1=\"%.1f\" y1=\"%d\" x2=\"%.1f\" y2=\"%d\" stroke=\"#ddd\"/>"
                "<text x=\"%.1f\" y=\"%d\" text-anchor=\"middle\">%s</text>\n",
                place_x(chart, x), TOP, place_x(chart, x), HEIGHT - BOTTOM, place_x(chart, x),
                HEIGHT - BOTTOM + 18, x_label(chart, x, text, sizeof(text)));
    }
    fprintf(chart->file, "<text x=\"%d\" y=\"%d\" text-anchor=\"middle\">%s</text>\n",
            (WIDTH + LEFT - RIGHT) / 2, HEIGHT - 10, chart->is_size ? "message" : "nodes");
}

static void draw_y(const chart_t *chart)
{
    double step = nice_step(chart->y_max);
    int i;

    for (i = 0; i * step <= chart->y_max; i++)
        fprintf(chart->file,
                "<line x1=\"%d\" y1=\"%.1f\" x2=\"%d\" y2=\"%.1f\" stroke=\"#ddd\"/>"
                "<text x=\"%d\" y=\"%.1f\" text-anchor=\"end\">%g</text>\n",
                LEFT, place_y(chart, i * step), WIDTH - RIGHT, place_y(chart, i * step), LEFT - 8,
                place_y(chart, i * step) + 4, i * step);
    fprintf(chart->file,
            "<text x=\"16\" y=\"%d\" text-anchor=\"middle\" transform=\"rotate(-90 16 %d)\">"
            "busbw, GB/s</text>\n",
            HEIGHT / 2, HEIGHT / 2);
}

/* The bound is dashed; under the others lies the first line, broad: what was chosen, as a rule. */
static const char *style_of(const char *line, int number)
{
    if (line == NULL)
        return "stroke-width=\"2\" stroke-dasharray=\"6 4\"";
    return number == 1 ? "stroke-width=\"7\" stroke-opacity=\"0.4\"" : "stroke-width=\"2\"";
}

/* line: NULL for the bound, which all of a point's algorithms share. */
static void draw_line(const chart_t *chart, const char *line, const char *color, int number)
{
    const char *style = style_of(line, number);
    int y = TOP + 20 * number + 10;
    uint64_t i;

    fprintf(chart->file, "<polyline fill=\"none\" stroke=\"%s\" %s points=\"", color, style);
    for (i = 0; i < chart->n; i++) {
        const point_t *p = &chart->points[i];

        if (strcmp(p->line, line != NULL ? line : chart->lines[0]) == 0 &&
            (line == NULL || p->busbw >= 0))
            fprintf(chart->file, "%.1f,%.1f ", place_x(chart, p->x),
                    place_y(chart, line != NULL ? p->busbw : p->bound));
    }
    fprintf(chart->file,
            "\"/>\n<line x1=\"%d\" y1=\"%d\" x2=\"%d\" y2=\"%d\" stroke=\"%s\" %s/>"
            "<text x=\"%d\" y=\"%d\">%s</text>\n",
            WIDTH - RIGHT + 10, y, WIDTH - RIGHT + 34, y, color, style, WIDTH - RIGHT + 40, y + 4,
            line != NULL ? line : "bound");
}

static void survey(chart_t *chart)
{
    uint64_t i;
    int k;

    for (i = 0; i < chart->n; i++) {
        const point_t *p = &chart->points[i];

        chart->x_min = i == 0 || p->x < chart->x_min ? p->x : chart->x_min;
        chart->x_max = p->x > chart->x_max ? p->x : chart->x_max;
        chart->y_max = p->bound > chart->y_max ? p->bound : chart->y_max;
        for (k = 0; k < chart->nlines && strcmp(chart->lines[k], p->line) != 0; k++) {
        }
        if (k == chart->nlines && k < LINES_MAX)
            chart->lines[chart->nlines++] = p->line;
    }
    chart->y_max *= 1.05;
}

static int draw(chart_t *chart, const char *title, const char *path, char *error, size_t size)
{
    int k;

    survey(chart);
    if (chart->n == 0 || chart->x_min >= chart->x_max)
        return 0;
    chart->file = fopen(path, "w");
    if (chart->file == NULL)
        return wrong(error, size, "%s: %s", path, strerror(errno));
    fprintf(chart->file,
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%d\" "
            "font-family=\"sans-serif\" font-size=\"12\">\n"
            "<rect width=\"100%%\" height=\"100%%\" fill=\"white\"/>\n"
            "<text x=\"%d\" y=\"24\" font-size=\"15\">%s</text>\n",
            WIDTH, HEIGHT, LEFT, title);
    draw_x(chart);
    draw_y(chart);
    draw_line(chart, NULL, "#444", 0);
    for (k = 0; k < chart->nlines; k++)
        draw_line(chart, chart->lines[k], colors[(size_t)k % (sizeof(colors) / sizeof(*colors))],
                  k + 1);
    fputs("</svg>\n", chart->file);
    k = ferror(chart->file);
    if ((fclose(chart->file) != 0) | (k != 0))
        return wrong(error, size, "%s: cannot be written: %s", path, strerror(errno));
    return 0;
}

static point_t point_of(const gsim_row_t *row, double x)
{
    return (point_t){.x = x,
                     .busbw = row->result.algorithm[0] != '\0' ? gsim_row_busbw(row) : -1,
                     .bound = gsim_row_bound(row),
                     .line = row->wanted};
}

static int draw_sizes(const char *directory, const gsim_row_t *rows, uint64_t n, uint32_t nodes,
                      point_t *points, char *error, size_t size)
{
    chart_t chart = {.points = points, .is_size = true};
    char path[1024], title[200];
    uint64_t i;

    for (i = 0; i < n; i++) {
        if (rows[i].nodes == nodes)
            points[chart.n++] = point_of(&rows[i], (double)rows[i].bytes);
    }
    snprintf(path, sizeof(path), "%s/busbw-size-%u.svg", directory, nodes);
    snprintf(title, sizeof(title), "%s, %u x %u GPUs", rows->cluster->name, nodes, rows->gpus);
    return draw(&chart, title, path, error, size);
}

static int draw_nodes(const char *directory, const gsim_row_t *rows, uint64_t n, point_t *points,
                      char *error, size_t size)
{
    chart_t chart = {.points = points};
    char path[1024], title[200], bytes[32];
    uint64_t largest = 0, i;

    for (i = 0; i < n; i++)
        largest = rows[i].bytes > largest ? rows[i].bytes : largest;
    for (i = 0; i < n; i++) {
        if (rows[i].bytes == largest)
            points[chart.n++] = point_of(&rows[i], rows[i].nodes);
    }
    bench_format_size(largest, bytes, sizeof(bytes));
    snprintf(path, sizeof(path), "%s/busbw-nodes.svg", directory);
    snprintf(title, sizeof(title), "%s, nodes of %u GPUs, %s", rows->cluster->name, rows->gpus,
             bytes);
    return draw(&chart, title, path, error, size);
}

int gsim_plot_write(const char *directory, const gsim_row_t *rows, uint64_t n, char *error,
                    size_t error_size)
{
    point_t *points = calloc(n + 1, sizeof(*points));
    uint64_t i;
    int rc = 0;

    if (points == NULL)
        return wrong(error, error_size, "no memory for charts");
    if (mkdir(directory, 0777) != 0 && errno != EEXIST)
        rc = wrong(error, error_size, "%s: %s", directory, strerror(errno));
    for (i = 0; i < n && rc == 0; i++) {
        if (i == 0 || rows[i].nodes != rows[i - 1].nodes)
            rc = draw_sizes(directory, rows, n, rows[i].nodes, points, error, error_size);
    }
    if (rc == 0 && n > 0)
        rc = draw_nodes(directory, rows, n, points, error, error_size);
    free(points);
    return rc;
}
