/*
 * Memory of another process. A handle names the exporter's pid, the memfd behind its device and a
 * range in it; the importer opens that file through /proc and maps the range. Behind the device's
 * bytes the memfd has a sparse table of live handles (one word for each 512 bytes), so that a
 * handle of memory that has been freed is refused, as CUDA does.
 */
#include "cuda_emu/core/emu.h"

#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define MAGIC UINT32_C(0x454d5549)

struct handle {
    uint32_t magic;
    int32_t pid, memfd, card;
    uint64_t inode, offset, size, buffer_id, device_bytes;
    uint64_t unused;
};
_Static_assert(sizeof(struct handle) == sizeof(CUipcMemHandle), "64 bytes");

static off_t live_word(uint64_t device_bytes, uint64_t offset)
{
    return (off_t)(device_bytes + offset / 512 * sizeof(uint64_t));
}

static bool set_live(struct emu_alloc *alloc, uint64_t id)
{
    off_t at = live_word(emu_config()->memory, emu_space_offset(alloc->base));

    return pwrite(emu_devices[alloc->device].memfd, &id, sizeof(id), at) == sizeof(id);
}

void emu_ipc_revoke(struct emu_alloc *alloc)
{
    if (alloc->refs != 0 && !set_live(alloc, 0))
        emu_say("the handle of %#lx cannot be revoked", alloc->base);
}

/* Under emu_lock. */
static CUresult describe(uintptr_t address, struct handle *handle)
{
    struct emu_alloc *alloc = emu_space_find(address);
    struct stat st;

    /* Pools and VMM have handles of their own; other processes' memory is not ours to pass on. */
    if (alloc == NULL || alloc->kind != EMU_DEVICE)
        return CUDA_ERROR_INVALID_VALUE;
    if (fstat(emu_devices[alloc->device].memfd, &st) != 0 || !set_live(alloc, alloc->buffer_id))
        return CUDA_ERROR_OPERATING_SYSTEM;
    alloc->refs = 1;
    *handle = (struct handle){.magic = MAGIC,
                              .pid = getpid(),
                              .memfd = emu_devices[alloc->device].memfd,
                              .card = emu_devices[alloc->device].card,
                              .inode = st.st_ino,
                              .offset = emu_space_offset(alloc->base),
                              .size = alloc->size,
                              .buffer_id = alloc->buffer_id,
                              .device_bytes = emu_config()->memory};
    return CUDA_SUCCESS;
}

CUresult CUDAAPI cuIpcGetMemHandle(CUipcMemHandle *out, CUdeviceptr address)
{
    struct emu_ctx *ctx;
    CUresult rc = emu_enter_ctx(__func__, &ctx);
    struct handle handle;

    if (rc != CUDA_SUCCESS)
        return rc;
    if (out == NULL)
        return CUDA_ERROR_INVALID_VALUE;
    emu_lock();
    rc = describe(address, &handle);
    emu_unlock();
    if (rc == CUDA_SUCCESS)
        memcpy(out, &handle, sizeof(handle));
    return rc;
}

static int open_exporter(const struct handle *handle)
{
    char path[64];
    struct stat st;
    uint64_t id = 0;
    int fd;

    snprintf(path, sizeof(path), "/proc/%d/fd/%d", handle->pid, handle->memfd);
    fd = open(path, O_RDWR | O_CLOEXEC);
    if (fd < 0)
        return -1;
    if (fstat(fd, &st) == 0 && st.st_ino == handle->inode &&
        pread(fd, &id, sizeof(id), live_word(handle->device_bytes, handle->offset)) == sizeof(id) &&
        id == handle->buffer_id)
        return fd;
    close(fd);
    return -1;
}

/* The ordinal of the exporter's card; a card hidden from this process counts as the opener's. */
static int ordinal_of(int card, const struct emu_ctx *ctx)
{
    for (int i = 0; i < emu_visible_count(); i++) {
        if (emu_devices[i].card == card)
            return i;
    }
    return ctx->device;
}

static struct emu_alloc *already_open(const struct handle *handle, const struct emu_ctx *ctx)
{
    struct emu_alloc *alloc = emu_space_next(0);

    for (; alloc != NULL; alloc = emu_space_next(alloc->base)) {
        if (alloc->kind == EMU_IPC && alloc->ctx == ctx && alloc->ctx_id == ctx->id &&
            memcmp(alloc->owner, handle, sizeof(*handle)) == 0)
            return alloc;
    }
    return NULL;
}

/* Under emu_lock; `fd` stays the caller's. */
static CUresult map_range(struct emu_ctx *ctx, const struct handle *handle, int fd, void *caller,
                          CUdeviceptr *out)
{
    size_t inner = handle->offset % EMU_PAGE;
    size_t bytes = (inner + handle->size + EMU_PAGE - 1) & ~(EMU_PAGE - 1);
    struct handle *copy = malloc(sizeof(*copy));
    uintptr_t at = copy == NULL ? 0 : emu_space_reserve(bytes, 2UL << 20, 0);
    struct emu_alloc wanted = {.base = at + inner,
                               .size = handle->size,
                               .kind = EMU_IPC,
                               .ctx = ctx,
                               .ctx_id = ctx->id,
                               .caller = caller,
                               .refs = 1,
                               .owner = copy};

    if (at == 0)
        goto no_address;
    if (!emu_space_back(at, bytes, fd, handle->offset - inner))
        goto no_mapping;
    *copy = *handle;
    wanted.device = ordinal_of(handle->card, ctx);
    wanted.buffer_id = emu_buffer_id();
    if (emu_space_add(&wanted) == NULL)
        goto no_entry;
    *out = wanted.base;
    return CUDA_SUCCESS;
no_entry:
    emu_space_unback(at, bytes);
no_mapping:
    emu_space_unreserve(at, bytes);
no_address:
    free(copy);
    return CUDA_ERROR_OUT_OF_MEMORY;
}

void emu_ipc_drop(struct emu_alloc *alloc)
{
    size_t inner = alloc->base % EMU_PAGE;
    size_t bytes = (inner + alloc->size + EMU_PAGE - 1) & ~(EMU_PAGE - 1);

    emu_space_unback(alloc->base - inner, bytes);
    emu_space_unreserve(alloc->base - inner, bytes);
    free(alloc->owner);
}

static CUresult open_handle(struct emu_ctx *ctx, const struct handle *handle, void *caller,
                            CUdeviceptr *out)
{
    struct emu_alloc *alloc;
    CUresult rc;
    int fd = open_exporter(handle);

    if (fd < 0)
        return CUDA_ERROR_MAP_FAILED;
    emu_lock();
    alloc = already_open(handle, ctx);
    if (alloc != NULL) {
        alloc->refs++;
        *out = alloc->base;
        rc = CUDA_SUCCESS;
    } else {
        rc = map_range(ctx, handle, fd, caller, out);
    }
    emu_unlock();
    close(fd);
    return rc;
}

static CUresult ipc_open(const char *function, CUdeviceptr *out, CUipcMemHandle raw, unsigned flags,
                         void *caller)
{
    struct emu_ctx *ctx;
    CUresult rc = emu_enter_ctx(function, &ctx);
    struct handle handle;
    int card;

    if (rc != CUDA_SUCCESS)
        return rc;
    memcpy(&handle, &raw, sizeof(handle));
    if (out == NULL || handle.magic != MAGIC || handle.size == 0 ||
        (flags & ~(unsigned)CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS) != 0 || handle.card < 0 ||
        handle.card >= EMU_DEVICE_MAX)
        return CUDA_ERROR_INVALID_VALUE;
    if (handle.pid == getpid())
        return CUDA_ERROR_INVALID_CONTEXT;
    card = emu_devices[ctx->device].card;
    if (card != handle.card && !emu_config()->peer[card][handle.card])
        return CUDA_ERROR_PEER_ACCESS_UNSUPPORTED;
    rc = open_handle(ctx, &handle, caller, out);
    if (rc == CUDA_SUCCESS)
        emu_trace("opened %#llx: %llu bytes of process %d", *out, (unsigned long long)handle.size,
                  handle.pid);
    return rc;
}

CUresult CUDAAPI cuIpcOpenMemHandle_v2(CUdeviceptr *out, CUipcMemHandle handle, unsigned flags);
CUresult CUDAAPI cuIpcOpenMemHandle_v2(CUdeviceptr *out, CUipcMemHandle handle, unsigned flags)
{
    return ipc_open("cuIpcOpenMemHandle", out, handle, flags, EMU_CALLER);
}

#undef cuIpcOpenMemHandle
CUresult CUDAAPI cuIpcOpenMemHandle(CUdeviceptr *out, CUipcMemHandle handle, unsigned flags);
CUresult CUDAAPI cuIpcOpenMemHandle(CUdeviceptr *out, CUipcMemHandle handle, unsigned flags)
{
    return ipc_open("cuIpcOpenMemHandle", out, handle, flags, EMU_CALLER);
}

/* Unmaps at the last reference, when work that was submitted is done. */
CUresult CUDAAPI cuIpcCloseMemHandle(CUdeviceptr address)
{
    struct emu_ctx *ctx;
    CUresult rc = emu_enter_ctx(__func__, &ctx);
    struct emu_alloc *alloc;
    bool last = false;

    if (rc != CUDA_SUCCESS)
        return rc;
    emu_lock();
    alloc = emu_space_find(address);
    if (alloc == NULL || alloc->kind != EMU_IPC || alloc->base != address)
        rc = CUDA_ERROR_INVALID_VALUE;
    else
        last = --alloc->refs == 0;
    emu_unlock();
    if (!last)
        return rc;
    emu_ctx_drain(ctx);
    emu_lock();
    alloc = emu_space_find(address);
    if (alloc != NULL && alloc->refs == 0)
        emu_mem_release(alloc);
    emu_unlock();
    return CUDA_SUCCESS;
}
