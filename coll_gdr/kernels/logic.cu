/* Logical operations. */
#include "kernels/gdr_shell.h"

#define GDR_KERNEL_LOGIC GDR_SHELL
#include "kernels/gdr_kernels.def"
