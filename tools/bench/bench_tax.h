/* gdr_bench host-tax: what gdr costs a call on host memory, paired in one process. */
#ifndef BENCH_TAX_H
#define BENCH_TAX_H

#include "tax_options.h"

/* Runs and prints it: 0, or -1 after a line on stderr, alike on all ranks. */
int bench_tax(const tax_options_t *options, int rank, int ranks);

#endif
