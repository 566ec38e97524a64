/* Integer sums and products. */
#include "kernels/gdr_shell.h"

#define GDR_KERNEL_ARITH GDR_SHELL
#include "kernels/gdr_kernels.def"
