/* Every schedule of 1 to 64 ranks is proved: see plan/gdr_check.h for what that means. */
#include "plan_test.h"

static const uint32_t types[] = {1, 2, 4, 8, 16};

/* Who serves operations that do not commute claims rank order: that is proved, too. */
static void prove(const gdr_algorithm_t *algorithm, int32_t p, uint64_t count, uint32_t type_bytes,
                  const gdr_plan_params_t *params)
{
    gdr_plan_request_t request = plan_test_request(params, p, count, type_bytes);
    gdr_check_result_t result;
    gdr_status_t status;
    gdr_shape_t shape;

    request.commutative = false;
    request.commutative = !algorithm->shape(&request, &shape);
    status = gdr_check_request(&request, &result);
    if (!algorithm->shape(&request, &shape)) {
        assert_int_equal(status, GDR_ERR_UNSUPPORTED);
        return;
    }
    if (status != GDR_OK)
        fail_msg("%s, %d ranks, %llu x %u bytes, depth %u, chunk %llu: status %d: %s",
                 algorithm->name, (int)p, (unsigned long long)count, type_bytes, params->depth,
                 (unsigned long long)params->chunk_size, (int)status, result.text);
}

/* Counts around the number of ranks, and those that people's bugs are about. */
static uint64_t odd_count(int32_t p, uint32_t which)
{
    const uint64_t counts[] = {
        1, 2, 3, 5, 7, (uint64_t)p, (uint64_t)p + 1, 2 * (uint64_t)p - 1, 1023, 1025, 262147};

    return counts[which % (sizeof(counts) / sizeof(counts[0]))];
}

enum { ODD_COUNTS = 11 };

static void odd_counts_of_few_ranks(void **state)
{
    (void)state;
    for (int32_t p = 1; p <= 16; p++)
        for (uint32_t c = 0; c < ODD_COUNTS; c++)
            for (uint32_t t = 0; t < 5; t++)
                for (const gdr_algorithm_t *const *a = gdr_plan_algorithms(); *a != NULL; a++) {
                    gdr_plan_params_t params = plan_test_params((*a)->name);

                    prove(*a, p, odd_count(p, c), types[t], &params);
                }
}

static void odd_counts_of_many_ranks(void **state)
{
    (void)state;
    for (int32_t p = 17; p <= 64; p++)
        for (uint32_t i = 0; i < 4; i++)
            for (const gdr_algorithm_t *const *a = gdr_plan_algorithms(); *a != NULL; a++) {
                gdr_plan_params_t params = plan_test_params((*a)->name);
                uint32_t c = (uint32_t)p + 3 * i;

                prove(*a, p, odd_count(p, c), types[(c / ODD_COUNTS + i) % 5], &params);
            }
}

/* Enough segments that every context is used three times, and a short one behind them. */
static uint64_t long_message(int32_t p, uint32_t depth, uint32_t type_bytes, uint32_t tail)
{
    uint64_t segment = (uint64_t)p * 256 / type_bytes;

    return (2 * (uint64_t)depth + 1) * segment + 1 + tail * segment / 8;
}

static void prove_long(int32_t p, uint32_t depth, uint32_t type_bytes, uint32_t tail)
{
    for (const gdr_algorithm_t *const *a = gdr_plan_algorithms(); *a != NULL; a++) {
        gdr_plan_params_t params = plan_test_small_chunks((*a)->name, depth);
        uint64_t count = long_message(p, depth, type_bytes, tail);
        gdr_plan_request_t request = plan_test_request(&params, p, count, type_bytes);
        gdr_shape_t shape;
        gdr_plan_t *plan;

        if (p > 1 && (*a)->shape(&request, &shape)) {
            assert_int_equal(gdr_plan_make(&request, &plan), GDR_OK);
            assert_int_equal(plan->layout.depth, depth);
            assert_true(plan->nsegments >= 2 * (uint64_t)depth + 2);
            gdr_plan_free(plan);
        }
        prove(*a, p, count, type_bytes, &params);
    }
}

static void long_messages_of_few_ranks(void **state)
{
    (void)state;
    for (int32_t p = 1; p <= 16; p++)
        for (uint32_t depth = 1; depth <= 4; depth++)
            for (uint32_t t = 0; t < 5; t++)
                for (uint32_t tail = 0; tail < 8; tail += 3)
                    prove_long(p, depth, types[t], tail);
}

static void long_messages_of_many_ranks(void **state)
{
    (void)state;
    for (int32_t p = 17; p <= 64; p++)
        prove_long(p, 1 + (uint32_t)p % 4, types[p % 5], (uint32_t)p * 3 % 8);
}

/* The chunks of real use, and elements whose size is no power of two. */
static void usual_chunks(void **state)
{
    static const uint32_t sizes[] = {4, 12, 16, 24};

    (void)state;
    for (int32_t p = 2; p <= 9; p++)
        for (uint32_t t = 0; t < 4; t++)
            for (const gdr_algorithm_t *const *a = gdr_plan_algorithms(); *a != NULL; a++) {
                gdr_plan_params_t params = plan_test_params((*a)->name);

                prove(*a, p, 4194304 + 13 * (uint64_t)p, sizes[t], &params);
            }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(odd_counts_of_few_ranks),
        cmocka_unit_test(odd_counts_of_many_ranks),
        cmocka_unit_test(long_messages_of_few_ranks),
        cmocka_unit_test(long_messages_of_many_ranks),
        cmocka_unit_test(usual_chunks),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
