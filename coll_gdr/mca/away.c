#include "mca/away.h"

#include "device/gdr_device.h"

#include <stdlib.h>
#include <string.h>

/* Idle copies that are kept for each device, the largest. */
enum { KEPT_COPIES = 4 };

/* Memory on a lane's device. */
typedef struct gdr_away_copy {
    struct gdr_away_copy *next;
    uint64_t address, bytes;
    uint64_t generation; /* of the context that it is in */
} copy_t;

/* Devices of this file's own: those of the engine may be used by one thread at a time, its own. */
typedef struct gdr_away_helper {
    struct gdr_away_helper *next;
    int ordinal;
    const gdr_dev_ops_t *ops;
    gdr_dev_t *dev;
    gdr_dev_stream_t *stream;
    copy_t *idle;
} helper_t;

static struct {
    pthread_mutex_t lock;
    helper_t *first;
} helpers = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* In a context that still exists. */
static bool alive(const helper_t *helper, const copy_t *copy)
{
    return helper->dev != NULL && helper->ops->generation(helper->dev) == copy->generation;
}

static void copy_free(helper_t *helper, copy_t *copy)
{
    if (alive(helper, copy))
        helper->ops->free(helper->dev, copy->address);
    free(copy);
}

/* Frees the smallest idle copies until not more than `keep` are left. */
static void trim(helper_t *helper, int keep)
{
    for (;;) {
        copy_t **least = &helper->idle, *copy;
        int copies = 0;

        for (copy_t **link = &helper->idle; *link != NULL; link = &(*link)->next, copies++)
            if ((*link)->bytes < (*least)->bytes)
                least = link;
        if (copies <= keep)
            return;
        copy = *least;
        *least = copy->next;
        copy_free(helper, copy);
    }
}

static void helper_close(helper_t *helper)
{
    trim(helper, 0);
    if (helper->stream != NULL)
        helper->ops->stream_destroy(helper->stream);
    if (helper->dev != NULL)
        helper->ops->close(helper->dev);
    helper->stream = NULL;
    helper->dev = NULL;
}

static gdr_status_t helper_open(helper_t *helper)
{
    gdr_device_params_t params = {.log = &gdr_mca.log};
    gdr_status_t status;

    status = gdr_device_open(&params, helper->ordinal, &helper->ops, &helper->dev);
    if (status == GDR_OK)
        status = helper->ops->stream_create(helper->dev, &helper->stream);
    if (status != GDR_OK)
        helper_close(helper);
    return status;
}

/* With the lock held; made anew after a cudaDeviceReset. */
static gdr_status_t helper_get(int ordinal, helper_t **out)
{
    helper_t *helper = helpers.first;
    gdr_status_t status = GDR_OK;

    while (helper != NULL && helper->ordinal != ordinal)
        helper = helper->next;
    if (helper == NULL) {
        helper = calloc(1, sizeof(*helper));
        if (helper == NULL)
            return GDR_ERR_NO_MEMORY;
        helper->ordinal = ordinal;
        helper->next = helpers.first;
        helpers.first = helper;
    }
    if (helper->dev != NULL && helper->ops->generation(helper->dev) == 0)
        helper_close(helper);
    if (helper->dev == NULL)
        status = helper_open(helper);
    if (status == GDR_OK)
        *out = helper;
    return status;
}

void gdr_away_shutdown(void)
{
    if (!gdr_mca_quiet()) /* a call that nobody waited for: it is left to the end of the process */
        return;
    while (helpers.first != NULL) {
        helper_t *helper = helpers.first;

        helpers.first = helper->next;
        helper_close(helper);
        free(helper);
    }
}

/* Device to device; done when it returns. `user`, `caller`: whose NULL streams it comes after. */
static gdr_status_t move(helper_t *helper, uint64_t to, uint64_t from, uint64_t bytes,
                         uint64_t user, uint64_t caller)
{
    gdr_status_t status = helper->ops->follow_default(helper->stream, user, caller);

    if (status == GDR_OK)
        status = gdr_device_copy_peer(helper->stream, to, from, bytes);
    return status == GDR_OK ? helper->ops->sync(helper->stream) : status;
}

/* Almost always by the first comparison: memory of the context that has been asked about before. */
static bool at_home(gdr_mca_module_t *module, uint64_t address, uint64_t bytes)
{
    gdr_mem_info_t info;

    gdr_device_classify((const void *)(uintptr_t)address, &info);
    if (info.kind == GDR_MEM_MANAGED || info.ordinal < 0)
        return true;
    if (info.context == 0) /* pools and VMM memory: whoever was given access, on any device */
        return gdr_device_touches(module->device, address, bytes);
    if (info.ordinal != module->device)
        return false;
    if (info.context == atomic_load(&module->home_context))
        return true;
    if (gdr_device_load(&gdr_mca.log) != GDR_OK ||
        !gdr_device_is_primary(info.ordinal, info.context))
        return false;
    atomic_store(&module->home_context, info.context);
    return true;
}

/* The smallest idle copy that will do, or a new one. */
static gdr_status_t copy_get(helper_t *helper, uint64_t bytes, copy_t **out)
{
    copy_t **best = NULL, *copy;
    gdr_status_t status;

    for (copy_t **link = &helper->idle; *link != NULL; link = &(*link)->next)
        if ((*link)->bytes >= bytes && (best == NULL || (*link)->bytes < (*best)->bytes))
            best = link;
    if (best != NULL) {
        *out = *best;
        *best = (*best)->next;
        return GDR_OK;
    }
    copy = calloc(1, sizeof(*copy));
    if (copy == NULL)
        return GDR_ERR_NO_MEMORY;
    status = helper->ops->alloc(helper->dev, bytes, &copy->address);
    if (status != GDR_OK) {
        free(copy);
        return status;
    }
    copy->bytes = bytes;
    copy->generation = helper->ops->generation(helper->dev);
    *out = copy;
    return GDR_OK;
}

static gdr_status_t take_copy(helper_t *helper, const gdr_away_t *away, uint64_t *address,
                              copy_t **made, bool filled)
{
    gdr_status_t status = copy_get(helper, away->bytes, made);

    if (status == GDR_OK && filled)
        status = move(helper, (*made)->address, *address, away->bytes, *address, away->caller);
    if (status == GDR_OK)
        *address = (*made)->address;
    return status;
}

static void keep(helper_t *helper, copy_t *copy)
{
    if (copy == NULL)
        return;
    if (!alive(helper, copy)) {
        free(copy);
        return;
    }
    copy->next = helper->idle;
    helper->idle = copy;
}

static void drop(helper_t *helper, gdr_away_t *away)
{
    keep(helper, away->send);
    keep(helper, away->recv);
    away->send = away->recv = NULL;
}

static gdr_status_t begin(helper_t *helper, gdr_away_t *away, gdr_call_desc_t *desc)
{
    bool in_place = desc->send == desc->recv;
    gdr_status_t status = GDR_OK;

    if (gdr_mca_quiet())
        trim(helper, KEPT_COPIES);
    if (gdr_device_reach(helper->dev, desc->recv, away->bytes) != GDR_OK)
        status = take_copy(helper, away, &desc->recv, &away->recv, in_place);
    if (in_place)
        desc->send = desc->recv;
    else if (status == GDR_OK && gdr_device_reach(helper->dev, desc->send, away->bytes) != GDR_OK)
        status = take_copy(helper, away, &desc->send, &away->send, true);
    if (status != GDR_OK)
        drop(helper, away);
    return status;
}

gdr_status_t gdr_away_begin(gdr_away_t *away, gdr_mca_module_t *module, gdr_call_desc_t *desc)
{
    helper_t *helper;
    gdr_status_t status;

    memset(away, 0, sizeof(*away));
    away->bytes = desc->count * gdr_type_bytes(desc->type);
    desc->device = module->device; /* also of what is at home everywhere, as managed memory is */
    if (at_home(module, desc->recv, away->bytes) &&
        (desc->send == desc->recv || at_home(module, desc->send, away->bytes)))
        return GDR_OK;
    away->user_recv = desc->recv;
    away->caller = desc->context;
    pthread_mutex_lock(&helpers.lock);
    status = helper_get(module->device, &helper);
    if (status == GDR_OK) {
        away->helper = helper;
        status = begin(helper, away, desc);
    }
    pthread_mutex_unlock(&helpers.lock);
    return status;
}

/* A call that failed may still have work in its streams: no other call gets these copies. */
static void spoil(gdr_away_t *away)
{
    if (away->send != NULL)
        away->send->bytes = 0;
    if (away->recv != NULL)
        away->recv->bytes = 0;
}

/* With the lock held. Opens nothing: that may take memory, and wait for the whole context. */
static gdr_status_t bring_home(helper_t *helper, const gdr_away_t *away)
{
    if (alive(helper, away->recv))
        return move(helper, away->user_recv, away->recv->address, away->bytes, away->user_recv,
                    away->caller);
    gdr_error(&gdr_mca.log, "device %d was reset during a call, whose result is lost",
              helper->ordinal);
    return GDR_ERR_STALE;
}

gdr_status_t gdr_away_end(gdr_away_t *away, gdr_status_t status)
{
    gdr_status_t back = GDR_OK;

    if (away->send == NULL && away->recv == NULL)
        return status;
    pthread_mutex_lock(&helpers.lock);
    if (status == GDR_OK && away->recv != NULL)
        back = bring_home(away->helper, away);
    if (status != GDR_OK && status != GDR_ERR_DECLINED && status != GDR_ERR_MIXED)
        spoil(away);
    drop(away->helper, away);
    pthread_mutex_unlock(&helpers.lock);
    return status == GDR_OK ? back : status;
}
