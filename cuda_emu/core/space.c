/*
 * Addresses. Two windows of equal size lie at a constant distance: the visible one, which the CPU
 * may not touch (PROT_NONE), and an alias, where the emulator itself reads and writes. Each device
 * has a part of the window, backed by one sparse memfd of the card's size; the rest is for other
 * processes' memory and for VMM mappings. Nothing has a name in a shared directory: whatever dies,
 * nothing stays behind.
 */
#include "cuda_emu/core/emu.h"

#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* Part of the window for IPC and VMM mappings: as much as there is address space for. */
#define FOREIGN_MOST  (UINT64_C(1) << 40)
#define FOREIGN_LEAST (UINT64_C(1) << 34)
#define DEVICE_ALIGN  (UINT64_C(1) << 30)

struct span {
    uintptr_t base;
    size_t size;
};

static uintptr_t window, alias;
static size_t window_bytes, foreign_bytes;
static uintptr_t foreign; /* where the part for IPC and VMM begins */

/* Sorted by address. */
static struct emu_alloc **allocs;
static size_t alloc_count, alloc_room;
static struct span *spans; /* reserved addresses in the foreign part */
static size_t span_count, span_room;

static void *map_nothing(size_t size)
{
    void *at = mmap(NULL, size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

    if (at == MAP_FAILED)
        return NULL;
    madvise(at, size, MADV_DONTFORK);
    return at;
}

/* Tools that shadow memory (and limits on address space) leave less: both windows, or none. */
static bool map_windows(size_t bytes)
{
    void *seen = map_nothing(bytes + DEVICE_ALIGN);
    void *own = seen == NULL ? NULL : map_nothing(bytes + DEVICE_ALIGN);

    if (own == NULL) {
        if (seen != NULL)
            munmap(seen, bytes + DEVICE_ALIGN);
        return false;
    }
    window = ((uintptr_t)seen + DEVICE_ALIGN - 1) & ~(DEVICE_ALIGN - 1);
    alias = ((uintptr_t)own + DEVICE_ALIGN - 1) & ~(DEVICE_ALIGN - 1);
    window_bytes = bytes;
    return true;
}

bool emu_space_init(void)
{
    const struct emu_config *config = emu_config();
    size_t part = (config->memory + DEVICE_ALIGN - 1) & ~(DEVICE_ALIGN - 1);
    size_t devices = part * (size_t)config->visible_count;

    foreign_bytes = FOREIGN_MOST;
    while (!map_windows(devices + foreign_bytes)) {
        foreign_bytes /= 2;
        if (foreign_bytes < FOREIGN_LEAST) {
            emu_say("no address space for two windows of %zu bytes", devices + foreign_bytes);
            return false;
        }
    }
    foreign = window + devices;
    for (int i = 0; i < config->visible_count; i++) {
        emu_devices[i].card = config->visible[i];
        emu_devices[i].memfd = -1;
        emu_devices[i].base = window + part * (size_t)i;
    }
    return true;
}

bool emu_space_visible(uintptr_t address)
{
    return window != 0 && address >= window && address < window + window_bytes;
}

void *emu_space_alias(uintptr_t address)
{
    if (!emu_space_visible(address))
        return (void *)address;
    return (void *)(address - window + alias);
}

size_t emu_space_offset(uintptr_t address)
{
    for (int i = emu_visible_count() - 1; i >= 0; i--) {
        if (address >= emu_devices[i].base)
            return address - emu_devices[i].base;
    }
    return 0;
}

bool emu_space_back(uintptr_t base, size_t size, int fd, size_t offset)
{
    void *at = emu_space_alias(base);

    if (mmap(at, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, fd, (off_t)offset) != at)
        return false;
    madvise(at, size, MADV_DONTFORK);
    return true;
}

void emu_space_unback(uintptr_t base, size_t size)
{
    void *at = emu_space_alias(base);

    if (mmap(at, size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0) ==
        at)
        madvise(at, size, MADV_DONTFORK);
}

bool emu_space_ready(int device)
{
    struct emu_device *d = &emu_devices[device];
    size_t size = emu_config()->memory;

    if (d->memfd >= 0)
        return true;
    d->memfd = memfd_create("cuda_emu_device", MFD_CLOEXEC);
    /* Behind the bytes: ipc.c's table of live handles. All of it is sparse. */
    if (d->memfd < 0 || ftruncate(d->memfd, (off_t)(size + size / 512 * 8)) != 0 ||
        !emu_space_back(d->base, size, d->memfd, 0)) {
        emu_say("no memory behind device %d (%zu bytes)", device, size);
        if (d->memfd >= 0)
            close(d->memfd);
        d->memfd = -1;
        return false;
    }
    return true;
}

/* Index of the first allocation that begins after `address`. */
static size_t after(uintptr_t address)
{
    size_t low = 0, high = alloc_count;

    while (low < high) {
        size_t middle = low + (high - low) / 2;

        if (allocs[middle]->base <= address)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

struct emu_alloc *emu_space_find(uintptr_t address)
{
    size_t i = after(address);

    if (i == 0 || address - allocs[i - 1]->base >= allocs[i - 1]->size)
        return NULL;
    return allocs[i - 1];
}

struct emu_alloc *emu_space_next(uintptr_t address)
{
    size_t i = after(address);

    return i == alloc_count ? NULL : allocs[i];
}

struct emu_alloc *emu_space_add(const struct emu_alloc *wanted)
{
    struct emu_alloc *copy;
    size_t i = after(wanted->base);

    if (alloc_count == alloc_room) {
        size_t room = alloc_room == 0 ? 64 : 2 * alloc_room;
        struct emu_alloc **bigger = realloc(allocs, room * sizeof(struct emu_alloc *));

        if (bigger == NULL)
            return NULL;
        allocs = bigger;
        alloc_room = room;
    }
    copy = malloc(sizeof(*copy));
    if (copy == NULL)
        return NULL;
    *copy = *wanted;
    memmove(&allocs[i + 1], &allocs[i], (alloc_count - i) * sizeof(struct emu_alloc *));
    allocs[i] = copy;
    alloc_count++;
    return copy;
}

void emu_space_remove(struct emu_alloc *alloc)
{
    size_t i = after(alloc->base) - 1;

    memmove(&allocs[i], &allocs[i + 1], (alloc_count - i - 1) * sizeof(struct emu_alloc *));
    alloc_count--;
    free(alloc);
}

static uintptr_t align_up(uintptr_t value, size_t align)
{
    return (value + align - 1) & ~(uintptr_t)(align - 1);
}

uintptr_t emu_space_take(int device, size_t size, size_t align)
{
    struct emu_device *d = &emu_devices[device];
    uintptr_t at = d->base, end = d->base + emu_config()->memory;
    size_t i = d->base == 0 ? 0 : after(d->base - 1);

    if (size > emu_config()->memory - d->used)
        return 0;
    /* First fit from below: an address that has been freed is soon used again, as CUDA's are. */
    for (; i < alloc_count && allocs[i]->base < end; i++) {
        if (allocs[i]->base - at >= size && at <= allocs[i]->base)
            break;
        at = align_up(allocs[i]->base + allocs[i]->size, align);
    }
    if (at > end || end - at < size)
        return 0;
    d->used += size;
    if (d->used > d->used_high)
        d->used_high = d->used;
    return at;
}

void emu_space_give(int device, uintptr_t base, size_t size)
{
    struct emu_device *d = &emu_devices[device];
    uintptr_t first = align_up(base, EMU_PAGE), last = (base + size) & ~(EMU_PAGE - 1);

    d->used -= size;
    if (last > first)
        fallocate(d->memfd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, (off_t)(first - d->base),
                  (off_t)(last - first));
}

/* Index of the first span that begins at or after `address`. */
static size_t span_at(uintptr_t address)
{
    size_t i = 0;

    while (i < span_count && spans[i].base < address)
        i++;
    return i;
}

static bool span_insert(size_t i, uintptr_t base, size_t size)
{
    if (span_count == span_room) {
        size_t room = span_room == 0 ? 64 : 2 * span_room;
        struct span *bigger = realloc(spans, room * sizeof(*spans));

        if (bigger == NULL)
            return false;
        spans = bigger;
        span_room = room;
    }
    memmove(&spans[i + 1], &spans[i], (span_count - i) * sizeof(*spans));
    spans[i] = (struct span){base, size};
    span_count++;
    return true;
}

static bool span_free(uintptr_t base, size_t size)
{
    size_t i = span_at(base);

    if (base < foreign || base - window > window_bytes - size)
        return false;
    if (i < span_count && spans[i].base < base + size)
        return false;
    return i == 0 || spans[i - 1].base + spans[i - 1].size <= base;
}

uintptr_t emu_space_reserve(size_t size, size_t align, uintptr_t hint)
{
    uintptr_t at = foreign;

    if (size > foreign_bytes)
        return 0;
    if (hint != 0 && hint % align == 0 && emu_space_visible(hint) && span_free(hint, size))
        return span_insert(span_at(hint), hint, size) ? hint : 0;
    for (size_t i = 0; i < span_count; i++) {
        if (at <= spans[i].base && spans[i].base - at >= size)
            break;
        at = align_up(spans[i].base + spans[i].size, align);
    }
    if (at > window + window_bytes || window + window_bytes - at < size)
        return 0;
    return span_insert(span_at(at), at, size) ? at : 0;
}

bool emu_space_unreserve(uintptr_t base, size_t size)
{
    size_t i = span_at(base);

    if (i == span_count || spans[i].base != base || spans[i].size != size)
        return false;
    memmove(&spans[i], &spans[i + 1], (span_count - i - 1) * sizeof(*spans));
    span_count--;
    return true;
}

bool emu_space_reserved(uintptr_t base, size_t size)
{
    size_t i = span_at(base + 1);

    return i > 0 && base - spans[i - 1].base < spans[i - 1].size &&
           size <= spans[i - 1].size - (base - spans[i - 1].base);
}
