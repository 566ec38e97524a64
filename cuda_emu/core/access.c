/* Who may touch which memory. */
#include "cuda_emu/core/emu.h"

bool emu_kind_is_device(enum emu_kind kind)
{
    return kind == EMU_DEVICE || kind == EMU_POOL || kind == EMU_VMM || kind == EMU_IPC;
}

static bool owns(const struct emu_ctx *ctx, const struct emu_alloc *alloc)
{
    return alloc->ctx == ctx && alloc->ctx_id == ctx->id;
}

/* Each context has an address space of its own, on the same device too. */
static bool reaches(const struct emu_alloc *alloc, const struct emu_ctx *viewer, bool write)
{
    unsigned bit;

    if (viewer == NULL) /* somebody must have been given access to a mapping */
        return alloc->kind != EMU_VMM || alloc->access != 0 || (!write && alloc->readonly != 0);
    bit = 1U << viewer->device;
    switch (alloc->kind) {
    case EMU_DEVICE:
        return owns(viewer, alloc) || emu_ctx_peers(viewer, alloc->ctx_id);
    case EMU_IPC:
        return owns(viewer, alloc);
    case EMU_POOL:
    case EMU_VMM:
        return (alloc->access & bit) != 0 || (!write && (alloc->readonly & bit) != 0);
    default:
        return true;
    }
}

/* VMM mappings that touch each other are one range; nothing else runs over its end. */
static const struct emu_alloc *following(const struct emu_alloc *alloc)
{
    const struct emu_alloc *next;

    if (alloc->kind != EMU_VMM)
        return NULL;
    next = emu_space_find(alloc->base + alloc->size);
    return next != NULL && next->kind == EMU_VMM ? next : NULL;
}

void *emu_access_locked(uintptr_t address, size_t bytes, const struct emu_ctx *viewer, bool write,
                        enum emu_kind *kind)
{
    const struct emu_alloc *alloc = emu_space_find(address);
    uintptr_t end = address + bytes;

    if (alloc == NULL) {
        *kind = EMU_PAGEABLE;
        return viewer != NULL || address == 0 || emu_space_visible(address) ? NULL
                                                                            : (void *)address;
    }
    *kind = alloc->kind;
    for (;;) {
        if (!reaches(alloc, viewer, write))
            return NULL;
        if (end - alloc->base <= alloc->size)
            return emu_space_alias(address);
        alloc = following(alloc);
        if (alloc == NULL)
            return NULL;
    }
}

void *emu_access(uintptr_t address, size_t bytes, const struct emu_ctx *viewer, bool write,
                 enum emu_kind *kind)
{
    enum emu_kind ignored;
    void *at;

    if (address + bytes < address)
        return NULL;
    emu_lock();
    at = emu_access_locked(address, bytes, viewer, write, kind != NULL ? kind : &ignored);
    emu_unlock();
    return at;
}

static bool reaches_both(const struct emu_ctx *ctx, const struct emu_alloc *to,
                         const struct emu_alloc *from)
{
    return ctx != NULL && reaches(to, ctx, true) && reaches(from, ctx, false);
}

/* Peer access that one side has enabled is enough, whichever of them it is. */
bool emu_access_direct(uintptr_t dst, uintptr_t src, const struct emu_ctx *ctx)
{
    const struct emu_alloc *to, *from;
    bool direct;

    emu_lock();
    to = emu_space_find(dst);
    from = emu_space_find(src);
    direct = to == NULL || from == NULL || to->device == from->device ||
             reaches_both(ctx, to, from) || reaches_both(to->ctx, to, from) ||
             reaches_both(from->ctx, to, from);
    emu_unlock();
    return direct;
}

CUmemAccess_flags emu_access_flags(unsigned access, unsigned readonly, int device)
{
    unsigned bit = 1U << device;

    if ((access & bit) != 0)
        return CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
    return (readonly & bit) != 0 ? CU_MEM_ACCESS_FLAGS_PROT_READ : CU_MEM_ACCESS_FLAGS_PROT_NONE;
}

__attribute__((visibility("default"))) void *cuda_emu_alias(uint64_t address, size_t bytes)
{
    enum emu_kind kind;
    void *at = emu_access((uintptr_t)address, bytes, NULL, true, &kind);

    return at != NULL && emu_kind_is_device(kind) ? at : NULL;
}
