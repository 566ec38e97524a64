/* Sizes and numbers as gdr_bench reads and prints them. Pure. */
#ifndef BENCH_FORMAT_H
#define BENCH_FORMAT_H

#include <stddef.h>
#include <stdint.h>

/* "8", "64K", "16M", "1G" (powers of 1024) -> bytes, > 0; -1 for anything else. */
int bench_parse_size(const char *text, uint64_t *bytes);

/* 65536 -> "64K"; what is no whole multiple stays plain. Returns text. */
const char *bench_format_size(uint64_t bytes, char *text, size_t size);

/* Four significant digits without an exponent: 3.142, 31.42, 3142. Returns text. */
const char *bench_format_number(double value, char *text, size_t size);

/* total / calls: whole if it is, else as a number. Returns text. */
const char *bench_format_per(uint64_t total, int calls, char *text, size_t size);

/* The text as a JSON string, quotes included; cut when it does not fit. Returns text. */
const char *bench_format_json(const char *from, char *text, size_t size);

#endif
