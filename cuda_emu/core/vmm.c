/*
 * Virtual memory management: reserve addresses, make physical memory, map one onto the other, say
 * which device may touch it. Physical memory is a memfd of its own, so that a file descriptor can
 * carry it to another process.
 */
#include "cuda_emu/core/emu.h"

#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define GRANULARITY (2UL << 20)
#define MAGIC       UINT64_C(0x656d752d766d6d31)

struct physical {
    unsigned refs; /* handles and mappings; under emu_lock */
    int memfd;
    int device;
    size_t size;
    bool imported; /* the exporter's process accounts for it */
    CUmemAllocationProp prop;
};

/* Behind the bytes of the memfd: what an importer has to know. */
struct trailer {
    uint64_t magic, size;
    int64_t card;
};

static bool aligned(size_t value)
{
    return value % GRANULARITY == 0;
}

CUresult CUDAAPI cuMemAddressReserve(CUdeviceptr *out, size_t size, size_t alignment,
                                     CUdeviceptr hint, unsigned long long flags)
{
    CUresult rc = emu_enter(__func__);
    uintptr_t at;

    if (rc != CUDA_SUCCESS)
        return rc;
    if (out == NULL || size == 0 || !aligned(size) || flags != 0 ||
        (alignment & (alignment - 1)) != 0)
        return CUDA_ERROR_INVALID_VALUE;
    emu_lock();
    at = emu_space_reserve(size, alignment < GRANULARITY ? GRANULARITY : alignment, hint);
    emu_unlock();
    if (at == 0)
        return CUDA_ERROR_OUT_OF_MEMORY;
    *out = at;
    return CUDA_SUCCESS;
}

CUresult CUDAAPI cuMemAddressFree(CUdeviceptr address, size_t size)
{
    CUresult rc = emu_enter(__func__);
    struct emu_alloc *next;

    if (rc != CUDA_SUCCESS)
        return rc;
    emu_lock();
    next = emu_space_next(address - 1);
    if (size == 0 || address == 0 || (next != NULL && next->base < address + size) ||
        !emu_space_unreserve(address, size))
        rc = CUDA_ERROR_INVALID_VALUE;
    emu_unlock();
    return rc;
}

static bool prop_valid(const CUmemAllocationProp *prop)
{
    return prop != NULL && prop->type == CU_MEM_ALLOCATION_TYPE_PINNED &&
           prop->location.type == CU_MEM_LOCATION_TYPE_DEVICE &&
           emu_device_valid(prop->location.id);
}

CUresult CUDAAPI cuMemGetAllocationGranularity(size_t *granularity, const CUmemAllocationProp *prop,
                                               CUmemAllocationGranularity_flags option)
{
    CUresult rc = emu_enter(__func__);

    if (rc != CUDA_SUCCESS)
        return rc;
    if (granularity == NULL || !prop_valid(prop) ||
        (option != CU_MEM_ALLOC_GRANULARITY_MINIMUM &&
         option != CU_MEM_ALLOC_GRANULARITY_RECOMMENDED))
        return CUDA_ERROR_INVALID_VALUE;
    *granularity = GRANULARITY;
    return CUDA_SUCCESS;
}

/* Under emu_lock. */
static bool account(int device, size_t size)
{
    struct emu_device *d = &emu_devices[device];

    if (size > emu_config()->memory - d->used)
        return false;
    d->used += size;
    if (d->used > d->used_high)
        d->used_high = d->used;
    return true;
}

static int make_file(size_t size, int card)
{
    struct trailer trailer = {MAGIC, size, card};
    int fd = memfd_create("cuda_emu_physical", MFD_CLOEXEC);

    if (fd >= 0 && pwrite(fd, &trailer, sizeof(trailer), (off_t)size) == sizeof(trailer))
        return fd;
    if (fd >= 0)
        close(fd);
    return -1;
}

static CUresult make_physical(struct physical *p, CUmemGenericAllocationHandle *out)
{
    CUresult rc = CUDA_ERROR_OUT_OF_MEMORY;

    emu_lock();
    if (!account(p->device, p->size))
        goto unlock;
    p->memfd = make_file(p->size, emu_devices[p->device].card);
    if (p->memfd < 0)
        goto unaccount;
    if (!emu_handle_add(p, EMU_TYPE_PHYSICAL))
        goto close_file;
    p->refs = 1;
    *out = (CUmemGenericAllocationHandle)(uintptr_t)p;
    rc = CUDA_SUCCESS;
    goto unlock;
close_file:
    close(p->memfd);
unaccount:
    emu_devices[p->device].used -= p->size;
unlock:
    emu_unlock();
    return rc;
}

CUresult CUDAAPI cuMemCreate(CUmemGenericAllocationHandle *out, size_t size,
                             const CUmemAllocationProp *prop, unsigned long long flags)
{
    CUresult rc = emu_enter(__func__);
    struct physical *p;

    if (rc != CUDA_SUCCESS)
        return rc;
    if (out == NULL || size == 0 || !aligned(size) || flags != 0 || !prop_valid(prop))
        return CUDA_ERROR_INVALID_VALUE;
    if ((prop->requestedHandleTypes & ~CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR) != 0)
        return CUDA_ERROR_NOT_SUPPORTED;
    p = calloc(1, sizeof(*p));
    if (p == NULL)
        return CUDA_ERROR_OUT_OF_MEMORY;
    p->device = prop->location.id;
    p->size = size;
    p->prop = *prop;
    rc = make_physical(p, out);
    if (rc != CUDA_SUCCESS)
        free(p);
    return rc;
}

/* Under emu_lock. The memory lives until the last handle and the last mapping are gone. */
static void put_physical(struct physical *p)
{
    if (--p->refs != 0)
        return;
    emu_handle_remove(p);
    if (!p->imported)
        emu_devices[p->device].used -= p->size;
    close(p->memfd);
    free(p);
}

void emu_vmm_drop(struct emu_alloc *alloc)
{
    emu_space_unback(alloc->base, alloc->size);
    put_physical(alloc->owner);
}

static CUresult enter_physical(const char *function, CUmemGenericAllocationHandle handle,
                               struct physical **p)
{
    CUresult rc = emu_enter(function);

    if (rc != CUDA_SUCCESS)
        return rc;
    *p = (struct physical *)(uintptr_t)handle;
    return emu_handle_is(*p, EMU_TYPE_PHYSICAL) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

CUresult CUDAAPI cuMemRelease(CUmemGenericAllocationHandle handle)
{
    struct physical *p;
    CUresult rc = enter_physical(__func__, handle, &p);

    if (rc != CUDA_SUCCESS)
        return rc;
    emu_lock();
    put_physical(p);
    emu_unlock();
    return CUDA_SUCCESS;
}

/* Under emu_lock. */
static CUresult map_locked(uintptr_t at, size_t size, size_t offset, struct physical *p,
                           void *caller)
{
    struct emu_alloc *next = emu_space_next(at);
    struct emu_alloc wanted = {.base = at,
                               .size = size,
                               .kind = EMU_VMM,
                               .device = p->device,
                               .owner = p,
                               .owner_offset = offset,
                               .caller = caller,
                               .flags = (unsigned)p->prop.requestedHandleTypes};

    if (!emu_space_reserved(at, size) || emu_space_find(at) != NULL ||
        (next != NULL && next->base < at + size))
        return CUDA_ERROR_INVALID_VALUE;
    wanted.buffer_id = emu_buffer_id();
    if (!emu_space_back(at, size, p->memfd, offset))
        return CUDA_ERROR_OUT_OF_MEMORY;
    if (emu_space_add(&wanted) == NULL) {
        emu_space_unback(at, size);
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    p->refs++;
    return CUDA_SUCCESS;
}

CUresult CUDAAPI cuMemMap(CUdeviceptr address, size_t size, size_t offset,
                          CUmemGenericAllocationHandle handle, unsigned long long flags)
{
    struct physical *p;
    CUresult rc = enter_physical(__func__, handle, &p);

    if (rc != CUDA_SUCCESS)
        return rc;
    if (size == 0 || !aligned(size) || !aligned(address) || offset != 0 || size > p->size ||
        flags != 0)
        return CUDA_ERROR_INVALID_VALUE;
    emu_lock();
    rc = map_locked(address, size, offset, p, EMU_CALLER);
    emu_unlock();
    return rc;
}

/* Under emu_lock: whole mappings, without a hole, make up the range. */
static bool covered(uintptr_t at, size_t size)
{
    uintptr_t end = at + size;

    while (at < end) {
        struct emu_alloc *alloc = emu_space_find(at);

        if (alloc == NULL || alloc->kind != EMU_VMM || alloc->base != at || alloc->size > end - at)
            return false;
        at += alloc->size;
    }
    return true;
}

CUresult CUDAAPI cuMemUnmap(CUdeviceptr address, size_t size)
{
    CUresult rc = emu_enter(__func__);

    if (rc != CUDA_SUCCESS)
        return rc;
    emu_lock();
    if (size == 0 || !covered(address, size)) {
        rc = CUDA_ERROR_INVALID_VALUE;
    } else {
        for (uintptr_t end = address + size; address < end;) {
            struct emu_alloc *alloc = emu_space_find(address);

            address += alloc->size;
            emu_mem_release(alloc);
        }
    }
    emu_unlock();
    return rc;
}

static CUresult check_access(uintptr_t at, size_t size, const CUmemAccessDesc *desc)
{
    if (desc->location.type != CU_MEM_LOCATION_TYPE_DEVICE)
        return CUDA_ERROR_NOT_SUPPORTED;
    if (!emu_device_valid(desc->location.id))
        return CUDA_ERROR_INVALID_DEVICE;
    for (uintptr_t end = at + size; at < end;) {
        struct emu_alloc *alloc = emu_space_find(at);

        if (alloc->device != desc->location.id &&
            !emu_device_peers(desc->location.id, alloc->device))
            return CUDA_ERROR_INVALID_DEVICE;
        at += alloc->size;
    }
    return CUDA_SUCCESS;
}

static void set_access(uintptr_t at, size_t size, const CUmemAccessDesc *desc)
{
    unsigned bit = 1U << desc->location.id;

    for (uintptr_t end = at + size; at < end;) {
        struct emu_alloc *alloc = emu_space_find(at);

        alloc->access &= ~bit;
        alloc->readonly &= ~bit;
        if (desc->flags == CU_MEM_ACCESS_FLAGS_PROT_READWRITE)
            alloc->access |= bit;
        else if (desc->flags == CU_MEM_ACCESS_FLAGS_PROT_READ)
            alloc->readonly |= bit;
        at += alloc->size;
    }
}

CUresult CUDAAPI cuMemSetAccess(CUdeviceptr address, size_t size, const CUmemAccessDesc *desc,
                                size_t count)
{
    CUresult rc = emu_enter(__func__);

    if (rc != CUDA_SUCCESS)
        return rc;
    if (desc == NULL || count == 0 || size == 0)
        return CUDA_ERROR_INVALID_VALUE;
    emu_lock();
    if (!covered(address, size))
        rc = CUDA_ERROR_INVALID_VALUE;
    for (size_t i = 0; i < count && rc == CUDA_SUCCESS; i++)
        rc = check_access(address, size, &desc[i]);
    for (size_t i = 0; i < count && rc == CUDA_SUCCESS; i++)
        set_access(address, size, &desc[i]);
    emu_unlock();
    return rc;
}

CUresult CUDAAPI cuMemGetAccess(unsigned long long *flags, const CUmemLocation *location,
                                CUdeviceptr address)
{
    CUresult rc = emu_enter(__func__);
    struct emu_alloc *alloc;

    if (rc != CUDA_SUCCESS)
        return rc;
    if (flags == NULL || location == NULL || location->type != CU_MEM_LOCATION_TYPE_DEVICE ||
        !emu_device_valid(location->id))
        return CUDA_ERROR_INVALID_VALUE;
    emu_lock();
    alloc = emu_space_find(address);
    if (alloc == NULL || (alloc->kind != EMU_VMM && alloc->kind != EMU_POOL))
        rc = CUDA_ERROR_INVALID_VALUE;
    else
        *flags = emu_access_flags(alloc->access, alloc->readonly, location->id);
    emu_unlock();
    return rc;
}

CUresult CUDAAPI cuMemGetAllocationPropertiesFromHandle(CUmemAllocationProp *prop,
                                                        CUmemGenericAllocationHandle handle)
{
    struct physical *p;
    CUresult rc = enter_physical(__func__, handle, &p);

    if (rc != CUDA_SUCCESS)
        return rc;
    if (prop == NULL)
        return CUDA_ERROR_INVALID_VALUE;
    *prop = p->prop;
    return CUDA_SUCCESS;
}

/* Fails for memory that cuMemCreate did not make: that is how UCX tells the kinds apart. */
CUresult CUDAAPI cuMemRetainAllocationHandle(CUmemGenericAllocationHandle *out, void *address)
{
    CUresult rc = emu_enter(__func__);
    struct emu_alloc *alloc;

    if (rc != CUDA_SUCCESS)
        return rc;
    if (out == NULL)
        return CUDA_ERROR_INVALID_VALUE;
    emu_lock();
    alloc = emu_space_find((uintptr_t)address);
    if (alloc == NULL || alloc->kind != EMU_VMM) {
        rc = CUDA_ERROR_INVALID_VALUE;
    } else {
        ((struct physical *)alloc->owner)->refs++;
        *out = (CUmemGenericAllocationHandle)(uintptr_t)alloc->owner;
    }
    emu_unlock();
    return rc;
}

CUresult CUDAAPI cuMemExportToShareableHandle(void *out, CUmemGenericAllocationHandle handle,
                                              CUmemAllocationHandleType type,
                                              unsigned long long flags)
{
    struct physical *p;
    CUresult rc = enter_physical(__func__, handle, &p);
    int fd;

    if (rc != CUDA_SUCCESS)
        return rc;
    if (out == NULL || flags != 0 || (p->prop.requestedHandleTypes & type) == 0)
        return CUDA_ERROR_INVALID_VALUE;
    fd = fcntl(p->memfd, F_DUPFD_CLOEXEC, 0);
    if (fd < 0)
        return CUDA_ERROR_OPERATING_SYSTEM;
    *(int *)out = fd;
    return CUDA_SUCCESS;
}

static int visible_ordinal(int64_t card)
{
    for (int i = 0; i < emu_visible_count(); i++) {
        if (emu_devices[i].card == card)
            return i;
    }
    return 0;
}

static bool read_trailer(int fd, struct trailer *trailer)
{
    struct stat st;
    off_t at;

    if (fstat(fd, &st) != 0 || st.st_size < (off_t)sizeof(*trailer))
        return false;
    at = st.st_size - (off_t)sizeof(*trailer);
    return pread(fd, trailer, sizeof(*trailer), at) == sizeof(*trailer) &&
           trailer->magic == MAGIC && trailer->size == (uint64_t)at;
}

CUresult CUDAAPI cuMemImportFromShareableHandle(CUmemGenericAllocationHandle *out, void *os_handle,
                                                CUmemAllocationHandleType type)
{
    CUresult rc = emu_enter(__func__);
    int fd = (int)(intptr_t)os_handle;
    struct trailer trailer;
    struct physical *p;

    if (rc != CUDA_SUCCESS)
        return rc;
    if (type != CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR)
        return CUDA_ERROR_NOT_SUPPORTED;
    if (out == NULL || !read_trailer(fd, &trailer))
        return CUDA_ERROR_INVALID_VALUE;
    p = calloc(1, sizeof(*p));
    if (p == NULL)
        return CUDA_ERROR_OUT_OF_MEMORY;
    p->memfd = fcntl(fd, F_DUPFD_CLOEXEC, 0);
    if (p->memfd < 0 || !emu_handle_add(p, EMU_TYPE_PHYSICAL)) {
        if (p->memfd >= 0)
            close(p->memfd);
        free(p);
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    p->refs = 1;
    p->imported = true;
    p->size = trailer.size;
    p->device = visible_ordinal(trailer.card);
    p->prop =
        (CUmemAllocationProp){.type = CU_MEM_ALLOCATION_TYPE_PINNED,
                              .requestedHandleTypes = type,
                              .location = {.type = CU_MEM_LOCATION_TYPE_DEVICE, .id = p->device}};
    *out = (CUmemGenericAllocationHandle)(uintptr_t)p;
    return CUDA_SUCCESS;
}
