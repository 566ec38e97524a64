/* Preloaded: this Open MPI says that it is the next patch release. */
#include <mpi.h>

#include <stdio.h>

int MPI_Get_library_version(char *version, int *length)
{
    *length = snprintf(version, MPI_MAX_LIBRARY_VERSION_STRING, "Open MPI v%d.%d.%d, package: none",
                       OMPI_MAJOR_VERSION, OMPI_MINOR_VERSION, OMPI_RELEASE_VERSION + 1);
    return MPI_SUCCESS;
}
