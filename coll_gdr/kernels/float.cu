/* Floating point and complex sums, products and extremes; the plain copy, and the gather. */
#include "kernels/gdr_shell.h"

#define GDR_KERNEL_FLOAT GDR_SHELL
#include "kernels/gdr_kernels.def"

GDR_SHELL_COPY
GDR_SHELL_GATHER
