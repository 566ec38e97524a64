/*
 * Every kernel, as its twin, against the reference: number of inputs and outputs, counts,
 * alignments, operands in place, with bytes around the operands that must not change and pages
 * behind them that must not be read. Run twice: in one pass, and thread by thread (GDR_TWIN_GRID).
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "kernels/gdr_kernels.h"
#include "unit/kernels/arena.h"
#include "unit/kernels/reference.h"

#define MAX_COUNT 1025
#define MAX_SIZE  16
#define FIRST_OUT GDR_KERNEL_MAX_INPUTS

static const size_t counts[] = {0, 1, 2, 7, 15, 16, 17, 64, 1023, MAX_COUNT};

enum alias { APART, FIRST_IN_PLACE, LAST_IN_PLACE, SECOND_OUT_IN_PLACE, ALIASES };
enum layout {
    ALIGNED,
    ONE_ELEMENT_ON,
    AT_THE_END,
    EACH_DIFFERENT,
    OUTPUT_4_ON,
    ALL_8_ON,
    ALL_ODD,
    EACH_ODD,
    OUTPUT_AT_THE_END,
    LAYOUTS
};

typedef struct shot {
    gdr_op_t op;
    gdr_type_t type;
    const gdr_kernel_t *kernel;
    size_t count, bytes;
    unsigned nin, nout;
    enum layout layout;
    enum alias alias;
} shot_t;

static uint8_t sources[GDR_KERNEL_MAX_INPUTS][MAX_COUNT * MAX_SIZE];
static uint8_t wanted[MAX_COUNT * MAX_SIZE];
static bool whole_grid;

static arena_place_t place_of(const shot_t *shot, unsigned region)
{
    unsigned size = shot->kernel->bytes;
    bool out = region >= FIRST_OUT;

    switch (shot->layout) {
    case ONE_ELEMENT_ON:
        return (arena_place_t){false, size};
    case AT_THE_END:
        return (arena_place_t){true, 0};
    case EACH_DIFFERENT:
        return (arena_place_t){false, region * size % 16};
    case OUTPUT_4_ON:
        return (arena_place_t){false, out ? 4 : 0};
    case ALL_8_ON:
        return (arena_place_t){false, 8};
    case ALL_ODD:
        return (arena_place_t){false, 1};
    case EACH_ODD:
        return (arena_place_t){true, region * 3 % 16};
    case OUTPUT_AT_THE_END:
        return (arena_place_t){out, 0};
    default:
        return (arena_place_t){false, 0};
    }
}

static void set_up(const shot_t *shot, gdr_kernel_args_t *args)
{
    *args = (gdr_kernel_args_t){.count = shot->count, .nin = shot->nin, .nout = shot->nout};
    for (unsigned k = 0; k < shot->nin; k++) {
        uint8_t *in = arena_put(k, place_of(shot, k), shot->bytes);

        memcpy(in, sources[k], shot->bytes);
        args->in[k] = (uintptr_t)in;
    }
    for (unsigned o = 0; o < shot->nout; o++) {
        uint8_t *out = arena_put(FIRST_OUT + o, place_of(shot, FIRST_OUT + o), shot->bytes);

        memset(out, 0x5a, shot->bytes);
        args->out[o] = (uintptr_t)out;
    }
    if (shot->alias == FIRST_IN_PLACE)
        args->out[0] = args->in[0];
    else if (shot->alias == LAST_IN_PLACE)
        args->out[0] = args->in[shot->nin - 1];
    else if (shot->alias == SECOND_OUT_IN_PLACE)
        args->out[1] = args->in[0];
}

static void fail_shot(const shot_t *shot, const char *what, size_t element)
{
    fail_msg("%s count %zu, %u inputs, %u outputs, layout %d, alias %d: %s (element %zu)",
             shot->kernel->name, shot->count, shot->nin, shot->nout, shot->layout, shot->alias,
             what, element);
}

static void check_results(const shot_t *shot, const gdr_kernel_args_t *args)
{
    size_t size = shot->kernel->bytes;

    for (unsigned o = 0; o < shot->nout; o++) {
        const uint8_t *out = (const uint8_t *)(uintptr_t)args->out[o];

        for (size_t i = 0; i < shot->count; i++) {
            if (!reference_same(shot->op, shot->type, out + i * size, wanted + i * size))
                fail_shot(shot, o == 0 ? "wrong first output" : "wrong second output", i);
        }
    }
}

static bool overwritten(const gdr_kernel_args_t *args, unsigned k)
{
    return args->out[0] == args->in[k] || (args->nout == 2 && args->out[1] == args->in[k]);
}

static void check_surroundings(const shot_t *shot, const gdr_kernel_args_t *args)
{
    for (unsigned k = 0; k < shot->nin; k++) {
        if (!arena_intact(k))
            fail_shot(shot, "bytes around an input changed", k);
        if (shot->bytes != 0 && !overwritten(args, k) &&
            memcmp((const void *)(uintptr_t)args->in[k], sources[k], shot->bytes) != 0)
            fail_shot(shot, "an input changed", k);
    }
    for (unsigned o = 0; o < shot->nout; o++) {
        if (!arena_intact(FIRST_OUT + o))
            fail_shot(shot, "bytes around an output changed", o);
    }
}

/* Few threads, so that each has several rounds; the grid of the product otherwise. */
static void shoot(const shot_t *shot)
{
    gdr_kernel_grid_t grid = gdr_kernel_grid(shot->count, shot->kernel->bytes, 0);
    gdr_kernel_args_t args;

    if (whole_grid && shot->layout != ALIGNED)
        grid = (gdr_kernel_grid_t){2, 3};
    set_up(shot, &args);
    if (!arena_launch(shot->kernel, &args, grid.blocks, grid.threads))
        fail_shot(shot, "wrong ranges mapped", 0);
    check_results(shot, &args);
    check_surroundings(shot, &args);
}

static void shoot_all_layouts(shot_t *shot)
{
    for (int layout = 0; layout < LAYOUTS; layout++) {
        for (int alias = 0; alias < ALIASES; alias++) {
            for (unsigned nout = alias == SECOND_OUT_IN_PLACE ? 2 : 1; nout <= 2; nout++) {
                shot->layout = (enum layout)layout;
                shot->alias = (enum alias)alias;
                shot->nout = nout;
                shoot(shot);
            }
        }
    }
}

static void shoot_all_counts(shot_t *shot, unsigned max_inputs)
{
    const uint8_t *in[GDR_KERNEL_MAX_INPUTS];

    for (unsigned k = 0; k < GDR_KERNEL_MAX_INPUTS; k++)
        in[k] = sources[k];
    for (unsigned n = 1; n <= max_inputs; n++) {
        for (size_t c = 0; c < sizeof(counts) / sizeof(counts[0]); c++) {
            shot->nin = n;
            shot->count = counts[c];
            shot->bytes = counts[c] * shot->kernel->bytes;
            reference_reduce(shot->op, shot->type, in, n, shot->count, wanted);
            shoot_all_layouts(shot);
        }
    }
}

static void test_every_pair(void **state)
{
    uint64_t seed = 0x9e3779b97f4a7c15;

    (void)state;
    for (int op = 0; op < GDR_OP_COUNT; op++) {
        for (int type = 0; type < GDR_TYPE_COUNT; type++) {
            shot_t shot = {.op = (gdr_op_t)op, .type = (gdr_type_t)type};

            shot.kernel = gdr_kernel_find(shot.op, shot.type);
            if (shot.kernel == NULL)
                continue;
            for (unsigned k = 0; k < GDR_KERNEL_MAX_INPUTS; k++)
                reference_fill(shot.type, sources[k], MAX_COUNT, &seed);
            shoot_all_counts(&shot, GDR_KERNEL_MAX_INPUTS);
        }
    }
}

static void test_copy(void **state)
{
    shot_t shot = {.op = GDR_OP_BOR, .type = GDR_TYPE_BYTE, .kernel = gdr_kernel_copy()};
    uint64_t seed = 42;

    (void)state;
    reference_fill(GDR_TYPE_BYTE, sources[0], MAX_COUNT, &seed);
    shoot_all_counts(&shot, 1);
}

/* nin - 1 blocks and `last` bytes of one more, by grids with more warps than inputs, and fewer. */
static void shoot_gather(unsigned nin, size_t block, size_t last, enum layout layout)
{
    static const gdr_kernel_grid_t grids[] = {{1, 1}, {2, 3}, {1, 32}, {3, 64}, {1, 512}};
    shot_t shot = {.kernel = gdr_kernel_gather(), .nin = nin, .nout = 1, .layout = layout};
    unsigned ngrids = whole_grid ? sizeof(grids) / sizeof(grids[0]) : 1;
    gdr_kernel_args_t args = {.block = block, .nin = nin, .nout = 1};

    shot.count = shot.bytes = args.count = (nin - 1) * block + last;
    for (unsigned g = 0; g < ngrids; g++) {
        uint8_t *out = arena_put(FIRST_OUT, place_of(&shot, FIRST_OUT), shot.bytes);

        args.out[0] = (uintptr_t)out;
        memset(out, 0x5a, shot.bytes);
        for (unsigned k = 0; k < nin; k++) {
            size_t bytes = k + 1 < nin ? block : last;

            args.in[k] = (uintptr_t)arena_put(k, place_of(&shot, k), bytes);
            memcpy((void *)(uintptr_t)args.in[k], sources[k], bytes);
        }
        if (!arena_launch(shot.kernel, &args, grids[g].blocks, grids[g].threads))
            fail_shot(&shot, "wrong ranges mapped", 0);
        for (unsigned k = 0; k < nin; k++)
            if (memcmp(out + k * block, sources[k], k + 1 < nin ? block : last) != 0 ||
                !arena_intact(k))
                fail_shot(&shot, "a wrong block, or bytes around it changed", k);
        if (!arena_intact(FIRST_OUT))
            fail_shot(&shot, "bytes around the output changed", 0);
    }
}

static void test_gather(void **state)
{
    static const size_t blocks[] = {1, 7, 16, 48, 1023, 1024};
    uint64_t seed = 43;

    (void)state;
    for (unsigned k = 0; k < GDR_KERNEL_MAX_INPUTS; k++)
        reference_fill(GDR_TYPE_BYTE, sources[k], MAX_COUNT, &seed);
    for (unsigned nin = 1; nin <= GDR_KERNEL_MAX_INPUTS; nin++)
        for (size_t b = 0; b < sizeof(blocks) / sizeof(blocks[0]); b++)
            for (int layout = 0; layout < LAYOUTS; layout++) {
                shoot_gather(nin, blocks[b], blocks[b], (enum layout)layout);
                shoot_gather(nin, blocks[b], (blocks[b] + 1) / 2, (enum layout)layout);
                shoot_gather(nin, blocks[b], 1, (enum layout)layout);
            }
}

/* The four elements of one operand each, reduced by `op`, into *result. */
static void reduce_four(gdr_op_t op, gdr_type_t type, const void *elements, void *result)
{
    const gdr_kernel_t *kernel = gdr_kernel_find(op, type);
    gdr_kernel_args_t args = {.count = 1, .nin = 4, .nout = 1};

    for (unsigned k = 0; k < 4; k++) {
        uint8_t *in = arena_put(k, (arena_place_t){true, 0}, kernel->bytes);

        memcpy(in, (const uint8_t *)elements + (size_t)k * kernel->bytes, kernel->bytes);
        args.in[k] = (uintptr_t)in;
    }
    args.out[0] = (uintptr_t)arena_put(FIRST_OUT, (arena_place_t){true, 0}, kernel->bytes);
    assert_true(arena_launch(kernel, &args, 1, 32));
    memcpy(result, (const void *)(uintptr_t)args.out[0], kernel->bytes);
}

static void test_left_to_right(void **state)
{
    const float elements[] = {1e8f, 1.0f, -1e8f, 1.0f};
    float sum;

    (void)state;
    reduce_four(GDR_OP_SUM, GDR_TYPE_FLOAT32, elements, &sum);
    assert_true(sum == 1.0f);
}

static void test_ties_take_the_lowest_index(void **state)
{
    const struct {
        double value;
        int index;
    } elements[] = {{2.0, 9}, {1.0, 7}, {1.0, 3}, {1.0, 5}};
    const struct {
        float value, index;
    } real_elements[] = {{1.0f, 4.0f}, {3.0f, 2.0f}, {3.0f, 1.0f}, {3.0f, 6.0f}};
    unsigned char least[sizeof(elements[0])];
    unsigned char most[sizeof(real_elements[0])];

    (void)state;
    reduce_four(GDR_OP_MINLOC, GDR_TYPE_DOUBLE_INT, elements, least);
    assert_memory_equal(least, &elements[2], sizeof(double) + sizeof(int));
    reduce_four(GDR_OP_MAXLOC, GDR_TYPE_FLOAT32_FLOAT32, real_elements, most);
    assert_memory_equal(most, &real_elements[2], sizeof(real_elements[0]));
}

static void test_zeros_are_ordered_and_nan_wins(void **state)
{
    const float zeros[] = {0.0f, -0.0f, 0.0f, 0.0f};
    const double with_nan[] = {1.0, 2.0, (double)__builtin_nanf(""), -5.0};
    float least;
    double most;

    (void)state;
    reduce_four(GDR_OP_MIN, GDR_TYPE_FLOAT32, zeros, &least);
    assert_true(least == 0.0f && __builtin_signbit(least));
    reduce_four(GDR_OP_MAX, GDR_TYPE_FLOAT64, with_nan, &most);
    assert_true(__builtin_isnan(most));
}

static void test_small_integers_wrap(void **state)
{
    const uint16_t factors[] = {0xffff, 0xffff, 0xffff, 0xffff};
    const int8_t terms[] = {127, 1, -128, 127};
    uint16_t product;
    int8_t sum;

    (void)state;
    reduce_four(GDR_OP_PROD, GDR_TYPE_UINT16, factors, &product);
    assert_int_equal(product, 1);
    reduce_four(GDR_OP_SUM, GDR_TYPE_INT8, terms, &sum);
    assert_int_equal(sum, 127);
}

static void test_truth_becomes_0_or_1(void **state)
{
    const uint32_t values[] = {2, 4, 0xffffffff, 0x80000000};
    uint32_t result;

    (void)state;
    reduce_four(GDR_OP_LAND, GDR_TYPE_LOGICAL32, values, &result);
    assert_int_equal(result, 1);
    reduce_four(GDR_OP_LXOR, GDR_TYPE_LOGICAL32, values, &result);
    assert_int_equal(result, 0);
}

static void launch_with_abort(const gdr_kernel_t *kernel, uint64_t *word, bool written)
{
    shot_t shot = {.kernel = kernel, .count = 101, .nin = 2, .nout = 2, .layout = OUTPUT_4_ON};
    gdr_kernel_args_t args;
    uint8_t untouched[101 * MAX_SIZE];

    shot.bytes = shot.count * kernel->bytes;
    set_up(&shot, &args);
    args.nin = kernel == gdr_kernel_copy() ? 1 : 2;
    if (kernel == gdr_kernel_gather()) {
        args.nout = 1;
        args.block = 51;
    }
    args.abort = (uintptr_t)word;
    args.abort_value = (UINT64_C(1) << 63) + 1;
    memset(untouched, 0x5a, sizeof(untouched));
    assert_true(arena_launch(kernel, &args, 2, 32));
    for (unsigned o = 0; o < args.nout; o++)
        assert_int_equal(memcmp((const void *)(uintptr_t)args.out[o], untouched, shot.bytes) != 0,
                         written);
}

static void test_abort_word(void **state)
{
    uint64_t low = 1, high = UINT64_C(1) << 63, both = high + low;

    (void)state;
    for (size_t i = 0; i < gdr_kernels_count(); i++) {
        launch_with_abort(gdr_kernels_at(i), &low, true);
        launch_with_abort(gdr_kernels_at(i), &high, true);
        launch_with_abort(gdr_kernels_at(i), &both, false);
    }
}

/* A range that the emulator refuses: the launch does nothing at all. */
static void test_refused_range(void **state)
{
    shot_t shot = {.kernel = gdr_kernel_find(GDR_OP_SUM, GDR_TYPE_INT32),
                   .count = 50,
                   .bytes = 200,
                   .nin = 3,
                   .nout = 2};
    gdr_kernel_args_t args;
    uint8_t untouched[200];

    (void)state;
    memset(untouched, 0x5a, sizeof(untouched));
    for (unsigned call = 0; call < 5; call++) {
        set_up(&shot, &args);
        arena_refuse(call);
        assert_true(arena_launch(shot.kernel, &args, 1, 32));
        for (unsigned o = 0; o < 2; o++)
            assert_memory_equal((const void *)(uintptr_t)args.out[o], untouched, shot.bytes);
    }
}

/* This program again, its twins playing every thread of the grid. */
static int run_thread_by_thread(char **argv)
{
    int status;
    pid_t child = fork();

    if (child == 0) {
        setenv("GDR_TWIN_GRID", "1", 1);
        execv("/proc/self/exe", argv);
        _exit(127);
    }
    return child > 0 && waitpid(child, &status, 0) == child && status == 0 ? 0 : 1;
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_pair),
        cmocka_unit_test(test_copy),
        cmocka_unit_test(test_gather),
        cmocka_unit_test(test_left_to_right),
        cmocka_unit_test(test_ties_take_the_lowest_index),
        cmocka_unit_test(test_zeros_are_ordered_and_nan_wins),
        cmocka_unit_test(test_small_integers_wrap),
        cmocka_unit_test(test_truth_becomes_0_or_1),
        cmocka_unit_test(test_abort_word),
        cmocka_unit_test(test_refused_range),
    };
    int failed;

    (void)argc;
    whole_grid = getenv("GDR_TWIN_GRID") != NULL;
    arena_open();
    failed = cmocka_run_group_tests_name(whole_grid ? "thread by thread" : "in one pass", tests,
                                         NULL, NULL);
    if (whole_grid)
        return failed;
    return run_thread_by_thread(argv) != 0 || failed != 0;
}
