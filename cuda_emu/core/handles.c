/*
 * Which pointers are live handles. An open-addressed table, because a stale handle points to freed
 * memory: it must be recognised without looking at what it points to.
 */
#include "cuda_emu/core/emu.h"

struct entry {
    uintptr_t handle; /* 0: free, 1: was used */
    enum emu_type type;
};

static struct entry *table;
static size_t capacity, used;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static size_t slot_of(uintptr_t handle, size_t size)
{
    return (handle >> 4) * UINT64_C(0x9e3779b97f4a7c15) >> 17 & (size - 1);
}

static struct entry *find(uintptr_t handle)
{
    if (capacity == 0)
        return NULL;
    for (size_t i = slot_of(handle, capacity);; i = (i + 1) & (capacity - 1)) {
        if (table[i].handle == handle)
            return &table[i];
        if (table[i].handle == 0)
            return NULL;
    }
}

static void insert(struct entry *into, size_t size, struct entry entry)
{
    size_t i = slot_of(entry.handle, size);

    while (into[i].handle > 1)
        i = (i + 1) & (size - 1);
    into[i] = entry;
}

/* Keeps the table at most half full, dead entries included. */
static bool make_room(void)
{
    size_t size = capacity == 0 ? 256 : capacity * 2;
    struct entry *bigger;

    if (2 * (used + 1) <= capacity)
        return true;
    bigger = calloc(size, sizeof(*bigger));
    if (bigger == NULL)
        return false;
    used = 0;
    for (size_t i = 0; i < capacity; i++) {
        if (table[i].handle > 1) {
            insert(bigger, size, table[i]);
            used++;
        }
    }
    free(table);
    table = bigger;
    capacity = size;
    return true;
}

bool emu_handle_add(const void *handle, enum emu_type type)
{
    struct entry *old;
    bool ok;

    pthread_mutex_lock(&lock);
    ok = make_room();
    if (ok) {
        old = find((uintptr_t)handle);
        if (old != NULL) {
            old->type = type;
        } else {
            insert(table, capacity, (struct entry){(uintptr_t)handle, type});
            used++;
        }
    }
    pthread_mutex_unlock(&lock);
    return ok;
}

void emu_handle_remove(const void *handle)
{
    struct entry *entry;

    pthread_mutex_lock(&lock);
    entry = find((uintptr_t)handle);
    if (entry != NULL)
        entry->handle = 1;
    pthread_mutex_unlock(&lock);
}

bool emu_handle_is(const void *handle, enum emu_type type)
{
    struct entry *entry;
    bool is;

    if ((uintptr_t)handle <= 1)
        return false;
    pthread_mutex_lock(&lock);
    entry = find((uintptr_t)handle);
    is = entry != NULL && entry->type == type;
    pthread_mutex_unlock(&lock);
    return is;
}
