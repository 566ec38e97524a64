/* Registers device and host memory with a libibverbs:  peermem with|without */
#include <cuda.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "fake_verbs.h"

#define CHECK(condition)                                                                           \
    do {                                                                                           \
        if (!(condition)) {                                                                        \
            fprintf(stderr, "peermem.c:%d: not so: %s\n", __LINE__, #condition);                   \
            exit(1);                                                                               \
        }                                                                                          \
    } while (0)

enum { BYTES = 100000, FLAGS = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE };

static CUdeviceptr device;

static void *pointer(CUdeviceptr address)
{
    return (void *)(uintptr_t)address;
}

static void host_memory(void)
{
    static char memory[BYTES];
    struct ibv_mr *mr = ibv_reg_mr(NULL, memory, BYTES, FLAGS);

    CHECK(mr != NULL && mr->addr == memory && mr->length == BYTES);
    CHECK(fake_nic_write(mr, (uintptr_t)memory + 10, "host", 4) == 0);
    CHECK(memcmp(memory + 10, "host", 4) == 0);
    CHECK(ibv_dereg_mr(mr) == 0);
}

/* By the plain call, and by the one that UCX uses. */
static struct ibv_mr *reg(CUdeviceptr address, size_t bytes, int plain)
{
    if (plain)
        return ibv_reg_mr(NULL, pointer(address), bytes, FLAGS);
    return ibv_reg_mr_iova2(NULL, pointer(address), bytes, address,
                            FLAGS | IBV_ACCESS_RELAXED_ORDERING);
}

static void device_memory(size_t offset, size_t bytes, int plain)
{
    struct ibv_mr *mr = reg(device + offset, bytes, plain);
    char back[6];

    CHECK(mr != NULL && mr->addr == pointer(device + offset) && mr->length == bytes);
    CHECK(fake_nic_write(mr, device + offset + bytes - 6, "device", 6) == 0);
    CHECK(cuMemcpyDtoH(back, device + offset + bytes - 6, 6) == CUDA_SUCCESS);
    CHECK(memcmp(back, "device", 6) == 0);
    CHECK(ibv_dereg_mr(mr) == 0);
}

static void refused(CUdeviceptr address, size_t bytes)
{
    errno = 0;
    CHECK(reg(address, bytes, 1) == NULL && errno == EFAULT);
    errno = 0;
    CHECK(reg(address, bytes, 0) == NULL && errno == EFAULT);
}

int main(int argc, char **argv)
{
    int with = argc > 1 && strcmp(argv[1], "with") == 0;
    CUcontext context;

    CHECK(cuInit(0) == CUDA_SUCCESS);
    CHECK(cuDevicePrimaryCtxRetain(&context, 0) == CUDA_SUCCESS);
    CHECK(cuCtxSetCurrent(context) == CUDA_SUCCESS);
    CHECK(cuMemAlloc(&device, BYTES) == CUDA_SUCCESS);
    host_memory();
    CHECK((access("/sys/module/nvidia_peermem/version", F_OK) == 0) == with);
    CHECK(access("/no/such/file", F_OK) != 0 && access("/", X_OK) == 0);
    if (with) {
        device_memory(0, BYTES, 1);
        device_memory(0, BYTES, 0);
        device_memory(4097, 1000, 0); /* inside, and at an odd address */
    } else {
        refused(device, BYTES);
    }
    refused(device + 10, (size_t)8 << 30); /* beyond its end */
    CHECK(cuMemFree(device) == CUDA_SUCCESS);
    refused(device, BYTES);
    return 0;
}
