/* What gdr_sim writes: GOAL schedules that can be replayed to their end, and charts. */
#include "tests/unit/gsim/gsim_test.h"
#include "tools/sim/gsim_goal.h"
#include "tools/sim/gsim_plot.h"

#include <unistd.h>

enum { OPS_MAX = 20000, NEEDS_MAX = 60000 };

typedef struct goal_op {
    unsigned long long label, bytes, tag;
    int rank, kind, peer; /* kind: 's', 'r' or 'c' */
    bool done;
} goal_op_t;

/* Operation `op` only after `before`. */
typedef struct need {
    int op, before;
} need_t;

static goal_op_t ops[OPS_MAX];
static need_t needs[NEEDS_MAX];
static int nops, nneeds;

static int find_label(int rank, unsigned long long label)
{
    int i = nops - 1;

    while (i >= 0 && (ops[i].rank != rank || ops[i].label != label))
        i--;
    assert_true(i >= 0); /* txt2bin, too, wants it defined before */
    return i;
}

static void read_line(const char *line, int rank)
{
    goal_op_t o = {.rank = rank};
    unsigned long long before;
    int end = 0;

    if (sscanf(line, "l%llu requires l%llu\n%n", &o.label, &before, &end) == 2 && end > 0) {
        assert_true(nneeds < NEEDS_MAX);
        needs[nneeds++] = (need_t){find_label(rank, o.label), find_label(rank, before)};
        return;
    }
    if (sscanf(line, "l%llu: send %llub to %d tag %llu\n%n", &o.label, &o.bytes, &o.peer, &o.tag,
               &end) == 4 &&
        end > 0)
        o.kind = 's';
    else if (sscanf(line, "l%llu: recv %llub from %d tag %llu\n%n", &o.label, &o.bytes, &o.peer,
                    &o.tag, &end) == 4 &&
             end > 0)
        o.kind = 'r';
    else if (sscanf(line, "l%llu: calc %llu\n%n", &o.label, &o.bytes, &end) == 2 && end > 0)
        o.kind = 'c';
    else
        fail_msg("%s", line);
    assert_true(nops < OPS_MAX && o.tag <= UINT32_MAX &&
                o.label == (nops > 0 && ops[nops - 1].rank == rank ? ops[nops - 1].label + 1 : 1));
    ops[nops++] = o;
}

static void read_goal(FILE *file, int ranks)
{
    char line[200];
    int rank = -1, n, inside = 0;

    nops = nneeds = 0;
    assert_non_null(fgets(line, sizeof(line), file));
    assert_int_equal(sscanf(line, "num_ranks %d", &n), 1);
    assert_int_equal(n, ranks);
    while (fgets(line, sizeof(line), file) != NULL) {
        if (line[0] == '\n')
            continue;
        if (sscanf(line, "rank %d {", &n) == 1) {
            assert_int_equal(n, ++rank);
            assert_int_equal(inside++, 0);
        } else if (line[0] == '}') {
            assert_int_equal(--inside, 0);
        } else {
            read_line(line, rank);
        }
    }
    assert_int_equal(rank + 1, ranks);
    assert_int_equal(inside, 0);
}

/* Whether what the operation waits for is there: its needs, and a receive's only send. */
static bool may_run(int op)
{
    int i, sends = 0, sent = 0;

    for (i = 0; i < nneeds; i++) {
        if (needs[i].op == op && !ops[needs[i].before].done)
            return false;
    }
    for (i = 0; i < nops && ops[op].kind == 'r'; i++) {
        if (ops[i].kind != 's' || ops[i].rank != ops[op].peer || ops[i].peer != ops[op].rank ||
            ops[i].tag != ops[op].tag)
            continue;
        assert_int_equal(ops[i].bytes, ops[op].bytes);
        sends++;
        sent += ops[i].done;
    }
    assert_true(ops[op].kind != 'r' || sends == 1);
    return ops[op].kind != 'r' || sent == 1;
}

static void replay(void)
{
    int i, done = 0, sends = 0, receives = 0;
    bool moved = true;

    while (moved) {
        moved = false;
        for (i = 0; i < nops; i++) {
            if (ops[i].done || !may_run(i))
                continue;
            ops[i].done = moved = true;
            done++;
            sends += ops[i].kind == 's';
            receives += ops[i].kind == 'r';
        }
    }
    assert_int_equal(done, nops);
    assert_int_equal(sends, receives);
    assert_true(sends > 0);
}

static void expect_goal(const char *algorithm, uint32_t nodes, uint32_t gpus, uint64_t count)
{
    gsim_cluster_t cluster;
    gsim_setup_t setup = {.cluster = &cluster, .nodes = nodes, .gpus = gpus, .count = count};
    FILE *file = tmpfile();
    char error[400];

    assert_non_null(file);
    gsim_test_cluster(&cluster);
    gdr_plan_params_init(&setup.plan);
    snprintf(setup.plan.algorithm, sizeof(setup.plan.algorithm), "%s", algorithm);
    setup.plan.lane_bytes = 64 << 10;
    setup.plan.ctl_bytes = 16 << 10;
    setup.plan.min_chunk = 256;
    setup.plan.depth = 2;
    if (gsim_goal_write(&setup, file, error, sizeof(error)) != 0)
        fail_msg("%s: %s", algorithm, error);
    rewind(file);
    read_goal(file, (int)(nodes * gpus));
    fclose(file);
    replay();
}

static void schedules_replay(void **state)
{
    const gdr_algorithm_t *const *algorithm;

    (void)state;
    for (algorithm = gdr_plan_algorithms(); *algorithm != NULL; algorithm++) {
        expect_goal((*algorithm)->name, 2, 2, 100);
        expect_goal((*algorithm)->name, 2, 2, 9000); /* several segments, credits */
    }
    expect_goal("ring", 5, 1, 9000);
}

static void refused_schedules_are_told(void **state)
{
    gsim_cluster_t cluster;
    gsim_setup_t setup = {.cluster = &cluster, .nodes = 1, .gpus = 1, .count = 1};
    FILE *file = tmpfile();
    char error[400];

    (void)state;
    assert_non_null(file);
    gsim_test_cluster(&cluster);
    gdr_plan_params_init(&setup.plan);
    snprintf(setup.plan.algorithm, sizeof(setup.plan.algorithm), "ring");
    assert_int_equal(gsim_goal_write(&setup, file, error, sizeof(error)), -1);
    assert_non_null(strstr(error, "no algorithm serves the call"));
    fclose(file);
}

static int count_in(const char *path, const char *what)
{
    char text[20000];
    FILE *file = fopen(path, "r");
    size_t n;
    int found = 0;

    assert_non_null(file);
    n = fread(text, 1, sizeof(text) - 1, file);
    text[n] = '\0';
    fclose(file);
    assert_memory_equal(text, "<svg ", 5);
    assert_string_equal(text + n - 7, "</svg>\n");
    for (const char *at = text; (at = strstr(at, what)) != NULL; at++)
        found++;
    return found;
}

static void charts_are_drawn(void **state)
{
    gsim_cluster_t cluster;
    gsim_row_t rows[8];
    char directory[] = "/tmp/gsim-plot-XXXXXX", path[100], error[400];
    unsigned i;

    (void)state;
    gsim_test_cluster(&cluster);
    cluster.gpu.gbs = cluster.nic.gbs = 100;
    memset(rows, 0, sizeof(rows));
    for (i = 0; i < 8; i++) {
        rows[i] = (gsim_row_t){.cluster = &cluster, .nodes = 2 + i / 4, .gpus = 1};
        snprintf(rows[i].wanted, sizeof(rows[i].wanted), "%s", i / 2 % 2 == 0 ? "auto" : "ring");
        rows[i].bytes = 1024u << i % 2;
        rows[i].result.ns = 100;
        snprintf(rows[i].result.algorithm, sizeof(rows[i].result.algorithm), "ring");
    }
    rows[7].result.algorithm[0] = '\0'; /* not served: no point of the line */
    assert_non_null(mkdtemp(directory));
    if (gsim_plot_write(directory, rows, 8, error, sizeof(error)) != 0)
        fail_msg("%s", error);
    snprintf(path, sizeof(path), "%s/busbw-size-2.svg", directory);
    assert_int_equal(count_in(path, "<polyline"), 3); /* the bound, auto, ring */
    assert_int_equal(count_in(path, ">1K<"), 1);
    assert_int_equal(count_in(path, ">bound<"), 1);
    unlink(path);
    snprintf(path, sizeof(path), "%s/busbw-size-3.svg", directory);
    assert_int_equal(count_in(path, "<polyline"), 3);
    unlink(path);
    snprintf(path, sizeof(path), "%s/busbw-nodes.svg", directory);
    assert_int_equal(count_in(path, "nodes of 1 GPUs, 2K"), 1);
    unlink(path);
    assert_int_equal(gsim_plot_write(directory, rows, 1, error, sizeof(error)), 0); /* a point */
    assert_int_equal(rmdir(directory), 0);                                          /* no file */
    assert_int_equal(gsim_plot_write("/dev/null/x", rows, 8, error, sizeof(error)), -1);
    assert_non_null(strstr(error, "/dev/null/x: Not a directory"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(schedules_replay),
        cmocka_unit_test(refused_schedules_are_told),
        cmocka_unit_test(charts_are_drawn),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
