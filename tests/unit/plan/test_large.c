/*
 * Calls of more bytes or elements than 31 or 32 bits count: layout and segments without running
 * them, and the proof of each schedule (plan/gdr_check.h).
 */
#include "plan_test.h"

#define ONE UINT64_C(1)

static const uint32_t types[] = {1, 2, 4, 8, 12, 16};
enum { TYPES = sizeof(types) / sizeof(types[0]), BORDERS = 6, AROUND = 5 };

static const uint64_t around[AROUND] = {UINT64_MAX - 1, UINT64_MAX, 0, 1, 13}; /* -2, -1, ... */

/* Elements next to which a 32-bit count of bytes or of elements would end. */
static uint64_t border(uint32_t which, uint32_t type_bytes)
{
    const uint64_t borders[BORDERS] = {(ONE << 31) / type_bytes,
                                       (ONE << 32) / type_bytes,
                                       ONE << 31,
                                       ONE << 32,
                                       ONE << 36,
                                       ONE << 40};

    return borders[which];
}

static void check_segments(const gdr_plan_request_t *request, const gdr_plan_t *plan)
{
    uint64_t bytes = request->count * request->type_bytes;
    uint64_t before = (plan->nsegments - 1) * plan->seg_bytes;

    assert_true(plan->nsegments >= 1 && plan->seg_bytes % request->type_bytes == 0);
    assert_true(before < bytes && bytes - before <= plan->seg_bytes);
    assert_int_equal(plan->last->bytes, bytes - before);
    assert_true(plan->nsegments == 1 || plan->full->bytes == plan->seg_bytes);
    /* The greatest number of a flag fits beside that of the call. */
    assert_true((plan->nsegments / plan->layout.depth + 1) * plan->last->rounds <
                ONE << GDR_FLAG_INSTANCE_BITS);
}

static void try_count(const gdr_algorithm_t *algorithm, int32_t p, uint64_t count, uint32_t type,
                      unsigned *served)
{
    gdr_plan_params_t params = plan_test_params(algorithm->name);
    gdr_plan_request_t request = plan_test_request(&params, p, count, type);
    gdr_topology_t *topology = plan_test_pairs(p);
    gdr_check_result_t result;
    gdr_plan_t *plan;
    gdr_status_t status;

    request.topology = topology;
    status = gdr_plan_make(&request, &plan);
    if (status == GDR_ERR_UNSUPPORTED) { /* staged, on all ranks alike */
        gdr_topology_free(topology);
        return;
    }
    assert_int_equal(status, GDR_OK);
    check_segments(&request, plan);
    gdr_plan_free(plan);
    status = gdr_check_request(&request, &result);
    if (status != GDR_OK)
        fail_msg("%s, %d ranks, %llu x %u bytes: status %d: %s", algorithm->name, (int)p,
                 (unsigned long long)count, type, (int)status, result.text);
    gdr_topology_free(topology);
    (*served)++;
}

static void run_borders(const gdr_algorithm_t *algorithm, unsigned *served)
{
    for (int32_t p = 1; p <= 9; p += p < 3 ? 1 : 3)
        for (uint32_t t = 0; t < TYPES; t++)
            for (uint32_t b = 0; b < BORDERS; b++)
                for (uint32_t a = 0; a < AROUND; a++)
                    try_count(algorithm, p, border(b, types[t]) + around[a], types[t], served);
}

static void borders(void **state)
{
    (void)state;
    for (const gdr_algorithm_t *const *a = gdr_plan_algorithms(); *a != NULL; a++) {
        unsigned served = 0;

        run_borders(*a, &served);
        print_message("%s: %u large calls are served\n", (*a)->name, served);
        assert_true(served > 400);
    }
}

/* What MPI's own counts allow is served, whatever the type. */
static void all_of_an_int(void **state)
{
    (void)state;
    for (int32_t p = 2; p <= 64; p += 31)
        for (uint32_t t = 0; t < TYPES; t++) {
            gdr_plan_params_t params = plan_test_params("auto");
            gdr_plan_request_t request = plan_test_request(&params, p, INT32_MAX, types[t]);
            gdr_plan_t *plan;

            assert_int_equal(gdr_plan_make(&request, &plan), GDR_OK);
            check_segments(&request, plan);
            gdr_plan_free(plan);
        }
}

/* Beyond 63 bits of bytes: refused, nothing wraps. */
static void too_large(void **state)
{
    static const uint64_t counts[] = {UINT64_MAX, UINT64_MAX / 8, INT64_MAX, (ONE << 60) + 1};

    (void)state;
    for (uint32_t c = 0; c < 4; c++) {
        gdr_plan_params_t params = plan_test_params("auto");
        gdr_plan_request_t request = plan_test_request(&params, 3, counts[c], 16);
        gdr_plan_t *plan;

        assert_int_equal(gdr_plan_make(&request, &plan), GDR_ERR_INVALID);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(borders),
        cmocka_unit_test(all_of_an_int),
        cmocka_unit_test(too_large),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
