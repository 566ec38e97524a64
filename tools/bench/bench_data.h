/*
 * Inputs whose reduction is exactly predictable: what rank r puts at index i depends on r and on
 * i % BENCH_PERIOD only, so one period of results predicts the whole. The period is a prime, so
 * that a chunk which lands in another one's place is seen. No value overflows, so that libraries
 * that saturate give the same as those that wrap.
 */
#ifndef BENCH_DATA_H
#define BENCH_DATA_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { BENCH_PERIOD = 1021 };

typedef enum bench_op {
    BENCH_SUM,
    BENCH_PROD,
    BENCH_MIN,
    BENCH_MAX,
    BENCH_LAND,
    BENCH_LOR,
    BENCH_LXOR,
    BENCH_BAND,
    BENCH_BOR,
    BENCH_BXOR,
    BENCH_OPS
} bench_op_t;

typedef enum bench_type {
    BENCH_INT8,
    BENCH_INT16,
    BENCH_INT32,
    BENCH_INT64,
    BENCH_UINT8,
    BENCH_UINT16,
    BENCH_UINT32,
    BENCH_UINT64,
    BENCH_FLOAT,
    BENCH_DOUBLE,
    BENCH_TYPES
} bench_type_t;

const char *bench_op_name(bench_op_t op);
const char *bench_type_name(bench_type_t type);
int bench_op_parse(const char *text, bench_op_t *op);       /* 0, or -1: unknown */
int bench_type_parse(const char *text, bench_type_t *type); /* 0, or -1: unknown */
size_t bench_type_bytes(bench_type_t type);
bool bench_op_applies(bench_op_t op, bench_type_t type);

/* One period, in host memory: BENCH_PERIOD elements. */
void bench_input(bench_op_t op, bench_type_t type, int rank, int ranks, void *period);
void bench_expected(bench_op_t op, bench_type_t type, int ranks, void *period);

/* Repeats the period over `count` elements. */
void bench_repeat(bench_type_t type, const void *period, void *buffer, size_t count);

/* How many of `count` elements differ from the repeated period; the first of them into *first. */
size_t bench_differences(bench_type_t type, const void *period, const void *buffer, size_t count,
                         size_t *first);

/* One element as text. Returns text. */
const char *bench_element(bench_type_t type, const void *buffer, size_t index, char *text,
                          size_t size);

#endif
