#include "bench_format.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char suffixes[] = "KMGT";

int bench_parse_size(const char *text, uint64_t *bytes)
{
    const char *suffix;
    char *end;
    unsigned shift = 0;
    unsigned long long value;

    if (strspn(text, "0123456789") > 18 || text[0] < '0' || text[0] > '9')
        return -1;
    value = strtoull(text, &end, 10);
    if (*end != '\0') {
        suffix = strchr(suffixes, *end & ~0x20);
        if (suffix == NULL || *suffix == '\0' || end[1] != '\0')
            return -1;
        shift = 10 * (unsigned)(suffix - suffixes + 1);
    }
    if (value == 0 || value > UINT64_MAX >> 1 >> shift)
        return -1;
    *bytes = (uint64_t)value << shift;
    return 0;
}

const char *bench_format_size(uint64_t bytes, char *text, size_t size)
{
    const char *suffix = "";

    for (const char *next = suffixes; *next != '\0' && bytes != 0 && bytes % 1024 == 0; next++) {
        bytes /= 1024;
        suffix = next;
    }
    snprintf(text, size, "%llu%.1s", (unsigned long long)bytes, suffix);
    return text;
}

const char *bench_format_number(double value, char *text, size_t size)
{
    int decimals = value < 10 ? 3 : value < 100 ? 2 : value < 1000 ? 1 : 0;

    snprintf(text, size, "%.*f", decimals, value);
    return text;
}

const char *bench_format_per(uint64_t total, int calls, char *text, size_t size)
{
    if (total % (uint64_t)calls != 0)
        return bench_format_number((double)total / calls, text, size);
    snprintf(text, size, "%llu", (unsigned long long)(total / (uint64_t)calls));
    return text;
}

const char *bench_format_json(const char *from, char *text, size_t size)
{
    size_t used = 0;

    text[used++] = '"';
    for (; *from != '\0' && used + 8 < size; from++) {
        unsigned char c = (unsigned char)*from;

        if (c < 0x20) {
            used += (size_t)snprintf(text + used, size - used, "\\u%04x", c);
            continue;
        }
        if (c == '"' || c == '\\')
            text[used++] = '\\';
        text[used++] = (char)c;
    }
    text[used++] = '"';
    text[used] = '\0';
    return text;
}
