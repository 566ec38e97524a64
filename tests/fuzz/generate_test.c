/* The sequence of steps: the same from the same seed, and what MPI allows. */
#include "tests/fuzz/expect.h"
#include "tests/fuzz/generate.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { SEEDS = 40, STEPS = 600 };

static void same_again(void **state)
{
    fz_generator_t a, b;
    fz_step_t x, y;

    (void)state;
    for (uint64_t seed = 0; seed < SEEDS; seed++) {
        fz_start(&a, seed, 5, true);
        fz_start(&b, seed, 5, true);
        for (int i = 0; i < STEPS; i++) {
            fz_next(&a, &x);
            fz_next(&b, &y);
            assert_memory_equal(&x, &y, sizeof(x));
            assert_memory_equal(&a, &b, sizeof(a));
        }
    }
}

static void other_seed_other_steps(void **state)
{
    fz_generator_t a, b;
    fz_step_t x, y;
    int same = 0;

    (void)state;
    fz_start(&a, 1, 5, true);
    fz_start(&b, 2, 5, true);
    for (int i = 0; i < STEPS; i++) {
        fz_next(&a, &x);
        fz_next(&b, &y);
        same += x.random == y.random;
    }
    assert_int_equal(same, 0);
}

/* Every rank is in at most one group, at a place of its own. */
static void check_comm(const fz_comm_t *comm, int ranks)
{
    int in_groups = 0, members[FZ_RANKS];

    for (int group = 0; group < FZ_RANKS; group++) {
        int n = 0;

        memset(members, -1, sizeof(members));
        n = fz_members(comm, group, members);
        for (int i = 0; i < n; i++)
            assert_in_range(members[i], 0, ranks - 1);
        if (comm->inter && n > 0)
            assert_true(fz_members(comm, comm->remote[group], members) > 0);
        in_groups += n;
    }
    assert_true(in_groups <= ranks);
}

static void check_step(const fz_generator_t *g, const fz_step_t *step, int *outstanding)
{
    if (step->kind == FZ_CALL) {
        assert_true(g->comms[step->comm].live);
        assert_false(step->in_place && g->comms[step->comm].inter);
        *outstanding += step->way != FZ_BLOCKING;
    }
    if (step->kind == FZ_SYNC)
        *outstanding = 0;
    if (step->kind == FZ_MAKE)
        assert_true(step->comm >= 2 && g->comms[step->parent].live);
    if (step->kind == FZ_FREE)
        assert_true(step->comm >= 2);
    assert_true(*outstanding <= FZ_OUTSTANDING);
}

static void what_mpi_allows(void **state)
{
    long kinds[FZ_KINDS] = {0};
    fz_generator_t g;
    fz_step_t step;

    (void)state;
    for (int ranks = 1; ranks <= FZ_RANKS; ranks++)
        for (uint64_t seed = 0; seed < SEEDS; seed++) {
            int outstanding = 0;

            fz_start(&g, seed, ranks, true);
            for (int i = 0; i < STEPS; i++) {
                fz_next(&g, &step);
                check_step(&g, &step, &outstanding);
                kinds[step.kind]++;
            }
            for (int c = 0; c < FZ_COMMS; c++)
                if (g.comms[c].live)
                    check_comm(&g.comms[c], ranks);
        }
    for (int kind = 0; kind < FZ_KINDS; kind++)
        assert_true(kinds[kind] > 0);
}

/* Three ranks, two elements a block: rank 1's view. */
static void expectations(void **state)
{
    fz_view_t v = {.size = 3, .rank = 1, .root = 2, .count = 2};
    fz_shape_t shape;
    fz_part_t part;

    (void)state;
    v.coll = FZ_ALLTOALL;
    shape = fz_shape(&v);
    assert_true(shape.sends && shape.receives && shape.send == 6 && shape.recv == 6);
    part = fz_part(&v, 5);
    assert_true(part.what == FZ_COPIED && part.from == 2 && part.index == 3);
    v.coll = FZ_EXSCAN;
    shape = fz_shape(&v);
    assert_true(shape.first == 0 && shape.last == 1);
    v.coll = FZ_REDUCE;
    assert_false(fz_shape(&v).receives);
    v.coll = FZ_ALLGATHER;
    v.in_place = true;
    shape = fz_shape(&v);
    assert_true(!shape.sends && shape.own == 2 && shape.own_at == 2 && shape.recv == 6);
    v.coll = FZ_REDUCE_SCATTER_BLOCK;
    part = fz_part(&v, 1);
    assert_true(part.what == FZ_REDUCED && part.index == 3);
    assert_true(fz_part(&v, 2).what == FZ_ANYTHING);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(same_again),
        cmocka_unit_test(other_seed_other_steps),
        cmocka_unit_test(what_mpi_allows),
        cmocka_unit_test(expectations),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
