#include "mca/away.h"

#include "device/gdr_device.h"

#include <stdlib.h>
#include <string.h>

/* Devices of this file's own: those of the engine may be used by one thread at a time, its own. */
typedef struct helper {
    struct helper *next;
    int ordinal;
    const gdr_dev_ops_t *ops;
    gdr_dev_t *dev;
    gdr_dev_stream_t *stream;
} helper_t;

static struct {
    pthread_mutex_t lock;
    helper_t *first;
} helpers = {.lock = PTHREAD_MUTEX_INITIALIZER};

static void helper_close(helper_t *helper)
{
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
    while (helpers.first != NULL) {
        helper_t *helper = helpers.first;

        helpers.first = helper->next;
        helper_close(helper);
        free(helper);
    }
}

/* Device to device; done when it returns. `user`: whose NULL stream the copy comes after. */
static gdr_status_t copy(helper_t *helper, uint64_t to, uint64_t from, uint64_t bytes,
                         uint64_t user)
{
    gdr_status_t status = helper->ops->follow_default(helper->stream, user);

    if (status == GDR_OK)
        status = gdr_device_copy_peer(helper->stream, to, from, bytes);
    return status == GDR_OK ? helper->ops->sync(helper->stream) : status;
}

/* Almost always by the first comparison: memory of the context that has been asked about before. */
static bool at_home(gdr_mca_module_t *module, uint64_t address)
{
    gdr_mem_info_t info;

    gdr_device_classify((const void *)(uintptr_t)address, &info);
    if (info.kind == GDR_MEM_MANAGED || info.ordinal < 0)
        return true;
    if (info.ordinal != module->device)
        return false;
    if (info.context == 0 || info.context == atomic_load(&module->home_context))
        return true;
    if (gdr_device_load(&gdr_mca.log) != GDR_OK ||
        !gdr_device_is_primary(info.ordinal, info.context))
        return false;
    atomic_store(&module->home_context, info.context);
    return true;
}

static gdr_status_t take_copy(helper_t *helper, uint64_t *address, uint64_t *made, uint64_t bytes,
                              bool filled)
{
    gdr_status_t status;

    status = helper->ops->alloc(helper->dev, bytes, made);
    if (status == GDR_OK && filled)
        status = copy(helper, *made, *address, bytes, *address);
    if (status == GDR_OK)
        *address = *made;
    return status;
}

static void drop(helper_t *helper, gdr_away_t *away)
{
    if (away->send != 0)
        helper->ops->free(helper->dev, away->send);
    if (away->recv != 0)
        helper->ops->free(helper->dev, away->recv);
    away->send = away->recv = 0;
}

static gdr_status_t begin(helper_t *helper, gdr_away_t *away, gdr_call_desc_t *desc)
{
    bool in_place = desc->send == desc->recv;
    gdr_status_t status = GDR_OK;

    if (gdr_device_reach(helper->dev, desc->recv) != GDR_OK)
        status = take_copy(helper, &desc->recv, &away->recv, away->bytes, in_place);
    if (in_place)
        desc->send = desc->recv;
    else if (status == GDR_OK && gdr_device_reach(helper->dev, desc->send) != GDR_OK)
        status = take_copy(helper, &desc->send, &away->send, away->bytes, true);
    if (status != GDR_OK)
        drop(helper, away);
    return status;
}

gdr_status_t gdr_away_begin(gdr_away_t *away, gdr_mca_module_t *module, gdr_call_desc_t *desc)
{
    helper_t *helper;
    gdr_status_t status;

    memset(away, 0, sizeof(*away));
    if (at_home(module, desc->recv) && (desc->send == desc->recv || at_home(module, desc->send)))
        return GDR_OK;
    away->ordinal = module->device;
    away->user_recv = desc->recv;
    away->bytes = desc->count * gdr_type_bytes(desc->type);
    pthread_mutex_lock(&helpers.lock);
    status = helper_get(away->ordinal, &helper);
    if (status == GDR_OK)
        status = begin(helper, away, desc);
    pthread_mutex_unlock(&helpers.lock);
    if (status == GDR_OK)
        desc->device = module->device;
    return status;
}

gdr_status_t gdr_away_end(gdr_away_t *away, gdr_status_t status)
{
    gdr_status_t back = GDR_OK;
    helper_t *helper;

    if (away->send == 0 && away->recv == 0)
        return status;
    pthread_mutex_lock(&helpers.lock);
    back = helper_get(away->ordinal, &helper);
    if (back == GDR_OK) {
        if (status == GDR_OK && away->recv != 0)
            back = copy(helper, away->user_recv, away->recv, away->bytes, away->user_recv);
        drop(helper, away);
    }
    pthread_mutex_unlock(&helpers.lock);
    return status == GDR_OK ? back : status;
}
