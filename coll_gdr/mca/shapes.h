/*
 * The arguments of Open MPI's collectives, by side (GDR_COLLECTIVES in areas.h says which
 * collective has which): parameters, their names, and the way into and out of a gdr_coll_args_t.
 */
#ifndef GDR_SHAPES_H
#define GDR_SHAPES_H

#include "mca/areas.h"
#include "mca/gdr_mca.h"

typedef struct ompi_datatype_t *gdr_dtype_t;
typedef struct ompi_datatype_t *const *gdr_dtypes_t;

/* Send sides: none, of a reduction, one count, lists, lists with types, with far displacements. */
#define PARAMS_NOSEND
#define PARAMS_S0 const void *send,
#define PARAMS_S1 const void *send, int scount, gdr_dtype_t stype,
#define PARAMS_SV const void *send, const int *scounts, const int *sdispls, gdr_dtype_t stype,
#define PARAMS_SW const void *send, const int *scounts, const int *sdispls, gdr_dtypes_t stypes,
#define PARAMS_SF const void *send, const int *scounts, const MPI_Aint *sfar, gdr_dtypes_t stypes,

#define NAMES_NOSEND
#define NAMES_S0 send,
#define NAMES_S1 send, scount, stype,
#define NAMES_SV send, scounts, sdispls, stype,
#define NAMES_SW send, scounts, sdispls, stypes,
#define NAMES_SF send, scounts, sfar, stypes,

#define PUT_BUFFER .buffer = (void *)(uintptr_t)send
#define PUT_NOSEND
#define PUT_S0 .send = {PUT_BUFFER},
#define PUT_S1 .send = {PUT_BUFFER, .count = scount, .type = stype},
#define PUT_SV .send = {PUT_BUFFER, .counts = scounts, .displs = sdispls, .type = stype},
#define PUT_SW .send = {PUT_BUFFER, .counts = scounts, .displs = sdispls, .types = stypes},
#define PUT_SF .send = {PUT_BUFFER, .counts = scounts, .far = sfar, .types = stypes},

#define GET_NOSEND(a)
#define GET_S0(a) (a)->send.buffer,
#define GET_S1(a) (a)->send.buffer, (a)->send.count, (a)->send.type,
#define GET_SV(a) (a)->send.buffer, (a)->send.counts, (a)->send.displs, (a)->send.type,
#define GET_SW(a) (a)->send.buffer, (a)->send.counts, (a)->send.displs, (a)->send.types,
#define GET_SF(a) (a)->send.buffer, (a)->send.counts, (a)->send.far, (a)->send.types,

#define IS_HOST_NOSEND true
#define IS_HOST_S0     gdr_coll_surely_host(send)
#define IS_HOST_S1     IS_HOST_S0
#define IS_HOST_SV     IS_HOST_S0
#define IS_HOST_SW     IS_HOST_S0
#define IS_HOST_SF     IS_HOST_S0

/* Receive sides: as above; RED and REDV describe both buffers of a reduction. */
#define PARAMS_R1   void *recv, int rcount, gdr_dtype_t rtype,
#define PARAMS_RV   void *recv, const int *rcounts, const int *rdispls, gdr_dtype_t rtype,
#define PARAMS_RW   void *recv, const int *rcounts, const int *rdispls, gdr_dtypes_t rtypes,
#define PARAMS_RF   void *recv, const int *rcounts, const MPI_Aint *rfar, gdr_dtypes_t rtypes,
#define PARAMS_RED  void *recv, int rcount, gdr_dtype_t rtype, struct ompi_op_t *op,
#define PARAMS_REDV void *recv, const int *rcounts, gdr_dtype_t rtype, struct ompi_op_t *op,

#define NAMES_R1   recv, rcount, rtype,
#define NAMES_RV   recv, rcounts, rdispls, rtype,
#define NAMES_RW   recv, rcounts, rdispls, rtypes,
#define NAMES_RF   recv, rcounts, rfar, rtypes,
#define NAMES_RED  recv, rcount, rtype, op,
#define NAMES_REDV recv, rcounts, rtype, op,

#define PUT_R1   .recv = {.buffer = recv, .count = rcount, .type = rtype},
#define PUT_RV   .recv = {.buffer = recv, .counts = rcounts, .displs = rdispls, .type = rtype},
#define PUT_RW   .recv = {.buffer = recv, .counts = rcounts, .displs = rdispls, .types = rtypes},
#define PUT_RF   .recv = {.buffer = recv, .counts = rcounts, .far = rfar, .types = rtypes},
#define PUT_RED  .recv = {.buffer = recv, .count = rcount, .type = rtype}, .op = op,
#define PUT_REDV .recv = {.buffer = recv, .counts = rcounts, .type = rtype}, .op = op,

#define GET_R1(a)   (a)->recv.buffer, (a)->recv.count, (a)->recv.type,
#define GET_RV(a)   (a)->recv.buffer, (a)->recv.counts, (a)->recv.displs, (a)->recv.type,
#define GET_RW(a)   (a)->recv.buffer, (a)->recv.counts, (a)->recv.displs, (a)->recv.types,
#define GET_RF(a)   (a)->recv.buffer, (a)->recv.counts, (a)->recv.far, (a)->recv.types,
#define GET_RED(a)  (a)->recv.buffer, (a)->recv.count, (a)->recv.type, (a)->op,
#define GET_REDV(a) (a)->recv.buffer, (a)->recv.counts, (a)->recv.type, (a)->op,

#define PARAMS_ROOT int root,
#define PARAMS_NOROOT
#define NAMES_ROOT root,
#define NAMES_NOROOT
#define PUT_ROOT .root = root,
#define PUT_NOROOT
#define GET_ROOT(a) (a)->root,
#define GET_NOROOT(a)

#endif
