/*
 * Between processes, and between devices of one. Sections of the CUDA Driver API reference:
 * "Memory Management" (cuIpc*), "Stream Memory Operations", "Peer Context Memory Access".
 */
#include "cuda_emu/tests/emu_test.h"

#include <signal.h>
#include <sys/wait.h>

#define SIZE 65536

/* ---- cuIpcGetMemHandle, cuIpcOpenMemHandle ---- */

static void exporter(int fd)
{
    CUdeviceptr p, own;
    CUipcMemHandle handle;
    uint32_t word;
    char answer;

    use_device(0);
    OK(cuMemAlloc(&p, SIZE));
    OK(cuMemsetD32(p, 17, SIZE / 4));
    OK(cuCtxSynchronize()); /* a memset of device memory is asynchronous */
    OK(cuIpcGetMemHandle(&handle, p));
    /* Opening a handle in the process that made it is an error. */
    IS(cuIpcOpenMemHandle(&own, handle, CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS),
       CUDA_ERROR_INVALID_CONTEXT);
    send_bytes(fd, &handle, sizeof(handle));
    receive_bytes(fd, &answer, 1);
    OK(cuMemcpyDtoH(&word, p + 400, 4));
    IS(word, 18);
    send_bytes(fd, &answer, 1);
    receive_bytes(fd, &answer, 1);
    OK(cuMemFree(p));
}

static void importer(int fd)
{
    CUdeviceptr mapped, again, base;
    CUipcMemHandle handle;
    CUmemorytype type;
    unsigned long long id;
    size_t size;
    uint32_t word;

    use_device(0);
    receive_bytes(fd, &handle, sizeof(handle));
    OK(cuIpcOpenMemHandle(&mapped, handle, CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS));
    OK(cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, mapped));
    IS(type, CU_MEMORYTYPE_DEVICE);
    OK(cuPointerGetAttribute(&id, CU_POINTER_ATTRIBUTE_BUFFER_ID, mapped));
    CHECK(id != 0);
    OK(cuMemGetAddressRange(&base, &size, mapped + 100));
    CHECK(base == mapped && size == SIZE);
    OK(cuMemcpyDtoH(&word, mapped + SIZE - 4, 4));
    IS(word, 17);
    OK(cuMemsetD32(mapped + 400, 18, 1));
    OK(cuCtxSynchronize());
    /* Handles are reference-counted: the second open gives the same address. */
    OK(cuIpcOpenMemHandle(&again, handle, CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS));
    CHECK(again == mapped);
    OK(cuIpcCloseMemHandle(mapped));
    OK(cuMemcpyDtoH(&word, mapped, 4));
    send_bytes(fd, "x", 1);
    receive_bytes(fd, &word, 1);
    OK(cuIpcCloseMemHandle(mapped));
    IS(cuMemcpyDtoH(&word, mapped, 4), CUDA_ERROR_INVALID_VALUE);
    IS(cuMemFree(mapped), CUDA_ERROR_INVALID_VALUE);
    IS(cuIpcCloseMemHandle(mapped), CUDA_ERROR_INVALID_VALUE);
    send_bytes(fd, "x", 1);
}

static void share_memory(void)
{
    run_pair(exporter, importer);
}

static void touch(const CUipcMemHandle *handle)
{
    CUdeviceptr mapped;
    volatile char byte;

    use_device(0);
    OK(cuIpcOpenMemHandle(&mapped, *handle, CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS));
    byte = *(volatile char *)(uintptr_t)mapped;
    exit(byte);
}

static void touch_by_cpu(int fd)
{
    CUipcMemHandle handle;
    int status;
    pid_t pid;

    receive_bytes(fd, &handle, sizeof(handle));
    pid = fork();
    CHECK(pid >= 0);
    if (pid == 0)
        touch(&handle);
    CHECK(waitpid(pid, &status, 0) == pid);
    CHECK(WIFSIGNALED(status) && WTERMSIG(status) == SIGSEGV);
    send_bytes(fd, "x", 1);
}

static void exports_one(int fd)
{
    CUdeviceptr p;
    CUipcMemHandle handle;
    char answer;

    use_device(0);
    OK(cuMemAlloc(&p, SIZE));
    OK(cuIpcGetMemHandle(&handle, p));
    send_bytes(fd, &handle, sizeof(handle));
    receive_bytes(fd, &answer, 1);
}

static void share_and_touch(void)
{
    run_pair(exports_one, touch_by_cpu);
}

static void test_memory(void **state)
{
    (void)state;
    expect_ok(share_memory, NO_ENV);
    expect_ok_saying(share_and_touch, NO_ENV, "another process");
}

/* A handle of memory that has been freed: opening it is an error, no crash. */
static void exports_freed(int fd)
{
    CUdeviceptr p;
    CUipcMemHandle handle;
    char answer;

    use_device(0);
    OK(cuMemAlloc(&p, SIZE));
    OK(cuIpcGetMemHandle(&handle, p));
    OK(cuMemFree(p));
    IS(cuIpcGetMemHandle(&handle, p), CUDA_ERROR_INVALID_VALUE);
    send_bytes(fd, &handle, sizeof(handle));
    receive_bytes(fd, &answer, 1);
}

static void opens_freed(int fd)
{
    CUdeviceptr p;
    CUipcMemHandle handle;

    use_device(0);
    receive_bytes(fd, &handle, sizeof(handle));
    CHECK(cuIpcOpenMemHandle(&p, handle, CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS) != CUDA_SUCCESS);
    memset(&handle, 0x5a, sizeof(handle));
    CHECK(cuIpcOpenMemHandle(&p, handle, CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS) != CUDA_SUCCESS);
    send_bytes(fd, "x", 1);
}

static void share_freed(void)
{
    run_pair(exports_freed, opens_freed);
}

static void test_freed(void **state)
{
    (void)state;
    expect_ok(share_freed, NO_ENV);
}

/* ---- Stream Memory Operations ---- */

/* cuStreamWaitValue, cuStreamWriteValue: the three conditions, both widths. */
static void wait_conditions(void)
{
    static const struct {
        unsigned flags;
        uint64_t start, wanted, satisfying;
    } cases[] = {
        {CU_STREAM_WAIT_VALUE_GEQ, 4, 5, 7},
        {CU_STREAM_WAIT_VALUE_EQ, 6, 5, 5},
        {CU_STREAM_WAIT_VALUE_AND, 0x10, 0x6, 0x14},
        {CU_STREAM_WAIT_VALUE_GEQ, 0xfffffff0, 3, 5}, /* cyclic: (int32)(*addr - value) >= 0 */
    };
    CUstream waiter, writer;
    CUdeviceptr words;

    use_device(0);
    OK(cuMemAlloc(&words, 64));
    OK(cuStreamCreate(&waiter, CU_STREAM_NON_BLOCKING));
    OK(cuStreamCreate(&writer, CU_STREAM_NON_BLOCKING));
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        OK(cuStreamWriteValue32(writer, words, (uint32_t)cases[i].start, 0));
        OK(cuStreamSynchronize(writer));
        OK(cuStreamWaitValue32(waiter, words, (uint32_t)cases[i].wanted, cases[i].flags));
        usleep(5000);
        IS(cuStreamQuery(waiter), CUDA_ERROR_NOT_READY);
        OK(cuStreamWriteValue32(writer, words, (uint32_t)cases[i].satisfying, 0));
        OK(cuStreamSynchronize(waiter));
    }
    OK(cuStreamWriteValue64(writer, words + 8, UINT64_C(1) << 40, 0));
    OK(cuStreamWaitValue64(waiter, words + 8, UINT64_C(1) << 40, CU_STREAM_WAIT_VALUE_GEQ));
    OK(cuStreamSynchronize(waiter));
    IS(cuStreamWaitValue32(waiter, words + 2, 0, 0), CUDA_ERROR_INVALID_VALUE); /* alignment */
    IS(cuStreamWriteValue32(waiter, (CUdeviceptr)(uintptr_t)&waiter, 0, 0),
       CUDA_ERROR_INVALID_VALUE); /* pageable memory is not mapped for the device */
}

/*
 * cuda.h, cuStreamWaitValue and cuStreamWriteValue: "This function cannot be used with managed
 * memory".
 */
static void managed_words(void)
{
    CUstream stream;
    CUdeviceptr word;

    use_device(0);
    OK(cuMemAllocManaged(&word, 64, CU_MEM_ATTACH_GLOBAL));
    OK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    IS(cuStreamWaitValue64(stream, word, 0, CU_STREAM_WAIT_VALUE_GEQ), CUDA_ERROR_INVALID_VALUE);
    IS(cuStreamWriteValue64(stream, word, 1, 0), CUDA_ERROR_INVALID_VALUE);
    IS(cuStreamWaitValue32(stream, word, 0, CU_STREAM_WAIT_VALUE_GEQ), CUDA_ERROR_INVALID_VALUE);
    IS(cuStreamWriteValue32(stream, word, 1, 0), CUDA_ERROR_INVALID_VALUE);
    OK(cuStreamSynchronize(stream));
}

/* Work of a stream before a written value is visible when the value is seen. */
static void order_behind_data(void)
{
    CUstream producer, consumer;
    CUdeviceptr data, flag, out;
    uint32_t got[256];

    use_device(0);
    OK(cuMemAlloc(&data, sizeof(got)));
    OK(cuMemAlloc(&out, sizeof(got)));
    OK(cuMemAlloc(&flag, 8));
    OK(cuMemsetD32(flag, 0, 2));
    OK(cuStreamCreate(&producer, CU_STREAM_NON_BLOCKING));
    OK(cuStreamCreate(&consumer, CU_STREAM_NON_BLOCKING));
    for (unsigned i = 1; i <= 20; i++) {
        OK(cuStreamWaitValue64(consumer, flag, i, CU_STREAM_WAIT_VALUE_GEQ));
        OK(cuMemcpyDtoDAsync(out, data, sizeof(got), consumer));
        OK(cuMemsetD32Async(data, i, 256, producer));
        OK(cuStreamWriteValue64(producer, flag, i, 0));
        OK(cuStreamSynchronize(consumer));
        OK(cuMemcpyDtoH(got, out, sizeof(got)));
        CHECK(got[0] == i && got[255] == i);
    }
}

static void test_stream_values(void **state)
{
    (void)state;
    expect_ok(wait_conditions, NO_ENV);
    expect_ok(wait_conditions, ENV("CUDA_EMU_SYNC=1"));
    expect_ok(managed_words, NO_ENV);
    expect_ok(order_behind_data, ENV("CUDA_EMU_DELAY=2000", "CUDA_EMU_SEED=3"));
}

/* One process's stream waits for a word that the other's stream writes, through IPC. */
static void waits_for_peer(int fd)
{
    CUdeviceptr p;
    CUipcMemHandle handle;
    CUstream stream;
    uint32_t data;

    use_device(0);
    OK(cuMemAlloc(&p, SIZE));
    OK(cuMemsetD32(p, 0, SIZE / 4));
    OK(cuCtxSynchronize());
    OK(cuIpcGetMemHandle(&handle, p));
    OK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    OK(cuStreamWaitValue64(stream, p + 8, 9, CU_STREAM_WAIT_VALUE_GEQ));
    OK(cuMemcpyDtoDAsync(p + 2048, p + 1024, 4, stream));
    IS(cuStreamQuery(stream), CUDA_ERROR_NOT_READY);
    send_bytes(fd, &handle, sizeof(handle));
    OK(cuStreamSynchronize(stream));
    OK(cuMemcpyDtoH(&data, p + 2048, 4));
    IS(data, 77);
    send_bytes(fd, "x", 1);
}

static void writes_to_peer(int fd)
{
    CUdeviceptr p;
    CUipcMemHandle handle;
    CUstream stream;
    char answer;

    use_device(1);
    receive_bytes(fd, &handle, sizeof(handle));
    OK(cuIpcOpenMemHandle(&p, handle, CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS));
    OK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    OK(cuMemsetD32Async(p + 1024, 77, 1, stream));
    OK(cuStreamWriteValue64(stream, p + 8, 9, 0));
    OK(cuStreamSynchronize(stream));
    receive_bytes(fd, &answer, 1);
}

static void value_across(void)
{
    run_pair(waits_for_peer, writes_to_peer);
}

static void test_value_across(void **state)
{
    (void)state;
    expect_ok(value_across, ENV("CUDA_EMU_DELAY=3000", "CUDA_EMU_DEVICES=2"));
    expect_ok(value_across, ENV("CUDA_EMU_SYNC=1", "CUDA_EMU_DEVICES=2"));
}

/* ---- cuIpcGetEventHandle ---- */

static void records_event(int fd)
{
    CUevent event, untimed;
    CUipcEventHandle handle;
    CUstream stream;
    CUdeviceptr p;
    char answer;

    use_device(0);
    IS(cuEventCreate(&event, CU_EVENT_INTERPROCESS),
       CUDA_ERROR_INVALID_VALUE); /* wants no timing */
    OK(cuEventCreate(&untimed, CU_EVENT_DISABLE_TIMING | CU_EVENT_INTERPROCESS));
    OK(cuIpcGetEventHandle(&handle, untimed));
    OK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    OK(cuMemAlloc(&p, 64));
    OK(cuMemsetD8Async(p, 0, 64, stream));
    OK(cuEventRecord(untimed, stream));
    send_bytes(fd, &handle, sizeof(handle));
    receive_bytes(fd, &answer, 1);
}

static void waits_for_event(int fd)
{
    CUevent event;
    CUipcEventHandle handle;

    use_device(0);
    receive_bytes(fd, &handle, sizeof(handle));
    OK(cuIpcOpenEventHandle(&event, handle));
    OK(cuEventSynchronize(event));
    OK(cuEventDestroy(event));
    send_bytes(fd, "x", 1);
}

static void event_across(void)
{
    run_pair(records_event, waits_for_event);
}

static void test_events_across(void **state)
{
    (void)state;
    expect_ok(event_across, ENV("CUDA_EMU_DELAY=20000"));
}

/* ---- Peer Context Memory Access ---- */

static void peers(void)
{
    CUcontext first = use_device(0), second = use_device(1);
    CUdeviceptr far, near;
    int can;
    uint32_t word;

    OK(cuDeviceCanAccessPeer(&can, 0, 1));
    IS(can, 1);
    OK(cuDeviceCanAccessPeer(&can, 0, 0));
    IS(can, 0);
    OK(cuMemAlloc(&far, 4096));
    OK(cuMemsetD32(far, 5, 16));
    OK(cuCtxSetCurrent(first));
    OK(cuMemAlloc(&near, 4096));
    /*
     * The copy engine reaches every device, enabled or not; cuMemcpyPeer is serialised with all
     * pending work of both contexts.
     */
    OK(cuMemcpyPeer(near, first, far, second, 64));
    OK(cuMemcpyDtoH(&word, near, 4));
    IS(word, 5);
    IS(cuCtxDisablePeerAccess(second), CUDA_ERROR_PEER_ACCESS_NOT_ENABLED);
    OK(cuCtxEnablePeerAccess(second, 0));
    IS(cuCtxEnablePeerAccess(second, 0), CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED);
    IS(cuCtxEnablePeerAccess(second, 1), CUDA_ERROR_INVALID_VALUE);
    OK(cuCtxDisablePeerAccess(second));
}

static void no_peers(void)
{
    CUcontext first = use_device(0), second = use_device(1);
    int can = 1;

    OK(cuDeviceCanAccessPeer(&can, 0, 1));
    IS(can, 0);
    OK(cuCtxSetCurrent(first));
    IS(cuCtxEnablePeerAccess(second, 0), CUDA_ERROR_PEER_ACCESS_UNSUPPORTED);
}

static void one_way(void)
{
    int can;

    OK(cuInit(0));
    OK(cuDeviceCanAccessPeer(&can, 2, 1));
    IS(can, 1);
    OK(cuDeviceCanAccessPeer(&can, 1, 2));
    IS(can, 0);
    OK(cuDeviceCanAccessPeer(&can, 1, 0));
    IS(can, 1);
    OK(cuDeviceCanAccessPeer(&can, 0, 2));
    IS(can, 0);
}

static void test_peers(void **state)
{
    (void)state;
    expect_ok(peers, ENV("CUDA_EMU_DEVICES=2"));
    expect_ok(peers, ENV("CUDA_EMU_DEVICES=2", "CUDA_EMU_DELAY=5000", "CUDA_EMU_SEED=2"));
    expect_ok(no_peers, ENV("CUDA_EMU_DEVICES=2", "CUDA_EMU_PEERS=none"));
    expect_ok(one_way, ENV("CUDA_EMU_DEVICES=3", "CUDA_EMU_PEERS=0-1,2>1"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_memory),        cmocka_unit_test(test_freed),
        cmocka_unit_test(test_stream_values), cmocka_unit_test(test_value_across),
        cmocka_unit_test(test_events_across), cmocka_unit_test(test_peers),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
