/*
 * cuda-emu [OPTIONS] COMMAND...: runs a command with the emulated CUDA libraries in front of any
 * others. It only sets the environment, so that it works in front of mpirun too: local ranks
 * inherit it. Finds the libraries relative to itself, in the build tree as well.
 */
#include "cuda_emu/emu_device.h"

#include <errno.h>
#include <limits.h>
#include <stdarg.h>

#define EXIT_USAGE     2
#define EXIT_NO_LIBS   1
#define EXIT_NOT_FOUND 127
#define EXIT_NOT_RUN   126

extern char **environ;

static const char help[] =
    "usage: cuda-emu [OPTIONS] COMMAND [ARGUMENT...]\n"
    "Runs COMMAND on emulated CUDA devices; no GPU and no driver are needed.\n"
    "\n"
    "  --devices N   number of devices, 0 to 16 (default 2)\n"
    "  --mem SIZE    memory of each device: bytes, or with K, M, G, T (default 4G)\n"
    "  --delay US    longest random delay of a stream operation, in microseconds (default 0)\n"
    "  --seed S      seed of the delays (default 1); a run with the same seed delays alike\n"
    "  --queues N    hardware queues that the streams of a context share in turn, at most 32\n"
    "                (default 0: each stream has its own; a card has 8)\n"
    "  --sync        operations that can run do so before the call returns\n"
    "  --peermem     RDMA devices can register device memory, as with nvidia-peermem loaded\n"
    "  --trace FILE  a line per call into FILE.PID\n"
    "  --verbose     say what is unusual, and which functions are not implemented\n"
    "  --print-x     print mpirun's -x options for the variables set, and end\n"
    "  --help        this text\n"
    "\n"
    "Variables that are already set (CUDA_EMU_...) stay where no option says otherwise.\n"
    "With ranks on other nodes: cuda-emu OPTIONS mpirun $(cuda-emu OPTIONS --print-x) ...\n"
    "CUDA_EMU_TWINS names shared objects with the host versions of kernels, colon-separated.\n";

/* One line on stderr, then the end. */
static void __attribute__((noreturn, format(printf, 2, 3)))
fail(int status, const char *format, ...)
{
    va_list arguments;

    fputs("cuda-emu: ", stderr);
    va_start(arguments, format);
    vfprintf(stderr, format, arguments);
    va_end(arguments);
    fputc('\n', stderr);
    exit(status);
}

static void set(const char *name, const char *value)
{
    if (setenv(name, value, 1) != 0)
        fail(EXIT_NO_LIBS, "cannot set %s: %s", name, strerror(errno));
}

/* ---- options ---- */

static void check_devices(const char *value)
{
    long number;

    if (emu_parse_long(value, 0, EMU_DEVICE_MAX, &number) != 0)
        fail(EXIT_USAGE, "--devices %s: not a number from 0 to %d", value, EMU_DEVICE_MAX);
    set("CUDA_EMU_DEVICES", value);
}

static void check_mem(const char *value)
{
    uint64_t bytes;

    if (emu_parse_size(value, &bytes) != 0)
        fail(EXIT_USAGE, "--mem %s: not a size like 67108864, 64M or 2G", value);
    set("CUDA_EMU_MEM", value);
}

static void check_delay(const char *value)
{
    long number;

    if (emu_parse_long(value, 0, 60000000, &number) != 0)
        fail(EXIT_USAGE, "--delay %s: not a number of microseconds from 0 to 60000000", value);
    set("CUDA_EMU_DELAY", value);
}

static void check_seed(const char *value)
{
    long number;

    if (emu_parse_long(value, 0, INT32_MAX, &number) != 0)
        fail(EXIT_USAGE, "--seed %s: not a number from 0 to %d", value, INT32_MAX);
    set("CUDA_EMU_SEED", value);
}

static void check_queues(const char *value)
{
    long number;

    if (emu_parse_long(value, 0, EMU_QUEUES_MAX, &number) != 0)
        fail(EXIT_USAGE, "--queues %s: not a number from 0 to %d", value, EMU_QUEUES_MAX);
    set("CUDA_EMU_QUEUES", value);
}

/* A relative name would mean another file in each process that changes its directory. */
static void check_trace(const char *value)
{
    char directory[PATH_MAX], path[2 * PATH_MAX];

    if (value[0] == '\0')
        fail(EXIT_USAGE, "--trace: the file has no name");
    if (value[0] == '/') {
        set("CUDA_EMU_TRACE", value);
        return;
    }
    if (getcwd(directory, sizeof(directory)) == NULL)
        fail(EXIT_NO_LIBS, "the working directory has no name: %s", strerror(errno));
    if ((size_t)snprintf(path, sizeof(path), "%s/%s", directory, value) >= sizeof(path))
        fail(EXIT_USAGE, "--trace %s: the name is too long", value);
    set("CUDA_EMU_TRACE", path);
}

static void set_sync(const char *value)
{
    set("CUDA_EMU_SYNC", value);
}

static void set_verbose(const char *value)
{
    set("CUDA_EMU_VERBOSE", value);
}

static int print_x, peermem;

static void ask_peermem(const char *value)
{
    (void)value;
    peermem = 1;
}

static void ask_print_x(const char *value)
{
    (void)value;
    print_x = 1;
}

static void print_help(const char *value)
{
    (void)value;
    fputs(help, stdout);
    exit(0);
}

static const struct option {
    const char *name;
    int takes_value;
    void (*apply)(const char *value);
} options[] = {
    {"--devices", 1, check_devices}, {"--mem", 1, check_mem},       {"--delay", 1, check_delay},
    {"--seed", 1, check_seed},       {"--trace", 1, check_trace},   {"--sync", 0, set_sync},
    {"--queues", 1, check_queues},   {"--verbose", 0, set_verbose}, {"--print-x", 0, ask_print_x},
    {"--help", 0, print_help},       {"-h", 0, print_help},         {"--peermem", 0, ask_peermem},
};

static const struct option *find_option(const char *text, size_t length)
{
    for (size_t i = 0; i < sizeof(options) / sizeof(options[0]); i++) {
        if (strlen(options[i].name) == length && strncmp(options[i].name, text, length) == 0)
            return &options[i];
    }
    fail(EXIT_USAGE, "%.*s: no such option; see cuda-emu --help", (int)length, text);
}

/* Applies the options; returns the index of the command. Values come as `--o V` and `--o=V`. */
static int read_options(int argc, char **argv)
{
    int i;

    for (i = 1; i < argc && argv[i][0] == '-'; i++) {
        const char *equals = strchr(argv[i], '=');
        const struct option *option;

        if (strcmp(argv[i], "--") == 0)
            return i + 1;
        option = find_option(argv[i], equals ? (size_t)(equals - argv[i]) : strlen(argv[i]));
        if (!option->takes_value && equals != NULL)
            fail(EXIT_USAGE, "%s takes no value", option->name);
        if (option->takes_value && equals == NULL && i + 1 == argc)
            fail(EXIT_USAGE, "%s wants a value", option->name);
        option->apply(!option->takes_value ? "1" : equals != NULL ? equals + 1 : argv[++i]);
    }
    return i;
}

/* ---- finding the libraries ---- */

/* Leaves the directory of the file that is running. */
static void own_directory(char *path, size_t size)
{
    ssize_t length = readlink("/proc/self/exe", path, size - 1);
    char *slash;

    if (length < 0)
        fail(EXIT_NO_LIBS, "/proc/self/exe cannot be read: %s", strerror(errno));
    path[length] = '\0';
    slash = strrchr(path, '/');
    if (slash != NULL)
        *slash = '\0';
}

/* base + "/" + name, made short; 0 when there is no such file. */
static int locate(const char *base, const char *name, char *out)
{
    char path[2 * PATH_MAX];

    if ((size_t)snprintf(path, sizeof(path), "%s/%s", base, name) >= sizeof(path))
        return 0;
    return realpath(path, out) != NULL;
}

/* How to get from BINDIR to LIBDIR: "../lib/cuda_emu" where they share a prefix. */
static void relative_libdir(char *out, size_t size)
{
    const char *bin = CUDA_EMU_BINDIR, *lib = CUDA_EMU_LIBDIR;
    size_t common = 0, used = 0;

    for (size_t i = 0; bin[i] == lib[i] && bin[i] != '\0'; i++) {
        if (bin[i] == '/')
            common = i;
    }
    for (const char *c = bin + common; *c != '\0' && used + 4 < size; c++) {
        if (*c == '/') {
            used += (size_t)snprintf(out + used, size - used, "../");
        }
    }
    snprintf(out + used, size - used, "%s", lib + common + 1);
}

/* The directories of the libraries as LD_LIBRARY_PATH wants them, and the default twins. */
static void find_libraries(char *search, size_t search_size, char *twins)
{
    char self[PATH_MAX], relative[PATH_MAX], lib[PATH_MAX], more[PATH_MAX];

    own_directory(self, sizeof(self));
    twins[0] = '\0';
    if (locate(self, "../.libs/libcuda.so.1", lib) && locate(self, "../libcudart.so.13", more) &&
        locate(self, "../.libs", lib) && locate(self, "..", more)) {
        if (!locate(more, "../.libs/libgdr_twins.so", twins))
            twins[0] = '\0';
        snprintf(search, search_size, "%s:%s", lib, more);
        return;
    }
    relative_libdir(relative, sizeof(relative));
    if (!locate(self, relative, lib) && realpath(CUDA_EMU_LIBDIR, lib) == NULL)
        fail(EXIT_NO_LIBS, "no emulated CUDA libraries in %s/%s or %s", self, relative,
             CUDA_EMU_LIBDIR);
    if (!locate(lib, "libcuda.so.1", more))
        fail(EXIT_NO_LIBS, "%s has no libcuda.so.1", lib);
    if (!locate(lib, "libgdr_twins.so", twins))
        twins[0] = '\0';
    snprintf(search, search_size, "%s", lib);
}

/* Puts `first` in front of what the colon-separated variable has. */
static void set_in_front(const char *name, const char *first)
{
    const char *old = getenv(name);
    size_t length = strlen(first), size = length + (old ? strlen(old) : 0) + 2;
    char *list;

    if (old != NULL && strncmp(old, first, length) == 0 &&
        (old[length] == ':' || old[length] == '\0'))
        return; /* in front already: this is a nested cuda-emu */
    list = malloc(size);
    if (list == NULL)
        fail(EXIT_NO_LIBS, "no memory for %zu bytes", size);
    if (old == NULL || old[0] == '\0')
        snprintf(list, size, "%s", first);
    else
        snprintf(list, size, "%s:%s", first, old);
    set(name, list);
    free(list);
}

/* `search` as find_libraries() made it. */
static void preload_peermem(const char *search)
{
    char first[2 * PATH_MAX + 1], path[PATH_MAX];

    snprintf(first, sizeof(first), "%.*s", (int)strcspn(search, ":"), search);
    if (!locate(first, "libcuda_emu_peermem.so", path))
        fail(EXIT_NO_LIBS,
             "--peermem: %s has no libcuda_emu_peermem.so: this cuda-emu was built without "
             "libibverbs' headers (Debian: libibverbs-dev)",
             first);
    set_in_front("LD_PRELOAD", path);
}

static void print_exports(void)
{
    printf("-x LD_LIBRARY_PATH%s", peermem ? " -x LD_PRELOAD" : "");
    for (char **variable = environ; *variable != NULL; variable++) {
        if (strncmp(*variable, "CUDA_EMU_", 9) == 0)
            printf(" -x %.*s", (int)strcspn(*variable, "="), *variable);
    }
    putchar('\n');
}

int main(int argc, char **argv)
{
    char directories[2 * PATH_MAX + 1], twins[PATH_MAX];
    int command = read_options(argc, argv);

    if (command >= argc && !print_x)
        fail(EXIT_USAGE, "no command; see cuda-emu --help");
    find_libraries(directories, sizeof(directories), twins);
    set_in_front("LD_LIBRARY_PATH", directories);
    if (peermem)
        preload_peermem(directories);
    if (twins[0] != '\0' && getenv("CUDA_EMU_TWINS") == NULL)
        set("CUDA_EMU_TWINS", twins);
    if (print_x) {
        print_exports();
        return 0;
    }
    execvp(argv[command], argv + command);
    fail(errno == ENOENT ? EXIT_NOT_FOUND : EXIT_NOT_RUN, "%s: %s", argv[command], strerror(errno));
}
