/* What collectives read and write: roles, in place, lists, large counts. */
#include "mca/areas.h"

#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

enum { PEERS = 4 };

static const int counts[PEERS] = {3, 0, 5, 7}, displs[PEERS] = {-3, 4, 40, 10};
static const ptrdiff_t far[PEERS] = {-1, 1L << 40, 2, 3};
static struct ompi_datatype_t *const type = (void *)0x100;
static struct ompi_datatype_t *const types[PEERS] = {(void *)0x1, (void *)0x2, (void *)0x3,
                                                     (void *)0x4};

static const gdr_coll_place_t everybody = {
    .rank = 2, .size = PEERS, .to = PEERS, .from = PEERS, .role = GDR_ROLE_ROOT | GDR_ROLE_LEAF};

static const gdr_coll_args_t plain = {.send = {.count = 9, .type = (void *)0x100},
                                      .recv = {.count = 9, .type = (void *)0x100}};
static const gdr_coll_args_t listed = {
    .send = {.counts = counts, .displs = displs, .type = (void *)0x100},
    .recv = {.counts = counts, .displs = displs, .type = (void *)0x100}};

static gdr_coll_place_t with(unsigned role, bool in_place)
{
    gdr_coll_place_t place = everybody;

    place.role = role;
    place.in_place = in_place;
    return place;
}

/* One piece of so many elements, behind so many others. */
static void assert_one(const gdr_area_t *area, size_t count, ptrdiff_t skip)
{
    gdr_piece_t piece = gdr_area_piece(area, 0);

    assert_int_equal(area->n, 1);
    assert_int_equal(piece.count, count);
    assert_int_equal(piece.skip, skip);
    assert_int_equal(piece.bytes, 0);
    assert_ptr_equal(piece.type, type);
}

static void roles(void **state)
{
    gdr_coll_place_t root = with(GDR_ROLE_ROOT | GDR_ROLE_LEAF, false);
    gdr_coll_place_t far_root = with(GDR_ROLE_ROOT, false), leaf = with(GDR_ROLE_LEAF, false);
    gdr_coll_place_t idle = with(0, false);
    gdr_areas_t areas;

    (void)state;
    gdr_areas_find(GDR_COLL_gather, &plain, &root, &areas);
    assert_one(&areas.send, 9, 0);
    assert_one(&areas.write, 36, 0);
    assert_int_equal(areas.read.n, 0);
    gdr_areas_find(GDR_COLL_gather, &plain, &leaf, &areas);
    assert_one(&areas.send, 9, 0);
    assert_int_equal(areas.write.n, 0);
    gdr_areas_find(GDR_COLL_gather, &plain, &far_root, &areas);
    assert_int_equal(areas.send.n, 0);
    assert_one(&areas.write, 36, 0);
    gdr_areas_find(GDR_COLL_bcast, &plain, &root, &areas);
    assert_one(&areas.read, 9, 0);
    assert_int_equal(areas.write.n, 0);
    gdr_areas_find(GDR_COLL_bcast, &plain, &leaf, &areas);
    assert_int_equal(areas.read.n, 0);
    assert_one(&areas.write, 9, 0);
    for (int coll = 0; coll <= GDR_COLL_barrier; coll++) {
        gdr_areas_find((gdr_coll_t)coll, &listed, &idle, &areas);
        assert_int_equal(areas.send.n + areas.read.n + areas.write.n, 0);
    }
}

static void in_place(void **state)
{
    gdr_coll_place_t place = with(GDR_ROLE_ROOT | GDR_ROLE_LEAF, true);
    gdr_piece_t piece;
    gdr_areas_t areas;

    (void)state;
    gdr_areas_find(GDR_COLL_allgather, &plain, &place, &areas);
    assert_int_equal(areas.send.n, 0);
    assert_one(&areas.read, 9, 18);
    assert_one(&areas.write, 36, 0);
    gdr_areas_find(GDR_COLL_allgatherv, &listed, &place, &areas);
    piece = gdr_area_piece(&areas.read, 0);
    assert_int_equal(areas.read.n, 1);
    assert_int_equal(piece.count, 5);
    assert_int_equal(piece.skip, 40);
    gdr_areas_find(GDR_COLL_alltoall, &plain, &place, &areas);
    assert_one(&areas.read, 36, 0);
    gdr_areas_find(GDR_COLL_reduce_scatter, &listed, &place, &areas);
    assert_one(&areas.read, 15, 0);
    assert_one(&areas.write, 5, 0);
    gdr_areas_find(GDR_COLL_scatter, &plain, &place, &areas);
    assert_one(&areas.send, 36, 0);
    assert_int_equal(areas.write.n, 0);
    gdr_areas_find(GDR_COLL_scan, &plain, &place, &areas);
    assert_one(&areas.read, 9, 0);
    assert_one(&areas.write, 9, 0);
}

static void first_of_exscan(void **state)
{
    gdr_coll_place_t place = everybody;
    gdr_areas_t areas;

    (void)state;
    gdr_areas_find(GDR_COLL_exscan, &plain, &place, &areas);
    assert_one(&areas.write, 9, 0);
    place.rank = 0;
    gdr_areas_find(GDR_COLL_exscan, &plain, &place, &areas);
    assert_one(&areas.send, 9, 0);
    assert_int_equal(areas.write.n, 0);
}

static void lists(void **state)
{
    const gdr_coll_args_t bytes = {.send = {.counts = counts, .displs = displs, .types = types},
                                   .recv = {.counts = counts, .far = far, .types = types}};
    gdr_piece_t piece;
    gdr_areas_t areas;

    (void)state;
    gdr_areas_find(GDR_COLL_alltoallv, &listed, &everybody, &areas);
    assert_int_equal(areas.send.n, PEERS);
    piece = gdr_area_piece(&areas.send, 0);
    assert_int_equal(piece.skip, -3);
    assert_int_equal(piece.bytes, 0);
    gdr_areas_find(GDR_COLL_neighbor_alltoallw, &bytes, &everybody, &areas);
    piece = gdr_area_piece(&areas.send, 3);
    assert_int_equal(piece.skip, 0);
    assert_int_equal(piece.bytes, 10);
    piece = gdr_area_piece(&areas.write, 1);
    assert_int_equal(piece.bytes, (ptrdiff_t)1 << 40);
    assert_ptr_equal(piece.type, types[1]);
    assert_int_equal(gdr_coll_send_lists(GDR_COLL_scatterv, &everybody), PEERS);
    assert_int_equal(gdr_coll_recv_lists(GDR_COLL_scatterv, &everybody), 0);
    assert_int_equal(gdr_coll_recv_lists(GDR_COLL_reduce_scatter, &everybody), PEERS);
}

/* MPI does not look at lists that are not there. */
static void lists_that_do_not_count(void **state)
{
    gdr_coll_place_t leaf = with(GDR_ROLE_LEAF, false);
    gdr_coll_place_t place = with(GDR_ROLE_ROOT | GDR_ROLE_LEAF, true);

    (void)state;
    assert_int_equal(gdr_coll_recv_lists(GDR_COLL_gatherv, &leaf), 0);
    assert_int_equal(gdr_coll_send_lists(GDR_COLL_scatterv, &leaf), 0);
    assert_int_equal(gdr_coll_send_lists(GDR_COLL_alltoallw, &place), 0);
    assert_int_equal(gdr_coll_send_lists(GDR_COLL_scatterv, &place), PEERS);
}

static void large(void **state)
{
    gdr_coll_args_t args = {.send = {.count = INT32_MAX, .type = type},
                            .recv = {.count = INT32_MAX, .type = type}};
    gdr_areas_t areas;

    (void)state;
    gdr_areas_find(GDR_COLL_alltoall, &args, &everybody, &areas);
    assert_one(&areas.write, (size_t)INT32_MAX * PEERS, 0);
    gdr_areas_find(GDR_COLL_reduce_scatter_block, &args, &everybody, &areas);
    assert_one(&areas.send, (size_t)INT32_MAX * PEERS, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(roles),
        cmocka_unit_test(in_place),
        cmocka_unit_test(first_of_exscan),
        cmocka_unit_test(lists),
        cmocka_unit_test(lists_that_do_not_count),
        cmocka_unit_test(large),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
