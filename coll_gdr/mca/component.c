/* The component: what Open MPI finds in mca_coll_gdr.so. */
#include "mca/gdr_mca.h"
#include "mca/host_memory.h"

#include "device/gdr_device.h"

#include <dlfcn.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

gdr_mca_state_t gdr_mca;

static int component_register(void);
static int component_open(void);
static int component_close(void);
static int init_query(bool progress_threads, bool mpi_threads);

gdr_ompi_coll_component_t mca_coll_gdr_component = {
    .collm_version =
        {
            GDR_OMPI_COLL_VERSION,
            .mca_component_name = "gdr",
            MCA_BASE_MAKE_VERSION(component, GDR_VERSION_MAJOR, GDR_VERSION_MINOR,
                                  GDR_VERSION_RELEASE),
            .mca_open_component = component_open,
            .mca_close_component = component_close,
            .mca_register_component_params = component_register,
        },
    .collm_data = {.param_field = MCA_BASE_METADATA_PARAM_NONE},
    .collm_init_query = init_query,
    .collm_comm_query = mca_coll_gdr_comm_query,
};

static void emit(void *ctx, gdr_log_level_t level, const char *message)
{
    static const char *const names[] = {"error", "warning", "info", "debug", "trace"};

    (void)ctx;
    /* Before MPI_Init has found out the rank, it is unknown here too. */
    if (OPAL_PROC_MY_NAME.vpid != OPAL_VPID_INVALID)
        opal_output(0, "coll/gdr rank %u: %s: %s", (unsigned)OPAL_PROC_MY_NAME.vpid, names[level],
                    message);
    else
        opal_output(0, "coll/gdr: %s: %s", names[level], message);
}

static void find_plugin_file(void)
{
    Dl_info info;

    if (dladdr(&mca_coll_gdr_component, &info) != 0 && info.dli_fname != NULL &&
        strlen(info.dli_fname) < sizeof(gdr_mca.plugin_file))
        strcpy(gdr_mca.plugin_file, info.dli_fname);
}

static bool asked_by_name(void)
{
    const char *list = getenv("OMPI_MCA_coll");

    return list != NULL && list[0] != '^' && strstr(list, "gdr") != NULL;
}

/*
 * Touches nothing of that Open MPI but the function that prints. One process of a job speaks; all
 * where the job will end, lest the first that ends takes that one with it.
 */
static void say_foreign(char *version)
{
    const char *rank = getenv("OMPI_COMM_WORLD_RANK");

    if (rank != NULL && strcmp(rank, "0") != 0 && !asked_by_name())
        return;
    version[strcspn(version, ",\n")] = '\0';
    opal_output(0,
                "coll/gdr: built for Open MPI %d.%d.%d, but this is %s: not used; build it against "
                "this one",
                OMPI_MAJOR_VERSION, OMPI_MINOR_VERSION, OMPI_RELEASE_VERSION, version);
}

/*
 * Structures shift between patch releases without a sign of it: the running Open MPI must be
 * the one that this file was compiled for.
 */
static bool same_ompi(void)
{
    char version[MPI_MAX_LIBRARY_VERSION_STRING] = "";
    int length = 0, major = -1, minor = -1, release = -1;

    MPI_Get_library_version(version, &length);
    if (sscanf(version, "Open MPI v%d.%d.%d", &major, &minor, &release) == 3 &&
        major == OMPI_MAJOR_VERSION && minor == OMPI_MINOR_VERSION &&
        release == OMPI_RELEASE_VERSION &&
        ompi_coll_base_nbc_request_t_class.cls_sizeof == sizeof(ompi_coll_base_nbc_request_t) &&
        mca_coll_base_module_t_class.cls_sizeof == sizeof(mca_coll_base_module_t))
        return true;
    say_foreign(version);
    return false;
}

bool gdr_mca_has_help(void)
{
    return access(GDR_HELPDIR "/help-mpi-coll-gdr.txt", R_OK) == 0;
}

static int component_register(void)
{
    int rc;

    gdr_mca.log = (gdr_log_t){.level = GDR_LOG_WARN, .emit = emit};
    atomic_store(&gdr_mca.counters.last_path, gdr_path_none);
    if (!same_ompi())
        return OMPI_ERR_NOT_AVAILABLE;
    find_plugin_file();
    if (gdr_mca_has_help())
        opal_show_help_add_dir(GDR_HELPDIR);
    rc = gdr_params_register(&gdr_mca.params);
    if (rc != OMPI_SUCCESS)
        return rc;
    rc = gdr_pvars_register();
    if (rc != OMPI_SUCCESS)
        return rc;
    return gdr_providers_ensure();
}

static int component_open(void)
{
    gdr_host_memory_init();
    return gdr_facts_publish();
}

static int component_close(void)
{
    gdr_mca_shutdown();
    gdr_device_unwatch();
    return OMPI_SUCCESS;
}

/* Where threads may ask at the same time the object cannot be moved under them. */
static void watch_loads(void)
{
    char path[PATH_MAX];

    for (int i = 0; gdr_mca_place(i, "gdr_watch.so", path, sizeof(path)); i++)
        if (gdr_device_watch(path))
            return;
}

static int init_query(bool progress_threads, bool mpi_threads)
{
    (void)progress_threads;
    if (!mpi_threads)
        watch_loads();
    gdr_mca.params.engine.thread_multiple = mpi_threads;
    return OMPI_SUCCESS;
}
