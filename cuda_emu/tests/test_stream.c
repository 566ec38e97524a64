/*
 * Streams, the NULL stream, events, host functions. Sections: Programming Guide "Asynchronous
 * Concurrent Execution"; Driver API "Stream synchronization behavior", "Stream Management",
 * "Event Management", "Execution Control".
 *
 * A stream is held by waiting for a word in host memory: no case depends on how long anything
 * takes, except where it measures delays.
 */
#include "cuda_emu/tests/emu_test.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <time.h>

struct gate {
    _Atomic uint32_t *word; /* the streams wait until it is 1 */
    CUdeviceptr address;
};

static struct gate new_gate(void)
{
    struct gate gate;
    void *memory;

    OK(cuMemHostAlloc(&memory, 64, 0));
    gate.word = memory;
    atomic_store(gate.word, 0);
    OK(cuMemHostGetDevicePointer(&gate.address, memory, 0));
    return gate;
}

static void hold(struct gate gate, CUstream stream)
{
    OK(cuStreamWaitValue32(stream, gate.address, 1, CU_STREAM_WAIT_VALUE_GEQ));
}

static void release(struct gate gate)
{
    atomic_store(gate.word, 1);
}

/* Long enough for a stream that is not held to have done a small operation. */
static void pause_a_little(void)
{
    struct timespec t = {0, 20000000};

    nanosleep(&t, NULL);
}

/* Operations of one stream run in order, whatever each is delayed. */
static void in_order(void)
{
    CUstream stream;
    CUdeviceptr p, q;
    uint32_t out[64];

    use_device(0);
    OK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    OK(cuMemAlloc(&p, sizeof(out)));
    OK(cuMemAlloc(&q, sizeof(out)));
    for (unsigned i = 0; i < 64; i++) {
        size_t offset = i * sizeof(out[0]);

        OK(cuMemsetD32Async(p, i, 64, stream));
        OK(cuMemcpyDtoDAsync(q + offset, p + offset, sizeof(out[0]), stream));
    }
    OK(cuStreamSynchronize(stream));
    OK(cuMemcpyDtoH(out, q, sizeof(out)));
    for (unsigned i = 0; i < 64; i++)
        CHECK(out[i] == i);
}

static void test_in_order(void **state)
{
    (void)state;
    expect_ok(in_order, NO_ENV);
    expect_ok(in_order, ENV("CUDA_EMU_SYNC=1"));
    for (int seed = 1; seed <= 3; seed++) {
        char variable[32];

        snprintf(variable, sizeof(variable), "CUDA_EMU_SEED=%d", seed);
        expect_ok(in_order, ENV("CUDA_EMU_DELAY=2000", variable));
    }
}

/* Different streams do not wait for each other. */
static void independent(void)
{
    CUstream held, free_one;
    CUdeviceptr p;
    struct gate gate;

    use_device(0);
    gate = new_gate();
    OK(cuMemAlloc(&p, 64));
    OK(cuStreamCreate(&held, CU_STREAM_NON_BLOCKING));
    OK(cuStreamCreate(&free_one, CU_STREAM_NON_BLOCKING));
    hold(gate, held);
    OK(cuMemsetD8Async(p, 1, 64, free_one));
    OK(cuStreamSynchronize(free_one));
    IS(cuStreamQuery(held), CUDA_ERROR_NOT_READY);
    release(gate);
    OK(cuStreamSynchronize(held));
    OK(cuStreamQuery(held));
}

static void test_independent(void **state)
{
    (void)state;
    expect_ok(independent, NO_ENV);
    expect_ok(independent, ENV("CUDA_EMU_SYNC=1"));
}

/*
 * Stream synchronization behavior, legacy default stream: it waits for all blocking streams, they
 * wait for it; streams made with CU_STREAM_NON_BLOCKING do neither.
 */
static void legacy_holds_blocking(void)
{
    CUstream blocking, non_blocking;
    CUdeviceptr p;
    struct gate gate;

    use_device(0);
    gate = new_gate();
    OK(cuMemAlloc(&p, 64));
    OK(cuStreamCreate(&blocking, CU_STREAM_DEFAULT));
    OK(cuStreamCreate(&non_blocking, CU_STREAM_NON_BLOCKING));
    hold(gate, NULL);
    OK(cuMemsetD8Async(p, 1, 64, blocking));
    OK(cuMemsetD8Async(p, 1, 64, non_blocking));
    OK(cuStreamSynchronize(non_blocking));
    pause_a_little();
    IS(cuStreamQuery(blocking), CUDA_ERROR_NOT_READY);
    IS(cuStreamQuery(NULL), CUDA_ERROR_NOT_READY);
    IS(cuStreamQuery(CU_STREAM_LEGACY), CUDA_ERROR_NOT_READY);
    release(gate);
    OK(cuStreamSynchronize(blocking));
    OK(cuStreamQuery(NULL));
}

static void blocking_holds_legacy(void)
{
    CUstream blocking, other;
    CUdeviceptr p;
    struct gate gate;

    use_device(0);
    gate = new_gate();
    OK(cuMemAlloc(&p, 64));
    OK(cuStreamCreate(&blocking, CU_STREAM_DEFAULT));
    OK(cuStreamCreate(&other, CU_STREAM_DEFAULT));
    hold(gate, blocking);
    OK(cuMemsetD8Async(p, 1, 64, NULL));
    OK(cuMemsetD8Async(p, 1, 64, other));
    pause_a_little();
    IS(cuStreamQuery(NULL), CUDA_ERROR_NOT_READY);
    IS(cuStreamQuery(other), CUDA_ERROR_NOT_READY); /* behind the legacy stream's operation */
    release(gate);
    OK(cuCtxSynchronize());
    OK(cuStreamQuery(other));
}

/* The per-thread default stream is a blocking stream; each thread has its own. */
static void *query_own_stream(void *context)
{
    OK(cuCtxSetCurrent(context));
    OK(cuStreamQuery(CU_STREAM_PER_THREAD));
    return NULL;
}

static void per_thread(void)
{
    CUcontext context = use_device(0);
    CUstream blocking;
    CUdeviceptr p;
    struct gate gate = new_gate();
    pthread_t thread;

    OK(cuMemAlloc(&p, 64));
    OK(cuStreamCreate(&blocking, CU_STREAM_DEFAULT));
    hold(gate, CU_STREAM_PER_THREAD);
    IS(cuStreamQuery(CU_STREAM_PER_THREAD), CUDA_ERROR_NOT_READY);
    CHECK(pthread_create(&thread, NULL, query_own_stream, context) == 0);
    CHECK(pthread_join(thread, NULL) == 0);
    OK(cuMemsetD8Async(p, 1, 64, blocking));
    OK(cuStreamSynchronize(blocking));
    OK(cuMemsetD8Async(p, 1, 64, NULL));
    pause_a_little();
    IS(cuStreamQuery(NULL), CUDA_ERROR_NOT_READY);
    release(gate);
    OK(cuCtxSynchronize());
}

static void test_default_streams(void **state)
{
    (void)state;
    expect_ok(legacy_holds_blocking, NO_ENV);
    expect_ok(blocking_holds_legacy, NO_ENV);
    expect_ok(per_thread, NO_ENV);
    expect_ok(legacy_holds_blocking, ENV("CUDA_EMU_SYNC=1"));
    expect_ok(blocking_holds_legacy, ENV("CUDA_EMU_SYNC=1"));
}

/* Event Management: record, query, wait; a second record replaces the first. */
static void events(void)
{
    CUstream first, second;
    CUdeviceptr p;
    CUevent event;
    struct gate gate;

    use_device(0);
    gate = new_gate();
    OK(cuMemAlloc(&p, 64));
    OK(cuStreamCreate(&first, CU_STREAM_NON_BLOCKING));
    OK(cuStreamCreate(&second, CU_STREAM_NON_BLOCKING));
    OK(cuEventCreate(&event, CU_EVENT_DISABLE_TIMING));
    OK(cuEventQuery(event)); /* never recorded: complete */
    hold(gate, first);
    OK(cuEventRecord(event, first));
    IS(cuEventQuery(event), CUDA_ERROR_NOT_READY);
    OK(cuStreamWaitEvent(second, event, 0));
    OK(cuMemsetD8Async(p, 1, 64, second));
    pause_a_little();
    IS(cuStreamQuery(second), CUDA_ERROR_NOT_READY);
    release(gate);
    OK(cuEventSynchronize(event));
    OK(cuStreamSynchronize(second));
    OK(cuEventRecord(event, second));
    OK(cuEventSynchronize(event));
    OK(cuEventDestroy(event));
    IS(cuEventQuery(event), CUDA_ERROR_INVALID_HANDLE);
}

static void sleep_50_ms(void *data)
{
    struct timespec t = {0, 50000000};

    nanosleep(&t, NULL);
    if (data != NULL)
        atomic_fetch_add((atomic_int *)data, 1);
}

/* cuEventElapsedTime: 600 while not done, 400 without timing or record, else milliseconds. */
static void elapsed(void)
{
    CUstream stream;
    CUevent start, end, untimed;
    struct gate gate;
    float ms = -1;

    use_device(0);
    gate = new_gate();
    OK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    OK(cuEventCreate(&start, CU_EVENT_DEFAULT));
    OK(cuEventCreate(&end, CU_EVENT_DEFAULT));
    OK(cuEventCreate(&untimed, CU_EVENT_DISABLE_TIMING));
    IS(cuEventElapsedTime(&ms, start, end), CUDA_ERROR_INVALID_HANDLE);
    OK(cuEventRecord(start, stream));
    OK(cuLaunchHostFunc(stream, sleep_50_ms, NULL));
    hold(gate, stream);
    OK(cuEventRecord(end, stream));
    OK(cuEventRecord(untimed, stream));
    IS(cuEventElapsedTime(&ms, start, end), CUDA_ERROR_NOT_READY);
    release(gate);
    OK(cuEventSynchronize(untimed));
    OK(cuEventElapsedTime(&ms, start, end));
    CHECK(ms >= 45 && ms < 20000);
    IS(cuEventElapsedTime(&ms, start, untimed), CUDA_ERROR_INVALID_HANDLE);
}

static void test_events(void **state)
{
    (void)state;
    expect_ok(events, NO_ENV);
    expect_ok(events, ENV("CUDA_EMU_SYNC=1"));
    expect_ok(elapsed, NO_ENV);
}

static void calls_cuda(void *data)
{
    CUdeviceptr p;

    *(CUresult *)data = cuMemAlloc(&p, 64);
}

struct turn {
    atomic_int go, done;
};

static void wait_for_turn(void *data)
{
    struct turn *turn = data;

    while (!atomic_load(&turn->go))
        usleep(1000);
    atomic_fetch_add(&turn->done, 1);
}

/* cuLaunchHostFunc: in stream order; CUDA calls in it give CUDA_ERROR_NOT_PERMITTED. */
static void host_functions(void)
{
    CUstream stream;
    struct turn turn = {0, 0};
    CUresult inside = CUDA_SUCCESS;

    use_device(0);
    OK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    OK(cuLaunchHostFunc(stream, wait_for_turn, &turn));
    OK(cuLaunchHostFunc(stream, calls_cuda, &inside));
    IS(cuStreamQuery(stream), CUDA_ERROR_NOT_READY);
    CHECK(turn.done == 0);
    atomic_store(&turn.go, 1);
    OK(cuStreamSynchronize(stream));
    CHECK(turn.done == 1);
    IS(inside, CUDA_ERROR_NOT_PERMITTED);
}

static void test_host_functions(void **state)
{
    (void)state;
    expect_ok(host_functions, NO_ENV);
}

/* cuStreamDestroy returns at once; work that is pending still gets done. */
static void destroy_pending(void)
{
    CUstream stream;
    CUdeviceptr p;
    struct gate gate;
    char byte = 0;

    use_device(0);
    gate = new_gate();
    OK(cuMemAlloc(&p, 64));
    OK(cuMemsetD8(p, 0, 64));
    OK(cuCtxSynchronize()); /* nothing else would order it before a non-blocking stream */
    OK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    hold(gate, stream);
    OK(cuMemsetD8Async(p, 5, 64, stream));
    OK(cuStreamDestroy(stream));
    IS(cuStreamQuery(stream), CUDA_ERROR_INVALID_HANDLE);
    release(gate);
    OK(cuCtxSynchronize());
    OK(cuMemcpyDtoH(&byte, p, 1));
    CHECK(byte == 5);
}

/* Programming Guide, "Implicit Synchronization": cuMemFree waits for work that may use it. */
static void free_synchronises(void)
{
    CUstream stream;
    CUdeviceptr p;
    atomic_int count = 0;

    use_device(0);
    OK(cuMemAlloc(&p, 64));
    OK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    OK(cuLaunchHostFunc(stream, sleep_50_ms, &count));
    OK(cuMemsetD8Async(p, 5, 64, stream));
    OK(cuMemFree(p));
    CHECK(count == 1);
}

static void test_lifetimes(void **state)
{
    (void)state;
    expect_ok(destroy_pending, NO_ENV);
    expect_ok(free_synchronises, NO_ENV);
}

/* Priorities: greatest is numerically lowest; values outside are clamped. */
static void priorities(void)
{
    CUstream stream;
    int least, greatest, priority;
    unsigned flags;
    unsigned long long ids[2];

    use_device(0);
    OK(cuCtxGetStreamPriorityRange(&least, &greatest));
    CHECK(least == 0 && greatest < 0);
    OK(cuStreamCreateWithPriority(&stream, CU_STREAM_NON_BLOCKING, greatest - 10));
    OK(cuStreamGetPriority(stream, &priority));
    IS(priority, greatest);
    OK(cuStreamGetFlags(stream, &flags));
    IS(flags, CU_STREAM_NON_BLOCKING);
    OK(cuStreamGetId(stream, &ids[0]));
    OK(cuStreamGetId(NULL, &ids[1]));
    CHECK(ids[0] != ids[1]);
    IS(cuStreamCreate(&stream, 0x40), CUDA_ERROR_INVALID_VALUE);
}

static void test_priorities(void **state)
{
    (void)state;
    expect_ok(priorities, NO_ENV);
}

/* How long 40 operations of one stream take under the delays of the environment, in seconds. */
static double delayed_run(void)
{
    CUstream stream;
    CUdeviceptr p;
    double start;

    use_device(0);
    OK(cuMemAlloc(&p, 64));
    OK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    start = seconds();
    for (int i = 0; i < 40; i++)
        OK(cuMemsetD8Async(p, 1, 64, stream));
    OK(cuStreamSynchronize(stream));
    return seconds() - start;
}

/* Delays lie between 0 and CUDA_EMU_DELAY: 40 of at most 10 ms take about 0.2 s. */
static void delays_take_time(void)
{
    double took = delayed_run();

    CHECK(took > 0.08);
    CHECK(took < 5);
}

static void test_delays(void **state)
{
    (void)state;
    expect_ok(delays_take_time, ENV("CUDA_EMU_DELAY=10000", "CUDA_EMU_SEED=5"));
}

/*
 * Programming Guide, "CUDA Environment Variables", CUDA_DEVICE_MAX_CONNECTIONS: the number of "work
 * queues from the host to each device". Where two streams share one, a wait at its head holds up
 * the write behind it.
 */
static void one_releases_other(bool shared)
{
    CUstream first, second;
    struct gate gate;

    use_device(0);
    gate = new_gate();
    OK(cuStreamCreate(&first, CU_STREAM_NON_BLOCKING));
    OK(cuStreamCreate(&second, CU_STREAM_NON_BLOCKING));
    hold(gate, first);
    OK(cuStreamWriteValue32(second, gate.address, 1, 0));
    if (shared) {
        pause_a_little();
        IS(cuStreamQuery(first), CUDA_ERROR_NOT_READY);
        IS(cuStreamQuery(second), CUDA_ERROR_NOT_READY);
        release(gate);
    }
    OK(cuStreamSynchronize(first));
    OK(cuStreamSynchronize(second));
}

static void shared_queue(void)
{
    one_releases_other(true);
}

static void own_queues(void)
{
    one_releases_other(false);
}

static void test_queues(void **state)
{
    (void)state;
    expect_ok(shared_queue, ENV("CUDA_EMU_QUEUES=1"));
    expect_ok(shared_queue, ENV("CUDA_EMU_QUEUES=1", "CUDA_EMU_SYNC=1"));
    expect_ok(own_queues, ENV("CUDA_EMU_QUEUES=2"));
    expect_ok(own_queues, NO_ENV);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_in_order),        cmocka_unit_test(test_independent),
        cmocka_unit_test(test_default_streams), cmocka_unit_test(test_events),
        cmocka_unit_test(test_host_functions),  cmocka_unit_test(test_lifetimes),
        cmocka_unit_test(test_priorities),      cmocka_unit_test(test_delays),
        cmocka_unit_test(test_queues),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
