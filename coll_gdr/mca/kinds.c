#include "mca/kinds.h"

#include <stddef.h>
#include <string.h>

/* A kind with its restrictors, in the order in which MPI and its CUDA side document name them. */
static const char *const host_kinds[] = {
    "system", "mpi", "mpi:alloc_mem", "mpi:win_allocate", "mpi:win_allocate_shared", "cuda:host"};

static bool is_blank(char c)
{
    return c == ' ' || c == '\t';
}

static bool is_host_kind(const char *text, size_t length)
{
    while (length > 0 && is_blank(text[0]))
        text++, length--;
    while (length > 0 && is_blank(text[length - 1]))
        length--;
    for (size_t i = 0; i < sizeof(host_kinds) / sizeof(host_kinds[0]); i++)
        if (strlen(host_kinds[i]) == length && memcmp(host_kinds[i], text, length) == 0)
            return true;
    return false;
}

bool gdr_kinds_promise_host(const char *value)
{
    for (const char *item = value;;) {
        size_t length = strcspn(item, ",");

        if (!is_host_kind(item, length))
            return false;
        if (item[length] == '\0')
            return true;
        item += length + 1;
    }
}
