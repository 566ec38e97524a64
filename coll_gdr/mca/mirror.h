/*
 * A collective's device buffers, mirrored in host memory: every byte that the call reads or writes
 * has its place at the same distance and alignment, so that lists and types stay what they are.
 */
#ifndef GDR_MIRROR_H
#define GDR_MIRROR_H

#include "mca/areas.h"
#include "mca/gdr_mca.h"
#include "mca/host_block.h"

typedef struct gdr_mirror_side {
    bool on;            /* the buffer is mirrored */
    bool absolute;      /* MPI_BOTTOM: any run of bytes may be anybody's */
    uintptr_t low, end; /* what is mirrored of it: addresses */
    size_t used;        /* bytes of its pieces, without what lies between them */
    ptrdiff_t shift;    /* from an address to its mirror's */
} gdr_mirror_side_t;

typedef struct gdr_mirror {
    gdr_coll_args_t user, host; /* as called, and what the previous component gets */
    gdr_areas_t areas;
    gdr_mirror_side_t send, recv;
    gdr_host_block_t *block;
    int ordinal;     /* of a device */
    uint64_t caller; /* the context that was current when it was looked at, or when the call began:
                      * the copies come after its NULL stream */
} gdr_mirror_t;

/*
 * Looks at the buffers that count on this process; true: at least one is on a device. One question
 * to the driver for each, none without libcuda.
 */
bool gdr_mirror_look(gdr_mirror_t *mirror, gdr_coll_t coll, const gdr_coll_args_t *args,
                     struct ompi_communicator_t *comm);

/* The same from a known place. */
bool gdr_mirror_look_from(gdr_mirror_t *mirror, gdr_coll_t coll, const gdr_coll_args_t *args,
                          const gdr_coll_place_t *place);

/*
 * Takes the memory; an OMPI error code. Only after a look that was true. `entry`: as of
 * gdr_stage_begin(). `sparse`: it will hardly be used.
 */
int gdr_mirror_open(gdr_mirror_t *mirror, bool entry, bool sparse);
/* Copies what is read to the host; done, and behind the NULL stream, when it returns. */
int gdr_mirror_down(gdr_mirror_t *mirror);
/* Copies what was written to the device: typed bytes, never the holes between them. */
int gdr_mirror_up(gdr_mirror_t *mirror);
/* Fit for progress; harmless on one that was not opened. */
void gdr_mirror_close(gdr_mirror_t *mirror);

/* This process's place in a call. */
void gdr_coll_find_place(gdr_coll_t coll, const gdr_coll_args_t *args,
                         struct ompi_communicator_t *comm, gdr_coll_place_t *place);

#endif
