#include "mca/mirror.h"

#include "device/gdr_device.h"
#include "mca/host_memory.h"
#include "mca/runs.h"

#include <stdlib.h>
#include <string.h>

/* One copy down is made of pieces that lie so close together. */
enum { JOINED_GAP = 64 << 10 };

/* A mirror of so many bytes that is mostly gaps takes memory for what it holds only. */
enum { SPARSE_BYTES = 1 << 20 };

/* ---- a process's place ---------------------------------------------------------------------- */

static unsigned role(const gdr_coll_args_t *args, struct ompi_communicator_t *comm)
{
    if (!OMPI_COMM_IS_INTER(comm))
        return GDR_ROLE_LEAF | (args->root == ompi_comm_rank(comm) ? GDR_ROLE_ROOT : 0U);
    if (args->root == MPI_ROOT)
        return GDR_ROLE_ROOT;
    return args->root == MPI_PROC_NULL ? 0 : GDR_ROLE_LEAF;
}

static void count_neighbors(struct ompi_communicator_t *comm, gdr_coll_place_t *place)
{
    int kind = MPI_UNDEFINED, n = 0, weighted;

    place->to = place->from = 0;
    PMPI_Topo_test(comm, &kind);
    if (kind == MPI_DIST_GRAPH) {
        PMPI_Dist_graph_neighbors_count(comm, &place->from, &place->to, &weighted);
        return;
    }
    if (kind == MPI_CART && PMPI_Cartdim_get(comm, &n) == MPI_SUCCESS)
        n *= 2;
    if (kind == MPI_GRAPH)
        PMPI_Graph_neighbors_count(comm, ompi_comm_rank(comm), &n);
    place->to = place->from = n;
    place->keeps = kind == MPI_CART; /* at an edge there is nobody */
}

void gdr_coll_find_place(gdr_coll_t coll, const gdr_coll_args_t *args,
                         struct ompi_communicator_t *comm, gdr_coll_place_t *place)
{
    bool inter = OMPI_COMM_IS_INTER(comm);

    memset(place, 0, sizeof(*place));
    place->rank = ompi_comm_rank(comm);
    place->size = ompi_comm_size(comm);
    place->to = place->from = inter ? ompi_comm_remote_size(comm) : place->size;
    place->role = gdr_coll_has_root(coll) ? role(args, comm) : GDR_ROLE_ROOT | GDR_ROLE_LEAF;
    place->in_place = args->send.buffer == MPI_IN_PLACE || args->recv.buffer == MPI_IN_PLACE;
    if (coll >= GDR_COLL_neighbor_allgather && coll <= GDR_COLL_neighbor_alltoallw)
        count_neighbors(comm, place);
}

/* ---- where the buffers are ------------------------------------------------------------------ */

static bool on_device(uintptr_t address, int *ordinal)
{
    gdr_mem_info_t info;

    if (gdr_host_memory_sure((const void *)address))
        return false;
    gdr_device_classify((const void *)address, &info);
    if (!gdr_device_is_device(&info))
        return false;
    *ordinal = info.ordinal < 0 ? 0 : info.ordinal;
    return true;
}

/* Ends the walk at the first that is on a device. */
static gdr_status_t look_at_run(void *ordinal, uintptr_t address, size_t bytes)
{
    (void)bytes;
    return on_device(address, ordinal) ? GDR_INPROGRESS : GDR_OK;
}

/* All pieces of a buffer are of one allocation, so the first says it; not so of MPI_BOTTOM. */
static bool area_on_device(const gdr_area_t *area, uintptr_t base, int *ordinal)
{
    if (base == 0)
        return gdr_area_runs(area, base, look_at_run, ordinal) == GDR_INPROGRESS;
    for (int i = 0; i < area->n; i++) {
        gdr_piece_t piece = gdr_area_piece(area, i);
        gdr_bounds_t bounds = gdr_piece_bounds(&piece, base);

        if (bounds.used > 0)
            return on_device(bounds.low, ordinal);
    }
    return false;
}

static void look_at_side(gdr_mirror_side_t *side, const void *buffer, const gdr_area_t *read,
                         const gdr_area_t *write, int *ordinal)
{
    uintptr_t base = (uintptr_t)buffer;

    if ((read->n == 0 && write->n == 0) || gdr_host_memory_look(buffer))
        return;
    side->absolute = base == 0;
    side->on = area_on_device(read, base, ordinal) || area_on_device(write, base, ordinal);
}

bool gdr_mirror_look_from(gdr_mirror_t *mirror, gdr_coll_t coll, const gdr_coll_args_t *args,
                          const gdr_coll_place_t *place)
{
    static const gdr_area_t nothing;
    gdr_areas_t *areas = &mirror->areas;

    memset(mirror, 0, sizeof(*mirror));
    mirror->user = mirror->host = *args;
    gdr_areas_find(coll, args, place, areas);
    look_at_side(&mirror->send, args->send.buffer, &areas->send, &nothing, &mirror->ordinal);
    look_at_side(&mirror->recv, args->recv.buffer, &areas->read, &areas->write, &mirror->ordinal);
    if (!mirror->send.on && !mirror->recv.on)
        return false;
    mirror->caller = gdr_device_current();
    return true;
}

bool gdr_mirror_look(gdr_mirror_t *mirror, gdr_coll_t coll, const gdr_coll_args_t *args,
                     struct ompi_communicator_t *comm)
{
    gdr_coll_place_t place;

    if (!gdr_device_seen())
        return false;
    gdr_coll_find_place(coll, args, comm, &place);
    return gdr_mirror_look_from(mirror, coll, args, &place);
}

/* ---- memory --------------------------------------------------------------------------------- */

static void measure_area(gdr_mirror_side_t *side, const gdr_area_t *area, uintptr_t base)
{
    size_t used = 0;

    for (int i = 0; i < area->n; i++) {
        gdr_piece_t piece = gdr_area_piece(area, i);
        gdr_bounds_t bounds = gdr_piece_bounds(&piece, base);

        if (bounds.used == 0)
            continue;
        used += bounds.used;
        if (side->low == side->end) {
            side->low = bounds.low;
            side->end = bounds.end;
        }
        side->low = bounds.low < side->low ? bounds.low : side->low;
        side->end = bounds.end > side->end ? bounds.end : side->end;
    }
    side->used = used > side->used ? used : side->used;
}

/* Bytes of the block that a side takes: its own, and room for its alignment. */
static size_t room(const gdr_mirror_side_t *side)
{
    const size_t unit = GDR_HOST_BLOCK_ALIGNMENT;

    return side->on ? (side->end - side->low) / unit * unit + 2 * unit : 0;
}

static void place_side(gdr_mirror_side_t *side, char **free_from, const gdr_side_t *user,
                       gdr_side_t *host)
{
    uintptr_t copy = (uintptr_t)*free_from + side->low % GDR_HOST_BLOCK_ALIGNMENT;

    if (!side->on)
        return;
    side->shift = (ptrdiff_t)(copy - side->low);
    host->buffer = (void *)((uintptr_t)user->buffer + (uintptr_t)side->shift);
    *free_from += room(side);
}

static bool mostly_gaps(const gdr_mirror_side_t *side)
{
    size_t bytes = side->on ? side->end - side->low : 0;

    return bytes > SPARSE_BYTES && side->used < bytes / 2;
}

int gdr_mirror_open(gdr_mirror_t *mirror, bool entry, bool sparse)
{
    const gdr_areas_t *areas = &mirror->areas;
    uintptr_t recv = (uintptr_t)mirror->user.recv.buffer;
    size_t bytes;
    char *start;

    if (mirror->send.on)
        measure_area(&mirror->send, &areas->send, (uintptr_t)mirror->user.send.buffer);
    if (mirror->recv.on) {
        measure_area(&mirror->recv, &areas->read, recv);
        measure_area(&mirror->recv, &areas->write, recv);
    }
    bytes = room(&mirror->send) + room(&mirror->recv);
    if (sparse || mostly_gaps(&mirror->send) || mostly_gaps(&mirror->recv))
        mirror->block = gdr_host_block_sparse(bytes);
    else
        mirror->block = gdr_host_block_get(mirror->ordinal, bytes, entry && gdr_mca_quiet());
    if (mirror->block == NULL) {
        gdr_error(&gdr_mca.log, "no %zu bytes of host memory for a call on device memory", bytes);
        return OMPI_ERR_OUT_OF_RESOURCE;
    }
    start = mirror->block->address;
    place_side(&mirror->send, &start, &mirror->user.send, &mirror->host.send);
    place_side(&mirror->recv, &start, &mirror->user.recv, &mirror->host.recv);
    return OMPI_SUCCESS;
}

void gdr_mirror_close(gdr_mirror_t *mirror)
{
    gdr_host_block_put(mirror->block);
    mirror->block = NULL;
}

/* ---- copies --------------------------------------------------------------------------------- */

typedef struct copied {
    const gdr_mirror_t *mirror;
    const gdr_mirror_side_t *side;
} copied_t;

/* Under MPI_BOTTOM a run may be of host memory. */
static bool copied_by_cpu(const gdr_mirror_side_t *side, uintptr_t address)
{
    int ordinal;

    return side->absolute && !on_device(address, &ordinal);
}

static gdr_status_t run_down(void *ctx, uintptr_t address, size_t bytes)
{
    const gdr_mirror_t *mirror = ((copied_t *)ctx)->mirror;
    const gdr_mirror_side_t *side = ((copied_t *)ctx)->side;
    void *host = (void *)(address + (uintptr_t)side->shift);
    gdr_status_t status;

    if (copied_by_cpu(side, address)) {
        memcpy(host, (const void *)address, bytes);
        return GDR_OK;
    }
    status = gdr_device_copy_out(&gdr_mca.log, host, address, bytes, mirror->caller);
    if (status == GDR_OK)
        atomic_fetch_add(&gdr_mca.counters.staged_bytes, bytes);
    return status;
}

static gdr_status_t run_up(void *ctx, uintptr_t address, size_t bytes)
{
    const gdr_mirror_t *mirror = ((copied_t *)ctx)->mirror;
    const gdr_mirror_side_t *side = ((copied_t *)ctx)->side;
    const void *host = (const void *)(address + (uintptr_t)side->shift);
    gdr_status_t status;

    if (copied_by_cpu(side, address)) {
        memcpy((void *)address, host, bytes);
        return GDR_OK;
    }
    status = gdr_device_copy_in(&gdr_mca.log, address, host, bytes, mirror->caller);
    if (status == GDR_OK)
        atomic_fetch_add(&gdr_mca.counters.staged_bytes, bytes);
    return status;
}

static gdr_status_t area_down(const gdr_mirror_t *mirror, const gdr_mirror_side_t *side,
                              const gdr_area_t *area, uintptr_t base)
{
    copied_t copied = {mirror, side};
    gdr_bounds_t *ranges = NULL;
    gdr_status_t status;
    int n = 0;

    if (!side->on || area->n == 0)
        return GDR_OK;
    if (side->absolute)
        return gdr_area_runs(area, base, run_down, &copied);
    status = gdr_area_ranges(area, base, JOINED_GAP, &ranges, &n);
    for (int i = 0; i < n && status == GDR_OK; i++)
        status = run_down(&copied, ranges[i].low, ranges[i].end - ranges[i].low);
    free(ranges);
    return status;
}

int gdr_mirror_down(gdr_mirror_t *mirror)
{
    const gdr_areas_t *areas = &mirror->areas;
    gdr_status_t status;

    status = area_down(mirror, &mirror->send, &areas->send, (uintptr_t)mirror->user.send.buffer);
    if (status == GDR_OK)
        status =
            area_down(mirror, &mirror->recv, &areas->read, (uintptr_t)mirror->user.recv.buffer);
    return gdr_mca_error(status);
}

int gdr_mirror_up(gdr_mirror_t *mirror)
{
    copied_t copied = {mirror, &mirror->recv};

    if (!mirror->recv.on)
        return OMPI_SUCCESS;
    return gdr_mca_error(
        gdr_area_runs(&mirror->areas.write, (uintptr_t)mirror->user.recv.buffer, run_up, &copied));
}
