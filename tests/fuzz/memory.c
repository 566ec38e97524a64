#include "tests/fuzz/memory.h"

#include "tests/mpi/harness.h"

#include <cuda.h>
#include <cuda_runtime_api.h>
#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

const char *fz_memory_name(fz_memory_t kind)
{
    static const char *const names[FZ_MEMORIES] = {
        "cudaMalloc", "managed", "pool", "VMM", "heap", "pinned", "registered"};

    return names[kind];
}

void fz_cuda(int error, const char *what)
{
    if (error != cudaSuccess)
        t_fatal("%s: %s", what, cudaGetErrorString((cudaError_t)error));
}

/* ---- VMM: the driver's functions, which the runtime does not have ---------------------------- */

static struct {
    __typeof__(&cuMemGetAllocationGranularity) granularity;
    __typeof__(&cuMemCreate) create;
    __typeof__(&cuMemAddressReserve) reserve;
    __typeof__(&cuMemMap) map;
    __typeof__(&cuMemSetAccess) access;
    __typeof__(&cuMemUnmap) unmap;
    __typeof__(&cuMemAddressFree) free;
    __typeof__(&cuMemRelease) release;
} vmm;

static void find(void *library, const char *name, void *function)
{
    void *symbol = library == NULL ? NULL : dlsym(library, name);

    if (symbol == NULL)
        t_fatal("libcuda.so.1 has no %s", name);
    memcpy(function, &symbol, sizeof(symbol));
}

static void vmm_open(void)
{
    void *library;

    if (vmm.create != NULL)
        return;
    library = dlopen("libcuda.so.1", RTLD_NOW);
    find(library, "cuMemGetAllocationGranularity", &vmm.granularity);
    find(library, "cuMemAddressReserve", &vmm.reserve);
    find(library, "cuMemMap", &vmm.map);
    find(library, "cuMemSetAccess", &vmm.access);
    find(library, "cuMemUnmap", &vmm.unmap);
    find(library, "cuMemAddressFree", &vmm.free);
    find(library, "cuMemRelease", &vmm.release);
    find(library, "cuMemCreate", &vmm.create);
}

static void vmm_make(fz_buffer_t *buffer)
{
    CUmemAllocationProp properties = {.type = CU_MEM_ALLOCATION_TYPE_PINNED};
    CUmemAccessDesc access = {.flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
    CUmemGenericAllocationHandle handle;
    CUdeviceptr address;
    size_t grain;

    vmm_open();
    properties.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
    properties.location.id = buffer->device;
    access.location = properties.location;
    fz_cuda((int)vmm.granularity(&grain, &properties, CU_MEM_ALLOC_GRANULARITY_MINIMUM),
            "cuMemGetAllocationGranularity");
    buffer->size = (buffer->size + grain - 1) / grain * grain;
    fz_cuda((int)vmm.create(&handle, buffer->size, &properties, 0), "cuMemCreate");
    fz_cuda((int)vmm.reserve(&address, buffer->size, 0, 0, 0), "cuMemAddressReserve");
    fz_cuda((int)vmm.map(address, buffer->size, 0, handle, 0), "cuMemMap");
    fz_cuda((int)vmm.access(address, buffer->size, &access, 1), "cuMemSetAccess");
    buffer->handle = handle;
    buffer->block = (char *)(uintptr_t)address;
}

static void vmm_free(fz_buffer_t *buffer)
{
    CUdeviceptr address = (CUdeviceptr)(uintptr_t)buffer->block;

    cudaDeviceSynchronize();
    fz_cuda((int)vmm.unmap(address, buffer->size), "cuMemUnmap");
    fz_cuda((int)vmm.release(buffer->handle), "cuMemRelease");
    fz_cuda((int)vmm.free(address, buffer->size), "cuMemAddressFree");
}

/* ---- any kind ------------------------------------------------------------------------------- */

static void heap_make(fz_buffer_t *buffer)
{
    buffer->size = (buffer->size + 255) / 256 * 256;
    buffer->block = aligned_alloc(256, buffer->size);
    if (buffer->block == NULL)
        t_fatal("no memory for %zu bytes", buffer->size);
}

static void device_make(fz_buffer_t *buffer)
{
    void **block = (void **)&buffer->block;
    int current;

    cudaGetDevice(&current);
    fz_cuda(cudaSetDevice(buffer->device), "cudaSetDevice");
    if (buffer->kind == FZ_MALLOC) {
        fz_cuda(cudaMalloc(block, buffer->size), "cudaMalloc");
    } else if (buffer->kind == FZ_MANAGED) {
        fz_cuda(cudaMallocManaged(block, buffer->size, cudaMemAttachGlobal), "cudaMallocManaged");
    } else if (buffer->kind == FZ_POOL) {
        fz_cuda(cudaMallocAsync(block, buffer->size, NULL), "cudaMallocAsync");
        fz_cuda(cudaStreamSynchronize(NULL), "cudaStreamSynchronize");
    } else {
        vmm_make(buffer);
    }
    cudaSetDevice(current);
}

void fz_buffer_make(fz_buffer_t *buffer, fz_memory_t kind, int device, size_t bytes, size_t shift)
{
    memset(buffer, 0, sizeof(*buffer));
    buffer->kind = kind;
    buffer->device = device;
    buffer->bytes = bytes;
    buffer->size = bytes + shift;
    if (kind < FZ_FIRST_HOST)
        device_make(buffer);
    else if (kind == FZ_PINNED)
        fz_cuda(cudaMallocHost((void **)&buffer->block, buffer->size), "cudaMallocHost");
    else
        heap_make(buffer);
    if (kind == FZ_REGISTERED)
        fz_cuda(cudaHostRegister(buffer->block, buffer->size, cudaHostRegisterDefault),
                "cudaHostRegister");
    buffer->data = buffer->block + shift;
}

void fz_buffer_write(fz_buffer_t *buffer, const char *from)
{
    cudaGetDevice(&buffer->writer);
    if (buffer->kind < FZ_FIRST_HOST)
        fz_cuda(cudaMemcpy(buffer->data, from, buffer->bytes, cudaMemcpyDefault), "copy to");
    else
        memcpy(buffer->data, from, buffer->bytes);
}

/* A copy from pageable memory may return early, and is in order with others only in the NULL stream
 * of the device that was current. Streams of gdr's own do not wait here. */
static void finish_write(const fz_buffer_t *buffer)
{
    int current;

    cudaGetDevice(&current);
    if (current == buffer->writer)
        return;
    cudaSetDevice(buffer->writer);
    fz_cuda(cudaStreamSynchronize(NULL), "cudaStreamSynchronize");
    cudaSetDevice(current);
}

void fz_buffer_read(const fz_buffer_t *buffer, char *to)
{
    if (buffer->kind < FZ_FIRST_HOST) {
        finish_write(buffer);
        fz_cuda(cudaMemcpy(to, buffer->data, buffer->bytes, cudaMemcpyDefault), "copy from");
    } else {
        memcpy(to, buffer->data, buffer->bytes);
    }
}

static void device_free(fz_buffer_t *buffer)
{
    int current;

    cudaGetDevice(&current);
    cudaSetDevice(buffer->device);
    if (buffer->kind == FZ_VMM)
        vmm_free(buffer);
    else if (buffer->kind == FZ_POOL)
        fz_cuda(cudaFreeAsync(buffer->block, NULL), "cudaFreeAsync");
    else
        fz_cuda(cudaFree(buffer->block), "cudaFree");
    cudaSetDevice(current);
}

void fz_buffer_free(fz_buffer_t *buffer)
{
    if (buffer->kind < FZ_FIRST_HOST)
        device_free(buffer);
    if (buffer->kind == FZ_PINNED)
        fz_cuda(cudaFreeHost(buffer->block), "cudaFreeHost");
    if (buffer->kind == FZ_REGISTERED)
        fz_cuda(cudaHostUnregister(buffer->block), "cudaHostUnregister");
    if (buffer->kind == FZ_HEAP || buffer->kind == FZ_REGISTERED)
        free(buffer->block);
    buffer->block = NULL;
}
