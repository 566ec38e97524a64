#include "mca/staging.h"

#include "device/gdr_device.h"

#include <stdlib.h>
#include <string.h>

/* ---- host memory ---------------------------------------------------------------------------- */

/* Pinning costs more than most calls: a few blocks are kept. */
enum { POOL_BLOCKS = 4 };

typedef struct block {
    void *address;
    size_t bytes;
    uint64_t context;
    int ordinal;
} block_t;

static struct {
    pthread_mutex_t lock;
    block_t blocks[POOL_BLOCKS];
} pool = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* A block whose context was reset is gone with it. */
static bool alive(const block_t *block)
{
    return gdr_device_context_id(block->ordinal) == block->context;
}

static bool pool_take(int ordinal, size_t bytes, block_t *out)
{
    bool found = false;

    pthread_mutex_lock(&pool.lock);
    for (int i = 0; i < POOL_BLOCKS && !found; i++) {
        block_t *block = &pool.blocks[i];

        if (block->address == NULL || block->ordinal != ordinal || block->bytes < bytes)
            continue;
        found = alive(block);
        *out = *block;
        block->address = NULL;
    }
    pthread_mutex_unlock(&pool.lock);
    return found;
}

static void block_free(const block_t *block)
{
    if (block->context == 0)
        free(block->address);
    else if (alive(block))
        gdr_device_pinned_free(&gdr_mca.log, block->ordinal, block->address, block->context);
}

/* Keeps the block, in place of a smaller one if there is no room; frees what falls out. */
static void pool_give(block_t block)
{
    block_t out = block;

    pthread_mutex_lock(&pool.lock);
    for (int i = 0; i < POOL_BLOCKS; i++) {
        block_t *kept = &pool.blocks[i];

        if (kept->address == NULL || kept->bytes < block.bytes) {
            out = *kept;
            *kept = block;
            break;
        }
    }
    pthread_mutex_unlock(&pool.lock);
    if (out.address != NULL)
        block_free(&out);
}

static int block_make(int ordinal, size_t bytes, block_t *block)
{
    if (pool_take(ordinal, bytes, block))
        return OMPI_SUCCESS;
    *block = (block_t){.bytes = bytes, .ordinal = ordinal};
    if (gdr_device_pinned_alloc(&gdr_mca.log, ordinal, bytes, &block->address, &block->context) ==
        GDR_OK)
        return OMPI_SUCCESS;
    block->context = 0;
    block->address = malloc(bytes);
    return block->address == NULL ? OMPI_ERR_OUT_OF_RESOURCE : OMPI_SUCCESS;
}

void gdr_stage_shutdown(void)
{
    for (int i = 0; i < POOL_BLOCKS; i++) {
        if (pool.blocks[i].address != NULL)
            block_free(&pool.blocks[i]);
        pool.blocks[i].address = NULL;
    }
}

/* ---- one call ------------------------------------------------------------------------------- */

/* The bytes that `count` elements touch, from *low on. */
static void span(struct ompi_datatype_t *dtype, int count, ptrdiff_t *low, size_t *bytes)
{
    ptrdiff_t lb, extent, true_lb, true_extent, reach;

    ompi_datatype_get_extent(dtype, &lb, &extent);
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

static int fill(gdr_stage_t *stage, void *send_copy)
{
    const gdr_mca_args_t *user = &stage->user;
    bool holes = !ompi_datatype_is_contiguous_memory_layout(user->dtype, user->count);
    int rc = OMPI_SUCCESS;

    if (send_copy != NULL) {
        stage->host.send = (char *)send_copy - stage->low;
        rc = copy_down(stage, send_copy, user->send);
    }
    if (rc == OMPI_SUCCESS && stage->recv_copy != NULL) {
        stage->host.recv = (char *)stage->recv_copy - stage->low;
        /* What lies in the holes of the type goes down and up again, unchanged. */
        if (user->send == MPI_IN_PLACE || holes)
            rc = copy_down(stage, stage->recv_copy, user->recv);
    }
    return rc;
}

static void drop_block(gdr_stage_t *stage)
{
    block_t block = {.address = stage->block,
                     .bytes = stage->block_bytes,
                     .context = stage->context,
                     .ordinal = stage->ordinal};

    if (block.address != NULL)
        pool_give(block);
    stage->block = NULL;
}

int gdr_stage_begin(gdr_stage_t *stage, const gdr_mca_args_t *args)
{
    gdr_mem_info_t send = {0}, recv = {0};
    char *send_copy = NULL;
    size_t part;
    block_t block;
    int rc;

    memset(stage, 0, sizeof(*stage));
    stage->user = stage->host = *args;
    span(args->dtype, args->count, &stage->low, &stage->bytes);
    gdr_device_classify(args->recv, &recv);
    if (args->send != MPI_IN_PLACE)
        gdr_device_classify(args->send, &send);
    if (!gdr_device_is_device(&send) && !gdr_device_is_device(&recv))
        return OMPI_SUCCESS;

    part = (stage->bytes + 255) / 256 * 256;
    stage->ordinal = gdr_device_is_device(&recv) ? recv.ordinal : send.ordinal;
    if (stage->ordinal < 0)
        stage->ordinal = 0;
    rc = block_make(stage->ordinal, 2 * part, &block);
    if (rc != OMPI_SUCCESS)
        return rc;
    stage->block = block.address;
    stage->block_bytes = block.bytes;
    stage->context = block.context;
    if (gdr_device_is_device(&recv))
        stage->recv_copy = block.address;
    if (gdr_device_is_device(&send))
        send_copy = (char *)block.address + part;
    rc = fill(stage, send_copy);
    if (rc != OMPI_SUCCESS)
        drop_block(stage);
    return rc;
}

int gdr_stage_end(gdr_stage_t *stage, int rc)
{
    if (rc == OMPI_SUCCESS && stage->recv_copy != NULL) {
        uint64_t to = (uint64_t)(uintptr_t)stage->user.recv + (uint64_t)stage->low;
        gdr_status_t status = gdr_device_copy_in(&gdr_mca.log, to, stage->recv_copy, stage->bytes);

        if (status == GDR_OK)
            atomic_fetch_add(&gdr_mca.counters.staged_bytes, stage->bytes);
        rc = gdr_mca_error(status);
    }
    drop_block(stage);
    return rc;
}

bool gdr_stage_allowed(gdr_mca_module_t *module, const char *reason)
{
    bool said;

    if (gdr_mca.params.staging == GDR_STAGING_ERROR) {
        gdr_error(&gdr_mca.log, "%s, and coll_gdr_staging=error", reason);
        return false;
    }
    pthread_mutex_lock(&module->lock);
    said = module->said_staged;
    module->said_staged = true;
    pthread_mutex_unlock(&module->lock);
    /* One voice per communicator is enough. */
    if (!said && gdr_mca.params.staging == GDR_STAGING_WARN && ompi_comm_rank(module->comm) == 0)
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
    rc = gdr_stage_begin(&stage, args);
    if (rc != OMPI_SUCCESS)
        return rc;
    atomic_fetch_add(&gdr_mca.counters.staged_calls, 1);
    atomic_store(&gdr_mca.counters.last_path, gdr_path_staged);
    rc = module->prev_allreduce(stage.host.send, stage.host.recv, args->count, args->dtype,
                                args->op, module->comm, module->prev_allreduce_module);
    return gdr_stage_end(&stage, rc);
}
