/*
 * Opens UCX and the glue at the first device call. The order matters: two copies of UCX in
 * one process do not live together, so one that is there already is taken as it is.
 */
#include "mca/gdr_mca.h"

#include "device/gdr_device.h"
#include "ucx_glue/gdr_ucx.h"

#include <dlfcn.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define UCX_SONAME   "libucp.so.0"
#define LIBRARY_PATH "LD_LIBRARY_PATH (mpirun -x LD_LIBRARY_PATH)"

static const char *reason_of_dl(void)
{
    const char *text = dlerror();

    return text == NULL ? "no reason given" : text;
}

/* The handle of a libucp; *loaded: it was in the process before. */
static void *open_ucp(bool *loaded)
{
    const char *wanted = gdr_mca.params.ucx_lib;
    void *handle = dlopen(UCX_SONAME, RTLD_NOW | RTLD_NOLOAD);

    *loaded = handle != NULL;
    if (handle != NULL)
        return handle;
    if (wanted[0] == '\0')
        wanted = UCX_SONAME;
    handle = dlopen(wanted, RTLD_NOW | RTLD_LOCAL);
    if (handle == NULL)
        gdr_warn(&gdr_mca.log,
                 "cannot open UCX: %s: name it with coll_gdr_ucx_lib, or put its directory first "
                 "in " LIBRARY_PATH,
                 reason_of_dl());
    return handle;
}

/* The function's address as a pointer to a function: ISO C has no cast for it. */
static void find_function(void *handle, const char *name, void *function, size_t size)
{
    void *symbol = dlsym(handle, name);

    memcpy(function, &symbol, size);
}

static void say_too_old(void *function, bool loaded, const unsigned version[3])
{
    Dl_info info;
    const char *file = UCX_SONAME;
    char *text = NULL;

    if (dladdr(function, &info) != 0 && info.dli_fname != NULL)
        file = info.dli_fname;
    if (loaded && gdr_mca_has_help())
        text = opal_show_help_string("help-mpi-coll-gdr.txt", "ucx-too-old-so-staged", true, file,
                                     version[0], version[1], version[2], GDR_UCX_MIN_MAJOR,
                                     GDR_UCX_MIN_MINOR);
    if (text != NULL)
        opal_output(0, "%s", text);
    else
        gdr_warn(&gdr_mca.log, "%s is UCX %u.%u.%u, at least %u.%u is needed%s", file, version[0],
                 version[1], version[2], GDR_UCX_MIN_MAJOR, GDR_UCX_MIN_MINOR,
                 loaded ? "; it was in the process before coll_gdr_ucx_lib is looked at: put the "
                          "directory of a newer one first in " LIBRARY_PATH
                        : ": name a newer one with coll_gdr_ucx_lib, or put its directory first "
                          "in " LIBRARY_PATH);
    free(text);
}

static bool new_enough(void *handle, bool loaded)
{
    void (*get_version)(unsigned *, unsigned *, unsigned *);
    unsigned version[3] = {0};
    void *address;

    find_function(handle, "ucp_get_version", &get_version, sizeof(get_version));
    if (get_version == NULL) {
        gdr_warn(&gdr_mca.log, "what was opened as UCX has no ucp_get_version");
        return false;
    }
    get_version(&version[0], &version[1], &version[2]);
    if (version[0] > GDR_UCX_MIN_MAJOR ||
        (version[0] == GDR_UCX_MIN_MAJOR && version[1] >= GDR_UCX_MIN_MINOR)) {
        gdr_debug(&gdr_mca.log, "UCX %u.%u.%u%s", version[0], version[1], version[2],
                  loaded ? ", which was in the process" : "");
        return true;
    }
    memcpy(&address, &get_version, sizeof(address));
    say_too_old(address, loaded, version);
    return false;
}

static void *open_glue(void)
{
    char path[PATH_MAX], why[512] = "";

    for (int i = 0; gdr_mca_place(i, "gdr_ucx.so", path, sizeof(path)); i++) {
        void *handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);

        if (handle != NULL) {
            gdr_debug(&gdr_mca.log, "glue: %s", path);
            return handle;
        }
        if (access(path, R_OK) == 0)
            snprintf(why, sizeof(why), "%s", reason_of_dl());
    }
    gdr_warn(&gdr_mca.log, "cannot open gdr_ucx.so: %s",
             why[0] == '\0' ? "not found beside the plugin nor in " GDR_GLUEDIR : why);
    return NULL;
}

gdr_status_t gdr_mca_open_net(void *ctx, const gdr_net_ops_t **ops, gdr_net_t **net)
{
    static const gdr_ucx_device_t device = {gdr_device_owner, gdr_device_home,  gdr_device_enter,
                                            gdr_device_leave, gdr_device_quiet, gdr_device_loud};
    static const gdr_ucx_params_t params = {.abi = GDR_UCX_ABI, .device = &device};
    gdr_ucx_open_t open_function = NULL;
    bool loaded = false;
    void *ucp = open_ucp(&loaded);
    void *glue;

    (void)ctx;
    if (ucp == NULL)
        return GDR_ERR_UNSUPPORTED;
    if (!new_enough(ucp, loaded))
        return GDR_ERR_VERSION;
    glue = open_glue();
    if (glue == NULL)
        return GDR_ERR_UNSUPPORTED;
    find_function(glue, GDR_UCX_OPEN_NAME, &open_function, sizeof(open_function));
    if (open_function == NULL) {
        gdr_warn(&gdr_mca.log, "gdr_ucx.so has no " GDR_UCX_OPEN_NAME);
        return GDR_ERR_VERSION;
    }
    /* Neither is ever closed: UCX leaves threads and patched functions behind. */
    return open_function(&params, &gdr_mca.log, ops, net);
}
