#include "mca/staging.h"

#include "device/gdr_device.h"

#include <stdlib.h>
#include <string.h>

/* ---- host memory ---------------------------------------------------------------------------- */

/* Pinning costs more than most calls: so many blocks are kept, of the largest. */
enum { POOL_BLOCKS = 4 };

/* Data starts where the type wants it on a buffer of this alignment. */
enum { ALIGNMENT = 256 };

typedef struct gdr_stage_block {
    struct gdr_stage_block *next;
    void *address;
    size_t bytes;
    uint64_t context; /* 0: ordinary memory */
    int ordinal;
} block_t;

/* Pinned blocks that no call uses. Returned here in progress, freed at entry of a call only. */
static struct {
    pthread_mutex_t lock;
    block_t *idle;
} pool = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* A block whose context was reset is gone with it. */
static bool alive(const block_t *block)
{
    return gdr_device_context_id(block->ordinal) == block->context;
}

static void block_free(block_t *block)
{
    if (block->context == 0)
        free(block->address);
    else if (alive(block))
        gdr_device_pinned_free(&gdr_mca.log, block->ordinal, block->address, block->context);
    free(block);
}

/* The smallest that will do; NULL: none. */
static block_t *pool_take(int ordinal, size_t bytes)
{
    block_t **best = NULL, *found = NULL;

    pthread_mutex_lock(&pool.lock);
    for (block_t **link = &pool.idle; *link != NULL; link = &(*link)->next)
        if ((*link)->ordinal == ordinal && (*link)->bytes >= bytes &&
            (best == NULL || (*link)->bytes < (*best)->bytes) && alive(*link))
            best = link;
    if (best != NULL) {
        found = *best;
        *best = found->next;
    }
    pthread_mutex_unlock(&pool.lock);
    return found;
}

static void block_give(block_t *block)
{
    if (block->context == 0) {
        block_free(block);
        return;
    }
    pthread_mutex_lock(&pool.lock);
    block->next = pool.idle;
    pool.idle = block;
    pthread_mutex_unlock(&pool.lock);
}

/* What is to be freed so that not more than `keep` are left: the smallest. */
static block_t *pool_excess(int keep)
{
    block_t **least = NULL, *out = NULL;
    int blocks = 0;

    pthread_mutex_lock(&pool.lock);
    for (block_t **link = &pool.idle; *link != NULL; link = &(*link)->next, blocks++)
        if (least == NULL || (*link)->bytes < (*least)->bytes)
            least = link;
    if (least != NULL && blocks > keep) {
        out = *least;
        *least = out->next;
    }
    pthread_mutex_unlock(&pool.lock);
    return out;
}

static void pool_trim(int keep)
{
    block_t *block;

    while ((block = pool_excess(keep)) != NULL)
        block_free(block);
}

static block_t *block_make(int ordinal, size_t bytes, bool pin)
{
    block_t *block = pool_take(ordinal, bytes);

    if (block != NULL)
        return block;
    block = calloc(1, sizeof(*block));
    if (block == NULL)
        return NULL;
    block->bytes = bytes;
    block->ordinal = ordinal;
    if (pin && gdr_device_pinned_alloc(&gdr_mca.log, ordinal, bytes, &block->address,
                                       &block->context) == GDR_OK)
        return block;
    block->context = 0;
    block->address = aligned_alloc(ALIGNMENT, bytes);
    if (block->address == NULL) {
        free(block);
        return NULL;
    }
    return block;
}

void gdr_stage_shutdown(void)
{
    if (gdr_mca_quiet())
        pool_trim(0);
}

/* ---- one call ------------------------------------------------------------------------------- */

/* The bytes that `count` elements touch, from *low on. */
static void span(struct ompi_datatype_t *dtype, int count, ptrdiff_t *low, size_t *bytes)
{
    ptrdiff_t lb, extent, true_lb, true_extent, reach;
    size_t size;

    ompi_datatype_get_extent(dtype, &lb, &extent);
    *low = 0;
    *bytes = 0;
    ompi_datatype_type_size(dtype, &size);
    if (size == 0) /* no bytes; its bounds may be anything */
        return;
    ompi_datatype_get_true_extent(dtype, &true_lb, &true_extent);
    reach = (ptrdiff_t)(count - 1) * extent;
    *low = true_lb + (reach < 0 ? reach : 0);
    *bytes = (size_t)(true_extent + (reach < 0 ? -reach : reach));
}

static int copy_down(gdr_stage_t *stage, void *host, const void *device)
{
    uint64_t from = (uint64_t)(uintptr_t)device + (uint64_t)stage->low;
    gdr_status_t status = gdr_device_copy_out(&gdr_mca.log, host, from, stage->bytes);

    if (status == GDR_OK)
        atomic_fetch_add(&gdr_mca.counters.staged_bytes, stage->bytes);
    return gdr_mca_error(status);
}

static void drop_block(gdr_stage_t *stage)
{
    if (stage->block != NULL)
        block_give(stage->block);
    stage->block = NULL;
}

static int fill(gdr_stage_t *stage, void *send_copy)
{
    const gdr_mca_args_t *user = &stage->user;
    int rc = OMPI_SUCCESS;

    if (send_copy != NULL) {
        stage->host.send = (char *)send_copy - stage->low;
        rc = copy_down(stage, send_copy, user->send);
    }
    if (rc == OMPI_SUCCESS && stage->recv_copy != NULL) {
        stage->host.recv = (char *)stage->recv_copy - stage->low;
        if (user->send == MPI_IN_PLACE)
            rc = copy_down(stage, stage->recv_copy, user->recv);
    }
    return rc;
}

int gdr_stage_begin(gdr_stage_t *stage, const gdr_mca_args_t *args, bool entry)
{
    bool pin = entry && gdr_mca_quiet();
    gdr_mem_info_t send = {0}, recv = {0};
    char *send_copy = NULL;
    size_t lead, part;
    int ordinal, rc;

    memset(stage, 0, sizeof(*stage));
    stage->user = stage->host = *args;
    span(args->dtype, args->count, &stage->low, &stage->bytes);
    gdr_device_classify(args->recv, &recv);
    if (args->send != MPI_IN_PLACE)
        gdr_device_classify(args->send, &send);
    if (!gdr_device_is_device(&send) && !gdr_device_is_device(&recv))
        return OMPI_SUCCESS;

    lead = (size_t)stage->low % ALIGNMENT;
    part = (lead + stage->bytes) / ALIGNMENT * ALIGNMENT + ALIGNMENT; /* never 0 */
    ordinal = gdr_device_is_device(&recv) ? recv.ordinal : send.ordinal;
    stage->block = block_make(ordinal < 0 ? 0 : ordinal, 2 * part, pin);
    if (pin)
        pool_trim(POOL_BLOCKS);
    if (stage->block == NULL)
        return OMPI_ERR_OUT_OF_RESOURCE;
    if (gdr_device_is_device(&recv))
        stage->recv_copy = (char *)stage->block->address + lead;
    if (gdr_device_is_device(&send))
        send_copy = (char *)stage->block->address + part + lead;
    rc = fill(stage, send_copy);
    if (rc != OMPI_SUCCESS)
        drop_block(stage);
    return rc;
}

static gdr_status_t run_up(const gdr_stage_t *stage, ptrdiff_t offset, size_t bytes)
{
    uint64_t to = (uint64_t)(uintptr_t)stage->user.recv + (uint64_t)offset;
    const char *from = (const char *)stage->host.recv + offset;
    gdr_status_t status = gdr_device_copy_in(&gdr_mca.log, to, from, bytes);

    if (status == GDR_OK)
        atomic_fetch_add(&gdr_mca.counters.staged_bytes, bytes);
    return status;
}

/* One copy for each run of bytes without holes: another call may own what lies between them. */
static gdr_status_t runs_up(const gdr_stage_t *stage)
{
    enum { RUNS = 32 };
    const gdr_mca_args_t *host = &stage->host;
    gdr_status_t status = GDR_OK;
    struct iovec runs[RUNS];
    opal_convertor_t walk;
    ptrdiff_t start = 0;
    size_t bytes = 0, moved;
    bool last = false;

    OBJ_CONSTRUCT(&walk, opal_convertor_t);
    if (opal_convertor_copy_and_prepare_for_send(ompi_mpi_local_convertor, &host->dtype->super,
                                                 (size_t)host->count, host->recv, 0,
                                                 &walk) != OPAL_SUCCESS)
        status = GDR_ERR_UNSUPPORTED;
    while (status == GDR_OK && !last) {
        uint32_t n = RUNS;

        last = opal_convertor_raw(&walk, runs, &n, &moved) != 0;
        for (uint32_t i = 0; i < n && status == GDR_OK; i++) {
            ptrdiff_t offset = (char *)runs[i].iov_base - (char *)host->recv;

            if (offset != start + (ptrdiff_t)bytes) {
                status = run_up(stage, start, bytes);
                start = offset;
                bytes = 0;
            }
            bytes += runs[i].iov_len;
        }
    }
    if (status == GDR_OK)
        status = run_up(stage, start, bytes);
    OBJ_DESTRUCT(&walk);
    return status;
}

static gdr_status_t copy_up(const gdr_stage_t *stage)
{
    const gdr_mca_args_t *user = &stage->user;

    if (ompi_datatype_is_contiguous_memory_layout(user->dtype, user->count))
        return run_up(stage, stage->low, stage->bytes);
    return runs_up(stage);
}

int gdr_stage_end(gdr_stage_t *stage, int rc)
{
    if (rc == OMPI_SUCCESS && stage->recv_copy != NULL && stage->bytes > 0)
        rc = gdr_mca_error(copy_up(stage));
    drop_block(stage);
    return rc;
}

bool gdr_stage_allowed(gdr_mca_module_t *module, const char *reason)
{
    bool said;

    if (gdr_mca.params.staging == GDR_STAGING_ERROR && gdr_mca_alike(module)) {
        gdr_error(&gdr_mca.log, "%s, and coll_gdr_staging=error", reason);
        return false;
    }
    pthread_mutex_lock(&module->lock);
    said = module->said_staged;
    module->said_staged = true;
    pthread_mutex_unlock(&module->lock);
    /* One voice per communicator is enough. */
    if (!said && gdr_mca.params.staging != GDR_STAGING_ALLOW && ompi_comm_rank(module->comm) == 0)
        gdr_warn(&gdr_mca.log,
                 "%s: such calls on communicator \"%s\" are copied through host memory (said once)",
                 reason, module->comm->c_name);
    return true;
}

int gdr_stage_allreduce(gdr_mca_module_t *module, const gdr_mca_args_t *args)
{
    gdr_stage_t stage;
    int rc;

    if (module->prev_allreduce == NULL)
        return OMPI_ERR_NOT_SUPPORTED;
    rc = gdr_stage_begin(&stage, args, true);
    if (rc != OMPI_SUCCESS)
        return rc;
    atomic_fetch_add(&gdr_mca.counters.staged_calls, 1);
    atomic_store(&gdr_mca.counters.last_path, gdr_path_staged);
    rc = module->prev_allreduce(stage.host.send, stage.host.recv, args->count, args->dtype,
                                args->op, module->comm, module->prev_allreduce_module);
    return gdr_stage_end(&stage, rc);
}
