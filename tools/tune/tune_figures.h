/* What was measured, and the files that hold it. No MPI, no CUDA. */
#ifndef TUNE_FIGURES_H
#define TUNE_FIGURES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

enum { TUNE_FIGURES_MAX = 32, TUNE_LINE_MAX = 200 };

typedef struct tune_figure {
    char name[32];
    double value, low, high; /* median, least and greatest of the ranks that measured it */
    int ranks;               /* how many did */
    const char *how;         /* static; what was timed */
} tune_figure_t;

typedef struct tune_figures {
    tune_figure_t list[TUNE_FIGURES_MAX];
    int n;
    int ranks, nodes;
    bool emulated;    /* no card: its figures say nothing about one */
    char device[128]; /* its name */
    char host[64];    /* of rank 0 */
    char ucx[32];     /* version */
    char date[32];    /* of the measurement, UTC */
    char version[32]; /* of coll/gdr */
} tune_figures_t;

/* Sorts `values` (n > 0, one of each rank) and adds their median. */
void tune_figures_add(tune_figures_t *figures, const char *name, double *values, int n,
                      const char *how);
/* NULL: it was not measured. */
const tune_figure_t *tune_figures_find(const tune_figures_t *figures, const char *name);

/*
 * The tuning file: a line for every figure that the component knows, with where it comes from in a
 * comment. What was not measured, and what the component does not know, is a comment as a whole.
 */
void tune_figures_print(const tune_figures_t *figures, FILE *to);
void tune_figures_print_json(const tune_figures_t *figures, FILE *to);

/*
 * Writes what `print` prints to the file of that name, which is the old one until all of the new
 * one is on the disk. 0, or -1 with one line in `error`, and the old file is as it was.
 */
int tune_figures_write(const tune_figures_t *figures,
                       void (*print)(const tune_figures_t *figures, FILE *to), const char *name,
                       char *error, size_t error_size);

#endif
