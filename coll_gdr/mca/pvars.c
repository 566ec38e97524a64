/* MPI_T performance variables coll_gdr_*. */
#include "mca/gdr_mca.h"

#include <stdio.h>
#include <string.h>

enum { PATH_CHARS = 64 };

static int get_engine(const struct mca_base_pvar_t *pvar, void *value, void *object)
{
    gdr_engine_t *engine = atomic_load(&gdr_mca.engine);
    gdr_engine_stats_t stats = {0};
    unsigned long long out;
    size_t offset = (size_t)(uintptr_t)pvar->ctx;
    uint64_t counter;

    (void)object;
    if (engine != NULL)
        gdr_engine_stats(engine, &stats);
    memcpy(&counter, (const char *)&stats + offset, sizeof(counter));
    out = counter;
    memcpy(value, &out, sizeof(out));
    return OPAL_SUCCESS;
}

static int get_counter(const struct mca_base_pvar_t *pvar, void *value, void *object)
{
    atomic_uint_fast64_t *counter = pvar->ctx;
    unsigned long long out = atomic_load(counter);

    (void)object;
    memcpy(value, &out, sizeof(out));
    return OPAL_SUCCESS;
}

static int get_host_calls(const struct mca_base_pvar_t *pvar, void *value, void *object)
{
    unsigned long long out = atomic_load(&gdr_mca.counters.host_calls) + gdr_asked_passed();

    (void)pvar;
    (void)object;
    memcpy(value, &out, sizeof(out));
    return OPAL_SUCCESS;
}

/* Calls that gdr_ways_pass() counts leave no trace here; before the first other one there are only
 * such. */
static const char *last_path(void)
{
    const char *path = atomic_load(&gdr_mca.counters.last_path);

    return path == gdr_path_none && gdr_asked_passed() > 0 ? gdr_path_host : path;
}

static int get_path(const struct mca_base_pvar_t *pvar, void *value, void *object)
{
    const char *path = last_path();
    bool device = path != gdr_path_none && path != gdr_path_host && path != gdr_path_staged;

    (void)pvar;
    (void)object;
    memset(value, 0, PATH_CHARS);
    snprintf(value, PATH_CHARS, "%s%s", device ? "gdr/" : "", path);
    return OPAL_SUCCESS;
}

static int path_notify(struct mca_base_pvar_t *pvar, mca_base_pvar_event_t event, void *object,
                       int *count)
{
    (void)pvar;
    (void)object;
    if (event == MCA_BASE_PVAR_HANDLE_BIND)
        *count = PATH_CHARS;
    return OPAL_SUCCESS;
}

static int register_counter(const char *name, const char *help, mca_base_get_value_fn_t get,
                            void *ctx)
{
    int rc = mca_base_component_pvar_register(
        &mca_coll_gdr_component.collm_version, name, help, OPAL_INFO_LVL_4,
        MPI_T_PVAR_CLASS_COUNTER, MCA_BASE_VAR_TYPE_UNSIGNED_LONG_LONG, NULL,
        MCA_BASE_VAR_BIND_NO_OBJECT, MCA_BASE_PVAR_FLAG_READONLY | MCA_BASE_PVAR_FLAG_CONTINUOUS,
        get, NULL, NULL, ctx);

    return rc < 0 ? rc : OMPI_SUCCESS;
}

static int register_engine(void)
{
    static const struct {
        const char *name, *help;
        size_t offset;
    } table[] = {
        {"calls", "Calls completed on the device", offsetof(gdr_engine_stats_t, calls)},
        {"kernels", "Kernels launched", offsetof(gdr_engine_stats_t, kernels)},
        {"puts", "One-sided puts of payload posted", offsetof(gdr_engine_stats_t, puts)},
        {"put_bytes", "Payload bytes of these puts", offsetof(gdr_engine_stats_t, put_bytes)},
        {"pull_bytes", "Payload bytes that kernels read from windows of other ranks",
         offsetof(gdr_engine_stats_t, pull_bytes)},
        {"signals", "Flag and credit words put", offsetof(gdr_engine_stats_t, signals)},
        {"declined", "Calls that the members agreed not to serve on the device",
         offsetof(gdr_engine_stats_t, declined)},
        {"questions", "Questions to processes that a call waited for: which way did you go?",
         offsetof(gdr_engine_stats_t, questions)},
    };

    for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
        int rc = register_counter(table[i].name, table[i].help, get_engine,
                                  (void *)(uintptr_t)table[i].offset);

        if (rc != OMPI_SUCCESS)
            return rc;
    }
    return OMPI_SUCCESS;
}

static int register_own(void)
{
    gdr_mca_counters_t *counters = &gdr_mca.counters;
    const struct {
        const char *name, *help;
        atomic_uint_fast64_t *counter;
    } table[] = {
        {"staged_bytes", "Payload bytes that this component copied between device and host",
         &counters->staged_bytes},
        {"staged_calls", "Calls on device buffers served through host memory",
         &counters->staged_calls},
        {"mixed_calls",
         "Calls on device buffers served in host memory because a buffer of this or another rank "
         "is there, or a rank could not take part on the device",
         &counters->mixed_calls},
    };

    for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
        int rc = register_counter(table[i].name, table[i].help, get_counter, table[i].counter);

        if (rc != OMPI_SUCCESS)
            return rc;
    }
    return register_counter(
        "host_calls",
        "Calls passed on because no buffer was on a device (approximate with threads)",
        get_host_calls, NULL);
}

int gdr_pvars_register(void)
{
    int rc = register_engine();

    if (rc == OMPI_SUCCESS)
        rc = register_own();
    if (rc != OMPI_SUCCESS)
        return rc;
    rc = mca_base_component_pvar_register(
        &mca_coll_gdr_component.collm_version, "last_path",
        "Path of the last call: gdr/ALGORITHM, staged or host", OPAL_INFO_LVL_4,
        MPI_T_PVAR_CLASS_GENERIC, MCA_BASE_VAR_TYPE_STRING, NULL, MCA_BASE_VAR_BIND_NO_OBJECT,
        MCA_BASE_PVAR_FLAG_READONLY | MCA_BASE_PVAR_FLAG_CONTINUOUS, get_path, NULL, path_notify,
        NULL);
    return rc < 0 ? rc : OMPI_SUCCESS;
}
