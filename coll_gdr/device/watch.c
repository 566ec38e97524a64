/*
 * The dynamic linker appends what it loads to its list. So while gdr_watch.so, which nobody else
 * holds, is the last of that list, nothing has been loaded since it was opened. (The count that
 * dl_iterate_phdr tells costs a lock: 20 to 40 ns, a tenth of a small host call.)
 */
#include "config.h"

#include "device/driver.h"

#include "device/gdr_device.h"

#include <dlfcn.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

/* While nobody watches: an object that something comes after. */
static struct link_map unwatched = {.l_next = &unwatched};

const struct link_map *_Atomic gdr_device_last = &unwatched;

static struct {
    char *file; /* NULL: not watching */
    void *object;
} watch;

bool gdr_device_watch(const char *file)
{
    void *object = dlopen(file, RTLD_LAZY | RTLD_LOCAL);

    if (object == NULL)
        return false;
    dlclose(object);
    watch.file = strdup(file);
    return watch.file != NULL;
}

void gdr_watch_stop(void)
{
    atomic_store(&gdr_device_last, &unwatched);
    if (watch.object != NULL)
        dlclose(watch.object);
    watch.object = NULL;
}

const void *gdr_watch_move(void)
{
    struct link_map *map;

    gdr_watch_stop();
    if (watch.file == NULL)
        return NULL;
    watch.object = dlopen(watch.file, RTLD_LAZY | RTLD_LOCAL);
    if (watch.object == NULL || dlinfo(watch.object, RTLD_DI_LINKMAP, &map) != 0)
        return NULL;
    return map;
}

void gdr_watch_start(const void *last)
{
    atomic_store(&gdr_device_last, last != NULL ? (const struct link_map *)last : &unwatched);
}

void gdr_device_unwatch(void)
{
    gdr_watch_stop();
    free(watch.file);
    watch.file = NULL;
}
