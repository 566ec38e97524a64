/*
 * Everything that differs between releases of Open MPI, and the order in which its headers must be
 * included. Include this before any other header of Open MPI.
 */
#ifndef GDR_OMPI_COMPAT_H
#define GDR_OMPI_COMPAT_H

#include <stdbool.h>
#include <stddef.h> /* ompi_datatype_internal.h needs it and does not say so */

#include "ompi_config.h"

#include <stdio.h>

#include "mpi.h"

#include "ompi/communicator/communicator.h"
#include "ompi/datatype/ompi_datatype.h"
#include "ompi/group/group.h"
#include "ompi/mca/coll/base/base.h"
#include "ompi/mca/coll/base/coll_base_util.h"
#include "ompi/mca/coll/coll.h"
#include "ompi/mca/pml/pml.h"
#include "ompi/proc/proc.h"
#include "ompi/request/request.h"
#include "ompi/runtime/mpiruntime.h"
#include "opal/mca/base/base.h"
#include "opal/mca/base/mca_base_pvar.h"
#include "opal/runtime/opal_params.h"
#include "opal/runtime/opal_progress.h"
#include "opal/util/info.h"
#include "opal/util/show_help.h"

#if OMPI_MAJOR_VERSION == 4 && OMPI_MINOR_VERSION == 1
#include "opal/mca/pmix/pmix.h"

#define GDR_OMPI_COLL_VERSION MCA_COLL_BASE_VERSION_2_0_0
#define GDR_OMPI_COPY_LAST , MPI_Comm duplicate __attribute__((unused))
typedef mca_coll_base_component_2_0_0_t gdr_ompi_coll_component_t;

/* The value of an info key, cut to size - 1 characters; false if there is none. */
static inline bool gdr_ompi_info_get(opal_info_t *info, const char *key, char *value, int size)
{
    int found = 0;

    return opal_info_get(info, key, size - 1, value, &found) == OPAL_SUCCESS && found;
}

/* Number of a communicator, equal on its members and unique among live ones. */
static inline uint64_t gdr_ompi_comm_id(const struct ompi_communicator_t *comm)
{
    return comm->c_contextid;
}

/* Publishes bytes under a key for every process of the job; before the modex fence. */
static inline int gdr_ompi_publish(const char *key, const void *bytes, size_t size)
{
    int rc;

    OPAL_MODEX_SEND_STRING(rc, OPAL_PMIX_GLOBAL, (char *)(uintptr_t)key, bytes, size);
    return rc;
}

/* What `name` has published, or an error if it has not; *bytes is the caller's to free(). */
static inline int gdr_ompi_read(const char *key, const opal_process_name_t *name, void **bytes,
                                size_t *size)
{
    uint8_t *data = NULL;
    int rc;

    OPAL_MODEX_RECV_STRING(rc, key, name, &data, size);
    *bytes = data;
    return rc;
}
/* Whether there is a job to publish to: not so in ompi_info. */
static inline bool gdr_ompi_can_publish(void)
{
    return opal_pmix.put != NULL;
}

/* Whether the communicator descends from MPI_COMM_WORLD, equal on its members: messages on
 * MPI_COMM_WORLD are sure to reach them. Not so of one that was made from a Session. */
static inline bool gdr_ompi_of_world(const struct ompi_communicator_t *comm)
{
    (void)comm;
    return true;
}

#elif OMPI_MAJOR_VERSION == 5 && OMPI_MINOR_VERSION == 0
#include "opal/mca/pmix/pmix-internal.h"

#define GDR_OMPI_COLL_VERSION MCA_COLL_BASE_VERSION_2_4_0
#define GDR_OMPI_COPY_LAST
typedef mca_coll_base_component_2_4_0_t gdr_ompi_coll_component_t;

static inline bool gdr_ompi_info_get(opal_info_t *info, const char *key, char *value, int size)
{
    opal_cstring_t *found = NULL;
    int is_there = 0;

    if (opal_info_get(info, key, &found, &is_there) != OPAL_SUCCESS || !is_there)
        return false;
    snprintf(value, (size_t)size, "%s", found->string);
    OBJ_RELEASE(found);
    return true;
}

/* 128 bits, of which only communicators made from a group use the upper ones. */
static inline uint64_t gdr_ompi_comm_id(const struct ompi_communicator_t *comm)
{
    uint64_t high = comm->c_contextid.cid_base * UINT64_C(0x9e3779b97f4a7c15);

    return comm->c_contextid.cid_sub.u64 ^ (high ^ high >> 32);
}

static inline bool gdr_ompi_can_publish(void)
{
    return PMIx_Initialized();
}

static inline int gdr_ompi_publish(const char *key, const void *bytes, size_t size)
{
    int rc;

    OPAL_MODEX_SEND_STRING(rc, PMIX_GLOBAL, key, (void *)(uintptr_t)bytes, size);
    return rc == PMIX_SUCCESS ? OMPI_SUCCESS : OMPI_ERROR;
}

static inline int gdr_ompi_read(const char *key, const opal_process_name_t *name, void **bytes,
                                size_t *size)
{
    uint8_t *data = NULL;
    int rc;

    OPAL_MODEX_RECV_STRING(rc, key, name, &data, size);
    *bytes = data;
    return rc == PMIX_SUCCESS ? OMPI_SUCCESS : OMPI_ERR_NOT_FOUND;
}

static inline bool gdr_ompi_of_world(const struct ompi_communicator_t *comm)
{
    /* Afterwards a Session may lie where the instance of MPI_COMM_WORLD has been. */
    return comm->instance == ompi_mpi_comm_world.comm.instance &&
           ompi_mpi_state < OMPI_MPI_STATE_FINALIZE_PAST_COMM_SELF_DESTRUCT;
}
#else
#error "coll/gdr is written against Open MPI 4.1 and 5.0"
#endif

/*
 * Takes a reference to a communicator, for a call that may outlive its handle; OBJ_RELEASE ends it.
 * An inter-communicator whose number is below its parent's holds one more by itself, so that
 * MPI_Finalize may free both in any order, and MPI_Comm_free then releases it until nobody holds it
 * any more: also references of others. That one is taken over.
 */
static inline void gdr_ompi_comm_retain(struct ompi_communicator_t *comm)
{
    if (OMPI_COMM_IS_EXTRA_RETAIN(comm))
        comm->c_flags &= ~(uint32_t)OMPI_COMM_EXTRA_RETAIN;
    else
        OBJ_RETAIN(comm);
}

/* Whether it takes device buffers itself. */
static inline bool gdr_ompi_cuda_aware(void)
{
    return opal_cuda_support;
}

/* Open MPI's configuration header has defined its own; nobody here may take them for ours. */
#undef PACKAGE_NAME
#undef PACKAGE_STRING
#undef PACKAGE_TARNAME
#undef PACKAGE_URL
#undef PACKAGE_VERSION
#undef PACKAGE_BUGREPORT

#endif
