/* Bitwise operations. */
#include "kernels/gdr_shell.h"

#define GDR_KERNEL_BITS GDR_SHELL
#include "kernels/gdr_kernels.def"
