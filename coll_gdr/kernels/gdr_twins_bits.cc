/* The twins of these images: the kernels' own source, compiled for the host. */
#include "kernels/logic.cu"
#include "kernels/bits.cu"
#include "kernels/pair.cu"
