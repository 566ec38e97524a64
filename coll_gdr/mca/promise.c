/*
 * mpi_assert_memory_alloc_kinds: a process promises what its buffers on a communicator are. Each
 * process says that for itself, so here it decides only whether the driver is asked what a pointer
 * is; what the other members pass is found out as ever. Only the promise that there is no device
 * memory is worth something: of a device buffer gdr must ask where it lies.
 *
 * It is read at every call that would ask the driver, since it may be taken back: Open MPI's
 * subscriptions to keys stop at names of 27 characters.
 */
#include "mca/gdr_mca.h"
#include "mca/kinds.h"

bool gdr_host_promised(struct ompi_communicator_t *comm)
{
    char value[MPI_MAX_INFO_VAL + 1];
    opal_info_t *info = comm->super.s_info;

    return info != NULL && !opal_list_is_empty(&info->super) &&
           gdr_ompi_info_get(info, "mpi_assert_memory_alloc_kinds", value, sizeof(value)) &&
           gdr_kinds_promise_host(value);
}
