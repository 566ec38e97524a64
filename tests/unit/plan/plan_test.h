/* What the tests of the plan room share. */
#ifndef PLAN_TEST_H
#define PLAN_TEST_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "plan/gdr_check.h"

#include <stdio.h>

static inline gdr_plan_params_t plan_test_params(const char *algorithm)
{
    gdr_plan_params_t params;

    gdr_plan_params_init(&params);
    snprintf(params.algorithm, sizeof(params.algorithm), "%s", algorithm);
    return params;
}

/* Chunks of 256 bytes: small messages run through many segments. */
static inline gdr_plan_params_t plan_test_small_chunks(const char *algorithm, uint32_t depth)
{
    gdr_plan_params_t params = plan_test_params(algorithm);

    params.chunk_size = params.min_chunk = 256;
    params.depth = depth;
    return params;
}

/* Two ranks on each node, one on the last if their number is odd; gdr_topology_free. */
static inline gdr_topology_t *plan_test_pairs(int32_t size)
{
    uint32_t node[64];
    gdr_topology_t *topology = NULL;

    for (int32_t r = 0; r < size; r++)
        node[r] = (uint32_t)r / 2;
    assert_int_equal(gdr_topology_make(node, size, &topology), GDR_OK);
    return topology;
}

static inline gdr_plan_request_t plan_test_request(const gdr_plan_params_t *params, int32_t size,
                                                   uint64_t count, uint32_t type_bytes)
{
    return (gdr_plan_request_t){.rank = 0,
                                .size = size,
                                .count = count,
                                .type_bytes = type_bytes,
                                .commutative = true,
                                .params = params};
}

#endif
