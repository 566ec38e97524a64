/*
 * libcuda_emu_peermem.so, preloaded: what the kernel module nvidia-peermem does for a real card. A
 * NIC registers emulated device memory, although the CPU may not touch it: the region that the
 * kernel pins is the emulator's own view of that memory, under the device address. All other memory
 * is registered as it is. Without an emulated driver in the process it does nothing.
 *
 * UCX looks for the driver by a file of /sys: asked for it, access() says that it is there.
 */
#include <infiniband/verbs.h>
#undef ibv_reg_mr
#undef ibv_reg_mr_iova

#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cuda_emu/include/cuda_emu.h"

#define EXPORT      __attribute__((visibility("default")))
#define DRIVER_FILE "/sys/module/nvidia_peermem/version"

typedef void *(*alias_fn)(uint64_t address, size_t bytes);
typedef struct ibv_mr *(*reg_fn)(struct ibv_pd *pd, void *address, size_t bytes, int access);
typedef struct ibv_mr *(*iova_fn)(struct ibv_pd *pd, void *address, size_t bytes, uint64_t iova,
                                  int access);
typedef struct ibv_mr *(*iova2_fn)(struct ibv_pd *pd, void *address, size_t bytes, uint64_t iova,
                                   unsigned access);
typedef int (*dereg_fn)(struct ibv_mr *mr);
typedef int (*access_fn)(const char *path, int mode);

/* A registration of device memory: libibverbs must get back the address that it was given. */
struct region {
    struct region *next;
    struct ibv_mr *mr;
    void *pinned;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct region *regions;
static atomic_ullong device_regions, device_bytes, host_regions, refused;

/* The function behind this one: preloaded libraries come first, and libibverbs may be in the
 * process without being in the global scope. */
static void next_function(const char *name, const char *library, void *function)
{
    void *symbol = dlsym(RTLD_NEXT, name), *handle;

    if (symbol == NULL && library != NULL) {
        handle = dlopen(library, RTLD_LAZY | RTLD_LOCAL);
        symbol = handle == NULL ? NULL : dlsym(handle, name);
    }
    memcpy(function, &symbol, sizeof(symbol));
}

static void verbs_function(const char *name, void *function)
{
    next_function(name, "libibverbs.so.1", function);
}

/* Where the emulator keeps this device memory; NULL: it is not device memory. */
static void *alias_of(const void *address, size_t bytes)
{
    void *driver = dlopen("libcuda.so.1", RTLD_LAZY | RTLD_NOLOAD), *symbol;
    alias_fn alias;

    if (driver == NULL)
        return NULL;
    symbol = dlsym(driver, "cuda_emu_alias");
    dlclose(driver);
    if (symbol == NULL)
        return NULL;
    memcpy(&alias, &symbol, sizeof(alias));
    return alias((uintptr_t)address, bytes);
}

static void remember(struct region *region, struct ibv_mr *mr, void *pinned, void *address)
{
    *region = (struct region){.mr = mr, .pinned = pinned};
    mr->addr = address;
    pthread_mutex_lock(&lock);
    region->next = regions;
    regions = region;
    pthread_mutex_unlock(&lock);
    atomic_fetch_add(&device_regions, 1);
    atomic_fetch_add(&device_bytes, mr->length);
}

static struct ibv_mr *register_pinned(struct ibv_pd *pd, void *pinned, size_t bytes, uint64_t iova,
                                      unsigned access)
{
    iova2_fn iova2;
    iova_fn iova1;

    verbs_function("ibv_reg_mr_iova2", &iova2);
    if (iova2 != NULL)
        return iova2(pd, pinned, bytes, iova, access);
    verbs_function("ibv_reg_mr_iova", &iova1);
    if (iova1 != NULL)
        return iova1(pd, pinned, bytes, iova, (int)access);
    errno = EOPNOTSUPP;
    return NULL;
}

static struct ibv_mr *register_device(struct ibv_pd *pd, void *address, void *pinned, size_t bytes,
                                      uint64_t iova, unsigned access)
{
    struct region *region = malloc(sizeof(*region));
    struct ibv_mr *mr = region == NULL ? NULL : register_pinned(pd, pinned, bytes, iova, access);

    if (mr == NULL) {
        free(region);
        atomic_fetch_add(&refused, 1);
        return NULL;
    }
    remember(region, mr, pinned, address);
    return mr;
}

static struct ibv_mr *count_host(struct ibv_mr *mr)
{
    atomic_fetch_add(mr != NULL ? &host_regions : &refused, 1);
    return mr;
}

static struct ibv_mr *missing(void)
{
    errno = EOPNOTSUPP;
    return NULL;
}

EXPORT struct ibv_mr *ibv_reg_mr(struct ibv_pd *pd, void *address, size_t bytes, int access)
{
    void *pinned = alias_of(address, bytes);
    reg_fn next;

    if (pinned != NULL)
        return register_device(pd, address, pinned, bytes, (uintptr_t)address, (unsigned)access);
    verbs_function(__func__, &next);
    return count_host(next == NULL ? missing() : next(pd, address, bytes, access));
}

EXPORT struct ibv_mr *ibv_reg_mr_iova(struct ibv_pd *pd, void *address, size_t bytes, uint64_t iova,
                                      int access)
{
    void *pinned = alias_of(address, bytes);
    iova_fn next;

    if (pinned != NULL)
        return register_device(pd, address, pinned, bytes, iova, (unsigned)access);
    verbs_function(__func__, &next);
    return count_host(next == NULL ? missing() : next(pd, address, bytes, iova, access));
}

EXPORT struct ibv_mr *ibv_reg_mr_iova2(struct ibv_pd *pd, void *address, size_t bytes,
                                       uint64_t iova, unsigned access)
{
    void *pinned = alias_of(address, bytes);
    iova2_fn next;

    if (pinned != NULL)
        return register_device(pd, address, pinned, bytes, iova, access);
    verbs_function(__func__, &next);
    return count_host(next == NULL ? missing() : next(pd, address, bytes, iova, access));
}

static struct region *forget(const struct ibv_mr *mr)
{
    struct region **link, *found;

    pthread_mutex_lock(&lock);
    for (link = &regions; *link != NULL && (*link)->mr != mr;)
        link = &(*link)->next;
    found = *link;
    if (found != NULL)
        *link = found->next;
    pthread_mutex_unlock(&lock);
    return found;
}

EXPORT int ibv_dereg_mr(struct ibv_mr *mr)
{
    struct region *region = forget(mr);
    dereg_fn next;

    verbs_function(__func__, &next);
    if (region != NULL)
        mr->addr = region->pinned;
    free(region);
    return next == NULL ? EOPNOTSUPP : next(mr);
}

EXPORT int access(const char *path, int mode)
{
    access_fn next;

    if (strcmp(path, DRIVER_FILE) == 0 && (mode & (W_OK | X_OK)) == 0)
        return 0;
    next_function(__func__, NULL, &next);
    return next(path, mode);
}

/* Beside the emulator's own report, for a process that registered anything. */
static void __attribute__((destructor)) report(void)
{
    const char *name = getenv("CUDA_EMU_REPORT");
    char path[4096];
    FILE *file;

    if (name == NULL || name[0] == '\0' || device_regions + host_regions + refused == 0)
        return;
    snprintf(path, sizeof(path), "%s.peermem.%d", name, (int)getpid());
    file = fopen(path, "we");
    if (file == NULL)
        return;
    fprintf(file, "device regions: %llu\ndevice bytes: %llu\nhost regions: %llu\nrefused: %llu\n",
            device_regions, device_bytes, host_regions, refused);
    fclose(file);
}
