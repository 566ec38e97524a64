/* Memory of the library: NOLINTBEGIN(clang-analyzer-core.NullDereference) */
/*
 * A program that is not linked with CUDA: calls on host memory of several kinds, libraries that
 * come and go between them, and then libcuda, loaded by dlopen: the very next call is on a device
 * buffer.
 *   late_driver [-t]        -t: MPI_THREAD_MULTIPLE
 */
#include <cuda.h>
#include <dlfcn.h>
#include <mpi.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

static int rank, ranks;

static void fail(const char *text)
{
    printf("rank %d: %s\n", rank, text);
    fflush(stdout);
    MPI_Abort(MPI_COMM_WORLD, 1);
}

static void host_call(double *buffer)
{
    buffer[0] = 1;
    buffer[1] = 0;
    MPI_Allreduce(buffer, buffer + 1, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    if (buffer[1] != (double)ranks)
        fail("wrong sum of host memory");
}

static void host_calls(void)
{
    static double constant[2];
    double stack[2];
    double *heap = malloc(sizeof(stack));
    double *mapped = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    if (heap == NULL || mapped == MAP_FAILED) {
        free(heap);
        fail("no memory");
        return;
    }
    for (int i = 0; i < 3; i++) {
        host_call(constant);
        host_call(stack);
        host_call(heap);
        host_call(mapped);
    }
    munmap(mapped, 4096);
    free(heap);
}

/* What was the last library goes away, and comes again. */
static void libraries_come_and_go(void)
{
    static const char *const names[] = {"libanl.so.1", "libBrokenLocale.so.1"};

    for (int i = 0; i < 4; i++) {
        void *library = dlopen(names[i % 2], RTLD_NOW);

        host_calls();
        if (library != NULL)
            dlclose(library);
        if (i != 1)
            host_calls();
    }
}

static void *symbol(void *library, const char *name)
{
    void *function = dlsym(library, name);

    if (function == NULL)
        fail(name);
    return function;
}

#define CALL(library, name, type, ...)                                                             \
    do {                                                                                           \
        CUresult(*function) type;                                                                  \
        *(void **)&function = symbol(library, name);                                               \
        if (function(__VA_ARGS__) != CUDA_SUCCESS)                                                 \
            fail(name);                                                                            \
    } while (0)

static void device_call(void)
{
    void *library = dlopen("libcuda.so.1", RTLD_NOW);
    CUdevice device;
    CUcontext context;
    CUdeviceptr buffer;
    double value = 1;

    if (library == NULL)
        fail(dlerror());
    CALL(library, "cuInit", (unsigned), 0);
    CALL(library, "cuDeviceGet", (CUdevice *, int), &device, 0);
    CALL(library, "cuDevicePrimaryCtxRetain", (CUcontext *, CUdevice), &context, device);
    CALL(library, "cuCtxSetCurrent", (CUcontext), context);
    CALL(library, "cuMemAlloc_v2", (CUdeviceptr *, size_t), &buffer, sizeof(value));
    CALL(library, "cuMemcpyHtoD_v2", (CUdeviceptr, const void *, size_t), buffer, &value,
         sizeof(value));
    MPI_Allreduce(MPI_IN_PLACE, (void *)(uintptr_t)buffer, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    CALL(library, "cuMemcpyDtoH_v2", (void *, CUdeviceptr, size_t), &value, buffer, sizeof(value));
    CALL(library, "cuMemFree_v2", (CUdeviceptr), buffer);
    if (value != (double)ranks)
        fail("wrong sum of device memory");
}

int main(int argc, char **argv)
{
    bool multiple = argc > 1 && strcmp(argv[1], "-t") == 0;
    int provided;

    MPI_Init_thread(&argc, &argv, multiple ? MPI_THREAD_MULTIPLE : MPI_THREAD_SINGLE, &provided);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    host_calls();
    libraries_come_and_go();
    device_call();
    host_calls();
    if (rank == 0)
        printf("late driver ok\n");
    MPI_Finalize();
    return 0;
}
/* NOLINTEND(clang-analyzer-core.NullDereference) */
