#include "base/gdr_math.h"
#include "engine/gdr_engine_priv.h"

static bool ctl_lane_find(gdr_engine_t *engine, uint32_t *index)
{
    uint32_t i;

    for (i = 0; i < engine->nctl_lanes; i++) {
        if (!engine->ctl_lanes[i].in_use) {
            *index = i;
            return true;
        }
    }
    return false;
}

static gdr_lane_t *lane_find(gdr_device_t *device)
{
    gdr_window_t *window;
    uint32_t i;

    for (window = device->windows; window != NULL; window = window->next) {
        for (i = 0; i < window->nlanes; i++) {
            if (!window->lanes[i].in_use)
                return &window->lanes[i];
        }
    }
    return NULL;
}

gdr_status_t gdr_lane_acquire(gdr_device_t *device, gdr_lane_t **lane)
{
    gdr_engine_t *engine = device->engine;
    gdr_lane_t *found;
    gdr_window_t *window;
    uint32_t ctl;

    if (!ctl_lane_find(engine, &ctl))
        return GDR_ERR_NO_RESOURCE;
    found = lane_find(device);
    if (found == NULL) {
        gdr_status_t status = gdr_window_make(device, &window);

        if (status != GDR_OK)
            return status;
        found = &window->lanes[0];
    }
    found->in_use = true;
    found->ctl_index = ctl;
    engine->ctl_lanes[ctl].in_use = true;
    *lane = found;
    return GDR_OK;
}

uint64_t gdr_lane_last_call(const gdr_engine_t *engine, const gdr_lane_t *lane)
{
    return gdr_max_u64(lane->last_call, engine->ctl_lanes[lane->ctl_index].last_call);
}

void gdr_lane_release(gdr_engine_t *engine, gdr_lane_t *lane, uint64_t last_call, bool clean)
{
    gdr_ctl_lane_t *ctl = &engine->ctl_lanes[lane->ctl_index];

    if (!clean)
        return;
    lane->last_call = gdr_max_u64(lane->last_call, last_call);
    lane->in_use = false;
    ctl->last_call = gdr_max_u64(ctl->last_call, last_call);
    ctl->in_use = false;
}
