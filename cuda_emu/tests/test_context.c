/*
 * Initialisation, contexts, errors. Sections of the CUDA Driver API reference: "Initialization",
 * "Device Management", "Primary Context Management", "Context Management", "Error Handling".
 */
#include "cuda_emu/tests/emu_test.h"

#include <glob.h>

/* Initialization: any function before cuInit returns CUDA_ERROR_NOT_INITIALIZED. */
static void before_init(void)
{
    int count;
    CUdeviceptr pointer;
    CUcontext context;

    IS(cuDeviceGetCount(&count), CUDA_ERROR_NOT_INITIALIZED);
    IS(cuMemAlloc(&pointer, 64), CUDA_ERROR_NOT_INITIALIZED);
    IS(cuCtxGetCurrent(&context), CUDA_ERROR_NOT_INITIALIZED);
    IS(cuInit(1), CUDA_ERROR_INVALID_VALUE); /* flags must be 0 */
    OK(cuInit(0));
    OK(cuInit(0));
    OK(cuDeviceGetCount(&count));
    IS(count, 3);
}

static void test_init(void **state)
{
    (void)state;
    expect_ok_silent(before_init, ENV("CUDA_EMU_DEVICES=3"));
}

/* Version Management: cuDriverGetVersion works before cuInit. */
static void version(void)
{
    int number;

    OK(cuDriverGetVersion(&number));
    IS(number, 13000);
    IS(cuDriverGetVersion(NULL), CUDA_ERROR_INVALID_VALUE);
}

static void test_version(void **state)
{
    (void)state;
    expect_ok(version, NO_ENV);
}

/* cuInit without any device: CUDA_ERROR_NO_DEVICE. */
static void no_device(void)
{
    IS(cuInit(0), CUDA_ERROR_NO_DEVICE);
}

static void test_no_device(void **state)
{
    (void)state;
    expect_ok_silent(no_device, ENV("CUDA_EMU_DEVICES=0"));
    expect_ok_silent(no_device, ENV("CUDA_VISIBLE_DEVICES="));
    expect_ok_silent(no_device, ENV("CUDA_VISIBLE_DEVICES=-1"));
}

/* Programming guide, CUDA_VISIBLE_DEVICES: order counts, a bad entry hides what follows. */
static void visible_two(void)
{
    CUdevice device;
    int count, bus[2];

    OK(cuInit(0));
    OK(cuDeviceGetCount(&count));
    IS(count, 2);
    for (int i = 0; i < 2; i++) {
        OK(cuDeviceGet(&device, i));
        OK(cuDeviceGetAttribute(&bus[i], CU_DEVICE_ATTRIBUTE_PCI_BUS_ID, device));
    }
    CHECK(bus[0] > bus[1]);
    IS(cuDeviceGet(&device, 2), CUDA_ERROR_INVALID_DEVICE);
    IS(cuDeviceGet(&device, -1), CUDA_ERROR_INVALID_DEVICE);
}

static void test_visible(void **state)
{
    (void)state;
    expect_ok(visible_two, ENV("CUDA_EMU_DEVICES=4", "CUDA_VISIBLE_DEVICES=3,1,9,0"));
}

/* Context Management: without a current context, functions return CUDA_ERROR_INVALID_CONTEXT. */
static void without_context(void)
{
    CUdeviceptr pointer;
    CUcontext context = (CUcontext)1;
    CUstream stream;
    CUdevice device;

    OK(cuInit(0));
    OK(cuCtxGetCurrent(&context));
    CHECK(context == NULL);
    IS(cuMemAlloc(&pointer, 64), CUDA_ERROR_INVALID_CONTEXT);
    IS(cuStreamCreate(&stream, 0), CUDA_ERROR_INVALID_CONTEXT);
    IS(cuCtxSynchronize(), CUDA_ERROR_INVALID_CONTEXT);
    IS(cuCtxGetDevice(&device), CUDA_ERROR_INVALID_CONTEXT);
}

static void test_without_context(void **state)
{
    (void)state;
    expect_ok(without_context, NO_ENV);
}

/* Primary Context Management: inactive until retained; released as often as retained. */
static void primary(void)
{
    CUdevice device;
    CUcontext first, second;
    unsigned flags;
    int active = 1;
    unsigned long long old_id, new_id;

    OK(cuInit(0));
    OK(cuDeviceGet(&device, 0));
    OK(cuDevicePrimaryCtxGetState(device, &flags, &active));
    IS(active, 0);
    OK(cuDevicePrimaryCtxRetain(&first, device));
    OK(cuDevicePrimaryCtxRetain(&second, device));
    CHECK(first == second);
    OK(cuCtxGetId(first, &old_id));
    OK(cuDevicePrimaryCtxGetState(device, &flags, &active));
    IS(active, 1);
    OK(cuDevicePrimaryCtxRelease(device));
    OK(cuDevicePrimaryCtxGetState(device, &flags, &active));
    IS(active, 1);
    OK(cuDevicePrimaryCtxRelease(device));
    OK(cuDevicePrimaryCtxGetState(device, &flags, &active));
    IS(active, 0);
    IS(cuDevicePrimaryCtxRelease(device), CUDA_ERROR_INVALID_CONTEXT);
    OK(cuDevicePrimaryCtxRetain(&first, device));
    OK(cuCtxGetId(first, &new_id));
    CHECK(new_id != old_id); /* cuCtxGetId: unique over the life of the process */
}

static void test_primary(void **state)
{
    (void)state;
    expect_ok(primary, NO_ENV);
}

/* cuDevicePrimaryCtxReset: the context's memory, streams and events are gone. */
static void reset(void)
{
    CUdevice device;
    CUcontext context = use_device(0);
    CUdeviceptr pointer;
    CUstream stream;
    CUevent event;
    unsigned flags;
    int active;

    OK(cuDeviceGet(&device, 0));
    OK(cuMemAlloc(&pointer, 4096));
    OK(cuStreamCreate(&stream, 0));
    OK(cuEventCreate(&event, 0));
    OK(cuDevicePrimaryCtxReset(device));
    OK(cuDevicePrimaryCtxGetState(device, &flags, &active));
    IS(active, 0);
    CHECK(cuMemAlloc(&pointer, 64) != CUDA_SUCCESS); /* the old one is still current */
    OK(cuDevicePrimaryCtxRetain(&context, device));
    OK(cuCtxSetCurrent(context));
    IS(cuMemFree(pointer), CUDA_ERROR_INVALID_VALUE);
    IS(cuStreamSynchronize(stream), CUDA_ERROR_INVALID_HANDLE);
    IS(cuEventRecord(event, NULL), CUDA_ERROR_INVALID_HANDLE);
    OK(cuMemAlloc(&pointer, 64));
    OK(cuMemFree(pointer));
}

static void test_reset(void **state)
{
    (void)state;
    expect_ok(reset, NO_ENV);
}

/* Context Management: a stack per thread; the current context is the top. */
static void stack(void)
{
    CUcontext primary_context = use_device(0), other = new_context(1), top;
    CUdevice device;

    OK(cuCtxGetCurrent(&top));
    CHECK(top == other);
    OK(cuCtxGetDevice(&device));
    IS(device, 1);
    OK(cuCtxPushCurrent(primary_context));
    OK(cuCtxGetDevice(&device));
    IS(device, 0);
    OK(cuCtxPopCurrent(&top));
    CHECK(top == primary_context);
    OK(cuCtxPopCurrent(&top));
    CHECK(top == other);
    OK(cuCtxGetCurrent(&top));
    CHECK(top == primary_context);
    OK(cuCtxPopCurrent(&top));
    IS(cuCtxPopCurrent(&top), CUDA_ERROR_INVALID_CONTEXT);
    OK(cuCtxDestroy(other));
}

static void test_stack(void **state)
{
    (void)state;
    expect_ok(stack, ENV("CUDA_EMU_DEVICES=2"));
}

/*
 * Programming guide, "Stream and Event Behavior": a launch and an event record into a stream of
 * another context fail; a copy succeeds. "Error Handling": CUDA_ERROR_INVALID_HANDLE is 400.
 */
static void foreign_handles(void)
{
    CUcontext first = use_device(0), second = new_context(1);
    CUstream stream;
    CUevent event;
    CUdeviceptr pointer;
    char byte;

    OK(cuCtxSetCurrent(first));
    OK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    OK(cuMemAlloc(&pointer, 4096));
    OK(cuCtxSetCurrent(second));
    OK(cuEventCreate(&event, 0));
    IS(cuEventRecord(event, stream), CUDA_ERROR_INVALID_HANDLE);
    IS(cuEventRecord(event, (CUstream)(uintptr_t)0x1234560), CUDA_ERROR_INVALID_HANDLE);
    OK(cuMemcpyDtoHAsync(&byte, pointer, 1, stream));
    OK(cuStreamSynchronize(stream));
    OK(cuStreamQuery(stream));
    OK(cuStreamWaitEvent(stream, event, 0));
}

static void test_foreign_handles(void **state)
{
    (void)state;
    expect_ok(foreign_handles, ENV("CUDA_EMU_DEVICES=2"));
}

/* Error Handling: names and texts. */
static void names(void)
{
    const char *text = NULL;

    OK(cuGetErrorName(CUDA_ERROR_INVALID_CONTEXT, &text));
    CHECK(strcmp(text, "CUDA_ERROR_INVALID_CONTEXT") == 0);
    OK(cuGetErrorString(CUDA_ERROR_OUT_OF_MEMORY, &text));
    CHECK(strcmp(text, "out of memory") == 0);
    IS(cuGetErrorName((CUresult)54321, &text), CUDA_ERROR_INVALID_VALUE);
}

static void test_names(void **state)
{
    (void)state;
    expect_ok(names, NO_ENV);
}

/* Device Management: what UCX and gdr decide by must be there and mean what CUDA means. */
static void attributes(void)
{
    CUdevice device;
    CUuuid uuid[2];
    size_t total;
    char id[2][32], name[64];
    int value;

    OK(cuInit(0));
    for (int i = 0; i < 2; i++) {
        OK(cuDeviceGet(&device, i));
        OK(cuDeviceGetUuid(&uuid[i], device));
        OK(cuDeviceGetPCIBusId(id[i], sizeof(id[i]), device));
    }
    CHECK(memcmp(&uuid[0], &uuid[1], sizeof(uuid[0])) != 0);
    CHECK(strcmp(id[0], id[1]) != 0);
    OK(cuDeviceGetByPCIBusId(&device, id[1]));
    IS(device, 1);
    OK(cuDeviceGetName(name, sizeof(name), device));
    CHECK(strstr(name, "mulated") != NULL);
    OK(cuDeviceTotalMem(&total, device));
    CHECK(total == 256 << 20);
    OK(cuDeviceGetAttribute(&value, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, device));
    CHECK(value >= 7);
    OK(cuDeviceGetAttribute(&value, CU_DEVICE_ATTRIBUTE_CAN_USE_64_BIT_STREAM_MEM_OPS, device));
    IS(value, 1);
    OK(cuDeviceGetAttribute(&value, CU_DEVICE_ATTRIBUTE_UNIFIED_ADDRESSING, device));
    IS(value, 1);
    IS(cuDeviceGetAttribute(&value, (CUdevice_attribute)100000, device), CUDA_ERROR_INVALID_VALUE);
    IS(cuDeviceGetAttribute(&value, CU_DEVICE_ATTRIBUTE_WARP_SIZE, 7), CUDA_ERROR_INVALID_DEVICE);
}

static void test_attributes(void **state)
{
    (void)state;
    expect_ok(attributes, ENV("CUDA_EMU_DEVICES=2", "CUDA_EMU_MEM=256M"));
}

/* cuGetProcAddress: by plain name the newest variant that the given version knows. */
static void proc_address(void)
{
    void *function = NULL, *other = NULL;
    CUdriverProcAddressQueryResult found;

    OK(cuInit(0));
    OK(cuGetProcAddress("cuMemAlloc", &function, 13000, 0, &found));
    IS(found, CU_GET_PROC_ADDRESS_SUCCESS);
    CHECK(function == (void *)(uintptr_t)cuMemAlloc);
    OK(cuGetProcAddress("cuStreamSynchronize", &function, 13000, 0, &found));
    OK(cuGetProcAddress("cuStreamSynchronize", &other, 13000,
                        CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM, &found));
    CHECK(function != other);
    IS(cuGetProcAddress("cuNoSuchThing", &function, 13000, 0, &found), CUDA_ERROR_NOT_FOUND);
    IS(found, CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND);
    IS(cuGetProcAddress("cuCtxGetId", &function, 11000, 0, &found), CUDA_ERROR_NOT_FOUND);
    IS(found, CU_GET_PROC_ADDRESS_VERSION_NOT_SUFFICIENT);
}

static void test_proc_address(void **state)
{
    (void)state;
    expect_ok(proc_address, NO_ENV);
}

/* Whatever is not emulated exists, returns CUDA_ERROR_NOT_SUPPORTED and is reported. */
static void unimplemented(void)
{
    CUarray array;
    CUDA_ARRAY_DESCRIPTOR descriptor = {8, 8, CU_AD_FORMAT_FLOAT, 1};

    use_device(0);
    IS(cuArrayCreate(&array, &descriptor), CUDA_ERROR_NOT_SUPPORTED);
}

static void unimplemented_twice(int fd)
{
    (void)fd;
    unimplemented();
    unimplemented();
}

/* How often `word` stands in the file, which is then removed. */
static int count_and_remove(const char *file, const char *word)
{
    char line[512];
    int seen = 0;
    FILE *report = fopen(file, "r");

    CHECK(report != NULL);
    while (fgets(line, sizeof(line), report) != NULL)
        seen += strstr(line, word) != NULL;
    fclose(report);
    unlink(file);
    return seen;
}

static void unimplemented_reported(void)
{
    char directory[] = "/tmp/cuda_emu_test_XXXXXX", name[64];
    glob_t files;

    CHECK(mkdtemp(directory) != NULL);
    snprintf(name, sizeof(name), "%s/report", directory);
    setenv("CUDA_EMU_REPORT", name, 1);
    run_pair(unimplemented_twice, unimplemented_twice);
    snprintf(name, sizeof(name), "%s/report*", directory);
    IS(glob(name, 0, NULL, &files), 0);
    IS(files.gl_pathc, 2); /* one file for each process */
    for (size_t i = 0; i < files.gl_pathc; i++)
        CHECK(count_and_remove(files.gl_pathv[i], "cuArrayCreate") >= 1);
    globfree(&files);
    CHECK(rmdir(directory) == 0);
}

static void test_unimplemented(void **state)
{
    (void)state;
    expect_ok_silent(unimplemented, NO_ENV);
    expect_ok_saying(unimplemented, ENV("CUDA_EMU_VERBOSE=1"), "cuArrayCreate");
    expect_ok(unimplemented_reported, NO_ENV);
}

/* A value of the environment that does not parse is said, and cuInit fails. */
static void bad_environment(void)
{
    CHECK(cuInit(0) != CUDA_SUCCESS);
}

static void test_bad_environment(void **state)
{
    (void)state;
    expect_ok_saying(bad_environment, ENV("CUDA_EMU_DEVICES=many"), "CUDA_EMU_DEVICES");
    expect_ok_saying(bad_environment, ENV("CUDA_EMU_DELAY=-3"), "CUDA_EMU_DELAY");
    expect_ok_saying(bad_environment, ENV("CUDA_EMU_PEERS=0+1"), "CUDA_EMU_PEERS");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_init),
        cmocka_unit_test(test_version),
        cmocka_unit_test(test_no_device),
        cmocka_unit_test(test_visible),
        cmocka_unit_test(test_without_context),
        cmocka_unit_test(test_primary),
        cmocka_unit_test(test_reset),
        cmocka_unit_test(test_stack),
        cmocka_unit_test(test_foreign_handles),
        cmocka_unit_test(test_names),
        cmocka_unit_test(test_attributes),
        cmocka_unit_test(test_proc_address),
        cmocka_unit_test(test_unimplemented),
        cmocka_unit_test(test_bad_environment),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
