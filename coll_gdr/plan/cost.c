#include "plan/gdr_cost.h"

#include "base/gdr_math.h"

/*
 * Rounded figures of one GPU behind one 400 Gbit/s port: a step (the launch of a kernel, detection
 * of its end, a put, the wire, detection of the flag) takes 7 to 12 us; the CPU is busy with a put
 * and its flag for about 1 us; half the bandwidth of the memory is left to collectives.
 */
enum {
    STEP_NS = 9000,
    PUT_NS = 1000,
    SENT_BYTES_PER_NS = 50,
    SENT_IN_NODE_BYTES_PER_NS = 300, /* NVLink of an H100, one direction, two thirds of 450 */
    TOUCHED_BYTES_PER_NS = 1600
};

/* Products and sums of costs stop here. */
#define COST_MAX (UINT64_MAX / 4)

static uint64_t times(uint64_t a, uint64_t b)
{
    uint64_t product;

    return gdr_mul_u64(a, b, &product) ? gdr_min_u64(product, COST_MAX) : COST_MAX;
}

/*
 * The first segment takes its latency. Then what is busy longest decides: contexts (each has a
 * segment at a time), the CPU with its puts, the link, or the memory.
 */
uint64_t gdr_cost(const gdr_plan_request_t *request, const gdr_candidate_t *candidate)
{
    uint64_t bytes = gdr_min_u64(times(request->count, request->type_bytes), GDR_COST_MAX_BYTES);
    uint64_t turns = gdr_div_up(candidate->nsegments, candidate->layout.depth);
    uint64_t latency, busy;
    gdr_work_t work;

    candidate->algorithm->work(request, bytes, &work);
    latency = times(work.steps, STEP_NS);
    busy = times(latency, turns - 1);
    busy = gdr_max_u64(busy, times(times(work.puts, PUT_NS), candidate->nsegments));
    busy = gdr_max_u64(busy, work.sent / SENT_BYTES_PER_NS);
    busy = gdr_max_u64(busy, work.sent_in_node / SENT_IN_NODE_BYTES_PER_NS);
    busy = gdr_max_u64(busy, work.touched / TOUCHED_BYTES_PER_NS);
    return latency + busy;
}
