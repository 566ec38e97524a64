/*
 * The device room on whatever driver libcuda.so.1 is: what a pointer is, words, kernels, order
 * behind the NULL stream, staging, resets. Skipped (77) where there is no device.
 */
#include "device/driver.h"
#include "device/gdr_device.h"

#include <dlfcn.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define BYTES ((size_t)1 << 20)

static char last_error[1024];

static void emit(void *ctx, gdr_log_level_t level, const char *message)
{
    (void)ctx;
    if (level == GDR_LOG_ERROR)
        snprintf(last_error, sizeof(last_error), "%s", message);
    else
        printf("  %s\n", message);
}

static const gdr_log_t logger = {GDR_LOG_DEBUG, emit, NULL};

typedef struct fixture {
    const gdr_dev_ops_t *ops;
    gdr_dev_t *dev;
    gdr_dev_stream_t *stream;
    uint64_t memory; /* BYTES */
    uint64_t *host;  /* pinned by map_host */
    uint64_t host_on_device;
} fixture_t;

static void *open_fixture(bool no_stream_words)
{
    gdr_device_params_t params = {.log = &logger, .no_stream_words = no_stream_words};
    fixture_t *f = calloc(1, sizeof(*f));

    assert_non_null(f);
    assert_int_equal(gdr_device_open(&params, 0, &f->ops, &f->dev), GDR_OK);
    assert_int_equal(f->ops->stream_create(f->dev, &f->stream), GDR_OK);
    assert_int_equal(f->ops->alloc(f->dev, BYTES, &f->memory), GDR_OK);
    f->host = aligned_alloc(4096, 4096);
    assert_non_null(f->host);
    memset(f->host, 0, 4096);
    assert_int_equal(f->ops->map_host(f->dev, f->host, 4096, &f->host_on_device), GDR_OK);
    last_error[0] = '\0';
    return f;
}

static int setup(void **state)
{
    *state = open_fixture(false);
    return 0;
}

static int setup_without_words(void **state)
{
    *state = open_fixture(true);
    return 0;
}

static int teardown(void **state)
{
    fixture_t *f = *state;
    CUcontext current = NULL;

    f->ops->unmap_host(f->dev, f->host);
    f->ops->free(f->dev, f->memory);
    f->ops->stream_destroy(f->stream);
    f->ops->close(f->dev);
    free(f->host);
    free(f);
    assert_int_equal(gdr_driver()->cuCtxGetCurrent(&current), CUDA_SUCCESS);
    assert_null(current); /* this thread never had one: nothing is left behind */
    return 0;
}

static void fill(fixture_t *f, uint64_t offset, const void *data, size_t bytes)
{
    assert_int_equal(gdr_device_copy_in(&logger, f->memory + offset, data, bytes, 0), GDR_OK);
}

static void fetch(fixture_t *f, uint64_t offset, void *data, size_t bytes)
{
    assert_int_equal(gdr_device_copy_out(&logger, data, f->memory + offset, bytes, 0), GDR_OK);
}

static void classifies_pointers(void **state)
{
    fixture_t *f = *state;
    gdr_mem_info_t info, inside;
    void *pinned = NULL;
    int on_stack = 0;
    uint64_t id;

    gdr_device_classify((const void *)(uintptr_t)f->memory, &info);
    assert_int_equal(info.kind, GDR_MEM_DEVICE);
    assert_int_equal(info.ordinal, 0);
    assert_true(info.context != 0 && info.buffer_id != 0);
    gdr_device_classify((const void *)(uintptr_t)(f->memory + BYTES - 1), &inside);
    assert_memory_equal(&inside, &info, sizeof(info));
    gdr_device_classify(&on_stack, &info);
    assert_int_equal(info.kind, GDR_MEM_HOST);
    assert_int_equal(info.ordinal, -1);
    gdr_device_classify(NULL, &info);
    assert_int_equal(info.kind, GDR_MEM_HOST);
    gdr_device_classify(f->host, &info);
    assert_int_equal(info.kind, GDR_MEM_REGISTERED);
    assert_int_equal(gdr_device_pinned_alloc(&logger, 0, 4096, &pinned, &id), GDR_OK);
    gdr_device_classify(pinned, &info);
    assert_int_equal(info.kind, GDR_MEM_REGISTERED);
    assert_false(gdr_device_is_device(&info));
    assert_int_equal(id, gdr_device_context_id(0));
    gdr_device_pinned_free(&logger, 0, pinned, id);
}

typedef CUresult (*alloc_managed_t)(CUdeviceptr *, size_t, unsigned int);

static void counts_managed_memory_as_device_memory(void **state)
{
    fixture_t *f = *state;
    void *library = dlopen("libcuda.so.1", RTLD_LAZY | RTLD_NOLOAD);
    alloc_managed_t alloc_managed;
    CUdeviceptr managed = 0;
    gdr_mem_info_t info;

    assert_non_null(library);
    *(void **)&alloc_managed = dlsym(library, "cuMemAllocManaged");
    assert_non_null(alloc_managed);
    assert_true(gdr_device_enter(gdr_device_owner(f->memory)));
    assert_int_equal(alloc_managed(&managed, 4096, CU_MEM_ATTACH_GLOBAL), CUDA_SUCCESS);
    gdr_device_classify((const void *)(uintptr_t)managed, &info);
    assert_int_equal(info.kind, GDR_MEM_MANAGED);
    assert_true(gdr_device_is_device(&info));
    assert_int_equal(gdr_driver()->cuMemFree(managed), CUDA_SUCCESS);
    gdr_device_leave();
    dlclose(library);
}

static void a_fresh_buffer_is_zero(void **state)
{
    fixture_t *f = *state;
    unsigned char *data = malloc(BYTES);

    fetch(f, 0, data, BYTES);
    for (size_t i = 0; i < BYTES; i++)
        assert_int_equal(data[i], 0);
    free(data);
}

static void reduces_and_copies(void **state)
{
    fixture_t *f = *state;
    float a[1000], b[1000], out[2][1000];
    gdr_dev_reduce_t reduce = {.op = GDR_OP_SUM,
                               .type = GDR_TYPE_FLOAT32,
                               .nin = 2,
                               .nout = 2,
                               .in = {f->memory, f->memory + 8192},
                               .out = {f->memory + 16384, f->memory + 24580},
                               .bytes = sizeof(a)};
    gdr_dev_reduce_t copy = {
        .nin = 1, .nout = 1, .in = {f->memory + 1}, .out = {f->memory + 40003}, .bytes = 3999};
    char seen[3999];

    for (int i = 0; i < 1000; i++) {
        a[i] = (float)i;
        b[i] = (float)(3 * i + 1);
    }
    fill(f, 0, a, sizeof(a));
    fill(f, 8192, b, sizeof(b));
    assert_int_equal(f->ops->reduce(f->stream, &reduce), GDR_OK);
    assert_int_equal(f->ops->reduce(f->stream, &copy), GDR_OK);
    assert_int_equal(f->ops->sync(f->stream), GDR_OK);
    fetch(f, 16384, out[0], sizeof(a));
    fetch(f, 24580, out[1], sizeof(a));
    fetch(f, 40003, seen, sizeof(seen));
    for (int i = 0; i < 1000; i++) {
        assert_true(out[0][i] == (float)(4 * i + 1));
        assert_true(out[1][i] == (float)(4 * i + 1));
    }
    assert_memory_equal(seen, (const char *)a + 1, sizeof(seen));
}

static void gathers(void **state)
{
    fixture_t *f = *state;
    char data[4000], seen[3502];
    gdr_dev_reduce_t gather = {.nin = 3,
                               .nout = 1,
                               .in = {f->memory, f->memory + 1501, f->memory + 3003},
                               .out = {f->memory + 8195},
                               .bytes = 3500,
                               .block = 1500};

    for (size_t i = 0; i < sizeof(data); i++)
        data[i] = (char)(i * 7 + i / 256);
    fill(f, 0, data, sizeof(data));
    memset(seen, 0x55, sizeof(seen));
    fill(f, 8194, seen, sizeof(seen));
    assert_int_equal(f->ops->reduce(f->stream, &gather), GDR_OK);
    assert_int_equal(f->ops->sync(f->stream), GDR_OK);
    fetch(f, 8194, seen, sizeof(seen));
    assert_memory_equal(seen + 1, data, 1500);
    assert_memory_equal(seen + 1501, data + 1501, 1500);
    assert_memory_equal(seen + 3001, data + 3003, 500);
    assert_true(seen[0] == 0x55 && seen[3501] == 0x55);
    gather.bytes = 3000; /* nothing left for the third */
    assert_int_equal(f->ops->reduce(f->stream, &gather), GDR_ERR_INVALID);
    gather.bytes = 4501; /* more than three blocks */
    assert_int_equal(f->ops->reduce(f->stream, &gather), GDR_ERR_INVALID);
}

static void refuses_what_has_no_kernel(void **state)
{
    fixture_t *f = *state;
    gdr_dev_reduce_t bad = {.op = GDR_OP_MINLOC,
                            .type = GDR_TYPE_FLOAT32,
                            .nin = 2,
                            .nout = 1,
                            .in = {f->memory, f->memory},
                            .out = {f->memory},
                            .bytes = 8};

    assert_int_equal(f->ops->reduce(f->stream, &bad), GDR_ERR_UNSUPPORTED);
    assert_string_equal(last_error, "there is no kernel for minloc on float32");
    assert_int_equal(f->ops->prepare(f->dev, GDR_OP_MINLOC, GDR_TYPE_FLOAT32), GDR_ERR_UNSUPPORTED);
    assert_int_equal(f->ops->prepare(f->dev, GDR_OP_MAX, GDR_TYPE_INT16), GDR_OK);
    bad.nin = 9;
    assert_int_equal(f->ops->reduce(f->stream, &bad), GDR_ERR_INVALID);
    bad.nin = 0;
    assert_int_equal(f->ops->reduce(f->stream, &bad), GDR_ERR_INVALID);
}

static void an_abort_word_stops_kernels(void **state)
{
    fixture_t *f = *state;
    int32_t one = 1, seen = 0;
    gdr_dev_reduce_t copy = {.nin = 1,
                             .nout = 1,
                             .in = {f->memory},
                             .out = {f->memory + 64},
                             .bytes = sizeof(one),
                             .abort = f->memory + 128,
                             .abort_value = 5};

    fill(f, 0, &one, sizeof(one));
    assert_int_equal(f->ops->write_word(f->stream, f->memory + 128, 5), GDR_OK);
    assert_int_equal(f->ops->reduce(f->stream, &copy), GDR_OK);
    assert_int_equal(f->ops->sync(f->stream), GDR_OK);
    fetch(f, 64, &seen, sizeof(seen));
    assert_int_equal(seen, 0);
    copy.abort_value = 9; /* not that one */
    assert_int_equal(f->ops->reduce(f->stream, &copy), GDR_OK);
    assert_int_equal(f->ops->sync(f->stream), GDR_OK);
    fetch(f, 64, &seen, sizeof(seen));
    assert_int_equal(seen, 1);
}

static uint64_t poll_host(fixture_t *f, int word, uint64_t value)
{
    for (long i = 0; i < 2000000000 && __atomic_load_n(&f->host[word], __ATOMIC_ACQUIRE) != value;)
        i++;
    return f->host[word];
}

/* A stream stands at a word until the other stream writes it; the CPU sees what comes behind. */
static void words_order_streams(void **state)
{
    fixture_t *f = *state;
    gdr_dev_stream_t *other;
    gdr_dev_caps_t caps;

    f->ops->caps(f->dev, &caps);
    if (!caps.stream_words)
        skip();
    assert_int_equal(f->ops->stream_create(f->dev, &other), GDR_OK);
    assert_int_equal(f->ops->wait_word(f->stream, f->memory, 5), GDR_OK);
    assert_int_equal(f->ops->write_word(f->stream, f->host_on_device, 77), GDR_OK);
    assert_int_equal(f->ops->stream_status(f->stream), GDR_OK);
    assert_int_equal(f->ops->write_word(other, f->memory, 4), GDR_OK);
    assert_int_equal(f->ops->write_word(other, f->host_on_device + 8, 78), GDR_OK);
    assert_int_equal(poll_host(f, 1, 78), 78);
    assert_int_equal(f->host[0], 0);
    assert_int_equal(f->ops->write_word(other, f->memory, 6), GDR_OK);
    assert_int_equal(poll_host(f, 0, 77), 77);
    f->ops->stream_destroy(other);
}

static void words_without_stream_writes(void **state)
{
    fixture_t *f = *state;
    gdr_dev_caps_t caps;
    uint64_t seen = 0, value = 0x0000000200000001u;

    f->ops->caps(f->dev, &caps);
    assert_false(caps.stream_words);
    assert_int_equal(f->ops->wait_word(f->stream, f->memory, 1), GDR_ERR_UNSUPPORTED);
    assert_int_equal(f->ops->write_word(f->stream, f->memory, value), GDR_OK);
    assert_int_equal(f->ops->write_word(f->stream, f->host_on_device, value), GDR_OK);
    assert_int_equal(poll_host(f, 0, value), value);
    fetch(f, 0, &seen, sizeof(seen));
    assert_int_equal(seen, value);
}

/* Work in the NULL stream, then follow_default(), then a kernel: it must see that work. */
static void follows_the_null_stream(void **state)
{
    fixture_t *f = *state;
    gdr_dev_reduce_t copy = {
        .nin = 1, .nout = 1, .in = {f->memory}, .out = {f->memory + BYTES / 2}, .bytes = BYTES / 2};
    unsigned char *seen = malloc(BYTES / 2);

    for (unsigned round = 1; round <= 20; round++) {
        assert_true(gdr_device_enter(gdr_device_owner(f->memory)));
        assert_int_equal(gdr_driver()->cuMemsetD8Async(f->memory, (unsigned char)round, BYTES / 2,
                                                       CU_STREAM_LEGACY),
                         CUDA_SUCCESS);
        gdr_device_leave();
        assert_int_equal(f->ops->follow_default(f->stream, f->memory, 0), GDR_OK);
        assert_int_equal(f->ops->reduce(f->stream, &copy), GDR_OK);
        assert_int_equal(f->ops->sync(f->stream), GDR_OK);
        fetch(f, BYTES / 2, seen, BYTES / 2);
        for (size_t i = 0; i < BYTES / 2; i += 997)
            assert_int_equal(seen[i], round);
    }
    free(seen);
}

typedef CUresult (*begin_capture_t)(CUstream, CUstreamCaptureMode);
typedef CUresult (*end_capture_t)(CUstream, CUgraph *);

/* A thread that captures gets a clear error, not a deadlock and not a silent omission. */
static void names_a_capture(void **state)
{
    fixture_t *f = *state;
    void *library = dlopen("libcuda.so.1", RTLD_LAZY | RTLD_NOLOAD);
    begin_capture_t begin;
    end_capture_t end;
    CUstream stream = NULL;
    CUgraph graph = NULL;

    assert_non_null(library);
    *(void **)&begin = dlsym(library, "cuStreamBeginCapture_v2");
    *(void **)&end = dlsym(library, "cuStreamEndCapture");
    if (begin == NULL || end == NULL) {
        fail();
        return;
    }
    assert_true(gdr_device_enter(gdr_device_owner(f->memory)));
    assert_int_equal(gdr_driver()->cuStreamCreateWithPriority(&stream, CU_STREAM_NON_BLOCKING, 0),
                     CUDA_SUCCESS);
    assert_int_equal(begin(stream, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL), CUDA_SUCCESS);
    assert_int_equal(f->ops->follow_default(f->stream, f->memory, 0), GDR_ERR_INVALID);
    assert_non_null(strstr(last_error, "capturing a CUDA graph"));
    end(stream, &graph);
    assert_int_equal(gdr_driver()->cuStreamDestroy(stream), CUDA_SUCCESS);
    gdr_device_leave();
    dlclose(library);
    assert_int_equal(f->ops->follow_default(f->stream, f->memory, 0), GDR_OK);
}

static void reaches_another_device(void **state)
{
    fixture_t *f = *state;
    gdr_device_params_t params = {.log = &logger};
    const gdr_dev_ops_t *ops;
    gdr_dev_t *other;
    uint64_t there = 0;
    char text[64] = "from one device to another and back", seen[64] = "";
    gdr_dev_reduce_t copy = {.nin = 1, .nout = 1, .out = {f->memory}, .bytes = sizeof(text)};

    if (gdr_device_count() < 2)
        skip();
    assert_int_equal(gdr_device_open(&params, 1, &ops, &other), GDR_OK);
    assert_int_equal(ops->alloc(other, 4096, &there), GDR_OK);
    assert_int_equal(gdr_device_copy_in(&logger, there, text, sizeof(text), 0), GDR_OK);
    if (gdr_device_reach(f->dev, there, 4096) == GDR_OK) {
        copy.in[0] = there;
        assert_int_equal(f->ops->reduce(f->stream, &copy), GDR_OK);
        assert_int_equal(f->ops->sync(f->stream), GDR_OK);
        fetch(f, 0, seen, sizeof(seen));
        assert_string_equal(seen, text);
    }
    assert_int_equal(gdr_device_copy_peer(f->stream, f->memory + 4096, there, sizeof(text)),
                     GDR_OK);
    assert_int_equal(f->ops->sync(f->stream), GDR_OK);
    fetch(f, 4096, seen, sizeof(seen));
    assert_string_equal(seen, text);
    assert_int_equal(f->ops->follow_default(f->stream, there, 0), GDR_OK);
    ops->free(other, there);
    ops->close(other);
}

typedef CUresult (*create_t)(CUcontext *, unsigned int, CUdevice);
typedef CUresult (*destroy_t)(CUcontext);

/* It would end with that context, while gdr's streams write there. */
static void refuses_a_registration_of_another_context(void **state)
{
    fixture_t *f = *state;
    void *library = dlopen("libcuda.so.1", RTLD_LAZY | RTLD_NOLOAD);
    void *page = aligned_alloc(4096, 4096);
    uint64_t address = 0;
    CUcontext foreign;
    create_t create;
    destroy_t destroy;

    assert_non_null(library);
    *(void **)&create = dlsym(library, "cuCtxCreate_v2");
    *(void **)&destroy = dlsym(library, "cuCtxDestroy_v2");
    assert_true(create != NULL && destroy != NULL && page != NULL);
    assert_int_equal(create(&foreign, 0, 0), CUDA_SUCCESS);
    assert_int_equal(gdr_driver()->cuMemHostRegister(page, 4096, CU_MEMHOSTREGISTER_PORTABLE),
                     CUDA_SUCCESS);
    assert_int_equal(f->ops->map_host(f->dev, page, 4096, &address), GDR_ERR_DEVICE);
    assert_int_equal(address, 0);
    assert_int_equal(destroy(foreign), CUDA_SUCCESS);
    assert_int_equal(f->ops->map_host(f->dev, page, 4096, &address), GDR_OK);
    f->ops->unmap_host(f->dev, page);
    free(page);
    dlclose(library);
}

typedef CUresult (*reset_t)(CUdevice);

/* After a reset everything old is dropped, without one call on it, and a new device works. */
static void survives_a_reset(void **state)
{
    fixture_t *f = *state;
    void *library = dlopen("libcuda.so.1", RTLD_LAZY | RTLD_NOLOAD);
    uint64_t before = f->ops->generation(f->dev), id = 0;
    void *pinned = NULL;
    reset_t reset;

    assert_non_null(library);
    *(void **)&reset = dlsym(library, "cuDevicePrimaryCtxReset_v2");
    assert_non_null(reset);
    assert_true(before != 0);
    assert_int_equal(gdr_device_pinned_alloc(&logger, 0, 4096, &pinned, &id), GDR_OK);
    assert_int_equal(reset(0), CUDA_SUCCESS);
    assert_int_equal(f->ops->generation(f->dev), 0);
    gdr_device_pinned_free(&logger, 0, pinned, id);
    assert_int_equal(teardown(state), 0);
    assert_string_equal(last_error, "");
    *state = f = open_fixture(false);
    assert_true(f->ops->generation(f->dev) != 0 && f->ops->generation(f->dev) != before);
    a_fresh_buffer_is_zero(state);
    dlclose(library);
}

static void refuses_a_device_that_is_not_there(void **state)
{
    gdr_device_params_t params = {.log = &logger};
    const gdr_dev_ops_t *ops = NULL;
    gdr_dev_t *dev = NULL;

    (void)state;
    assert_int_equal(gdr_device_open(&params, gdr_device_count(), &ops, &dev), GDR_ERR_INVALID);
    assert_int_equal(gdr_device_open(&params, -1, &ops, &dev), GDR_ERR_INVALID);
    assert_true(ops == NULL && dev == NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(classifies_pointers, setup, teardown),
        cmocka_unit_test_setup_teardown(counts_managed_memory_as_device_memory, setup, teardown),
        cmocka_unit_test_setup_teardown(a_fresh_buffer_is_zero, setup, teardown),
        cmocka_unit_test_setup_teardown(reduces_and_copies, setup, teardown),
        cmocka_unit_test_setup_teardown(gathers, setup, teardown),
        cmocka_unit_test_setup_teardown(refuses_what_has_no_kernel, setup, teardown),
        cmocka_unit_test_setup_teardown(an_abort_word_stops_kernels, setup, teardown),
        cmocka_unit_test_setup_teardown(words_order_streams, setup, teardown),
        cmocka_unit_test_setup_teardown(words_without_stream_writes, setup_without_words, teardown),
        cmocka_unit_test_setup_teardown(follows_the_null_stream, setup, teardown),
        cmocka_unit_test_setup_teardown(names_a_capture, setup, teardown),
        cmocka_unit_test_setup_teardown(reaches_another_device, setup, teardown),
        cmocka_unit_test_setup_teardown(refuses_a_registration_of_another_context, setup, teardown),
        cmocka_unit_test_setup_teardown(survives_a_reset, setup, teardown),
        cmocka_unit_test(refuses_a_device_that_is_not_there),
    };

    if (gdr_device_seen() || gdr_device_count() != 0) {
        fprintf(stderr, "device_test: a driver is there before anybody has loaded one\n");
        return 1;
    }
    if (gdr_device_load(&logger) != GDR_OK)
        return 77;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
