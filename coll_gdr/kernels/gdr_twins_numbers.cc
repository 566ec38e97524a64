/* The twins of these images: the kernels' own source, compiled for the host. */
#include "kernels/float.cu"
#include "kernels/arith.cu"
#include "kernels/order.cu"
