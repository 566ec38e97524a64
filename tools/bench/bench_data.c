#include "bench_data.h"

#include <stdio.h>
#include <string.h>

/* An integer of any width, sign- or zero-extended; floating types hold integers too. */
typedef int64_t value_t;

static const char *const op_names[BENCH_OPS] = {"sum", "prod", "min",  "max", "land",
                                                "lor", "lxor", "band", "bor", "bxor"};

static const struct {
    const char *name;
    size_t bytes;
} types[BENCH_TYPES] = {{"int8", 1},   {"int16", 2},  {"int32", 4},  {"int64", 8}, {"uint8", 1},
                        {"uint16", 2}, {"uint32", 4}, {"uint64", 8}, {"float", 4}, {"double", 8}};

const char *bench_op_name(bench_op_t op)
{
    return op_names[op];
}

const char *bench_type_name(bench_type_t type)
{
    return types[type].name;
}

size_t bench_type_bytes(bench_type_t type)
{
    return types[type].bytes;
}

int bench_op_parse(const char *text, bench_op_t *op)
{
    for (int i = 0; i < BENCH_OPS; i++) {
        if (strcmp(text, op_names[i]) == 0) {
            *op = (bench_op_t)i;
            return 0;
        }
    }
    return -1;
}

int bench_type_parse(const char *text, bench_type_t *type)
{
    if (strcmp(text, "int") == 0)
        text = "int32";
    for (int i = 0; i < BENCH_TYPES; i++) {
        if (strcmp(text, types[i].name) == 0) {
            *type = (bench_type_t)i;
            return 0;
        }
    }
    return -1;
}

static bool is_floating(bench_type_t type)
{
    return type == BENCH_FLOAT || type == BENCH_DOUBLE;
}

static bool is_signed(bench_type_t type)
{
    return type <= BENCH_INT64 || is_floating(type);
}

bool bench_op_applies(bench_op_t op, bench_type_t type)
{
    return !is_floating(type) || op <= BENCH_MAX;
}

static uint64_t scramble(uint64_t x)
{
    x = (x ^ (x >> 31)) * UINT64_C(0x9e3779b97f4a7c15);
    x = (x ^ (x >> 29)) * UINT64_C(0xbf58476d1ce4e5b9);
    return x ^ (x >> 32);
}

/* Keeps a sum of `ranks` values inside 8 or 16 bits; wider types hold anything used here. */
static int sum_limit(bench_type_t type, int ranks)
{
    int largest = bench_type_bytes(type) == 1 ? 127 : bench_type_bytes(type) == 2 ? 32767 : 1 << 23;
    int limit = largest / ranks;

    return limit > BENCH_PERIOD ? BENCH_PERIOD : limit < 1 ? 1 : limit;
}

static value_t input(bench_op_t op, bench_type_t type, int rank, int ranks, int i)
{
    int range = bench_type_bytes(type) == 1 ? 127 : BENCH_PERIOD;

    switch (op) {
    case BENCH_SUM:
        return (i + 5 * rank) % (sum_limit(type, ranks) + 1);
    case BENCH_PROD: /* at most 2 to the 6th */
        return rank < 6 && (i >> rank) % 2 != 0 ? 2 : 1;
    case BENCH_MIN:
    case BENCH_MAX:
        return (value_t)(scramble((uint64_t)i * 64 + (uint64_t)rank) % (uint64_t)range) -
               (is_signed(type) ? range / 2 : 0);
    case BENCH_LAND:
        return (i + rank) % 7 != 0 ? 1 + i % 3 : 0;
    case BENCH_LOR:
    case BENCH_LXOR:
        return (i + rank) % 5 == 0 ? 1 + i % 3 : 0;
    default:
        return (value_t)scramble((uint64_t)i * 64 + (uint64_t)rank);
    }
}

static value_t combine(bench_op_t op, value_t a, value_t b)
{
    switch (op) {
    case BENCH_SUM:
        return a + b;
    case BENCH_PROD:
        return a * b;
    case BENCH_MIN:
        return a < b ? a : b;
    case BENCH_MAX:
        return a > b ? a : b;
    case BENCH_LAND:
        return a && b;
    case BENCH_LOR:
        return a || b;
    case BENCH_LXOR:
        return !a != !b;
    case BENCH_BAND:
        return a & b;
    case BENCH_BOR:
        return a | b;
    default:
        return a ^ b;
    }
}

static void store(bench_type_t type, void *buffer, int i, value_t value)
{
    size_t bytes = bench_type_bytes(type);
    char *at = (char *)buffer + (size_t)i * bytes;
    float f = (float)value;
    double d = (double)value;

    if (type == BENCH_FLOAT)
        memcpy(at, &f, sizeof(f));
    else if (type == BENCH_DOUBLE)
        memcpy(at, &d, sizeof(d));
    else
        memcpy(at, &value, bytes); /* little-endian: the low bytes */
}

void bench_input(bench_op_t op, bench_type_t type, int rank, int ranks, void *period)
{
    for (int i = 0; i < BENCH_PERIOD; i++)
        store(type, period, i, input(op, type, rank, ranks, i));
}

void bench_expected(bench_op_t op, bench_type_t type, int ranks, void *period)
{
    for (int i = 0; i < BENCH_PERIOD; i++) {
        value_t value = input(op, type, 0, ranks, i);

        for (int rank = 1; rank < ranks; rank++)
            value = combine(op, value, input(op, type, rank, ranks, i));
        store(type, period, i, value);
    }
}

void bench_repeat(bench_type_t type, const void *period, void *buffer, size_t count)
{
    size_t bytes = bench_type_bytes(type);

    for (size_t done = 0; done < count; done += BENCH_PERIOD) {
        size_t part = count - done < BENCH_PERIOD ? count - done : BENCH_PERIOD;

        memcpy((char *)buffer + done * bytes, period, part * bytes);
    }
}

size_t bench_differences(bench_type_t type, const void *period, const void *buffer, size_t count,
                         size_t *first)
{
    size_t bytes = bench_type_bytes(type), found = 0;

    for (size_t done = 0; done < count; done += BENCH_PERIOD) {
        size_t part = count - done < BENCH_PERIOD ? count - done : BENCH_PERIOD;
        const char *at = (const char *)buffer + done * bytes;

        if (memcmp(at, period, part * bytes) == 0)
            continue;
        for (size_t i = 0; i < part; i++) {
            if (memcmp(at + i * bytes, (const char *)period + i * bytes, bytes) != 0 &&
                found++ == 0)
                *first = done + i;
        }
    }
    return found;
}

const char *bench_element(bench_type_t type, const void *buffer, size_t index, char *text,
                          size_t size)
{
    size_t bytes = bench_type_bytes(type);
    const char *at = (const char *)buffer + index * bytes;
    uint64_t bits = 0;
    float f;
    double d;

    memcpy(&bits, at, bytes);
    if (type == BENCH_FLOAT) {
        memcpy(&f, at, sizeof(f));
        snprintf(text, size, "%.9g", (double)f);
    } else if (type == BENCH_DOUBLE) {
        memcpy(&d, at, sizeof(d));
        snprintf(text, size, "%.17g", d);
    } else if (is_signed(type)) {
        unsigned unused = 64 - 8 * (unsigned)bytes;

        snprintf(text, size, "%lld", (long long)((int64_t)(bits << unused) >> unused));
    } else {
        snprintf(text, size, "%llu", (unsigned long long)bits);
    }
    return text;
}
