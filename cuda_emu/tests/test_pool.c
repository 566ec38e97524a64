/*
 * Stream-ordered allocation and virtual memory management. Sections of the CUDA Driver API
 * reference: "Stream Ordered Memory Allocator", "Virtual Memory Management".
 */
#include "cuda_emu/tests/emu_test.h"

/* cuMemAllocAsync: usable in stream order at once; the default pool's memory. */
static void stream_ordered(void)
{
    CUstream stream;
    CUdeviceptr p;
    CUmemorytype type;
    CUmemoryPool pool, of_pointer;
    unsigned long long first, second;
    char byte;

    use_device(0);
    OK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    OK(cuMemAllocAsync(&p, 1 << 16, stream));
    OK(cuMemsetD8Async(p, 7, 1 << 16, stream));
    OK(cuMemcpyDtoHAsync(&byte, p + 65535, 1, stream));
    OK(cuStreamSynchronize(stream));
    IS(byte, 7);
    OK(cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, p));
    IS(type, CU_MEMORYTYPE_DEVICE);
    OK(cuPointerGetAttribute(&first, CU_POINTER_ATTRIBUTE_BUFFER_ID, p));
    OK(cuDeviceGetDefaultMemPool(&pool, 0));
    OK(cuPointerGetAttribute(&of_pointer, CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE, p));
    CHECK(pool == of_pointer);
    OK(cuMemFreeAsync(p, stream));
    IS(cuMemFreeAsync(p, stream), CUDA_ERROR_INVALID_VALUE);
    OK(cuMemAllocAsync(&p, 1 << 16, stream));
    OK(cuPointerGetAttribute(&second, CU_POINTER_ATTRIBUTE_BUFFER_ID, p));
    CHECK(first != second);
    OK(cuMemFree(p)); /* cuMemFree frees pool memory too, and synchronises */
}

/* Pool memory is no cuMemAlloc memory: cuIpcGetMemHandle refuses it. */
static void pool_is_not_ipc(void)
{
    CUdeviceptr p;
    CUipcMemHandle handle;

    use_device(0);
    OK(cuMemAllocAsync(&p, 4096, NULL));
    OK(cuStreamSynchronize(NULL));
    IS(cuIpcGetMemHandle(&handle, p), CUDA_ERROR_INVALID_VALUE);
    OK(cuMemFreeAsync(p, NULL));
}

static void read_pool_memory(void)
{
    CUdeviceptr p;
    volatile char byte;

    use_device(0);
    OK(cuMemAllocAsync(&p, 4096, NULL));
    OK(cuStreamSynchronize(NULL));
    byte = *(volatile char *)(uintptr_t)p;
    exit(byte);
}

/* A pool of one's own; the release threshold keeps freed memory until it is trimmed. */
static void own_pool(void)
{
    CUmemPoolProps properties;
    CUmemoryPool pool, current;
    CUdeviceptr p;
    cuuint64_t used, threshold = UINT64_MAX;

    use_device(0);
    memset(&properties, 0, sizeof(properties));
    properties.allocType = CU_MEM_ALLOCATION_TYPE_PINNED;
    properties.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
    OK(cuMemPoolCreate(&pool, &properties));
    OK(cuMemPoolSetAttribute(pool, CU_MEMPOOL_ATTR_RELEASE_THRESHOLD, &threshold));
    OK(cuMemAllocFromPoolAsync(&p, 100000, pool, NULL));
    OK(cuStreamSynchronize(NULL));
    OK(cuMemPoolGetAttribute(pool, CU_MEMPOOL_ATTR_USED_MEM_CURRENT, &used));
    CHECK(used >= 100000);
    OK(cuMemFreeAsync(p, NULL));
    OK(cuStreamSynchronize(NULL));
    OK(cuMemPoolGetAttribute(pool, CU_MEMPOOL_ATTR_USED_MEM_CURRENT, &used));
    CHECK(used == 0);
    OK(cuMemPoolTrimTo(pool, 0));
    OK(cuDeviceSetMemPool(0, pool));
    OK(cuDeviceGetMemPool(&current, 0));
    CHECK(current == pool);
    OK(cuMemPoolDestroy(pool));
}

/* Pools: a peer reaches the memory after cuMemPoolSetAccess, no cuCtxEnablePeerAccess needed. */
static void pool_access(void)
{
    CUmemoryPool pool;
    CUmemAccess_flags flags;
    CUmemLocation peer = {.type = CU_MEM_LOCATION_TYPE_DEVICE};
    CUmemAccessDesc access;

    use_device(0);
    peer.id = 1;
    OK(cuDeviceGetDefaultMemPool(&pool, 0));
    OK(cuMemPoolGetAccess(&flags, pool, &peer));
    IS(flags, CU_MEM_ACCESS_FLAGS_PROT_NONE);
    access.location = peer;
    access.flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
    OK(cuMemPoolSetAccess(pool, &access, 1));
    OK(cuMemPoolGetAccess(&flags, pool, &peer));
    IS(flags, CU_MEM_ACCESS_FLAGS_PROT_READWRITE);
}

/*
 * cuMemFreeAsync: "the allocation must not be accessed after stream execution reaches the free". A
 * value that another stream writes later meets no memory.
 */
static void write_after_free(void)
{
    CUstream owner, late;
    CUdeviceptr gate, p;

    use_device(0);
    OK(cuStreamCreate(&owner, CU_STREAM_NON_BLOCKING));
    OK(cuStreamCreate(&late, CU_STREAM_NON_BLOCKING));
    OK(cuMemAlloc(&gate, 64));
    OK(cuMemsetD32(gate, 0, 16));
    OK(cuCtxSynchronize());
    OK(cuMemAllocAsync(&p, 4096, owner));
    OK(cuStreamSynchronize(owner));
    OK(cuStreamWaitValue64(late, gate, 1, CU_STREAM_WAIT_VALUE_GEQ));
    OK(cuStreamWriteValue64(late, p, 5, 0));
    OK(cuMemFreeAsync(p, owner));
    OK(cuStreamWriteValue64(owner, gate, 1, 0));
    IS(cuStreamSynchronize(late), CUDA_ERROR_ILLEGAL_ADDRESS);
}

static void test_pools(void **state)
{
    static const char *const texts[] = {"cuMemAllocAsync", NULL};

    (void)state;
    expect_ok(stream_ordered, NO_ENV);
    expect_ok(stream_ordered, ENV("CUDA_EMU_DELAY=3000"));
    expect_ok(pool_is_not_ipc, NO_ENV);
    expect_ok_saying(write_after_free, NO_ENV, "write value: 0x");
    expect_ok(own_pool, NO_ENV);
    expect_ok(pool_access, ENV("CUDA_EMU_DEVICES=2"));
    expect_fault(read_pool_memory, NO_ENV, texts);
}

static CUmemAllocationProp on_device(int ordinal)
{
    CUmemAllocationProp property;

    memset(&property, 0, sizeof(property));
    property.type = CU_MEM_ALLOCATION_TYPE_PINNED;
    property.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
    property.location.id = ordinal;
    return property;
}

static void allow(CUdeviceptr p, size_t size, int ordinal)
{
    CUmemAccessDesc access = {.flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE};

    access.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
    access.location.id = ordinal;
    OK(cuMemSetAccess(p, size, &access, 1));
}

/* Reserve, create, map, allow, use, unmap: two mappings share the same bytes. */
static void map_memory(void)
{
    CUmemAllocationProp property = on_device(0);
    CUmemGenericAllocationHandle handle;
    CUdeviceptr first, second;
    CUcontext owner = (CUcontext)1;
    size_t grain;
    uint32_t word;

    use_device(0);
    OK(cuMemGetAllocationGranularity(&grain, &property, CU_MEM_ALLOC_GRANULARITY_MINIMUM));
    CHECK(grain >= 65536 && (grain & (grain - 1)) == 0);
    IS(cuMemCreate(&handle, grain + 1, &property, 0), CUDA_ERROR_INVALID_VALUE);
    OK(cuMemCreate(&handle, grain, &property, 0));
    OK(cuMemAddressReserve(&first, 2 * grain, 0, 0, 0));
    OK(cuMemAddressReserve(&second, grain, 0, 0, 0));
    OK(cuMemMap(first + grain, grain, 0, handle, 0));
    IS(cuMemMap(first + grain, grain, 0, handle, 0), CUDA_ERROR_INVALID_VALUE);
    OK(cuMemMap(second, grain, 0, handle, 0));
    /* Mapped, but nobody may touch it yet. */
    CHECK(cuMemsetD32(first + grain, 1, 1) != CUDA_SUCCESS);
    allow(first + grain, grain, 0);
    allow(second, grain, 0);
    OK(cuMemsetD32(first + grain + 64, 1234, 1));
    OK(cuMemcpyDtoH(&word, second + 64, 4));
    IS(word, 1234);
    /* VMM memory belongs to no context. */
    OK(cuPointerGetAttribute(&owner, CU_POINTER_ATTRIBUTE_CONTEXT, second));
    CHECK(owner == NULL);
    OK(cuMemUnmap(first + grain, grain));
    OK(cuMemAddressFree(first, 2 * grain));
    OK(cuMemRelease(handle)); /* still mapped once */
    OK(cuMemcpyDtoH(&word, second + 64, 4));
    IS(word, 1234);
    OK(cuMemUnmap(second, grain));
    CHECK(cuMemcpyDtoH(&word, second + 64, 4) != CUDA_SUCCESS);
    OK(cuMemAddressFree(second, grain));
}

/* cuMemRetainAllocationHandle: UCX tells VMM memory from other memory by it. */
static void retain_handle(void)
{
    CUmemAllocationProp property = on_device(0);
    CUmemGenericAllocationHandle handle, again;
    CUdeviceptr p, plain;
    size_t grain;

    use_device(0);
    OK(cuMemGetAllocationGranularity(&grain, &property, CU_MEM_ALLOC_GRANULARITY_MINIMUM));
    OK(cuMemCreate(&handle, grain, &property, 0));
    OK(cuMemAddressReserve(&p, grain, 0, 0, 0));
    OK(cuMemMap(p, grain, 0, handle, 0));
    OK(cuMemRetainAllocationHandle(&again, (void *)(uintptr_t)p));
    CHECK(again == handle);
    OK(cuMemRelease(again));
    OK(cuMemAlloc(&plain, 4096));
    IS(cuMemRetainAllocationHandle(&again, (void *)(uintptr_t)plain), CUDA_ERROR_INVALID_VALUE);
}

/*
 * Virtual Memory Management, cuMemUnmap: accesses that are outstanding are the caller's fault. A
 * stream that waits for a word in the range then meets an illegal address, as its kernels would.
 */
static void unmap_waited_for(void)
{
    CUmemAllocationProp property = on_device(0);
    CUmemGenericAllocationHandle handle;
    CUdeviceptr p;
    CUstream stream;
    size_t grain;

    use_device(0);
    OK(cuMemGetAllocationGranularity(&grain, &property, CU_MEM_ALLOC_GRANULARITY_MINIMUM));
    OK(cuMemCreate(&handle, grain, &property, 0));
    OK(cuMemAddressReserve(&p, grain, 0, 0, 0));
    OK(cuMemMap(p, grain, 0, handle, 0));
    allow(p, grain, 0);
    OK(cuMemsetD32(p, 0, 16));
    OK(cuCtxSynchronize());
    OK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    OK(cuStreamWaitValue64(stream, p, 1, CU_STREAM_WAIT_VALUE_GEQ));
    usleep(20000);
    OK(cuMemUnmap(p, grain));
    IS(cuStreamSynchronize(stream), CUDA_ERROR_ILLEGAL_ADDRESS);
    IS(cuCtxSynchronize(), CUDA_ERROR_ILLEGAL_ADDRESS); /* sticky */
}

static void test_virtual_memory(void **state)
{
    (void)state;
    expect_ok_saying(unmap_waited_for, NO_ENV, "wait value: 0x");
    expect_ok_saying(unmap_waited_for, ENV("CUDA_EMU_SYNC=1"), "error 700");
    expect_ok(map_memory, NO_ENV);
    expect_ok(retain_handle, NO_ENV);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_pools),
        cmocka_unit_test(test_virtual_memory),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
