/* Kernel twins: host code of kernels, found by name in the shared objects of CUDA_EMU_TWINS. */
#include "cuda_emu/core/emu.h"

#include <dlfcn.h>
#include <string.h>

#define MAX_OBJECTS 32

static void *objects[MAX_OBJECTS];
static int object_count;
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void open_object(const char *path, bool must)
{
    void *object;

    if (object_count == MAX_OBJECTS) {
        emu_say("CUDA_EMU_TWINS: more than %d shared objects", MAX_OBJECTS);
        return;
    }
    object = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (object != NULL)
        objects[object_count++] = object;
    else if (must)
        emu_say("CUDA_EMU_TWINS: %s", dlerror());
}

static void open_default(void)
{
    char path[4096];
    Dl_info self;
    const char *slash;

    if (dladdr((void *)(uintptr_t)open_default, &self) == 0 || self.dli_fname == NULL)
        return;
    slash = strrchr(self.dli_fname, '/');
    snprintf(path, sizeof(path), "%.*slibgdr_twins.so",
             slash == NULL ? 0 : (int)(slash - self.dli_fname + 1), self.dli_fname);
    open_object(path, false);
}

static void open_objects(void)
{
    const char *list = emu_config()->twins;
    char path[4096];

    if (list == NULL) {
        open_default();
        return;
    }
    while (*list != '\0') {
        size_t length = strcspn(list, ":");

        if (length > 0 && length < sizeof(path)) {
            memcpy(path, list, length);
            path[length] = '\0';
            open_object(path, true);
        }
        list += length + (list[length] == ':');
    }
}

/* C does not promise that a function pointer fits into a void *; POSIX does. */
static bool find_in(void *object, const char *kernel, struct emu_twin *twin)
{
    char name[512];
    void *run;

    snprintf(name, sizeof(name), "cuda_emu_twin_%s", kernel);
    run = dlsym(object, name);
    snprintf(name, sizeof(name), "cuda_emu_twin_%s_args", kernel);
    twin->args = dlsym(object, name);
    if (run == NULL)
        return false;
    if (twin->args == NULL) {
        emu_say("twin of %s: its shared object does not export %s", kernel, name);
        return false;
    }
    memcpy(&twin->run, &run, sizeof(run));
    return true;
}

bool emu_twin_find(const char *kernel, struct emu_twin *twin)
{
    pthread_once(&once, open_objects);
    for (int i = 0; i < object_count; i++) {
        if (find_in(objects[i], kernel, twin))
            return true;
    }
    return false;
}
