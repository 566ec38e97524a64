/*
 * The CPU touched device memory: one message that names the address, the allocation and the place
 * in the code, then whatever would have happened without us.
 */
#include "cuda_emu/core/emu.h"

#include <execinfo.h>
#include <signal.h>
#include <string.h>
#include <ucontext.h>
#include <unistd.h>

#define FRAMES 16

static struct sigaction previous;
static bool armed;
static pthread_mutex_t arm_lock = PTHREAD_MUTEX_INITIALIZER;
static __thread int inside;

static const char *kind_name(enum emu_kind kind)
{
    static const char *const names[] = {"cuMemAlloc",      "cuMemAllocAsync", "cuMemMap",
                                        "another process", "managed",         "pinned",
                                        "registered"};

    return kind <= EMU_REGISTERED ? names[kind] : "unknown";
}

/* The dying thread may hold the lock, or have broken the table: try, and do without. */
static bool copy_alloc(uintptr_t address, struct emu_alloc *copy)
{
    struct emu_alloc *found;

    if (!emu_trylock())
        return false;
    found = emu_space_find(address);
    if (found != NULL)
        *copy = *found;
    emu_unlock();
    return found != NULL;
}

static void *fault_pc(const void *context)
{
    const ucontext_t *uc = context;

#if defined(__x86_64__)
    return (void *)uc->uc_mcontext.gregs[REG_RIP];
#elif defined(__aarch64__)
    return (void *)uc->uc_mcontext.pc;
#endif
}

static int describe_alloc(uintptr_t address, char *text, size_t size)
{
    struct emu_alloc alloc;
    char caller[256];

    if (!copy_alloc(address, &alloc))
        return snprintf(text, size, "in no live allocation (freed, or past the end of one)");
    emu_symbol(alloc.caller, caller, sizeof(caller));
    return snprintf(text, size, "offset %zu in %zu bytes at %#lx on device %d (%s, made by %s)",
                    (size_t)(address - alloc.base), alloc.size, alloc.base, alloc.device,
                    kind_name(alloc.kind), caller);
}

/* The faulting function first, then its callers: a memcpy alone would not say much. */
static void describe_place(void *pc, char *text, size_t size)
{
    void *frames[FRAMES];
    int count = backtrace(frames, FRAMES), first = 0;
    size_t used = 0;
    char symbol[256];

    while (first < count && frames[first] != pc)
        first++;
    emu_symbol(pc, symbol, sizeof(symbol));
    used += (size_t)snprintf(text, size, "%s", symbol);
    for (int i = first + 1; i < count && i <= first + 4 && used < size; i++) {
        emu_symbol((const char *)frames[i] - 1, symbol, sizeof(symbol));
        used += (size_t)snprintf(text + used, size - used, "\n    called from %s", symbol);
    }
}

static void report(uintptr_t address, void *pc)
{
    char alloc[512], place[1600], line[2400];
    int length;

    describe_alloc(address, alloc, sizeof(alloc));
    describe_place(pc, place, sizeof(place));
    length = snprintf(line, sizeof(line),
                      "cuda_emu[%d]: the CPU touched device memory at %#lx: %s\n    by %s\n",
                      (int)getpid(), address, alloc, place);
    if (length > 0 && write(STDERR_FILENO, line, strnlen(line, sizeof(line))) < 0)
        return;
}

static void pass_on(int signal, siginfo_t *info, void *context)
{
    if (previous.sa_flags & SA_SIGINFO) {
        previous.sa_sigaction(signal, info, context);
        return;
    }
    if (previous.sa_handler != SIG_DFL && previous.sa_handler != SIG_IGN) {
        previous.sa_handler(signal);
        return;
    }
    /* Returning repeats the access, which now ends the process as it would have. */
    sigaction(signal, &previous, NULL);
}

static void on_fault(int signal, siginfo_t *info, void *context)
{
    uintptr_t address = (uintptr_t)info->si_addr;
    struct sigaction fallback = {.sa_handler = SIG_DFL};

    /* A handler that was installed before us and calls us back: end it here. */
    if (inside++ > 0) {
        sigaction(signal, &fallback, NULL);
        return;
    }
    if (emu_space_visible(address))
        report(address, fault_pc(context));
    pass_on(signal, info, context);
    inside--;
}

/* Called again at later moments: other libraries install handlers too, and the last one wins. */
void emu_fault_arm(void)
{
    struct sigaction ours = {.sa_sigaction = on_fault,
                             .sa_flags = SA_SIGINFO | SA_ONSTACK | SA_NODEFER},
                     present;
    void *frame;

    pthread_mutex_lock(&arm_lock);
    if (!armed)
        backtrace(&frame, 1); /* loads what it needs while loading is safe */
    if (sigaction(SIGSEGV, NULL, &present) == 0 &&
        (!(present.sa_flags & SA_SIGINFO) || present.sa_sigaction != on_fault)) {
        previous = present;
        sigaction(SIGSEGV, &ours, NULL);
        armed = true;
    }
    pthread_mutex_unlock(&arm_lock);
}
