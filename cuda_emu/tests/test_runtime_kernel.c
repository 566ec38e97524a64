/*
 * Kernels and variables of programs that nvcc compiled. Sections of the CUDA Runtime API
 * reference: "Execution Control", "Error Handling", cudaGetSymbolAddress.
 */
#include "cuda_emu/tests/rt_api.h"

static int major;
static char twins_variable[4200];

static const char *twins(void)
{
    snprintf(twins_variable, sizeof(twins_variable), "CUDA_EMU_TWINS=%s",
             built("cuda_emu/tests/.libs/emu_test_twins.so"));
    return twins_variable;
}
static void both(body_fn *body, const char *const *env)
{
    for (major = 12; major <= 13; major++)
        expect_ok_silent(body, env);
}

static void kernel_stub(void)
{
}

static void unknown_stub(void)
{
}

static char shadow[16];
/* What nvcc passes to __cudaRegisterFatBinary. */
static struct {
    int magic, version;
    const void *data;
    void *unused;
} wrapper = {0x466243b1, 1, ".version 7.0\n", NULL};

static void register_kernels(void)
{
    void **module = rt.__cudaRegisterFatBinary(&wrapper);

    rt.__cudaRegisterFunction(module, (const char *)(uintptr_t)kernel_stub, NULL, "emu_test_add",
                              -1, NULL, NULL, NULL, NULL, NULL);
    rt.__cudaRegisterFunction(module, (const char *)(uintptr_t)unknown_stub, NULL,
                              "emu_test_nowhere", -1, NULL, NULL, NULL, NULL, NULL);
    rt.__cudaRegisterVar(module, shadow, shadow, "shadow", 0, sizeof(shadow), 0, 0);
    rt.__cudaRegisterFatBinaryEnd(module);
}

/* Execution Control: <<<>>> is a pushed configuration, popped by the stub, which launches. */
static void launches(void)
{
    struct rt_dim3 grid, block, one = {1, 1, 1}, many = {256, 1, 1}, none = {0, 1, 1};
    size_t shared;
    CUstream stream;
    int n = 4, value = 5, out[4];
    void *p, *args[] = {&p, &n, &value};

    rt_open(major);
    register_kernels();
    OK(rt.cudaMalloc(&p, sizeof(out)));
    OK(rt.cudaMemset(p, 0, sizeof(out)));
    OK(rt.__cudaPushCallConfiguration(one, many, 16, (void *)1));
    OK(rt.__cudaPopCallConfiguration(&grid, &block, &shared, &stream));
    CHECK(grid.x == 1 && block.x == 256 && shared == 16 && stream == CU_STREAM_LEGACY);
    IS(rt.__cudaPopCallConfiguration(&grid, &block, &shared, &stream), 52);
    OK(rt.cudaLaunchKernel((void *)(uintptr_t)kernel_stub, one, many, args, 0, stream));
    OK(rt.cudaDeviceReset());
    OK(rt.cudaMalloc(&p, sizeof(out)));
    OK(rt.cudaMemset(p, 0, sizeof(out)));
    OK(rt.cudaLaunchKernel((void *)(uintptr_t)kernel_stub, one, many, args, 0, NULL));
    OK(rt.cudaMemcpy(out, p, sizeof(out), DEVICE_TO_HOST));
    IS(out[3], 5);
    IS(rt.cudaLaunchKernel((void *)(uintptr_t)kernel_stub, none, many, args, 0, NULL), 9);
    IS(rt.cudaLaunchKernel((void *)(uintptr_t)&launches, one, many, args, 0, NULL), 98);
}

static void launches_unknown(void)
{
    struct rt_dim3 one = {1, 1, 1};
    void *args[] = {NULL};

    rt_open(major);
    register_kernels();
    IS(rt.cudaLaunchKernel((void *)(uintptr_t)unknown_stub, one, one, args, 0, NULL), 209);
}

/* Sticky errors: 700 stays until the device is reset. */
static void sticky(void)
{
    struct rt_dim3 one = {1, 1, 1};
    int n = 100000, value = 1;
    void *p, *args[] = {&p, &n, &value};

    rt_open(major);
    register_kernels();
    OK(rt.cudaMalloc(&p, 64));
    OK(rt.cudaLaunchKernel((void *)(uintptr_t)kernel_stub, one, one, args, 0, NULL));
    IS(rt.cudaDeviceSynchronize(), 700);
    IS(rt.cudaGetLastError(), 700);
    IS(rt.cudaGetLastError(), 700);
    IS(rt.cudaMalloc(&p, 64), 700);
    OK(rt.cudaDeviceReset());
    OK(rt.cudaMalloc(&p, 64));
    OK(rt.cudaGetLastError());
}

static void symbols(void)
{
    char bytes[16] = "fifteen letters";
    char out[16];
    void *address;
    size_t size;

    rt_open(major);
    register_kernels();
    OK(rt.cudaGetSymbolSize(&size, shadow));
    IS(size, 16);
    OK(rt.cudaGetSymbolAddress(&address, shadow));
    OK(rt.cudaMemcpyToSymbol(shadow, bytes, 16, 0, HOST_TO_DEVICE));
    OK(rt.cudaMemcpy(out, address, 16, DEVICE_TO_HOST));
    CHECK(memcmp(out, bytes, 16) == 0);
    OK(rt.cudaMemcpyFromSymbol(out, shadow, 4, 7, DEVICE_TO_HOST));
    CHECK(memcmp(out, " let", 4) == 0);
    IS(rt.cudaMemcpyToSymbol(shadow, bytes, 16, 1, HOST_TO_DEVICE), 1);
    IS(rt.cudaGetSymbolAddress(&address, bytes), 13);
}

static void test_symbols(void **state)
{
    (void)state;
    both(symbols, NO_ENV);
}

static void test_launches(void **state)
{
    (void)state;
    both(launches, ENV(twins()));
    for (major = 12; major <= 13; major++) {
        expect_ok_saying(sticky, ENV(twins()), "emu_test_add");
        expect_ok_saying(launches_unknown, ENV(twins()), "emu_test_nowhere");
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_launches),
        cmocka_unit_test(test_symbols),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
