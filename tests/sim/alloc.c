/* malloc and its kin of the whole program, linked with --wrap: the n-th inside the engine fails. */
#include "tests/sim/sim.h"

#include <stdlib.h>

uint64_t sim_alloc_fail_at, sim_alloc_count;
int sim_alloc_inside;

void *__real_malloc(size_t bytes);
void *__real_calloc(size_t n, size_t bytes);
void *__real_realloc(void *old, size_t bytes);
void *__wrap_malloc(size_t bytes);
void *__wrap_calloc(size_t n, size_t bytes);
void *__wrap_realloc(void *old, size_t bytes);

static bool fails(void)
{
    return sim_alloc_inside > 0 && ++sim_alloc_count == sim_alloc_fail_at;
}

void *__wrap_malloc(size_t bytes)
{
    return fails() ? NULL : __real_malloc(bytes);
}

void *__wrap_calloc(size_t n, size_t bytes)
{
    return fails() ? NULL : __real_calloc(n, bytes);
}

void *__wrap_realloc(void *old, size_t bytes)
{
    return fails() ? NULL : __real_realloc(old, bytes);
}

void *sim_alloc(size_t bytes)
{
    void *memory = __real_calloc(1, bytes);

    if (memory == NULL)
        abort();
    return memory;
}
