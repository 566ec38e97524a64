#include "bench_pvar.h"

#include "bench_cuda.h"

#include <mpi.h>
#include <stdio.h>
#include <string.h>

enum { KERNELS, PUTS, PUT_BYTES, STAGED_BYTES, HOST_CALLS, LAST_PATH, VARIABLES };

static const char *const names[VARIABLES] = {"coll_gdr_kernels",    "coll_gdr_puts",
                                             "coll_gdr_put_bytes",  "coll_gdr_staged_bytes",
                                             "coll_gdr_host_calls", "coll_gdr_last_path"};

typedef struct variable {
    MPI_T_pvar_handle handle; /* MPI_T_PVAR_HANDLE_NULL: there is none */
    MPI_Datatype type;
    int count;
} variable_t;

static struct {
    MPI_T_pvar_session session;
    variable_t variables[VARIABLES];
    bool open, found;
} pvars;

static int slot_of(const char *name)
{
    for (int i = 0; i < VARIABLES; i++) {
        if (strcmp(name, names[i]) == 0)
            return i;
    }
    return -1;
}

static void take(int index)
{
    char name[128];
    int name_size = sizeof(name), slot, bind, readonly, continuous, atomic, verbosity, class;
    int description_size = 0;
    MPI_Datatype type;
    MPI_T_enum enumeration;
    MPI_Comm world = MPI_COMM_WORLD;
    variable_t *variable;

    if (MPI_T_pvar_get_info(index, name, &name_size, &verbosity, &class, &type, &enumeration, NULL,
                            &description_size, &bind, &readonly, &continuous,
                            &atomic) != MPI_SUCCESS)
        return;
    slot = slot_of(name);
    if (slot < 0)
        return;
    variable = &pvars.variables[slot];
    if (MPI_T_pvar_handle_alloc(pvars.session, index, bind == MPI_T_BIND_NO_OBJECT ? NULL : &world,
                                &variable->handle, &variable->count) != MPI_SUCCESS) {
        variable->handle = MPI_T_PVAR_HANDLE_NULL;
        return;
    }
    variable->type = type;
    if (!continuous)
        MPI_T_pvar_start(pvars.session, variable->handle);
    pvars.found = true;
}

bool bench_pvar_open(void)
{
    int provided, count = 0;

    for (int i = 0; i < VARIABLES; i++)
        pvars.variables[i].handle = MPI_T_PVAR_HANDLE_NULL;
    if (MPI_T_init_thread(MPI_THREAD_SINGLE, &provided) != MPI_SUCCESS)
        return false;
    pvars.open = MPI_T_pvar_session_create(&pvars.session) == MPI_SUCCESS;
    if (pvars.open && MPI_T_pvar_get_num(&count) == MPI_SUCCESS) {
        for (int i = 0; i < count; i++)
            take(i);
    }
    return pvars.found;
}

void bench_pvar_close(void)
{
    if (pvars.open)
        MPI_T_pvar_session_free(&pvars.session);
    MPI_T_finalize();
}

static uint64_t read_number(int slot)
{
    const variable_t *variable = &pvars.variables[slot];
    union {
        unsigned long long wide;
        unsigned long plain;
        unsigned narrow;
    } value = {0};

    if (variable->handle == MPI_T_PVAR_HANDLE_NULL || variable->count != 1 ||
        MPI_T_pvar_read(pvars.session, variable->handle, &value) != MPI_SUCCESS)
        return 0;
    return variable->type == MPI_UNSIGNED_LONG_LONG ? value.wide
           : variable->type == MPI_UNSIGNED_LONG    ? value.plain
                                                    : value.narrow;
}

/* The emulator sees every byte, gdr's own staging included. */
void bench_pvar_read(bench_counters_t *counters)
{
    counters->kernels = read_number(KERNELS);
    counters->puts = read_number(PUTS);
    counters->put_bytes = read_number(PUT_BYTES);
    counters->host_bytes =
        bench_cuda_emulated() ? bench_cuda_host_bytes() : read_number(STAGED_BYTES);
}

uint64_t bench_pvar_host_calls(void)
{
    return read_number(HOST_CALLS);
}

void bench_counters_add(bench_counters_t *sum, const bench_counters_t *a, const bench_counters_t *b)
{
    sum->kernels += b->kernels - a->kernels;
    sum->puts += b->puts - a->puts;
    sum->put_bytes += b->put_bytes - a->put_bytes;
    sum->host_bytes += b->host_bytes - a->host_bytes;
}

const char *bench_pvar_path(void)
{
    static char path[256];
    const variable_t *variable = &pvars.variables[LAST_PATH];

    if (variable->handle == MPI_T_PVAR_HANDLE_NULL || variable->type != MPI_CHAR ||
        variable->count >= (int)sizeof(path))
        return "?";
    memset(path, 0, sizeof(path));
    if (MPI_T_pvar_read(pvars.session, variable->handle, path) != MPI_SUCCESS || path[0] == '\0')
        return "?";
    return path;
}
