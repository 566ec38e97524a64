// A user's program with a kernel and variables of its own. Its twin is in twins.c.
#include <cstdio>

__device__ int counter[4];
__managed__ int shared_value;

__global__ void emu_test_scale(int *p, int n, int factor)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;

    if (i < n)
        p[i] *= factor;
}

__global__ void emu_test_no_twin(int *p)
{
    *p = 1;
}

int main()
{
    int in[4] = {1, 2, 3, 4}, out[4], *p;

    shared_value = 5;
    if (cudaMalloc(&p, sizeof(in)) != cudaSuccess)
        return 1;
    cudaMemcpyToSymbol(counter, in, sizeof(in));
    cudaMemcpyFromSymbol(out, counter, sizeof(out));
    cudaMemcpy(p, out, sizeof(out), cudaMemcpyHostToDevice);
    emu_test_scale<<<1, 32>>>(p, 4, shared_value);
    cudaMemcpy(out, p, sizeof(out), cudaMemcpyDeviceToHost);
    if (cudaGetLastError() != cudaSuccess)
        return 2;
    printf("%d %d %d %d\n", out[0], out[1], out[2], out[3]);
    emu_test_no_twin<<<1, 1>>>(p);
    printf("%s\n", cudaGetErrorName(cudaGetLastError()));
    return 0;
}
