/* A user's program on the runtime's C interface: compiled against the toolkit, run emulated. */
#include <cuda_runtime_api.h>
#include <stdio.h>

#define TRY(call)                                                                                  \
    do {                                                                                           \
        cudaError_t error_ = (call);                                                               \
        if (error_ != cudaSuccess) {                                                               \
            fprintf(stderr, "%s: %s\n", #call, cudaGetErrorString(error_));                        \
            return 1;                                                                              \
        }                                                                                          \
    } while (0)

int main(void)
{
    struct cudaDeviceProp properties;
    struct cudaPointerAttributes attributes;
    char in[64] = "through the device", out[64] = "";
    int count;
    void *p;

    TRY(cudaGetDeviceCount(&count));
    TRY(cudaSetDevice(count - 1));
    TRY(cudaGetDeviceProperties(&properties, count - 1));
    TRY(cudaMalloc(&p, sizeof(in)));
    TRY(cudaMemcpy(p, in, sizeof(in), cudaMemcpyHostToDevice));
    TRY(cudaMemcpy(out, p, sizeof(out), cudaMemcpyDefault));
    TRY(cudaPointerGetAttributes(&attributes, p));
    if (attributes.type != cudaMemoryTypeDevice || attributes.device != count - 1)
        return 2;
    printf("%d devices, %s %d, %s\n", count, properties.name, properties.major, out);
    TRY(cudaFree(p));
    TRY(cudaDeviceReset());
    return 0;
}
