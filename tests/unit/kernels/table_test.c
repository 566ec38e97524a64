/* The tables: which pair has which kernel, where it lies, grids, representations of types. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <string.h>

#include "kernels/gdr_kernels.h"

static void test_kernel_of_every_supported_pair(void **state)
{
    (void)state;
    for (int o = 0; o < GDR_OP_COUNT; o++) {
        for (int t = 0; t < GDR_TYPE_COUNT; t++) {
            gdr_op_t op = (gdr_op_t)o;
            gdr_type_t type = (gdr_type_t)t;
            const gdr_kernel_t *kernel = gdr_kernel_find(op, type);
            char prefix[64];

            assert_int_equal(kernel != NULL, gdr_optype_supported(op, type));
            if (kernel == NULL) {
                assert_null(gdr_kernel_name(op, type));
                continue;
            }
            snprintf(prefix, sizeof(prefix), "gdr_reduce_%s_", gdr_op_name(op));
            assert_non_null(kernel->name);
            assert_memory_equal(kernel->name, prefix, strlen(prefix));
            assert_string_equal(gdr_kernel_name(op, type), kernel->name);
            assert_int_equal(kernel->bytes, gdr_type_bytes(type));
            assert_true(kernel->image < gdr_kernels_images());
        }
    }
}

static void test_no_kernel_outside_the_table(void **state)
{
    (void)state;
    assert_null(gdr_kernel_find(GDR_OP_COUNT, GDR_TYPE_INT32));
    assert_null(gdr_kernel_find(GDR_OP_SUM, GDR_TYPE_COUNT));
    assert_null(gdr_kernel_name((gdr_op_t)1000, (gdr_type_t)1000));
    assert_null(gdr_kernels_at(gdr_kernels_count()));
    assert_null(gdr_kernels_image(gdr_kernels_images()));
}

static bool listed(const gdr_kernel_t *kernel)
{
    for (size_t i = 0; i < gdr_kernels_count(); i++) {
        if (gdr_kernels_at(i) == kernel)
            return true;
    }
    return false;
}

static void test_the_list_is_complete_and_unique(void **state)
{
    (void)state;
    assert_true(listed(gdr_kernel_copy()));
    assert_true(listed(gdr_kernel_gather()));
    for (int op = 0; op < GDR_OP_COUNT; op++) {
        for (int type = 0; type < GDR_TYPE_COUNT; type++) {
            const gdr_kernel_t *kernel = gdr_kernel_find((gdr_op_t)op, (gdr_type_t)type);

            assert_true(kernel == NULL || listed(kernel));
        }
    }
    for (size_t i = 0; i < gdr_kernels_count(); i++) {
        for (size_t j = 0; j < i; j++)
            assert_string_not_equal(gdr_kernels_at(i)->name, gdr_kernels_at(j)->name);
    }
}

/* What nvcc writes: magic, version, header length, then the length of the rest. */
static void test_images_are_whole_fatbins(void **state)
{
    (void)state;
    for (size_t i = 0; i < gdr_kernels_images(); i++) {
        const gdr_kernel_image_t *image = gdr_kernels_image(i);
        struct {
            uint32_t magic;
            uint16_t version, header;
            uint64_t rest;
        } head;

        assert_non_null(image->name);
        assert_int_equal((uintptr_t)image->data % 16, 0);
        assert_true(image->bytes > sizeof(head));
        memcpy(&head, image->data, sizeof(head));
        assert_int_equal(head.magic, 0xba55ed50);
        assert_int_equal(head.header + head.rest, image->bytes);
    }
}

static void test_grid_is_bounded(void **state)
{
    (void)state;
    assert_int_equal(gdr_kernel_grid(0, 4, 0).blocks, 1);
    assert_int_equal(gdr_kernel_grid(1, 16, 7).blocks, 1);
    assert_int_equal(gdr_kernel_grid(UINT64_C(4) * GDR_KERNEL_THREADS, 4, 8).blocks, 1);
    assert_int_equal(gdr_kernel_grid(UINT64_C(4) * GDR_KERNEL_THREADS + 1, 4, 8).blocks, 2);
    assert_int_equal(gdr_kernel_grid(1 << 30, 1, 8).blocks, 8);
    assert_int_equal(gdr_kernel_grid(UINT64_MAX, 16, 0).blocks, GDR_KERNEL_DEFAULT_BLOCKS);
    assert_int_equal(gdr_kernel_grid(1000, 8, 3).threads, GDR_KERNEL_THREADS);
}

/* MPI defines a pair type as the C structure; its extent is what arrays of it have. */
static void test_pairs_are_laid_out_as_c_structures(void **state)
{
    struct double_int {
        double value;
        int index;
    };
    struct long_int {
        long value;
        int index;
    };
    struct short_int {
        short value;
        int index;
    };

    (void)state;
    assert_int_equal(gdr_type_bytes(GDR_TYPE_DOUBLE_INT), sizeof(struct double_int));
    assert_int_equal(gdr_type_bytes(GDR_TYPE_LONG_INT), sizeof(struct long_int));
    assert_int_equal(gdr_type_bytes(GDR_TYPE_SHORT_INT), sizeof(struct short_int));
    assert_int_equal(offsetof(struct double_int, index), 8);
    assert_int_equal(offsetof(struct long_int, index), 8);
    assert_int_equal(offsetof(struct short_int, index), 4);
}

/* MPI 4.1, 6.9.2: by class, a few of each that must be there and that must not. */
static void test_classes(void **state)
{
    (void)state;
    assert_true(gdr_optype_supported(GDR_OP_LXOR, GDR_TYPE_INT64));
    assert_true(gdr_optype_supported(GDR_OP_BAND, GDR_TYPE_BYTE));
    assert_true(gdr_optype_supported(GDR_OP_PROD, GDR_TYPE_COMPLEX128));
    assert_true(gdr_optype_supported(GDR_OP_LOR, GDR_TYPE_BOOL8));
    assert_true(gdr_optype_supported(GDR_OP_MAXLOC, GDR_TYPE_SHORT_INT));
    assert_false(gdr_optype_supported(GDR_OP_MIN, GDR_TYPE_COMPLEX64));
    assert_false(gdr_optype_supported(GDR_OP_BAND, GDR_TYPE_FLOAT32));
    assert_false(gdr_optype_supported(GDR_OP_LAND, GDR_TYPE_FLOAT64));
    assert_false(gdr_optype_supported(GDR_OP_SUM, GDR_TYPE_BYTE));
    assert_false(gdr_optype_supported(GDR_OP_SUM, GDR_TYPE_BOOL8));
    assert_false(gdr_optype_supported(GDR_OP_BOR, GDR_TYPE_LOGICAL32));
    assert_false(gdr_optype_supported(GDR_OP_MINLOC, GDR_TYPE_INT32));
    assert_false(gdr_optype_supported(GDR_OP_SUM, GDR_TYPE_FLOAT_INT));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_kernel_of_every_supported_pair),
        cmocka_unit_test(test_no_kernel_outside_the_table),
        cmocka_unit_test(test_the_list_is_complete_and_unique),
        cmocka_unit_test(test_images_are_whole_fatbins),
        cmocka_unit_test(test_grid_is_bounded),
        cmocka_unit_test(test_pairs_are_laid_out_as_c_structures),
        cmocka_unit_test(test_classes),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
