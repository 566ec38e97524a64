#include "mca/gdr_mca.h"

#include "plan/gdr_plan.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* What Open MPI stores for us; strings where a bad value should get our own one line. */
static struct {
    char *algorithm, *chunk_size, *window_size, *ucx_lib, *staging, *flags, *stream_waits;
    char *timeout, *collectives, *mixed, *lane_size, *large_lane, *node_size, *tuning, *mapped;
} raw;

typedef struct choice {
    const char *name;
    int value;
} choice_t;

static const choice_t staging_choices[] = {{"allow", GDR_STAGING_ALLOW},
                                           {"warn", GDR_STAGING_WARN},
                                           {"error", GDR_STAGING_ERROR},
                                           {NULL, 0}};
static const choice_t collectives_choices[] = {{"auto", GDR_COLLECTIVES_AUTO},
                                               {"stage", GDR_COLLECTIVES_STAGE},
                                               {"pass", GDR_COLLECTIVES_PASS},
                                               {NULL, 0}};
static const choice_t mode_choices[] = {
    {"auto", GDR_MODE_AUTO}, {"on", GDR_MODE_ON}, {"off", GDR_MODE_OFF}, {NULL, 0}};
static const choice_t mixed_choices[] = {{"on", true}, {"off", false}, {NULL, 0}};
static const choice_t flags_choices[] = {
    {"auto", GDR_FLAGS_AUTO}, {"device", GDR_FLAGS_DEVICE}, {"host", GDR_FLAGS_HOST}, {NULL, 0}};

static void reject(const char *name, const char *value, const char *why, const char *taken)
{
    gdr_error(&gdr_mca.log, "coll_gdr_%s=%s: %s; taking the default, %s", name, value, why, taken);
}

static int choose(const char *name, const char *value, const choice_t *choices, int standard)
{
    const char *standard_name = "";
    char names[64] = "";

    for (const choice_t *c = choices; c->name != NULL; c++) {
        if (value != NULL && strcmp(value, c->name) == 0)
            return c->value;
        if (c->value == standard)
            standard_name = c->name;
        strncat(names, c == choices ? "" : ", ", sizeof(names) - strlen(names) - 1);
        strncat(names, c->name, sizeof(names) - strlen(names) - 1);
    }
    if (value != NULL) {
        char why[96];

        snprintf(why, sizeof(why), "not one of %s", names);
        reject(name, value, why, standard_name);
    }
    return standard;
}

static int unit_shift(const char *unit)
{
    static const char *const units[] = {"", "k", "m", "g"};

    for (int i = 0; i < 4; i++)
        if (tolower((unsigned char)unit[0]) == units[i][0] && (i == 0 || unit[1] == '\0'))
            return 10 * i;
    return -1;
}

/* "4096", "64k", "8M", "1G" into *out; a text that says what is wrong, or NULL. */
static const char *parse_size(const char *text, uint64_t low, uint64_t high, uint64_t *out)
{
    char *end;
    unsigned long long number;
    int shift;

    if (!isdigit((unsigned char)text[0]))
        return text[0] == '-' ? "negative" : "not a number";
    errno = 0;
    number = strtoull(text, &end, 10);
    shift = unit_shift(end);
    if (shift < 0)
        return "not a number (digits, then nothing, k, m or g)";
    if (errno == ERANGE || number > UINT64_MAX >> shift || number << shift > high)
        return "too large";
    if (number << shift < low)
        return "too small";
    *out = number << shift;
    return NULL;
}

static void take_size(const char *name, const char *text, uint64_t low, uint64_t high,
                      const char *standard, uint64_t *out)
{
    const char *why = text == NULL ? "not set" : parse_size(text, low, high, out);

    if (why != NULL)
        reject(name, text == NULL ? "" : text, why, standard);
}

static int register_var(const char *name, const char *help, mca_base_var_type_t type,
                        mca_base_var_info_lvl_t level, mca_base_var_scope_t scope, void *storage)
{
    bool settable = scope != MCA_BASE_VAR_SCOPE_READONLY;
    int rc = mca_base_component_var_register(
        &mca_coll_gdr_component.collm_version, name, help, type, NULL, 0,
        settable ? MCA_BASE_VAR_FLAG_SETTABLE : 0, level, scope, storage);

    return rc < 0 ? rc : OMPI_SUCCESS;
}

static int register_string(const char *name, const char *help, const char *standard, char **storage)
{
    *storage = (char *)(uintptr_t)standard; /* Open MPI copies it */
    return register_var(name, help, MCA_BASE_VAR_TYPE_STRING, OPAL_INFO_LVL_5,
                        MCA_BASE_VAR_SCOPE_READONLY, storage);
}

static int register_strings(void)
{
    static const struct {
        const char *name, *standard;
        char **storage;
        const char *help;
    } table[] = {
        {"algorithm", "auto", &raw.algorithm,
         "Algorithm of device calls: auto, or a name (oneshot, knomial, twoshot, circulant, ring, "
         "hierarchical); what it cannot serve is staged. Equal on all processes"},
        {"chunk_size", "0", &raw.chunk_size,
         "Upper limit in bytes (k, m, g allowed) of what one step moves; 0 = chosen from the lane. "
         "Equal on all processes"},
        {"window_size", "64m", &raw.window_size,
         "Bytes (k, m, g allowed) of registered device memory per device, 4m to 16g; a "
         "communicator that uses device buffers takes coll_gdr_lane_size of it. Equal on all "
         "processes"},
        {"lane_size", "4m", &raw.lane_size,
         "Bytes (k, m, g allowed) of a window that a communicator uses, 64k to the size of the "
         "window, until its messages need a larger one. Equal on all processes"},
        {"large_lane_size", "0", &raw.large_lane,
         "Bytes (k, m, g allowed) of device memory that a communicator uses, beside the windows, "
         "whose messages are faster with more than coll_gdr_lane_size; at most 4 do on each "
         "device. Not above coll_gdr_lane_size: none does; 0 = a 256th of the device's memory, "
         "rounded down to a power of two, up to 512m. Equal on all processes"},
        {"node_size", "0", &raw.node_size,
         "So many processes count as one node, in the order of their ranks in MPI_COMM_WORLD; 0 = "
         "those on one host"},
        {"tuning_file", "", &raw.tuning,
         "File of figures of the machine by which algorithms are chosen, a name and a value a "
         "line; "
         "docs/tuning.md lists them. Equal on all processes"},
        {"ucx_lib", "", &raw.ucx_lib,
         "File of the libucp to open if the process has none yet (default: the system's)"},
        {"staging", "warn", &raw.staging,
         "Calls on device buffers that the device cannot serve go through host memory: allow "
         "(silently), warn (once per communicator), error (an MPI error instead where all ranks "
         "decide alike: on a communicator whose processes all have this component with the same "
         "parameters; else it is warn)"},
        {"collectives", "auto", &raw.collectives,
         "Collectives other than allreduce on device buffers: stage (through host memory), pass "
         "(to "
         "the next component, which must take device buffers), auto (pass what an Open MPI that is "
         "CUDA-aware can do, stage the rest)"},
        {"flags", "auto", &raw.flags,
         "What announces data to a peer: auto, device (a word in its window), host (a word in its "
         "control page). device makes streams wait, of nonblocking calls, too: a CUDA call that "
         "waits for the device between MPI_Iallreduce and MPI_Wait may then never return"},
        {"stream_waits", "off", &raw.stream_waits,
         "Let CUDA streams wait for flags: off; auto (in blocking calls below MPI_THREAD_MULTIPLE: "
         "saves a kernel launch a step, but calls may never end where this process has more "
         "streams, of any library, than CUDA_DEVICE_MAX_CONNECTIONS, 8 by default); on (also in "
         "other calls: a CUDA call that waits for the device between MPI_Iallreduce and MPI_Wait "
         "may then never return)"},
        {"mapped", "auto", &raw.mapped,
         "Kernels read the windows of other ranks of the node: auto (where UCX, from 1.21, and the "
         "devices can), on (the same, and says so where they cannot), off (all data is put). Equal "
         "on all processes"},
        {"mixed", "on", &raw.mixed,
         "Calls in which some ranks pass host and some device buffers: on (a rank that waits on "
         "the device asks the others), off (the user's promise that there are none: nothing is "
         "asked, and such a call would wait for ever)"},
        {"timeout", "60", &raw.timeout,
         "Seconds without progress after which a call says once what it waits for; 0 = never"},
    };

    for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
        int rc = register_string(table[i].name, table[i].help, table[i].standard, table[i].storage);

        if (rc != OMPI_SUCCESS)
            return rc;
    }
    return OMPI_SUCCESS;
}

static int register_numbers(gdr_params_t *params)
{
    int rc;

    params->priority = 95;
    rc = register_var(
        "priority",
        "Priority of coll/gdr, 0 to 100; 0 = not used. Above 78 it precedes Open MPI's "
        "own handling of device buffers. Equal on all processes. A process that starts with 0 has "
        "Open MPI's own calls for good, the others of its communicators stage, whatever MPI_T sets "
        "later; what MPI_T sets counts for communicators made afterwards and must be set alike on "
        "all",
        MCA_BASE_VAR_TYPE_INT, OPAL_INFO_LVL_3, MCA_BASE_VAR_SCOPE_ALL, &params->priority);
    if (rc != OMPI_SUCCESS)
        return rc;
    params->verbose = 0;
    rc = register_var("verbose",
                      "0 = errors and what a user must know; 1 = devices, connections, "
                      "algorithms; 2 = set-up; 3 and more = every call; -1 = errors only",
                      MCA_BASE_VAR_TYPE_INT, OPAL_INFO_LVL_3, MCA_BASE_VAR_SCOPE_READONLY,
                      &params->verbose);
    if (rc != OMPI_SUCCESS)
        return rc;
    params->reproducible = false;
    rc = register_var("reproducible",
                      "Reduce in rank order, whatever the message's size (algorithm twoshot)",
                      MCA_BASE_VAR_TYPE_BOOL, OPAL_INFO_LVL_5, MCA_BASE_VAR_SCOPE_READONLY,
                      &params->reproducible);
    if (rc != OMPI_SUCCESS)
        return rc;
    params->explain = false;
    return register_var(
        "explain",
        "Print the algorithm of device calls and what was expected of each, once per communicator "
        "and power of two of bytes",
        MCA_BASE_VAR_TYPE_BOOL, OPAL_INFO_LVL_5, MCA_BASE_VAR_SCOPE_READONLY, &params->explain);
}

static bool known_algorithm(const char *name)
{
    if (strcmp(name, "auto") == 0)
        return true;
    for (const gdr_algorithm_t *const *a = gdr_plan_algorithms(); *a != NULL; a++)
        if (strcmp((*a)->name, name) == 0)
            return true;
    return false;
}

static void take_algorithm(gdr_params_t *params)
{
    char *name = params->engine.plan.algorithm;
    const char *wanted = raw.algorithm == NULL ? "auto" : raw.algorithm;

    if (strlen(wanted) >= sizeof(params->engine.plan.algorithm) || !known_algorithm(wanted)) {
        reject("algorithm", wanted, "no such algorithm", "auto");
        wanted = "auto";
    }
    if (params->reproducible) {
        if (strcmp(wanted, "auto") != 0 && strcmp(wanted, "twoshot") != 0)
            gdr_error(&gdr_mca.log,
                      "coll_gdr_algorithm=%s does not reduce in rank order, which "
                      "coll_gdr_reproducible=1 asks for; taking twoshot",
                      wanted);
        wanted = "twoshot";
    }
    strcpy(name, wanted);
}

static void take_timeout(gdr_params_t *params)
{
    uint64_t seconds = 60;

    take_size("timeout", raw.timeout, 0, 1000000000, "60", &seconds);
    params->engine.timeout_ns = seconds * UINT64_C(1000000000);
}

static void take_modes(gdr_params_t *params)
{
    params->staging = choose("staging", raw.staging, staging_choices, GDR_STAGING_WARN);
    params->collectives =
        choose("collectives", raw.collectives, collectives_choices, GDR_COLLECTIVES_AUTO);
    params->engine.flags = choose("flags", raw.flags, flags_choices, GDR_FLAGS_AUTO);
    params->engine.mixed = choose("mixed", raw.mixed, mixed_choices, true);
    params->engine.mapped = choose("mapped", raw.mapped, mode_choices, GDR_MODE_AUTO);
    params->engine.stream_waits =
        choose("stream_waits", raw.stream_waits, mode_choices, GDR_MODE_OFF);
}

int gdr_params_register(gdr_params_t *params)
{
    const char *why;
    int rc = register_numbers(params);

    if (rc == OMPI_SUCCESS)
        rc = register_strings();
    if (rc != OMPI_SUCCESS)
        return rc;
    if (params->verbose > 3)
        params->verbose = 3;
    gdr_mca.log.level = params->verbose < 0 ? GDR_LOG_ERROR : GDR_LOG_WARN + params->verbose;
    if (params->priority < 0 || params->priority > 100) {
        gdr_error(&gdr_mca.log, "coll_gdr_priority=%d: not from 0 to 100; taking the default, 95",
                  params->priority);
        params->priority = 95;
    }

    gdr_engine_config_init(&params->engine);
    take_modes(params);
    take_size("window_size", raw.window_size, UINT64_C(1) << 22, UINT64_C(1) << 34, "64m",
              &params->engine.window_bytes);
    take_size("lane_size", raw.lane_size, UINT64_C(1) << 16, params->engine.window_bytes, "4m",
              &params->engine.plan.lane_bytes);
    take_size("large_lane_size", raw.large_lane, 0, UINT64_C(1) << 34, "0",
              &params->engine.large_lane);
    take_size("node_size", raw.node_size, 0, INT32_MAX, "0", &params->node_size);
    take_size("chunk_size", raw.chunk_size, 0, UINT64_C(1) << 34, "0",
              &params->engine.plan.chunk_size);
    take_timeout(params);
    take_algorithm(params);
    if (raw.tuning != NULL && raw.tuning[0] != '\0')
        gdr_tuning_read(raw.tuning, &params->engine.plan.machine);
    params->ucx_lib = raw.ucx_lib == NULL ? "" : raw.ucx_lib;

    why = gdr_plan_params_error(&params->engine.plan);
    if (why != NULL) {
        gdr_error(&gdr_mca.log, "coll_gdr parameters: %s; taking the defaults of all sizes", why);
        gdr_plan_params_init(&params->engine.plan);
        take_algorithm(params);
    }
    return OMPI_SUCCESS;
}

static uint64_t mix(uint64_t hash, uint64_t value)
{
    return (hash ^ value) * UINT64_C(0x100000001b3);
}

uint64_t gdr_params_hash(const gdr_params_t *params)
{
    const gdr_plan_params_t *plan = &params->engine.plan;
    uint64_t hash = UINT64_C(0xcbf29ce484222325), figure;

    for (const char *c = plan->algorithm; *c != '\0'; c++)
        hash = mix(hash, (unsigned char)*c);
    for (uint32_t i = 0; gdr_machine_figure(&plan->machine, i, &figure) != NULL; i++)
        hash = mix(hash, figure);
    hash = mix(hash, plan->lane_bytes);
    hash = mix(hash, params->engine.large_lane);
    hash = mix(hash, plan->ctl_bytes);
    hash = mix(hash, plan->chunk_size);
    hash = mix(hash, plan->min_chunk);
    hash = mix(hash, plan->depth);
    hash = mix(hash, params->engine.mapped);
    /* One that is an error on one process only would leave the others waiting. */
    hash = mix(hash, params->staging == GDR_STAGING_ERROR);
    return mix(hash, params->engine.window_bytes);
}
