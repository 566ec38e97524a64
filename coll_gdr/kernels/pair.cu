/* MINLOC and MAXLOC. */
#include "kernels/gdr_shell.h"

#define GDR_KERNEL_PAIR GDR_SHELL
#include "kernels/gdr_kernels.def"
