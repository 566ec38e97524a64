#include "tests/glue/rig.h"

#include <cuda.h>
#include <dlfcn.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static char state[256];

void rig_fail(const rig_t *rig, const char *condition, const char *format, ...)
{
    char text[512];
    va_list args;

    va_start(args, format);
    vsnprintf(text, sizeof(text), format, args);
    va_end(args);
    fprintf(stderr, "glue_pair: rank %d, %s: %s: %s\n", rig->rank, state, condition, text);
    _exit(1); /* other threads, stopped streams: nothing of it may keep the test from ending */
}

void rig_state(const rig_t *rig, const char *format, ...)
{
    va_list args;

    (void)rig;
    va_start(args, format);
    vsnprintf(state, sizeof(state), format, args);
    va_end(args);
}

static void too_late(int signal)
{
    static const char text[] = "glue_pair: no end in sight; at: ";

    (void)signal;
    if (write(2, text, sizeof(text) - 1) < 0 || write(2, state, strlen(state)) < 0 ||
        write(2, "\n", 1) < 0)
        _exit(3);
    _exit(2);
}

void rig_watchdog(unsigned seconds)
{
    signal(SIGALRM, too_late);
    alarm(seconds);
}

double rig_seconds(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static void emit(void *ctx, gdr_log_level_t level, const char *message)
{
    const rig_t *rig = ctx;

    fprintf(level <= GDR_LOG_WARN ? stderr : stdout, "  [%d] %s\n", rig->rank, message);
    fflush(stdout);
}

static void open_device(rig_t *rig)
{
    gdr_device_params_t params = {.log = &rig->log};
    int ordinal = rig->rank % gdr_device_count();
    gdr_status_t status = gdr_device_open(&params, ordinal, &rig->dev_ops, &rig->dev);

    NEED(rig, status == GDR_OK, "%s", gdr_status_string(status));
    rig->dev_ops->caps(rig->dev, &rig->caps);
    status = rig->dev_ops->stream_create(rig->dev, &rig->stream);
    NEED(rig, status == GDR_OK, "%s", gdr_status_string(status));
    status = rig->dev_ops->alloc(rig->dev, WINDOW, &rig->window);
    NEED(rig, status == GDR_OK, "%s", gdr_status_string(status));
}

static void open_net(rig_t *rig)
{
    static const gdr_ucx_device_t device = {gdr_device_owner, gdr_device_home,  gdr_device_enter,
                                            gdr_device_leave, gdr_device_quiet, gdr_device_loud};
    gdr_ucx_params_t params = {.abi = GDR_UCX_ABI,
                               .device = rig->options->host ? NULL : &device,
                               .host_windows = rig->options->host,
                               .no_peer_errors = rig->options->no_peer_errors,
                               .counters = &rig->counters};
    void *library, *page = NULL;
    gdr_ucx_open_t open;
    gdr_status_t status;

    library = dlopen(rig->options->library, RTLD_NOW | RTLD_LOCAL);
    NEED(rig, library != NULL, "%s", dlerror());
    *(void **)&open = dlsym(library, GDR_UCX_OPEN_NAME);
    NEED(rig, open != NULL, "%s", dlerror());
    status = open(&params, &rig->log, &rig->ops, &rig->net);
    NEED(rig, status == GDR_OK, "%s", gdr_status_string(status));
    status = rig->ops->alloc_host(rig->net, PAGE_BYTES, &page, &rig->page_mem);
    NEED(rig, status == GDR_OK, "%s", gdr_status_string(status));
    rig->page = page;
}

static void map_page(rig_t *rig)
{
    gdr_status_t status = rig->dev_ops->map_host(rig->dev, (void *)(uintptr_t)rig->page, PAGE_BYTES,
                                                 &rig->page_on_device);

    NEED(rig, status == GDR_OK, "%s", gdr_status_string(status));
}

static void *driver_function(rig_t *rig, const char *name)
{
    void *driver = dlopen("libcuda.so.1", RTLD_LAZY | RTLD_NOLOAD);
    void *function;

    NEED(rig, driver != NULL, "%s", dlerror());
    function = dlsym(driver, name);
    NEED(rig, function != NULL, "%s", dlerror());
    dlclose(driver);
    return function;
}

/* While a context of the application is current, which is gone before anything is used. */
static void open_net_and_page(rig_t *rig)
{
    CUresult (*create)(CUcontext *, unsigned int, CUdevice), (*destroy)(CUcontext);
    CUcontext foreign;

    *(void **)&create = driver_function(rig, "cuCtxCreate_v2");
    *(void **)&destroy = driver_function(rig, "cuCtxDestroy_v2");
    NEED(rig, create(&foreign, 0, 0) == CUDA_SUCCESS, "a context of the application");
    open_net(rig);
    map_page(rig);
    NEED(rig, destroy(foreign) == CUDA_SUCCESS, "a context of the application");
}

static void open_window(rig_t *rig)
{
    gdr_status_t status;

    status = rig->ops->register_device(rig->net, rig->window, WINDOW, &rig->window_mem);
    NEED(rig, status == GDR_OK, "%s", gdr_status_string(status));
}

bool rig_open(rig_t *rig)
{
    rig->log = (gdr_log_t){rig->options->verbose, emit, rig};
    if (!rig->options->host && gdr_device_load(&rig->log) != GDR_OK)
        return false;
    if (rig->options->host) {
        rig->window = (uint64_t)(uintptr_t)aligned_alloc(4096, WINDOW);
        memset((void *)(uintptr_t)rig->window, 0, WINDOW);
        open_net(rig);
    } else {
        open_device(rig);
        open_net_and_page(rig);
    }
    open_window(rig);
    return true;
}

static void send_all(rig_t *rig, const void *data, size_t bytes)
{
    NEED(rig, write(rig->socket, data, bytes) == (ssize_t)bytes, "%zu bytes", bytes);
}

/* The network makes progress meanwhile: the other side may need it. */
static void receive_all(rig_t *rig, void *data, size_t bytes)
{
    for (size_t done = 0; done < bytes;) {
        struct pollfd fd = {.fd = rig->socket, .events = POLLIN};
        if (poll(&fd, 1, 0) > 0) {
            ssize_t got = read(rig->socket, (char *)data + done, bytes - done);
            NEED(rig, got > 0, "the other process is gone");
            done += (size_t)got;
        }
        if (rig->net != NULL)
            rig->ops->progress(rig->net);
    }
}

static size_t swap(rig_t *rig, const void *mine, size_t bytes, void *theirs, size_t capacity)
{
    size_t length;

    send_all(rig, &bytes, sizeof(bytes));
    send_all(rig, mine, bytes);
    receive_all(rig, &length, sizeof(length));
    NEED(rig, length <= capacity, "%zu bytes", length);
    receive_all(rig, theirs, length);
    return length;
}

void rig_barrier(rig_t *rig)
{
    char mine = 'b', theirs = 0;

    send_all(rig, &mine, 1);
    receive_all(rig, &theirs, 1);
}

gdr_net_rmem_t *rig_swap_keys(rig_t *rig, gdr_net_mem_t *mem)
{
    char mine[4096], theirs[4096];
    gdr_net_rmem_t *rmem = NULL;
    size_t bytes = sizeof(mine);
    gdr_status_t status = rig->ops->pack(mem, mine, &bytes);

    NEED(rig, status == GDR_OK, "%s", gdr_status_string(status));
    bytes = swap(rig, mine, bytes, theirs, sizeof(theirs));
    status = rig->ops->import(rig->peer, mem, theirs, bytes, &rmem);
    NEED(rig, status == GDR_OK, "%s", gdr_status_string(status));
    return rmem;
}

void rig_connect(rig_t *rig)
{
    char mine[8192], theirs[8192];
    size_t bytes = sizeof(mine);
    gdr_status_t status = rig->ops->address(rig->net, mine, &bytes);

    NEED(rig, status == GDR_OK, "%s", gdr_status_string(status));
    bytes = swap(rig, mine, bytes, theirs, sizeof(theirs));
    status = rig->ops->connect(rig->net, theirs, bytes, &rig->peer);
    NEED(rig, status == GDR_OK, "%s", gdr_status_string(status));
    rig->peer_window = rig_swap_keys(rig, rig->window_mem);
    rig->peer_page = rig_swap_keys(rig, rig->page_mem);
    rig_barrier(rig);
}

static void close_device(rig_t *rig)
{
    rig->dev_ops->unmap_host(rig->dev, (void *)(uintptr_t)rig->page);
    rig->dev_ops->stream_destroy(rig->stream);
    rig->dev_ops->free(rig->dev, rig->window);
}

void rig_reset_device(rig_t *rig)
{
    CUresult (*reset)(CUdevice);

    *(void **)&reset = driver_function(rig, "cuDevicePrimaryCtxReset_v2");
    NEED(rig, reset(rig->rank % gdr_device_count()) == CUDA_SUCCESS, "reset");
    NEED(rig, rig->dev_ops->generation(rig->dev) == 0, "the old generation lives on");
    rig->ops->release(rig->peer_window);
    rig->ops->deregister(rig->net, rig->window_mem);
    close_device(rig);
    rig->dev_ops->close(rig->dev);
    open_device(rig);
    map_page(rig);
    open_window(rig);
    rig_barrier(rig);
    rig->peer_window = rig_swap_keys(rig, rig->window_mem);
    rig_barrier(rig);
}

void rig_capture(rig_t *rig, void (*work)(rig_t *rig))
{
    CUresult (*create)(CUstream *, unsigned int), (*destroy)(CUstream);
    CUresult (*begin)(CUstream, CUstreamCaptureMode), (*end)(CUstream, CUgraph *);
    CUstream stream;
    CUgraph graph = NULL;

    *(void **)&create = driver_function(rig, "cuStreamCreate");
    *(void **)&destroy = driver_function(rig, "cuStreamDestroy_v2");
    *(void **)&begin = driver_function(rig, "cuStreamBeginCapture_v2");
    *(void **)&end = driver_function(rig, "cuStreamEndCapture");
    NEED(rig, gdr_device_enter(gdr_device_home()), "the device's context");
    NEED(rig, create(&stream, CU_STREAM_NON_BLOCKING) == CUDA_SUCCESS, "a stream");
    NEED(rig, begin(stream, CU_STREAM_CAPTURE_MODE_GLOBAL) == CUDA_SUCCESS, "a capture");
    work(rig);
    NEED(rig, end(stream, &graph) == CUDA_SUCCESS, "the application's capture is invalid");
    destroy(stream);
    gdr_device_leave();
}

void rig_close(rig_t *rig)
{
    if (rig->peer != NULL) {
        rig->ops->release(rig->peer_window);
        rig->ops->release(rig->peer_page);
        rig->ops->disconnect(rig->peer);
    }
    rig->ops->deregister(rig->net, rig->window_mem);
    if (rig->options->host)
        free((void *)(uintptr_t)rig->window);
    else
        close_device(rig);
    rig->ops->deregister(rig->net, rig->page_mem);
    rig->ops->close(rig->net);
    rig->net = NULL;
    if (rig->dev != NULL)
        rig->dev_ops->close(rig->dev);
}

static uint8_t pattern_byte(size_t i, uint64_t seed)
{
    uint64_t x = (i >> 3) * 0x9e3779b97f4a7c15u + seed * 0xbf58476d1ce4e5b9u;

    x ^= x >> 31;
    return (uint8_t)(x >> (8 * (i & 7)));
}

static uint8_t scratch[MAX_DATA];

void rig_fill(rig_t *rig, uint64_t offset, size_t bytes, uint64_t seed)
{
    gdr_status_t status;

    for (size_t i = 0; i < bytes; i++)
        scratch[i] = pattern_byte(i, seed);
    if (rig->options->host) {
        memcpy((void *)(uintptr_t)(rig->window + offset), scratch, bytes);
        return;
    }
    status = gdr_device_copy_in(&rig->log, rig->window + offset, scratch, bytes, 0);
    NEED(rig, status == GDR_OK, "%s", gdr_status_string(status));
}

void rig_check(rig_t *rig, uint64_t offset, size_t bytes, uint64_t seed)
{
    gdr_status_t status = GDR_OK;

    if (rig->options->host)
        memcpy(scratch, (const void *)(uintptr_t)(rig->window + offset), bytes);
    else
        status = gdr_device_copy_out(&rig->log, scratch, rig->window + offset, bytes, 0);
    NEED(rig, status == GDR_OK, "%s", gdr_status_string(status));
    for (size_t i = 0; i < bytes; i++)
        NEED(rig, scratch[i] == pattern_byte(i, seed),
             "byte %zu of %zu is 0x%02x, not 0x%02x (seed %llu)", i, bytes, scratch[i],
             pattern_byte(i, seed), (unsigned long long)seed);
}

void rig_set_word(rig_t *rig, uint64_t offset, uint64_t value)
{
    gdr_status_t status;

    if (rig->options->host) {
        memcpy((void *)(uintptr_t)(rig->window + offset), &value, sizeof(value));
        return;
    }
    status = rig->dev_ops->write_word(rig->stream, rig->window + offset, value);
    NEED(rig, status == GDR_OK, "%s", gdr_status_string(status));
    status = rig->dev_ops->sync(rig->stream);
    NEED(rig, status == GDR_OK, "%s", gdr_status_string(status));
}

void rig_copy(rig_t *rig, uint64_t from, uint64_t to_offset, size_t bytes)
{
    gdr_dev_reduce_t copy = {
        .nin = 1, .nout = 1, .in = {from}, .out = {rig->window + to_offset}, .bytes = bytes};
    gdr_status_t status;

    if (rig->options->host) {
        memcpy((void *)(uintptr_t)(rig->window + to_offset), (const void *)(uintptr_t)from, bytes);
        return;
    }
    status = rig->dev_ops->reduce(rig->stream, &copy);
    NEED(rig, status == GDR_OK, "%s", gdr_status_string(status));
    status = rig->dev_ops->sync(rig->stream);
    NEED(rig, status == GDR_OK, "%s", gdr_status_string(status));
}

void rig_finish(rig_t *rig, gdr_net_op_t *op)
{
    while (op->status == GDR_INPROGRESS)
        rig->ops->progress(rig->net);
    NEED(rig, op->status == GDR_OK, "%s", gdr_status_string(op->status));
}

bool rig_await(rig_t *rig, int word, uint64_t value, bool progress, double seconds)
{
    double end = rig_seconds() + seconds;

    while (__atomic_load_n(&rig->page[word], __ATOMIC_ACQUIRE) < value) {
        if (progress)
            rig->ops->progress(rig->net);
        if (rig_seconds() > end)
            return false;
    }
    return true;
}
