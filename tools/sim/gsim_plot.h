/*
 * Charts of simulated points as SVG files: bus bandwidth against size, one for each number of
 * nodes, and against nodes, for the largest size; a line for each algorithm and one for the bound.
 */
#ifndef GSIM_PLOT_H
#define GSIM_PLOT_H

#include "tools/sim/gsim_report.h"

/* Writes into the directory, which it makes if need be (its parent must exist). Nothing for an axis
 * with a single point. 0, or -1: *error holds one line. */
int gsim_plot_write(const char *directory, const gsim_row_t *rows, uint64_t n, char *error,
                    size_t error_size);

#endif
