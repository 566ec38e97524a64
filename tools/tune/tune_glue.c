#include "tools/tune/tune_glue.h"

#include "device/gdr_device.h"
#include "ucx_glue/gdr_ucx.h"

#include <dlfcn.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define UCX_SONAME "libucp.so.0"
#define GLUE       "gdr_ucx.so"

/* Where it is installed, seen from the program, wherever that was moved to; in a build tree; where
 * it was configured to be. False: there are no more. */
static bool place(int number, char *path, size_t size)
{
    static const char *const places[] = {"/../lib/coll_gdr", "/.libs", GDR_GLUEDIR};
    char program[PATH_MAX / 2] = "";
    ssize_t length;
    char *slash;

    if (number >= 3)
        return false;
    if (number < 2) {
        length = readlink("/proc/self/exe", program, sizeof(program) - 1);
        program[length < 0 ? 0 : length] = '\0';
        slash = strrchr(program, '/');
        if (slash != NULL)
            *slash = '\0';
    }
    snprintf(path, size, "%s%s/" GLUE, program, places[number]);
    return true;
}

static void *open_library(const gdr_log_t *log)
{
    char path[PATH_MAX];

    for (int i = 0; place(i, path, sizeof(path)); i++) {
        void *library;

        if (access(path, R_OK) != 0)
            continue;
        library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
        if (library == NULL) /* mostly: a UCX that is too old */
            gdr_error(log,
                      "cannot open " GLUE " with the UCX in LD_LIBRARY_PATH, which must be %d.%d "
                      "or newer: %s",
                      GDR_UCX_MIN_MAJOR, GDR_UCX_MIN_MINOR, dlerror());
        return library;
    }
    gdr_error(log, "there is no " GLUE " beside this program nor in " GDR_GLUEDIR);
    return NULL;
}

int tune_glue_open(const gdr_log_t *log, const gdr_net_ops_t **ops, gdr_net_t **net)
{
    static const gdr_ucx_device_t device = {gdr_device_owner, gdr_device_home,  gdr_device_enter,
                                            gdr_device_leave, gdr_device_quiet, gdr_device_loud};
    static const gdr_ucx_params_t params = {.abi = GDR_UCX_ABI, .device = &device};
    void *library = open_library(log);
    gdr_ucx_open_t open = NULL;

    if (library == NULL)
        return -1;
    *(void **)&open = dlsym(library, GDR_UCX_OPEN_NAME);
    if (open == NULL) {
        gdr_error(log, GLUE " has no " GDR_UCX_OPEN_NAME);
        return -1;
    }
    return open(&params, log, ops, net) == GDR_OK ? 0 : -1;
}

void tune_glue_ucx(char *text, size_t size)
{
    void *library = dlopen(UCX_SONAME, RTLD_LAZY | RTLD_NOLOAD);
    void (*get_version)(unsigned *, unsigned *, unsigned *) = NULL;
    unsigned version[3];

    if (library != NULL)
        *(void **)&get_version = dlsym(library, "ucp_get_version");
    snprintf(text, size, "unknown");
    if (get_version == NULL)
        return;
    get_version(&version[0], &version[1], &version[2]);
    snprintf(text, size, "%u.%u.%u", version[0], version[1], version[2]);
}
