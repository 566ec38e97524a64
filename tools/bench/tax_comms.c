#include "tax_comms.h"

#include "bench_measure.h"

#include <stdio.h>

static const char priority_name[] = "coll_gdr_priority";

/* Exchanges the value of coll_gdr_priority. */
static int exchange_priority(MPI_T_cvar_handle handle, int *value)
{
    int old;

    if (MPI_T_cvar_read(handle, &old) != MPI_SUCCESS ||
        MPI_T_cvar_write(handle, value) != MPI_SUCCESS)
        return -1;
    *value = old;
    return 0;
}

static int duplicate(MPI_T_cvar_handle handle, tax_kind_t kind, MPI_Comm *comm)
{
    int priority = 0, rc = 0;

    if (kind == TAX_WITH)
        return MPI_Comm_dup(MPI_COMM_WORLD, comm) == MPI_SUCCESS ? 0 : -1;
    if (!bench_all(exchange_priority(handle, &priority) == 0))
        return -1;
    rc = MPI_Comm_dup(MPI_COMM_WORLD, comm) == MPI_SUCCESS ? 0 : -1;
    return exchange_priority(handle, &priority) == 0 ? rc : -1;
}

/* The kinds take turns in being the first one made. */
static int duplicate_all(MPI_T_cvar_handle handle, tax_comms_t *comms)
{
    for (int set = 0; set < TAX_SETS; set++) {
        for (int i = 0; i < TAX_KINDS; i++) {
            tax_kind_t kind = (tax_kind_t)((set + i) % TAX_KINDS);

            if (duplicate(handle, kind, &comms->comm[kind][set]) != 0)
                return -1;
        }
    }
    return 0;
}

int tax_comms_open(tax_comms_t *comms, int rank)
{
    MPI_T_cvar_handle handle;
    int index, count, rc;

    for (int kind = 0; kind < TAX_KINDS; kind++)
        for (int set = 0; set < TAX_SETS; set++)
            comms->comm[kind][set] = MPI_COMM_NULL;
    rc = MPI_T_cvar_get_index(priority_name, &index) == MPI_SUCCESS &&
                 MPI_T_cvar_handle_alloc(index, NULL, &handle, &count) == MPI_SUCCESS
             ? 0
             : -1;
    if (!bench_all(rc == 0)) {
        if (rank == 0)
            fprintf(stderr, "gdr_bench: no variable %s: coll/gdr is not in every process\n",
                    priority_name);
        return -1;
    }
    rc = duplicate_all(handle, comms);
    MPI_T_cvar_handle_free(&handle);
    if (!bench_all(rc == 0)) {
        if (rank == 0)
            fprintf(stderr, "gdr_bench: %s cannot be set, or MPI_Comm_dup failed\n", priority_name);
        return -1;
    }
    return 0;
}

void tax_comms_close(tax_comms_t *comms)
{
    for (int kind = 0; kind < TAX_KINDS; kind++)
        for (int set = 0; set < TAX_SETS; set++)
            if (comms->comm[kind][set] != MPI_COMM_NULL)
                MPI_Comm_free(&comms->comm[kind][set]);
}
