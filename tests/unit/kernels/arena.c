#define _GNU_SOURCE
#include "unit/kernels/arena.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "cuda_emu/include/cuda_emu_twin.h"

#define PATTERN 0xc3
#define AROUND  64u
#define NEVER   ~0u

typedef void twin_t(const struct cuda_emu_launch *launch, void **args);

/* Named, so that the linker keeps the library even with --as-needed. */
extern twin_t cuda_emu_twin_gdr_copy;
static twin_t *const keep __attribute__((used)) = cuda_emu_twin_gdr_copy;

typedef struct region {
    uint8_t *begin, *at;
    size_t bytes;
} region_t;

typedef struct expected {
    uint64_t address;
    size_t bytes;
    int write;
    bool seen;
} expected_t;

static region_t regions[ARENA_REGIONS];
static expected_t expected[ARENA_REGIONS + 1];
static unsigned n_expected, n_mapped, refused_call = NEVER;
static bool map_wrong;

void arena_open(void)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    size_t usable = (ARENA_BYTES + page - 1) / page * page;

    for (unsigned r = 0; r < ARENA_REGIONS; r++) {
        uint8_t *base =
            mmap(NULL, usable + 2 * page, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

        if (base == MAP_FAILED || mprotect(base + page, usable, PROT_READ | PROT_WRITE) != 0) {
            perror("arena_open");
            exit(1);
        }
        /* The end of the usable part is what matters; it is ARENA_BYTES long or a little more. */
        regions[r].begin = base + page + usable - ARENA_BYTES;
    }
}

static uint8_t *end_of(const region_t *region)
{
    return region->begin + ARENA_BYTES;
}

static size_t before(const region_t *region)
{
    size_t there = (size_t)(region->at - region->begin);

    return there < AROUND ? there : AROUND;
}

static size_t behind(const region_t *region)
{
    size_t there = (size_t)(end_of(region) - region->at) - region->bytes;

    return there < AROUND ? there : AROUND;
}

uint8_t *arena_put(unsigned index, arena_place_t place, size_t bytes)
{
    region_t *region = &regions[index];

    region->bytes = bytes;
    region->at = place.at_end ? end_of(region) - bytes - place.shift : region->begin + place.shift;
    memset(region->at - before(region), PATTERN, before(region));
    memset(region->at + bytes, PATTERN, behind(region));
    return region->at;
}

static bool is_pattern(const uint8_t *p, size_t bytes)
{
    for (size_t i = 0; i < bytes; i++) {
        if (p[i] != PATTERN)
            return false;
    }
    return true;
}

bool arena_intact(unsigned index)
{
    const region_t *region = &regions[index];

    return is_pattern(region->at - before(region), before(region)) &&
           is_pattern(region->at + region->bytes, behind(region));
}

static void *map(uint64_t address, size_t bytes, int write)
{
    if (n_mapped++ == refused_call)
        return NULL;
    for (unsigned i = 0; i < n_expected; i++) {
        expected_t *e = &expected[i];

        if (!e->seen && e->address == address && e->bytes == bytes && e->write == write) {
            e->seen = true;
            return (void *)(uintptr_t)address;
        }
    }
    fprintf(stderr, "map: %zu bytes at 0x%llx for %s are no operand\n", bytes,
            (unsigned long long)address, write ? "writing" : "reading");
    map_wrong = true;
    return NULL;
}

static void expect(uint64_t address, size_t bytes, int write)
{
    expected[n_expected++] = (expected_t){address, bytes, write, false};
}

/* A gather reads no more of an input than it needs. */
static size_t input_bytes(const gdr_kernel_args_t *args, uint32_t k, size_t bytes)
{
    if (args->block == 0)
        return bytes;
    return k + 1 < args->nin ? args->block : bytes - k * args->block;
}

static void expect_operands(const gdr_kernel_t *kernel, const gdr_kernel_args_t *args)
{
    size_t bytes = args->count * kernel->bytes;

    n_expected = n_mapped = 0;
    map_wrong = false;
    if (args->abort != 0)
        expect(args->abort, sizeof(uint64_t), 0);
    for (uint32_t k = 0; bytes != 0 && k < args->nin; k++)
        expect(args->in[k], input_bytes(args, k, bytes), 0);
    for (uint32_t o = 0; bytes != 0 && o < args->nout; o++)
        expect(args->out[o], bytes, 1);
}

static twin_t *twin_of(const gdr_kernel_t *kernel)
{
    char symbol[128];
    void *found;
    twin_t *twin;

    snprintf(symbol, sizeof(symbol), "cuda_emu_twin_%s", kernel->name);
    found = dlsym(RTLD_DEFAULT, symbol);
    memcpy(&twin, &found, sizeof(twin));
    return twin;
}

bool arena_launch(const gdr_kernel_t *kernel, const gdr_kernel_args_t *args, uint32_t blocks,
                  uint32_t threads)
{
    struct cuda_emu_launch launch = {
        .abi = CUDA_EMU_TWIN_ABI, .grid = {blocks, 1, 1}, .block = {threads, 1, 1}, .map = map};
    gdr_kernel_args_t copy = *args;
    void *pointers[] = {&copy};
    twin_t *twin = twin_of(kernel);
    bool refusing = refused_call != NEVER;

    if (twin == NULL)
        return false;
    expect_operands(kernel, args);
    twin(&launch, pointers);
    refused_call = NEVER;
    return !map_wrong && (refusing || n_mapped == n_expected);
}

void arena_refuse(unsigned index)
{
    refused_call = index;
}
