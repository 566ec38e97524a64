#include "cuda_emu/tests/emu_test.h"

#include <errno.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>

#define CHILD_SECONDS 40
#define OUTPUT_SIZE   65536

void child_fail(const char *file, int line, const char *what, int got, int expected)
{
    fprintf(stderr, "%s:%d: %s", file, line, what);
    if (got != expected)
        fprintf(stderr, " gave %d, not %d", got, expected);
    fputc('\n', stderr);
    _exit(1);
}

static char output[OUTPUT_SIZE];

static void read_output(int fd)
{
    size_t used = 0;
    ssize_t got;
    char scrap[4096];

    while (used < OUTPUT_SIZE - 1 && (got = read(fd, output + used, OUTPUT_SIZE - 1 - used)) > 0)
        used += (size_t)got;
    output[used] = '\0';
    while (read(fd, scrap, sizeof(scrap)) > 0)
        ;
}

static void set_environment(const char *const *env)
{
    char name[128];

    for (; *env != NULL; env++) {
        size_t length = strcspn(*env, "=");

        snprintf(name, sizeof(name), "%.*s", (int)length, *env);
        setenv(name, *env + length + 1, 1);
    }
}

/* Runs `body`, fills `output` with what it wrote on stderr, returns its wait status. */
static int run(body_fn *body, const char *const *env)
{
    static const int fatal[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL};
    int pipe_fds[2], status;
    pid_t pid;

    assert_int_equal(pipe(pipe_fds), 0);
    fflush(stdout);
    fflush(stderr);
    pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        dup2(pipe_fds[1], STDERR_FILENO);
        close(pipe_fds[0]);
        close(pipe_fds[1]);
        setpgid(0, 0);
        set_environment(env);
        for (size_t i = 0; i < sizeof(fatal) / sizeof(fatal[0]); i++)
            signal(fatal[i], SIG_DFL); /* the test framework's handlers are not for children */
        alarm(CHILD_SECONDS);
        body();
        exit(0);
    }
    close(pipe_fds[1]);
    read_output(pipe_fds[0]);
    close(pipe_fds[0]);
    while (waitpid(pid, &status, 0) < 0)
        assert_int_equal(errno, EINTR);
    kill(-pid, SIGKILL); /* grandchildren that outlived a failure */
    return status;
}

static void judge(int status)
{
    if (WIFSIGNALED(status))
        fail_msg("child died of signal %d (%s); stderr:\n%s", WTERMSIG(status),
                 WTERMSIG(status) == SIGALRM ? "hung" : "crashed", output);
    if (WEXITSTATUS(status) != 0)
        fail_msg("child ended with %d; stderr:\n%s", WEXITSTATUS(status), output);
}

void expect_ok(body_fn *body, const char *const *env)
{
    judge(run(body, env));
}

void expect_ok_saying(body_fn *body, const char *const *env, const char *text)
{
    judge(run(body, env));
    if (strstr(output, text) == NULL)
        fail_msg("stderr lacks \"%s\":\n%s", text, output);
}

void expect_ok_silent(body_fn *body, const char *const *env)
{
    judge(run(body, env));
    if (output[0] != '\0')
        fail_msg("stderr is not empty:\n%s", output);
}

void expect_fault(body_fn *body, const char *const *env, const char *const *texts)
{
    int status = run(body, env);

    if (!WIFSIGNALED(status) || WTERMSIG(status) != SIGSEGV)
        fail_msg("child did not die of SIGSEGV (status 0x%x); stderr:\n%s", (unsigned)status,
                 output);
    for (; *texts != NULL; texts++) {
        if (strstr(output, *texts) == NULL)
            fail_msg("the message lacks \"%s\":\n%s", *texts, output);
    }
}

static pid_t start(pair_fn *body, int own, int other)
{
    pid_t pid = fork();

    CHECK(pid >= 0);
    if (pid == 0) {
        close(other);
        alarm(CHILD_SECONDS);
        body(own);
        exit(0);
    }
    return pid;
}

void run_pair(pair_fn *first, pair_fn *second)
{
    int fds[2], status, failed = 0;
    pid_t pids[2];

    CHECK(socketpair(AF_UNIX, SOCK_STREAM, 0, fds) == 0);
    pids[0] = start(first, fds[0], fds[1]);
    pids[1] = start(second, fds[1], fds[0]);
    close(fds[0]);
    close(fds[1]);
    for (int i = 0; i < 2; i++) {
        CHECK(waitpid(pids[i], &status, 0) == pids[i]);
        if (status != 0) {
            fprintf(stderr, "process %d of the pair ended with status 0x%x\n", i, (unsigned)status);
            failed = 1;
        }
    }
    CHECK(!failed);
}

void send_bytes(int fd, const void *data, size_t size)
{
    CHECK(write(fd, data, size) == (ssize_t)size);
}

void receive_bytes(int fd, void *data, size_t size)
{
    size_t got = 0;

    while (got < size) {
        ssize_t n = read(fd, (char *)data + got, size - got);

        CHECK(n > 0);
        got += (size_t)n;
    }
}

CUcontext use_device(int ordinal)
{
    CUdevice device;
    CUcontext context;

    OK(cuInit(0));
    OK(cuDeviceGet(&device, ordinal));
    OK(cuDevicePrimaryCtxRetain(&context, device));
    OK(cuCtxSetCurrent(context));
    return context;
}

CUcontext new_context(int ordinal)
{
    CUdevice device;
    CUcontext context;

    OK(cuInit(0));
    OK(cuDeviceGet(&device, ordinal));
#if CUDA_VERSION >= 13000
    OK(cuCtxCreate(&context, NULL, 0, device));
#else
    OK(cuCtxCreate(&context, 0, device));
#endif
    return context;
}

const char *built(const char *name)
{
    static char path[4096];
    const char *top = getenv("GDR_BUILDDIR");

    snprintf(path, sizeof(path), "%s/%s", top != NULL ? top : ".", name);
    return path;
}

double seconds(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}
