/*
 * Allocation, copies, host memory, asking about pointers. Sections of the CUDA Driver API
 * reference: "Memory Management", "Unified Addressing", "API synchronization behavior".
 */
#include "cuda_emu/tests/emu_test.h"

/* cuMemAlloc: suitably aligned for any variable; size 0 is an error. cuMemFree: exact pointers. */
static void allocate(void)
{
    CUdeviceptr first, second;

    use_device(0);
    IS(cuMemAlloc(&first, 0), CUDA_ERROR_INVALID_VALUE);
    IS(cuMemAlloc(NULL, 64), CUDA_ERROR_INVALID_VALUE);
    OK(cuMemAlloc(&first, 1));
    OK(cuMemAlloc(&second, 1 << 20));
    CHECK(first % 256 == 0 && second % 256 == 0 && first != second);
    IS(cuMemFree(second + 256), CUDA_ERROR_INVALID_VALUE);
    OK(cuMemFree(second));
    IS(cuMemFree(second), CUDA_ERROR_INVALID_VALUE);
    IS(cuMemFree((CUdeviceptr)(uintptr_t)&second), CUDA_ERROR_INVALID_VALUE);
    OK(cuMemFree(first));
}

static void test_allocate(void **state)
{
    (void)state;
    expect_ok(allocate, NO_ENV);
}

/* A full device answers CUDA_ERROR_OUT_OF_MEMORY and goes on working. */
static void full_device(void)
{
    CUdeviceptr pieces[70], big;
    size_t available, total, after;
    int count = 0;

    use_device(0);
    OK(cuMemGetInfo(&available, &total));
    CHECK(total == 64 << 20 && available <= total);
    IS(cuMemAlloc(&big, 65 << 20), CUDA_ERROR_OUT_OF_MEMORY);
    while (count < 70 && cuMemAlloc(&pieces[count], 1 << 20) == CUDA_SUCCESS)
        count++;
    CHECK(count >= 32 && count <= 64);
    OK(cuMemGetInfo(&after, &total));
    CHECK(available - after == (size_t)count << 20);
    while (count > 0)
        OK(cuMemFree(pieces[--count]));
    OK(cuMemGetInfo(&after, &total));
    CHECK(after == available);
    OK(cuMemAlloc(&big, 32 << 20));
}

static void test_full_device(void **state)
{
    (void)state;
    expect_ok(full_device, ENV("CUDA_EMU_MEM=64M"));
}

/* cuMemcpy*: the bytes arrive; a range that leaves its allocation is an error. */
static void copies(void)
{
    CUdeviceptr a, b;
    unsigned char in[1000], out[1000];

    use_device(0);
    for (int i = 0; i < 1000; i++)
        in[i] = (unsigned char)(i * 7);
    OK(cuMemAlloc(&a, 4096));
    OK(cuMemAlloc(&b, 4096));
    OK(cuMemcpyHtoD(a + 3, in, 1000));
    OK(cuMemcpyDtoD(b + 5, a + 3, 1000));
    OK(cuMemcpyDtoH(out, b + 5, 1000));
    CHECK(memcmp(in, out, 1000) == 0);
    memset(out, 0, sizeof(out));
    OK(cuMemcpy((CUdeviceptr)(uintptr_t)out, a + 3, 1000)); /* Unified Addressing */
    CHECK(memcmp(in, out, 1000) == 0);
    IS(cuMemcpyHtoD(a + 3500, in, 1000), CUDA_ERROR_INVALID_VALUE);
    IS(cuMemcpyDtoH(out, a - 1, 10), CUDA_ERROR_INVALID_VALUE);
    OK(cuMemFree(b));
    IS(cuMemcpyDtoD(b, a, 16), CUDA_ERROR_INVALID_VALUE);
    OK(cuMemcpyHtoD(a, in, 0));
}

static void test_copies(void **state)
{
    (void)state;
    expect_ok(copies, NO_ENV);
    expect_ok(copies, ENV("CUDA_EMU_SYNC=1"));
}

/* cuMemset: D8, D16, D32 count elements. */
static void sets(void)
{
    CUdeviceptr p;
    uint32_t words[16];

    use_device(0);
    OK(cuMemAlloc(&p, sizeof(words)));
    OK(cuMemsetD32(p, 0x11223344, 16));
    OK(cuMemsetD16(p + 4, 0x5566, 2));
    OK(cuMemsetD8(p + 8, 0x77, 4));
    OK(cuMemcpyDtoH(words, p, sizeof(words)));
    CHECK(words[0] == 0x11223344 && words[1] == 0x55665566 && words[2] == 0x77777777);
    CHECK(words[3] == 0x11223344 && words[15] == 0x11223344);
    IS(cuMemsetD32(p + 2, 0, 1), CUDA_ERROR_INVALID_VALUE); /* dstDevice must be aligned */
    IS(cuMemsetD8(p, 0, 65), CUDA_ERROR_INVALID_VALUE);
}

static void test_sets(void **state)
{
    (void)state;
    expect_ok(sets, NO_ENV);
}

static unsigned long long buffer_id(CUdeviceptr pointer)
{
    unsigned long long id = 0;

    OK(cuPointerGetAttribute(&id, CU_POINTER_ATTRIBUTE_BUFFER_ID, pointer));
    return id;
}

/* CU_POINTER_ATTRIBUTE_BUFFER_ID: "a process-wide unique id", while addresses come back. */
static void buffer_ids(void)
{
    CUdeviceptr p, again;
    unsigned long long id;

    use_device(0);
    OK(cuMemAlloc(&p, 1 << 20));
    id = buffer_id(p);
    CHECK(id != 0 && buffer_id(p + 4000) == id);
    OK(cuMemFree(p));
    OK(cuMemAlloc(&again, 1 << 20));
    CHECK(again == p);
    CHECK(buffer_id(again) != id);
}

static void test_buffer_ids(void **state)
{
    (void)state;
    expect_ok(buffer_ids, NO_ENV);
}

/* cuPointerGetAttribute on device memory; cuMemGetAddressRange of an interior pointer. */
static void device_pointer(void)
{
    CUcontext context = use_device(1), owner;
    CUdeviceptr p, base;
    CUmemorytype type;
    int ordinal;
    unsigned managed = 7;
    size_t size;
    void *host = NULL;

    OK(cuMemAlloc(&p, 10000));
    OK(cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, p + 9));
    IS(type, CU_MEMORYTYPE_DEVICE);
    OK(cuPointerGetAttribute(&ordinal, CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL, p));
    IS(ordinal, 1);
    OK(cuPointerGetAttribute(&owner, CU_POINTER_ATTRIBUTE_CONTEXT, p));
    CHECK(owner == context);
    OK(cuPointerGetAttribute(&managed, CU_POINTER_ATTRIBUTE_IS_MANAGED, p));
    IS(managed, 0);
    CHECK(cuPointerGetAttribute(&host, CU_POINTER_ATTRIBUTE_HOST_POINTER, p) != CUDA_SUCCESS);
    OK(cuMemGetAddressRange(&base, &size, p + 5000));
    CHECK(base == p && size == 10000);
    IS(cuMemGetAddressRange(&base, &size, (CUdeviceptr)(uintptr_t)&base), CUDA_ERROR_NOT_FOUND);
}

static void test_device_pointer(void **state)
{
    (void)state;
    expect_ok(device_pointer, ENV("CUDA_EMU_DEVICES=2"));
}

/*
 * A pointer that CUDA does not know: cuPointerGetAttribute fails, cuPointerGetAttributes succeeds
 * with null values and device ordinal -2.
 */
static void unknown_pointer(void)
{
    int local = 5, ordinal = 99;
    CUmemorytype type = (CUmemorytype)77;
    CUcontext context = (CUcontext)1;
    CUdeviceptr p = (CUdeviceptr)(uintptr_t)&local;
    CUpointer_attribute names[] = {CU_POINTER_ATTRIBUTE_MEMORY_TYPE, CU_POINTER_ATTRIBUTE_CONTEXT,
                                   CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL};
    void *values[] = {&type, &context, &ordinal};

    use_device(0);
    IS(cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, p), CUDA_ERROR_INVALID_VALUE);
    OK(cuPointerGetAttributes(3, names, values, p));
    IS(type, 0);
    CHECK(context == NULL);
    IS(ordinal, -2);
}

static void test_unknown_pointer(void **state)
{
    (void)state;
    expect_ok(unknown_pointer, NO_ENV);
}

/* cuMemHostAlloc, cuMemHostRegister: one address for both sides; 712 and 713. */
static void host_memory(void)
{
    CUdeviceptr device;
    CUmemorytype type;
    void *pinned;
    char *plain = aligned_alloc(4096, 8192);
    unsigned flags;
    char byte = 9;

    use_device(0);
    CHECK(plain != NULL);
    OK(cuMemHostAlloc(&pinned, 5000, CU_MEMHOSTALLOC_PORTABLE));
    OK(cuMemHostGetDevicePointer(&device, pinned, 0));
    CHECK(device == (CUdeviceptr)(uintptr_t)pinned);
    OK(cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, device));
    IS(type, CU_MEMORYTYPE_HOST);
    OK(cuMemHostGetFlags(&flags, pinned));
    CHECK(flags & CU_MEMHOSTALLOC_PORTABLE);
    OK(cuMemsetD8(device, 3, 5000));
    OK(cuCtxSynchronize());
    CHECK(((char *)pinned)[4999] == 3);
    OK(cuMemFreeHost(pinned));
    IS(cuMemFreeHost(plain), CUDA_ERROR_INVALID_VALUE);

    OK(cuMemHostRegister(plain, 8192, 0));
    IS(cuMemHostRegister(plain + 4096, 4096, 0), CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED);
    OK(cuMemHostGetDevicePointer(&device, plain + 100, 0));
    OK(cuMemcpyHtoD(device, &byte, 1));
    OK(cuCtxSynchronize()); /* from pageable memory a copy may return before it has arrived */
    CHECK(plain[100] == 9);
    IS(cuMemHostUnregister(plain + 4096), CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED);
    OK(cuMemHostUnregister(plain));
    IS(cuMemHostUnregister(plain), CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED);
    CHECK(cuMemHostGetDevicePointer(&device, plain, 0) != CUDA_SUCCESS);
    free(plain);
}

static void test_host_memory(void **state)
{
    (void)state;
    expect_ok(host_memory, NO_ENV);
}

/* cuMemAllocManaged: one pointer for CPU and GPU. */
static void managed_memory(void)
{
    CUdeviceptr p;
    unsigned managed = 0;
    int *words;

    use_device(0);
    IS(cuMemAllocManaged(&p, 0, CU_MEM_ATTACH_GLOBAL), CUDA_ERROR_INVALID_VALUE);
    OK(cuMemAllocManaged(&p, 1 << 20, CU_MEM_ATTACH_GLOBAL));
    OK(cuPointerGetAttribute(&managed, CU_POINTER_ATTRIBUTE_IS_MANAGED, p + 16));
    IS(managed, 1);
    words = (int *)(uintptr_t)p;
    words[1000] = 5;
    OK(cuMemsetD32(p, 42, 1000));
    OK(cuCtxSynchronize());
    CHECK(words[999] == 42 && words[1000] == 5);
    OK(cuMemFree(p));
}

static void test_managed_memory(void **state)
{
    (void)state;
    expect_ok(managed_memory, NO_ENV);
}

/*
 * API synchronization behavior, Memcpy: from pageable memory the bytes are taken before the call
 * returns; to pageable memory it returns when the copy is done.
 */
static void pageable_async(void)
{
    CUdeviceptr p;
    CUstream stream;
    char in[4096], out[4096];

    use_device(0);
    OK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    OK(cuMemAlloc(&p, sizeof(in)));
    for (int round = 0; round < 10; round++) {
        memset(in, round, sizeof(in));
        OK(cuMemcpyHtoDAsync(p, in, sizeof(in), stream));
        memset(in, 99, sizeof(in));
        OK(cuMemcpyDtoHAsync(out, p, sizeof(out), stream));
        CHECK(out[0] == round && out[4095] == round);
    }
}

/*
 * The same section, Synchronous: from pageable memory cuMemcpyHtoD "returns once the pageable
 * buffer has been copied to the staging memory", at any size; "the DMA to final destination may not
 * have completed". Only work that is ordered behind the NULL stream finds all bytes.
 */
static void pageable_returns_early(void)
{
    static char in[1 << 20], out[1 << 20];
    CUdeviceptr p;
    int early = 0;

    use_device(0);
    OK(cuMemAlloc(&p, sizeof(in)));
    for (int round = 1; round <= 20; round++) {
        memset(in, round, sizeof(in));
        OK(cuMemcpyHtoD(p, in, sizeof(in)));
        early += cuStreamQuery(NULL) == CUDA_ERROR_NOT_READY;
        memset(in, 99, sizeof(in)); /* what the call has taken is its own */
        OK(cuMemcpyDtoH(out, p, sizeof(out)));
        for (size_t i = 0; i < sizeof(out); i += 1024)
            CHECK(out[i] == round && out[i + 1023] == round);
    }
    CHECK(early > 10);
}

static void test_pageable_async(void **state)
{
    (void)state;
    expect_ok(pageable_async, ENV("CUDA_EMU_DELAY=5000"));
    expect_ok(pageable_returns_early, ENV("CUDA_EMU_DELAY=5000"));
}

static volatile int sink;

/* The broken program: it touches device memory from the CPU. */
static void __attribute__((noinline)) careless_reader(CUdeviceptr p)
{
    sink = *(volatile int *)(uintptr_t)(p + 64);
}

static void __attribute__((noinline)) careless_writer(CUdeviceptr p)
{
    *(volatile int *)(uintptr_t)(p + 64) = 1;
}

static void read_by_cpu(void)
{
    CUdeviceptr p;

    use_device(0);
    OK(cuMemAlloc(&p, 4096));
    fprintf(stderr, "expect %#llx\n", (unsigned long long)p + 64);
    careless_reader(p);
}

static void write_by_cpu(void)
{
    CUdeviceptr p;

    use_device(0);
    OK(cuMemAlloc(&p, 4096));
    careless_writer(p);
}

static void memcpy_by_cpu(void)
{
    CUdeviceptr p;
    static unsigned char bytes[4096];

    use_device(0);
    OK(cuMemAlloc(&p, 4096));
    memcpy(bytes, (void *)(uintptr_t)p, 4096);
    sink = bytes[7];
}

static void read_after_free(void)
{
    CUdeviceptr p;

    use_device(0);
    OK(cuMemAlloc(&p, 4096));
    OK(cuMemFree(p));
    careless_reader(p);
}

/* Programming guide, "Heterogeneous Programming": host code cannot dereference device memory. */
static void test_faults(void **state)
{
    static const char *const read_texts[] = {"0x", "cuMemAlloc", "careless_reader", NULL};
    static const char *const write_texts[] = {"cuMemAlloc", "careless_writer", NULL};
    static const char *const copy_texts[] = {"cuMemAlloc", NULL};
    static const char *const freed_texts[] = {"careless_reader", NULL};

    (void)state;
    expect_fault(read_by_cpu, NO_ENV, read_texts);
    expect_fault(write_by_cpu, NO_ENV, write_texts);
    expect_fault(memcpy_by_cpu, NO_ENV, copy_texts);
    expect_fault(read_after_free, NO_ENV, freed_texts);
}

static int *volatile nowhere = (int *)4096; /* never mapped */

static void own_fault(void)
{
    use_device(0);
    sink = *nowhere;
}

/* A fault elsewhere stays the program's own: default action, nothing about device memory. */
static void test_own_fault(void **state)
{
    static const char *const nothing[] = {NULL};

    (void)state;
    expect_fault(own_fault, NO_ENV, nothing);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_allocate),        cmocka_unit_test(test_full_device),
        cmocka_unit_test(test_copies),          cmocka_unit_test(test_sets),
        cmocka_unit_test(test_buffer_ids),      cmocka_unit_test(test_device_pointer),
        cmocka_unit_test(test_unknown_pointer), cmocka_unit_test(test_host_memory),
        cmocka_unit_test(test_managed_memory),  cmocka_unit_test(test_pageable_async),
        cmocka_unit_test(test_faults),          cmocka_unit_test(test_own_fault),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
