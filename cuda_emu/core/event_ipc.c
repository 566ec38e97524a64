/*
 * Events that processes share: two words in a memfd. As with memory, a handle names pid and file,
 * and the exporting process may not open it itself.
 */
#include "cuda_emu/core/event.h"

#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define MAGIC UINT32_C(0x454d5545)

struct handle {
    uint32_t magic;
    int32_t pid, fd, unused;
    uint64_t inode;
    uint64_t rest[5];
};
_Static_assert(sizeof(struct handle) == sizeof(CUipcEventHandle), "64 bytes");

static bool map_words(struct emu_event *event, int fd)
{
    void *at = mmap(NULL, EMU_PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);

    if (at == MAP_FAILED)
        return false;
    event->words = at;
    event->words_fd = fd;
    return true;
}

bool emu_event_share(struct emu_event *event)
{
    int fd = memfd_create("cuda_emu_event", MFD_CLOEXEC);

    if (fd >= 0 && ftruncate(fd, (off_t)EMU_PAGE) == 0 && map_words(event, fd))
        return true;
    if (fd >= 0)
        close(fd);
    return false;
}

/*
 * The words stay mapped: records that are pending in a stream still write them (4 KiB for each
 * shared event of a process).
 */
void emu_event_unshare(struct emu_event *event)
{
    if (event->words_fd >= 0)
        close(event->words_fd);
    event->words_fd = -1;
}

uint64_t emu_event_words_record(struct emu_event *event)
{
    return atomic_fetch_add(&event->words->recorded, 1) + 1;
}

void emu_event_words_complete(struct emu_event_words *words, uint64_t number)
{
    unsigned long long seen = atomic_load(&words->completed);

    while (seen < number && !atomic_compare_exchange_weak(&words->completed, &seen, number)) {
    }
}

bool emu_event_words_done(const struct emu_event *event)
{
    return event->words == NULL ||
           atomic_load(&event->words->completed) >= atomic_load(&event->words->recorded);
}

struct wait_op {
    struct emu_op op;
    struct emu_event_words *words;
    uint64_t number;
};

static bool wait_over(struct emu_op *op)
{
    struct wait_op *w = (struct wait_op *)op;

    return atomic_load(&w->words->completed) >= w->number;
}

static CUresult run_wait(struct emu_op *op, struct emu_stream *stream)
{
    (void)op;
    (void)stream;
    return CUDA_SUCCESS;
}

CUresult emu_event_words_wait(struct emu_stream *stream, struct emu_event *event)
{
    struct wait_op *op = emu_op_new(sizeof(*op), "shared event wait", run_wait);

    if (op == NULL)
        return CUDA_ERROR_OUT_OF_MEMORY;
    op->words = event->words;
    op->number = atomic_load(&event->words->recorded);
    op->op.ready = wait_over;
    op->op.no_delay = true;
    return emu_submit(stream, &op->op, NULL);
}

CUresult CUDAAPI cuIpcGetEventHandle(CUipcEventHandle *out, CUevent handle)
{
    struct emu_ctx *ctx;
    CUresult rc = emu_enter_ctx(__func__, &ctx);
    const struct emu_event *event = (const struct emu_event *)handle;
    struct handle made = {.magic = MAGIC, .pid = getpid()};
    struct stat st;

    if (rc != CUDA_SUCCESS)
        return rc;
    if (!emu_handle_is(handle, EMU_TYPE_EVENT))
        return CUDA_ERROR_INVALID_HANDLE;
    if (out == NULL || event->words_fd < 0)
        return CUDA_ERROR_INVALID_VALUE;
    if (fstat(event->words_fd, &st) != 0)
        return CUDA_ERROR_OPERATING_SYSTEM;
    made.fd = event->words_fd;
    made.inode = st.st_ino;
    memcpy(out, &made, sizeof(made));
    return CUDA_SUCCESS;
}

static int open_exporter(const struct handle *handle)
{
    char path[64];
    struct stat st;
    int fd;

    snprintf(path, sizeof(path), "/proc/%d/fd/%d", handle->pid, handle->fd);
    fd = open(path, O_RDWR | O_CLOEXEC);
    if (fd >= 0 && (fstat(fd, &st) != 0 || st.st_ino != handle->inode)) {
        close(fd);
        fd = -1;
    }
    return fd;
}

CUresult CUDAAPI cuIpcOpenEventHandle(CUevent *out, CUipcEventHandle raw)
{
    struct emu_ctx *ctx;
    CUresult rc = emu_enter_ctx(__func__, &ctx);
    struct emu_event *event;
    struct handle handle;
    int fd;

    if (rc != CUDA_SUCCESS)
        return rc;
    memcpy(&handle, &raw, sizeof(handle));
    if (out == NULL || handle.magic != MAGIC)
        return CUDA_ERROR_INVALID_VALUE;
    if (handle.pid == getpid())
        return CUDA_ERROR_INVALID_CONTEXT;
    fd = open_exporter(&handle);
    if (fd < 0)
        return CUDA_ERROR_MAP_FAILED;
    event = emu_event_new(ctx, CU_EVENT_INTERPROCESS | CU_EVENT_DISABLE_TIMING);
    if (event == NULL || !map_words(event, fd)) {
        close(fd);
        if (event != NULL)
            cuEventDestroy((CUevent)event);
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    *out = (CUevent)event;
    return CUDA_SUCCESS;
}
