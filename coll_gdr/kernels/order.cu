/* Integer minima and maxima. */
#include "kernels/gdr_shell.h"

#define GDR_KERNEL_ORDER GDR_SHELL
#include "kernels/gdr_kernels.def"
