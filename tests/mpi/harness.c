#define _GNU_SOURCE /* tgkill, getdents64 */

#include "harness.h"

#include "cuda_emu/include/cuda_emu.h"

#include <cuda_runtime_api.h>
#include <dirent.h>
#include <dlfcn.h>
#include <execinfo.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

int t_rank = -1, t_size;

static void open_pvars(void);

enum { CASE_CHARS = 512 };

/* What runs now; in a file, if GDR_TEST_PROGRESS names a directory, so that it outlives a crash. */
static char first_case[CASE_CHARS] = "start", *current = first_case;
/* The same of each thread: the one that hangs is seldom the one that began something last. */
static _Thread_local char own_case[CASE_CHARS] = "none";
static unsigned stall_seconds;
static pthread_mutex_t current_lock = PTHREAD_MUTEX_INITIALIZER;
static atomic_int checks, failures;

enum { FAILURES_SHOWN = 10, FRAMES = 40 };

static atomic_int answers;

/* There is nothing to do about a failure. */
static void say(const char *text)
{
    if (write(2, text, strlen(text)) < 0)
        return;
}

/* What runs in handlers: system calls, and backtraces, which t_guard() has loaded, so that they do
 * not allocate: NOLINTBEGIN(bugprone-signal-handler) */
static void say_where(const char *what, const char *text)
{
    void *frames[FRAMES];
    char rank[3] = {(char)('0' + t_rank / 10 % 10), (char)('0' + t_rank % 10), '\0'};

    say("HANG: rank ");
    say(rank);
    say(what);
    say(text);
    say("\n");
    backtrace_symbols_fd(frames, backtrace(frames, FRAMES), 2);
}

static void on_question(int number)
{
    (void)number;
    say_where(", another thread, in case: ", own_case);
    atomic_fetch_add(&answers, 1);
}

/* Waits for its answer, so that lines do not mix. */
static void ask_thread(pid_t thread)
{
    int before = atomic_load(&answers);

    if (thread == 0 || thread == gettid())
        return;
    tgkill(getpid(), thread, SIGUSR2);
    for (int i = 0; i < 50 && atomic_load(&answers) == before; i++)
        usleep(10000);
}

static void ask_threads(void)
{
    _Alignas(struct dirent64) char entries[4096];
    int tasks = open("/proc/self/task", O_RDONLY | O_DIRECTORY);
    ssize_t bytes;

    while ((bytes = getdents64(tasks, entries, sizeof(entries))) > 0) {
        for (ssize_t at = 0; at < bytes;) {
            const struct dirent64 *entry = (const void *)(entries + at);

            ask_thread((pid_t)atoi(entry->d_name));
            at += entry->d_reclen;
        }
    }
}

static void on_alarm(int number)
{
    (void)number;
    say_where(" in case: ", current);
    ask_threads();
    sleep(5); /* the first to end takes the others with it: they have something to say, too */
    _exit(99);
}
/* NOLINTEND(bugprone-signal-handler) */

void t_guard(void)
{
    const char *text = getenv("GDR_TEST_ALARM");
    void *frame;

    backtrace(&frame, 1); /* loads what it needs now, not in the handler */
    signal(SIGALRM, on_alarm);
    signal(SIGUSR2, on_question);
    alarm(text == NULL ? 100 : (unsigned)atoi(text));
    setvbuf(stdout, NULL, _IOLBF, 0);
}

void t_stall(unsigned seconds)
{
    stall_seconds = seconds;
}

/* Without it what runs is kept in memory only. */
static void open_progress(void)
{
    const char *directory = getenv("GDR_TEST_PROGRESS");
    char path[512];
    void *page;
    int file;

    if (directory == NULL)
        return;
    snprintf(path, sizeof(path), "%s/rank.%d", directory, t_rank);
    file = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    if (file < 0 || ftruncate(file, CASE_CHARS) != 0)
        t_fatal("cannot write %s", path);
    page = mmap(NULL, CASE_CHARS, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    close(file);
    if (page == MAP_FAILED)
        t_fatal("cannot map %s", path);
    current = page;
}

void t_init(int *argc, char ***argv, int level)
{
    const char *no_cuda = getenv("GDR_TEST_NO_CUDA");
    int provided, devices = 0;

    t_guard();
    MPI_Init_thread(argc, argv, level, &provided);
    MPI_Comm_rank(MPI_COMM_WORLD, &t_rank);
    MPI_Comm_size(MPI_COMM_WORLD, &t_size);
    if (provided < level)
        t_fatal("thread level %d wanted, %d provided", level, provided);
    open_progress();
    open_pvars();
    if (no_cuda != NULL && atoi(no_cuda) == t_rank)
        return;
    if (cudaGetDeviceCount(&devices) == cudaSuccess && devices > 0)
        cudaSetDevice(t_rank % devices);
}

void t_case(const char *format, ...)
{
    va_list args;

    va_start(args, format);
    vsnprintf(own_case, sizeof(own_case), format, args);
    va_end(args);
    pthread_mutex_lock(&current_lock);
    strcpy(current, own_case);
    pthread_mutex_unlock(&current_lock);
    if (stall_seconds > 0)
        alarm(stall_seconds);
}

bool t_check(bool ok, const char *format, ...)
{
    char text[512];
    va_list args;

    atomic_fetch_add(&checks, 1);
    if (ok)
        return true;
    if (atomic_fetch_add(&failures, 1) < FAILURES_SHOWN) {
        va_start(args, format);
        vsnprintf(text, sizeof(text), format, args);
        va_end(args);
        printf("FAIL: rank %d: %s: %s\n", t_rank, current, text);
    }
    return false;
}

void t_fatal(const char *format, ...)
{
    char text[512];
    va_list args;

    va_start(args, format);
    vsnprintf(text, sizeof(text), format, args);
    va_end(args);
    printf("FATAL: rank %d: %s: %s\n", t_rank, current, text);
    fflush(stdout);
    MPI_Abort(MPI_COMM_WORLD, 98);
    _exit(98);
}

int t_failures(void)
{
    return atomic_load(&failures);
}

void t_cases(int argc, char **argv, const t_named_t *table, size_t n)
{
    for (int a = 1; a < argc; a++) {
        size_t i = 0;

        while (i < n && strcmp(argv[a], table[i].name) != 0)
            i++;
        if (i == n)
            t_fatal("no case %s", argv[a]);
        t_case("%s", argv[a]);
        table[i].run();
    }
}

int t_status(void)
{
    return atomic_load(&failures) == 0 ? 0 : 1;
}

int t_finish(void)
{
    int own[2] = {atomic_load(&checks), atomic_load(&failures)}, all[2] = {0, 0};

    t_case("finish");
    MPI_Reduce(own, all, 2, MPI_INT, MPI_SUM, 0, MPI_COMM_WORLD);
    if (t_rank == 0)
        printf("%d checks, %d failed\n", all[0], all[1]);
    MPI_Bcast(all, 2, MPI_INT, 0, MPI_COMM_WORLD);
    MPI_Finalize();
    return all[1] == 0 ? 0 : 1;
}

/* ---- performance variables ------------------------------------------------------------------ */

/*
 * Open MPI counts from the moment that a handle is allocated: all are, once, in t_init.
 */
static const char *const pvar_names[] = {
    "calls",       "kernels",   "puts",         "put_bytes",    "pull_bytes",
    "signals",     "declined",  "staged_bytes", "staged_calls", "host_calls",
    "mixed_calls", "questions", "last_path"};
enum { PVARS = sizeof(pvar_names) / sizeof(pvar_names[0]), PVAR_CHARS = 64 };

static MPI_T_pvar_session pvar_session;
static MPI_T_pvar_handle pvar_handles[PVARS];

static void open_pvars(void)
{
    int provided;

    if (MPI_T_init_thread(MPI_THREAD_SINGLE, &provided) != MPI_SUCCESS ||
        MPI_T_pvar_session_create(&pvar_session) != MPI_SUCCESS)
        t_fatal("MPI_T");
    for (int i = 0; i < PVARS; i++) {
        bool text = strcmp(pvar_names[i], "last_path") == 0;
        char full[64];
        int index, count;

        snprintf(full, sizeof(full), "coll_gdr_%s", pvar_names[i]);
        pvar_handles[i] = MPI_T_PVAR_HANDLE_NULL;
        if (MPI_T_pvar_get_index(full, text ? MPI_T_PVAR_CLASS_GENERIC : MPI_T_PVAR_CLASS_COUNTER,
                                 &index) == MPI_SUCCESS &&
            MPI_T_pvar_handle_alloc(pvar_session, index, NULL, &pvar_handles[i], &count) ==
                MPI_SUCCESS &&
            count > PVAR_CHARS)
            t_fatal("%s has %d elements", full, count);
    }
}

static void read_pvar(const char *name, void *value)
{
    for (int i = 0; i < PVARS; i++)
        if (strcmp(pvar_names[i], name) == 0 && pvar_handles[i] != MPI_T_PVAR_HANDLE_NULL &&
            MPI_T_pvar_read(pvar_session, pvar_handles[i], value) == MPI_SUCCESS)
            return;
    t_fatal("performance variable coll_gdr_%s cannot be read", name);
}

uint64_t t_pvar(const char *name)
{
    unsigned long long value = 0;

    read_pvar(name, &value);
    return value;
}

void t_pvar_text(const char *name, char *out, size_t size)
{
    char text[PVAR_CHARS] = "";

    /* A process without the component has no such variable. */
    if (strcmp(name, "last_path") != 0 || pvar_handles[PVARS - 1] != MPI_T_PVAR_HANDLE_NULL)
        read_pvar(name, text);
    snprintf(out, size, "%s", text);
}

void t_driver_function(const char *name, void *function)
{
    void *library = dlopen("libcuda.so.1", RTLD_NOW), *symbol;

    if (library == NULL)
        t_fatal("%s", dlerror());
    symbol = dlsym(library, name);
    if (symbol == NULL)
        t_fatal("libcuda lacks %s", name);
    memcpy(function, &symbol, sizeof(symbol));
}

uint64_t t_emu_host_bytes(void)
{
    struct cuda_emu_counters counters = {0};
    void *library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD);
    cuda_emu_counters_fn read_counters = NULL;
    void *symbol = library == NULL ? NULL : dlsym(library, "cuda_emu_counters");

    memcpy(&read_counters, &symbol, sizeof(symbol));
    if (read_counters == NULL)
        return 0;
    read_counters(&counters, sizeof(counters));
    return cuda_emu_host_bytes(&counters);
}

/* ---- device memory -------------------------------------------------------------------------- */

static void cuda_ok(cudaError_t error, const char *what)
{
    if (error != cudaSuccess)
        t_fatal("%s: %s", what, cudaGetErrorString(error));
}

void *t_device_alloc(size_t bytes)
{
    void *address = NULL;

    cuda_ok(cudaMalloc(&address, bytes), "cudaMalloc");
    return address;
}

void t_device_free(void *address)
{
    cuda_ok(cudaFree(address), "cudaFree");
}

void t_upload(void *device, const void *host, size_t bytes)
{
    cuda_ok(cudaMemcpy(device, host, bytes, cudaMemcpyHostToDevice), "copy to the device");
}

void t_download(void *host, const void *device, size_t bytes)
{
    cuda_ok(cudaMemcpy(host, device, bytes, cudaMemcpyDeviceToHost), "copy from the device");
}

void t_float_sum(MPI_Comm comm, float value, float expected, bool nonblocking)
{
    float *send = t_device_alloc(sizeof(float)), *recv = t_device_alloc(sizeof(float));
    MPI_Request request;
    float result = -1;
    int rc;

    t_upload(send, &value, sizeof(value));
    t_upload(recv, &result, sizeof(result));
    if (nonblocking) {
        rc = MPI_Iallreduce(send, recv, 1, MPI_FLOAT, MPI_SUM, comm, &request);
        t_check(rc == MPI_SUCCESS, "Iallreduce returned %d", rc);
        rc = MPI_Wait(&request, MPI_STATUS_IGNORE);
    } else {
        rc = MPI_Allreduce(send, recv, 1, MPI_FLOAT, MPI_SUM, comm);
    }
    t_check(rc == MPI_SUCCESS, "returned %d", rc);
    t_download(&result, recv, sizeof(result));
    t_check(result == expected, "sum is %g, not %g", (double)result, (double)expected);
    t_device_free(send);
    t_device_free(recv);
}

double t_seconds(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}
