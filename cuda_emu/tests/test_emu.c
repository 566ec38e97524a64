/*
 * What the emulator has beyond CUDA: injected failures, counters, report, trace, poisoned memory.
 * Described in cuda_emu/README.md.
 */
#include "cuda_emu/tests/emu_test.h"
#include "cuda_emu/include/cuda_emu.h"

#include <dlfcn.h>
#include <glob.h>

/* CUDA_EMU_FAIL=function:nth[:error] */
static void third_fails(void)
{
    CUdeviceptr p;

    use_device(0);
    OK(cuMemAlloc(&p, 64));
    OK(cuMemAlloc(&p, 64));
    IS(cuMemAlloc(&p, 64), CUDA_ERROR_OUT_OF_MEMORY);
    OK(cuMemAlloc(&p, 64));
}

static void always_fails(void)
{
    CUstream stream;

    use_device(0);
    IS(cuStreamCreate(&stream, 0), CUDA_ERROR_UNKNOWN);
    IS(cuStreamCreate(&stream, 0), CUDA_ERROR_UNKNOWN);
}

static void test_failures(void **state)
{
    (void)state;
    expect_ok(third_fails, ENV("CUDA_EMU_FAIL=cuMemAlloc:3"));
    expect_ok(always_fails, ENV("CUDA_EMU_FAIL=cuStreamCreate:*:999"));
}

static struct cuda_emu_counters counters(void)
{
    struct cuda_emu_counters c;
    cuda_emu_counters_fn get;

    *(void **)&get = dlsym(RTLD_DEFAULT, "cuda_emu_counters");
    CHECK(get != NULL);
    IS(get(&c, sizeof(c)), CUDA_EMU_COUNTERS_ABI);
    return c;
}

/* Payload that passes through memory which the CPU can see is counted, by direction. */
static void counts(void)
{
    CUdeviceptr a, b, managed;
    char bytes[1000];
    struct cuda_emu_counters c;

    use_device(0);
    memset(bytes, 1, sizeof(bytes));
    OK(cuMemAlloc(&a, 1000));
    OK(cuMemAlloc(&b, 1000));
    c = counters();
    IS(cuda_emu_host_bytes(&c), 0);
    OK(cuMemcpyDtoD(b, a, 1000));
    OK(cuCtxSynchronize());
    c = counters();
    IS(c.dtod_bytes, 1000);
    IS(cuda_emu_host_bytes(&c), 0);
    OK(cuMemcpyHtoD(a, bytes, 600));
    OK(cuMemcpyDtoH(bytes, b, 70));
    OK(cuCtxSynchronize());
    c = counters();
    IS(c.htod_bytes, 600);
    IS(c.dtoh_bytes, 70);
    IS(cuda_emu_host_bytes(&c), 670);
    OK(cuMemAllocManaged(&managed, 1000, CU_MEM_ATTACH_GLOBAL));
    OK(cuMemcpyDtoD(managed, a, 8));
    OK(cuCtxSynchronize());
    c = counters();
    IS(c.managed_bytes, 8);
}

/*
 * Programming Guide, "Peer-to-Peer Memory Copy": only where peer access is enabled does a copy
 * between devices "no longer need to be staged through the host".
 */
static void count_staged(void)
{
    CUcontext first = use_device(0), second = use_device(1);
    CUdeviceptr near, far;
    struct cuda_emu_counters c;

    OK(cuMemAlloc(&far, 1000));
    OK(cuCtxSetCurrent(first));
    OK(cuMemAlloc(&near, 1000));
    OK(cuMemcpyPeer(near, first, far, second, 1000));
    OK(cuMemcpyDtoD(far, near, 10));
    OK(cuCtxSynchronize());
    c = counters();
    IS(c.dtoh_bytes, 1010);
    IS(c.htod_bytes, 1010);
    IS(c.dtod_bytes, 0);
    OK(cuCtxEnablePeerAccess(second, 0));
    OK(cuMemcpyPeer(near, first, far, second, 1000));
    OK(cuMemcpyPeer(far, second, near, first, 1000));
    c = counters();
    IS(c.dtod_bytes, 2000);
    IS(c.dtoh_bytes, 1010);
}

static void test_counters(void **state)
{
    (void)state;
    expect_ok(count_staged, ENV("CUDA_EMU_DEVICES=2"));
    expect_ok(counts, NO_ENV);
    expect_ok(counts, ENV("CUDA_EMU_SYNC=1"));
}

/* Lines that hold `word` in all files that `pattern` names; the files are removed. */
static int count_and_remove(const char *pattern, const char *word)
{
    char line[1024];
    int seen = 0;
    glob_t files;
    FILE *file;

    IS(glob(pattern, 0, NULL, &files), 0);
    for (size_t i = 0; i < files.gl_pathc; i++) {
        file = fopen(files.gl_pathv[i], "r");
        CHECK(file != NULL);
        while (fgets(line, sizeof(line), file) != NULL)
            seen += strstr(line, word) != NULL;
        fclose(file);
        unlink(files.gl_pathv[i]);
    }
    globfree(&files);
    return seen;
}

static void copy_a_little(int fd)
{
    CUdeviceptr p;

    (void)fd;
    use_device(0);
    OK(cuMemAlloc(&p, 64));
    for (int i = 0; i < 5; i++)
        OK(cuMemcpyDtoD(p, p + 32, 16));
    OK(cuCtxSynchronize());
}

/* CUDA_EMU_TRACE and CUDA_EMU_REPORT: a file for each process, its name ends in the id. */
static void files(void)
{
    char directory[] = "/tmp/cuda_emu_test_XXXXXX", name[64];

    CHECK(mkdtemp(directory) != NULL);
    snprintf(name, sizeof(name), "%s/trace", directory);
    setenv("CUDA_EMU_TRACE", name, 1);
    snprintf(name, sizeof(name), "%s/report", directory);
    setenv("CUDA_EMU_REPORT", name, 1);
    run_pair(copy_a_little, copy_a_little);
    snprintf(name, sizeof(name), "%s/trace.*", directory);
    CHECK(count_and_remove(name, "cuMemcpyDtoD") >= 10);
    snprintf(name, sizeof(name), "%s/report.*", directory);
    IS(count_and_remove(name, "copies: 5"), 2);
    CHECK(rmdir(directory) == 0);
}

static void test_files(void **state)
{
    (void)state;
    expect_ok(files, NO_ENV);
}

static void twenty_copies(int fd)
{
    CUdeviceptr p;
    CUstream stream;

    (void)fd;
    use_device(0);
    OK(cuMemAlloc(&p, 64));
    OK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    for (int i = 0; i < 20; i++)
        OK(cuMemcpyDtoDAsync(p, p + 32, 16, stream));
    OK(cuStreamSynchronize(stream));
}

static void nothing(int fd)
{
    (void)fd;
}

/* The delays, in microseconds, that the trace of one process tells; the file is removed. */
static int read_delays(const char *pattern, int *delays, int most)
{
    char line[1024];
    const char *by;
    int count = 0;
    glob_t found;
    FILE *file;

    IS(glob(pattern, 0, NULL, &found), 0);
    IS(found.gl_pathc, 1);
    file = fopen(found.gl_pathv[0], "r");
    CHECK(file != NULL);
    while (fgets(line, sizeof(line), file) != NULL && count < most) {
        by = strstr(line, " delays ") != NULL ? strstr(line, " by ") : NULL;
        if (by != NULL)
            delays[count++] = (int)strtol(by + 4, NULL, 10);
    }
    fclose(file);
    unlink(found.gl_pathv[0]);
    globfree(&found);
    return count;
}

/* CUDA_EMU_SEED: the same seed delays alike, another one differently; all below the limit. */
static void seeds(void)
{
    static const char *const values[] = {"7", "7", "8"};
    char directory[] = "/tmp/cuda_emu_test_XXXXXX", name[64];
    int delays[3][40], counts[3];

    CHECK(mkdtemp(directory) != NULL);
    for (int i = 0; i < 3; i++) {
        snprintf(name, sizeof(name), "%s/trace", directory);
        setenv("CUDA_EMU_TRACE", name, 1);
        setenv("CUDA_EMU_SEED", values[i], 1);
        run_pair(twenty_copies, nothing);
        snprintf(name, sizeof(name), "%s/trace.*", directory);
        counts[i] = read_delays(name, delays[i], 40);
        CHECK(counts[i] >= 20);
    }
    CHECK(rmdir(directory) == 0);
    CHECK(counts[0] == counts[1]);
    CHECK(memcmp(delays[0], delays[1], 20 * sizeof(int)) == 0);
    CHECK(memcmp(delays[0], delays[2], 20 * sizeof(int)) != 0);
    for (int i = 0; i < 20; i++)
        CHECK(delays[0][i] >= 0 && delays[0][i] <= 2000);
}

/* No delay is asked for: none. */
static void undelayed(void)
{
    char directory[] = "/tmp/cuda_emu_test_XXXXXX", name[64];
    int delay;

    CHECK(mkdtemp(directory) != NULL);
    snprintf(name, sizeof(name), "%s/trace", directory);
    setenv("CUDA_EMU_TRACE", name, 1);
    run_pair(twenty_copies, nothing);
    snprintf(name, sizeof(name), "%s/trace.*", directory);
    IS(read_delays(name, &delay, 1), 0);
    CHECK(rmdir(directory) == 0);
}

static void test_seeds(void **state)
{
    (void)state;
    expect_ok(undelayed, NO_ENV);
    expect_ok(seeds, ENV("CUDA_EMU_DELAY=2000"));
}

static void sleep_a_little(void *data)
{
    usleep(50000);
    *(volatile int *)data = 1;
}

/* CUDA_EMU_IMPLICIT_SYNC: what CUDA allows to synchronise ("Implicit Synchronization") does. */
static void allocation_waits(void)
{
    static volatile int done;
    CUstream stream;
    CUdeviceptr p;

    use_device(0);
    OK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    OK(cuLaunchHostFunc(stream, sleep_a_little, (void *)(uintptr_t)&done));
    OK(cuMemAlloc(&p, 64));
    CHECK(done == 1);
}

static void test_implicit_sync(void **state)
{
    (void)state;
    expect_ok(allocation_waits, ENV("CUDA_EMU_IMPLICIT_SYNC=1"));
}

/* New device memory holds no zeros by chance. */
static void poisoned(void)
{
    CUdeviceptr p;
    unsigned char bytes[4096];
    int zeros = 0;

    use_device(0);
    OK(cuMemAlloc(&p, sizeof(bytes)));
    OK(cuMemcpyDtoH(bytes, p, sizeof(bytes)));
    for (size_t i = 0; i < sizeof(bytes); i++)
        zeros += bytes[i] == 0;
    CHECK(zeros < 1000);
}

static void test_poison(void **state)
{
    (void)state;
    expect_ok(poisoned, NO_ENV);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_failures),      cmocka_unit_test(test_counters),
        cmocka_unit_test(test_files),         cmocka_unit_test(test_seeds),
        cmocka_unit_test(test_implicit_sync), cmocka_unit_test(test_poison),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
