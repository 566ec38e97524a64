/*
 * What the emulator says: lines on stderr, the trace (CUDA_EMU_TRACE), and the report at the end
 * of the process (CUDA_EMU_REPORT). File names end in the process id.
 */
#include "cuda_emu/core/emu.h"

#include <stdarg.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

/* One write per line, so that the lines of several processes do not mix. */
__attribute__((format(printf, 3, 0))) static void write_line(int fd, const char *prefix,
                                                             const char *format, va_list args)
{
    char line[1024];
    int used = snprintf(line, sizeof(line), "%s", prefix);
    int rest = vsnprintf(line + used, sizeof(line) - (size_t)used - 1, format, args);

    if (rest < 0)
        return;
    used += rest;
    if ((size_t)used > sizeof(line) - 2)
        used = (int)sizeof(line) - 2;
    line[used++] = '\n';
    if (write(fd, line, (size_t)used) < 0)
        return;
}

void emu_say(const char *format, ...)
{
    char prefix[48];
    va_list args;

    snprintf(prefix, sizeof(prefix), "cuda_emu[%d]: ", (int)getpid());
    va_start(args, format);
    write_line(STDERR_FILENO, prefix, format, args);
    va_end(args);
}

void emu_verbose(const char *format, ...)
{
    char prefix[48];
    va_list args;

    if (!emu_config()->verbose)
        return;
    snprintf(prefix, sizeof(prefix), "cuda_emu[%d]: ", (int)getpid());
    va_start(args, format);
    write_line(STDERR_FILENO, prefix, format, args);
    va_end(args);
}

static FILE *open_named(const char *variable)
{
    const char *name = getenv(variable);
    char path[4096];
    FILE *file;

    if (name == NULL || name[0] == '\0')
        return NULL;
    snprintf(path, sizeof(path), "%s.%d", name, (int)getpid());
    file = fopen(path, "we");
    if (file == NULL)
        emu_say("%s=%s: cannot be written", variable, path);
    return file;
}

static FILE *trace_file;
static pthread_once_t trace_once = PTHREAD_ONCE_INIT;

static void open_trace(void)
{
    trace_file = open_named("CUDA_EMU_TRACE");
    if (trace_file != NULL)
        setvbuf(trace_file, NULL, _IOLBF, 0);
}

bool emu_tracing(void)
{
    pthread_once(&trace_once, open_trace);
    return trace_file != NULL;
}

void emu_trace(const char *format, ...)
{
    va_list args;

    if (!emu_tracing())
        return;
    flockfile(trace_file);
    fprintf(trace_file, "%llu.%06llu %ld ", (unsigned long long)(emu_now_ns() / 1000000000),
            (unsigned long long)(emu_now_ns() / 1000 % 1000000), (long)syscall(SYS_gettid));
    va_start(args, format);
    vfprintf(trace_file, format, args);
    va_end(args);
    fputc('\n', trace_file);
    funlockfile(trace_file);
}

/* Calls of functions that are not emulated, by export index. */
static atomic_uint *unimplemented_calls;
static pthread_once_t calls_once = PTHREAD_ONCE_INIT;

static void make_calls(void)
{
    unimplemented_calls = calloc(emu_export_count, sizeof(*unimplemented_calls));
}

/* Exports are named by base name; the symbol is what a stub knows. */
static size_t export_index(const char *symbol)
{
    for (size_t i = 0; i < emu_export_count; i++) {
        if (strcmp(emu_exports[i].symbol_name, symbol) == 0)
            return i;
    }
    return emu_export_count;
}

int emu_unimplemented(const char *name)
{
    size_t index = export_index(name);

    pthread_once(&calls_once, make_calls);
    if (unimplemented_calls != NULL && index < emu_export_count &&
        atomic_fetch_add(&unimplemented_calls[index], 1) == 0)
        emu_verbose("%s is not emulated: CUDA_ERROR_NOT_SUPPORTED", name);
    emu_trace("%s not emulated", name);
    return CUDA_ERROR_NOT_SUPPORTED;
}

static void report_counters(FILE *file)
{
    static const char *const names[EMU_COUNTERS] = {
        "htod bytes",   "dtoh bytes",    "host-to-host bytes",
        "dtod bytes",   "managed bytes", "kernel host bytes",
        "kernels",      "copies",        "stream waits",
        "stream writes"};

    for (int i = 0; i < EMU_COUNTERS; i++)
        fprintf(file, "%s: %llu\n", names[i], (unsigned long long)emu_counted((enum emu_counter)i));
    for (int i = 0; i < emu_visible_count(); i++)
        fprintf(file, "device %d: %zu bytes in use, %zu at most\n", i, emu_devices[i].used,
                emu_devices[i].used_high);
}

static void report_unimplemented(FILE *file)
{
    for (size_t i = 0; unimplemented_calls != NULL && i < emu_export_count; i++) {
        unsigned calls = atomic_load(&unimplemented_calls[i]);

        if (calls != 0)
            fprintf(file, "not emulated: %s, called %u times\n", emu_exports[i].symbol_name, calls);
    }
}

__attribute__((destructor)) static void report_at_exit(void)
{
    FILE *file = open_named("CUDA_EMU_REPORT");

    if (file == NULL)
        return;
    report_counters(file);
    report_unimplemented(file);
    fclose(file);
}
