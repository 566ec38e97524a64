#include "mca/host_block.h"

#include "device/gdr_device.h"
#include "mca/gdr_mca.h"

#include <stdlib.h>
#include <sys/mman.h>

/* Pinning costs more than most calls: so many blocks are kept, of the largest. */
enum { POOL_BLOCKS = 4 };

typedef gdr_host_block_t block_t;

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
    if (block->sparse)
        munmap(block->address, block->bytes);
    else if (block->context == 0)
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
    block_t *block = calloc(1, sizeof(*block));

    if (block == NULL)
        return NULL;
    block->bytes = bytes;
    block->ordinal = ordinal;
    if (pin && gdr_device_pinned_alloc(&gdr_mca.log, ordinal, bytes, &block->address,
                                       &block->context) == GDR_OK)
        return block;
    block->context = 0;
    block->address = aligned_alloc(GDR_HOST_BLOCK_ALIGNMENT, bytes);
    if (block->address == NULL) {
        free(block);
        return NULL;
    }
    return block;
}

gdr_host_block_t *gdr_host_block_get(int ordinal, size_t bytes, bool pin)
{
    size_t whole = (bytes + GDR_HOST_BLOCK_ALIGNMENT) / GDR_HOST_BLOCK_ALIGNMENT;
    block_t *block;

    whole *= GDR_HOST_BLOCK_ALIGNMENT; /* never 0 */
    block = pool_take(ordinal, whole);
    if (block == NULL)
        block = block_make(ordinal, whole, pin);
    if (pin)
        pool_trim(POOL_BLOCKS);
    return block;
}

gdr_host_block_t *gdr_host_block_sparse(size_t bytes)
{
    block_t *block = calloc(1, sizeof(*block));

    if (block == NULL)
        return NULL;
    block->bytes = bytes > 0 ? bytes : 1;
    block->sparse = true;
    block->address = mmap(NULL, block->bytes, PROT_READ | PROT_WRITE,
                          MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (block->address == MAP_FAILED) {
        free(block);
        return NULL;
    }
    return block;
}

void gdr_host_block_put(gdr_host_block_t *block)
{
    if (block == NULL)
        return;
    if (block->context == 0) {
        block_free(block);
        return;
    }
    pthread_mutex_lock(&pool.lock);
    block->next = pool.idle;
    pool.idle = block;
    pthread_mutex_unlock(&pool.lock);
}

void gdr_host_block_shutdown(void)
{
    if (gdr_mca_quiet())
        pool_trim(0);
}
