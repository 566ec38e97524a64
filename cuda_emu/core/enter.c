/* What every emulated function does first: state of the process, injected failures, the context. */
#include "cuda_emu/core/emu.h"

#include <string.h>

#define MAX_FAILURES 16

/* CUDA_EMU_FAIL=function:nth[:error],… : the nth call of the function (* = every) fails */
struct failure {
    char function[64];
    long nth; /* 0: every */
    CUresult error;
    atomic_long calls;
};

static struct failure failures[MAX_FAILURES];
static int failure_count;
static atomic_bool initialised, forked;
static pthread_mutex_t big_lock = PTHREAD_MUTEX_INITIALIZER;

void emu_lock(void)
{
    pthread_mutex_lock(&big_lock);
}

void emu_unlock(void)
{
    pthread_mutex_unlock(&big_lock);
}

bool emu_trylock(void)
{
    return pthread_mutex_trylock(&big_lock) == 0;
}

static CUresult default_error(const char *function)
{
    bool makes = strstr(function, "Alloc") != NULL || strstr(function, "Create") != NULL;

    return makes ? CUDA_ERROR_OUT_OF_MEMORY : CUDA_ERROR_UNKNOWN;
}

static bool read_failure(const char *text, struct failure *failure)
{
    char nth[16] = "";
    int error = 0,
        fields = sscanf(text, "%63[A-Za-z0-9_]:%15[0-9*]:%d", failure->function, nth, &error);

    if (fields < 2)
        return false;
    failure->nth = nth[0] == '*' ? 0 : strtol(nth, NULL, 10);
    failure->error = fields == 3 ? (CUresult)error : default_error(failure->function);
    return nth[0] == '*' || failure->nth > 0;
}

static bool read_failures(void)
{
    const char *list = getenv("CUDA_EMU_FAIL");

    for (failure_count = 0; list != NULL && *list != '\0' && failure_count < MAX_FAILURES;) {
        if (!read_failure(list, &failures[failure_count])) {
            emu_say("CUDA_EMU_FAIL: not function:nth[:error]: %s", list);
            return false;
        }
        failure_count++;
        list = strchr(list, ',');
        list += list != NULL;
    }
    return true;
}

/* Without _v2, _ptsz and the like. */
static size_t base_length(const char *name)
{
    const char *end = strstr(name, "_v");

    if (end == NULL)
        end = strstr(name, "_pt");
    return end == NULL ? strlen(name) : (size_t)(end - name);
}

/* A name means every version of the function. */
static bool same_function(const char *wanted, const char *function)
{
    size_t length = base_length(wanted);

    return length == base_length(function) && strncmp(wanted, function, length) == 0;
}

static CUresult injected(const char *function)
{
    for (int i = 0; i < failure_count; i++) {
        struct failure *f = &failures[i];

        if (!same_function(f->function, function))
            continue;
        if (f->nth == 0 || atomic_fetch_add(&f->calls, 1) + 1 == f->nth) {
            emu_verbose("%s fails with %d, as CUDA_EMU_FAIL asks", function, (int)f->error);
            return f->error;
        }
    }
    return CUDA_SUCCESS;
}

static __thread int in_callback;

void emu_callback_begin(void)
{
    in_callback++;
}

void emu_callback_end(void)
{
    in_callback--;
}

CUresult emu_enter(const char *function)
{
    if (in_callback != 0)
        return CUDA_ERROR_NOT_PERMITTED;
    if (!atomic_load_explicit(&initialised, memory_order_acquire) ||
        atomic_load_explicit(&forked, memory_order_relaxed))
        return CUDA_ERROR_NOT_INITIALIZED;
    if (emu_tracing())
        emu_trace("%s", function);
    return failure_count == 0 ? CUDA_SUCCESS : injected(function);
}

CUresult emu_enter_device(const char *function, CUdevice device)
{
    CUresult rc = emu_enter(function);

    if (rc != CUDA_SUCCESS)
        return rc;
    return emu_device_valid(device) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_DEVICE;
}

CUresult emu_enter_ctx(const char *function, struct emu_ctx **ctx)
{
    CUresult rc = emu_enter(function);

    if (rc != CUDA_SUCCESS)
        return rc;
    *ctx = emu_ctx_current();
    if (*ctx == NULL)
        return CUDA_ERROR_INVALID_CONTEXT;
    if (!(*ctx)->alive)
        return CUDA_ERROR_CONTEXT_IS_DESTROYED;
    return atomic_load(&(*ctx)->sticky);
}

/* CUDA cannot be used in the child of a fork. */
static void in_child(void)
{
    atomic_store(&forked, true);
}

/* Under emu_lock. A process without devices is not initialised, as with a real driver. */
static CUresult initialise(void)
{
    const struct emu_config *config = emu_config();

    if (!config->valid || !read_failures())
        return CUDA_ERROR_INVALID_VALUE;
    if (config->visible_count == 0)
        return CUDA_ERROR_NO_DEVICE;
    if (!emu_space_init())
        return CUDA_ERROR_OUT_OF_MEMORY;
    pthread_atfork(NULL, NULL, in_child);
    emu_fault_arm();
    atomic_store_explicit(&initialised, true, memory_order_release);
    return CUDA_SUCCESS;
}

CUresult CUDAAPI cuInit(unsigned int flags)
{
    CUresult rc = CUDA_SUCCESS;

    if (flags != 0)
        return CUDA_ERROR_INVALID_VALUE;
    if (atomic_load(&forked))
        return CUDA_ERROR_NOT_INITIALIZED;
    emu_lock();
    if (!atomic_load(&initialised))
        rc = initialise();
    emu_unlock();
    return rc != CUDA_SUCCESS ? rc : injected("cuInit");
}
