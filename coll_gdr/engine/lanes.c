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

static gdr_lane_t *lane_find(gdr_device_t *device, uint64_t bytes)
{
    gdr_window_t *window;
    uint32_t i;

    for (window = device->windows; window != NULL; window = window->next) {
        for (i = 0; i < window->nlanes && window->lane_bytes == bytes; i++) {
            if (!window->lanes[i].in_use)
                return &window->lanes[i];
        }
    }
    return NULL;
}

/* A large lane has a window of its own, made when it is first wanted. */
static gdr_status_t window_for(gdr_device_t *device, uint64_t bytes, gdr_window_t **window)
{
    const gdr_engine_config_t *config = &device->engine->config;
    bool large = bytes > config->plan.lane_bytes;
    gdr_status_t status;

    if (large ? device->nlarge == GDR_LARGE_LANES_MAX : device->nwindows == GDR_WINDOWS_MAX)
        return GDR_ERR_NO_RESOURCE;
    status = gdr_window_make(device, bytes, large ? 1 : config->window_bytes / bytes, window);
    if (status == GDR_OK)
        *(large ? &device->nlarge : &device->nwindows) += 1;
    return status;
}

static gdr_status_t acquire(gdr_device_t *device, uint64_t bytes, gdr_lane_t **lane)
{
    gdr_engine_t *engine = device->engine;
    gdr_lane_t *found;
    gdr_window_t *window;
    uint32_t ctl;

    if (!ctl_lane_find(engine, &ctl))
        return GDR_ERR_NO_RESOURCE;
    found = lane_find(device, bytes);
    if (found == NULL) {
        gdr_status_t status = window_for(device, bytes, &window);

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

uint64_t gdr_lane_most(const gdr_device_t *device)
{
    const gdr_engine_config_t *config = &device->engine->config;

    return gdr_plan_lane_most(&config->plan, config->large_lane, device->caps.memory_bytes);
}

/* What the team's calls wish for, as far as its device can give it. */
static uint64_t wanted(const gdr_team_t *team)
{
    uint64_t least = team->engine->config.plan.lane_bytes;

    return gdr_max_u64(least, gdr_min_u64(team->lane_wish, gdr_lane_most(team->device)));
}

static gdr_status_t acquire_wanted(gdr_team_t *team, gdr_lane_t **lane)
{
    uint64_t bytes = wanted(team);
    gdr_status_t status = acquire(team->device, bytes, lane);

    team->lane_short = status != GDR_OK;
    if (team->lane_short && bytes > team->engine->config.plan.lane_bytes)
        gdr_info(team->engine->ports.log,
                 "communicator %llu: no lane of %llu bytes on device %d (%s): a smaller one stays",
                 (unsigned long long)team->id, (unsigned long long)bytes, team->device->ordinal,
                 gdr_status_string(status));
    return status;
}

gdr_status_t gdr_lane_get(gdr_team_t *team)
{
    gdr_status_t status = acquire_wanted(team, &team->lane);

    if (status != GDR_OK && wanted(team) > team->engine->config.plan.lane_bytes)
        status = acquire(team->device, team->engine->config.plan.lane_bytes, &team->lane);
    return status;
}

void gdr_lane_grow(gdr_team_t *team)
{
    gdr_lane_t *larger;

    if (wanted(team) <= team->lane->window->lane_bytes ||
        acquire_wanted(team, &larger) != GDR_OK)
        return;
    team->lane->older = team->old_lanes;
    team->old_lanes = team->lane;
    team->lane = larger;
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
