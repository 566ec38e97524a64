/* How large a communicator's lane may become, and for which calls it pays. */
#include "base/gdr_math.h"
#include "plan/gdr_plan.h"

enum {
    MEMORY_SHARE = 256, /* a large lane is at most this part of its device's memory, */
    WORTH = 97          /* and wanted where a call takes no more than so many percent of its time */
};

#define MOST_BYTES (UINT64_C(512) << 20) /* and no larger: simulated clusters gain little by more */

uint64_t gdr_plan_lane_most(const gdr_plan_params_t *params, uint64_t large_lane,
                            uint64_t memory_bytes)
{
    uint64_t most = MOST_BYTES;

    if (large_lane != 0)
        most = gdr_align_down(large_lane, GDR_LANE_UNIT);
    while (large_lane == 0 && most > memory_bytes / MEMORY_SHARE)
        most /= 2;
    return gdr_max_u64(most, params->lane_bytes);
}

void gdr_plan_grow(gdr_plan_params_t *params, uint64_t lane_bytes)
{
    if (lane_bytes > params->lane_bytes)
        params->calls = 1;
    params->lane_bytes = lane_bytes;
}

bool gdr_plan_grows(const gdr_plan_request_t *request, uint64_t lane_bytes)
{
    gdr_plan_params_t params = *request->params;
    gdr_plan_request_t grown = *request;

    gdr_plan_grow(&params, lane_bytes);
    grown.params = &params;
    return lane_bytes > request->params->lane_bytes &&
           gdr_plan_predict(&grown) < gdr_plan_predict(request) / 100 * WORTH;
}
