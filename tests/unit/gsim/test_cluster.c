/* Cluster descriptions: those that come with coll/gdr are right, and what is wrong is told in one
 * line that says where, what, and how to mend it. */
#include "tests/unit/gsim/gsim_test.h"

#include <unistd.h>

/* The free cluster with every `from` replaced by `to`. */
static char *edited(const char *from, const char *to)
{
    size_t room = 2 * sizeof(gsim_test_free) + 4096;
    char *text = malloc(room), *end = text;
    const char *rest = gsim_test_free, *hit;

    assert_non_null(text);
    assert_true(from[0] != '\0');
    while ((hit = strstr(rest, from)) != NULL) {
        end += sprintf(end, "%.*s%s", (int)(hit - rest), rest, to);
        rest = hit + strlen(from);
    }
    sprintf(end, "%s", rest);
    return text;
}

static void expect_error(const char *text, size_t bytes, const char *expected)
{
    gsim_cluster_t cluster = {.gpus = 77};
    char error[400] = "";

    assert_int_equal(gsim_cluster_parse(text, bytes, "file", &cluster, error, sizeof(error)), -1);
    if (strstr(error, expected) == NULL)
        fail_msg("\"%s\" does not say \"%s\"", error, expected);
    assert_null(strchr(error, '\n'));
    assert_int_equal(cluster.gpus, 77); /* untouched */
}

static void expect_edit_error(const char *from, const char *to, const char *expected)
{
    char *text = edited(from, to);

    expect_error(text, strlen(text), expected);
    free(text);
}

static void values_are_read(void **state)
{
    char *text = edited("gpu_put_cpu_ns = 0 #", "\t gpu_put_cpu_ns=12.5#");
    gsim_cluster_t cluster;
    char error[400];

    (void)state;
    assert_int_equal(gsim_cluster_parse(text, strlen(text), "file", &cluster, error, sizeof(error)),
                     0);
    assert_string_equal(cluster.name, "test");
    assert_int_equal(cluster.gpus, 1);
    assert_true(cluster.gpu.put_cpu == 12.5);
    assert_true(cluster.memory_gbs == 1e6);
    assert_int_equal(cluster.fabric, GSIM_NVLINK);
    free(text);
}

static void wrong_lines_are_named(void **state)
{
    (void)state;
    expect_edit_error("gpu_gbs =", "gpu_gb =", "file:5: gpu_gb: no parameter of that name");
    expect_edit_error("gpu_gbs =", "gpu_gbs", "file:5: gpu_gbs 1000000: no '='");
    expect_edit_error("nic_gbs =", "gpu_gbs =", "file:11: gpu_gbs: given for the second time");
    expect_edit_error("gpu_fabric = nvlink", "gpu_fabric = ib", "file:4: gpu_fabric = ib: nvlink");
    expect_edit_error("mark_ns = 0 # test\n", "mark_ns = 0\n", "file:24: mark_ns: its source");
    expect_edit_error("mark_ns = 0 # test\n", "mark_ns = 0 #  \n", "its source is missing");
    expect_edit_error("launch_ns = 0 # test\n", "", "file: launch_ns is missing: add \"launch_ns");
    expect_edit_error("name = test", "name = a b", "name = a b: 1 to 63 letters");
    expect_edit_error("name = test", "name =", "name = : 1 to 63 letters");
}

static void wrong_numbers_are_named(void **state)
{
    static const char *const bad[] = {"nan",
                                      "inf",
                                      "-1",
                                      "1e9",
                                      "0x10",
                                      "",
                                      "1.2.3",
                                      "1 2",
                                      ".",
                                      "1000000001",
                                      "99999999999999999999999999999999999999999"};
    char line[100];
    size_t i;

    (void)state;
    for (i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        snprintf(line, sizeof(line), "kernel_ns = %s", bad[i]);
        expect_edit_error("kernel_ns = 0", line, "a decimal number of nanoseconds from 0");
    }
    expect_edit_error("nic_gbs = 1000000", "nic_gbs = 0", "of GB/s (10^9 bytes) from 0.001");
    expect_edit_error("gpus_per_node = 1", "gpus_per_node = 0", "a whole number from 1 to 64");
    expect_edit_error("gpus_per_node = 1", "gpus_per_node = 65", "a whole number from 1 to 64");
    expect_edit_error("gpus_per_node = 1", "gpus_per_node = 8.0", "a whole number from 1 to 64");
    expect_edit_error("nics_per_node = 1", "nics_per_node = 2", "must be a multiple of it");
    expect_edit_error("memory_gbs = 1000000", "memory_gbs = 1", "kernel_gbs is greater");
}

static void hostile_files_are_refused(void **state)
{
    char line[1000], *zero = edited("name", "name");

    (void)state;
    expect_error("", 0, "file: name is missing");
    expect_error("\n\n# nothing\n", 12, "file: name is missing");
    expect_error("\x7f"
                 "ELF",
                 4, "no '='");
    memset(line, 'a', sizeof(line));
    expect_error(line, sizeof(line), "file:1: longer than 400 bytes");
    expect_edit_error("name = test", "name = te\x1bst", "file:1: a control character (code 27)");
    zero[5] = '\0';
    expect_error(zero, strlen(gsim_test_free), "file:1: a control character (code 0)");
    free(zero);
}

/* No prefix of a right file makes the parser read beyond it, and none but the whole is right. */
static void cut_files_are_refused(void **state)
{
    size_t whole = strlen(gsim_test_free), n;
    gsim_cluster_t cluster;
    char error[400];

    (void)state;
    for (n = 0; n < whole - 1; n++) {
        char *text = malloc(n + 1);

        assert_non_null(text);
        memcpy(text, gsim_test_free, n);
        if (n < whole - 4) /* the last comment may be cut */
            assert_int_equal(gsim_cluster_parse(text, n, "file", &cluster, error, sizeof(error)),
                             -1);
        free(text);
    }
}

static void files_are_found(void **state)
{
    static const char *const names[] = {"h200-8x400g", "h100-8x400g", "a100-4x200g", "pcie-1nic"};
    gsim_cluster_t cluster;
    char error[600], directory[600], path[700];
    size_t i;

    (void)state;
    snprintf(directory, sizeof(directory), "%s/tools/sim/clusters", getenv("GDR_SRCDIR"));
    for (i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        if (gsim_cluster_read(names[i], directory, &cluster, error, sizeof(error)) != 0)
            fail_msg("%s", error);
        assert_string_equal(cluster.name, names[i]);
        snprintf(path, sizeof(path), "%s/%s", directory, names[i]);
        assert_int_equal(gsim_cluster_read(path, NULL, &cluster, error, sizeof(error)), 0);
    }
    assert_int_equal(gsim_cluster_read("no-such", directory, &cluster, error, sizeof(error)), -1);
    assert_non_null(strstr(error, "no-such: No such file or directory: name a file, or one of"));
    assert_int_equal(gsim_cluster_read("/dev/zero", directory, &cluster, error, sizeof(error)), -1);
    assert_non_null(strstr(error, "/dev/zero: larger than 65536 bytes"));
    assert_int_equal(gsim_cluster_read(".", directory, &cluster, error, sizeof(error)), -1);
    assert_non_null(strstr(error, "cannot be read"));
}

static void expect_bound(const gsim_cluster_t *c, uint32_t nodes, uint32_t gpus, double bytes,
                         double expected)
{
    double bound = gsim_cluster_bound(c, nodes, gpus, (uint64_t)bytes);

    assert_true(bound > expected * (1 - 1e-9) && bound < expected * (1 + 1e-9));
}

static void bounds_are_right(void **state)
{
    gsim_cluster_t c;
    double n = 1e9;

    (void)state;
    gsim_test_cluster(&c);
    c.gpus = 8;
    c.nics = 4;
    c.gpu.gbs = 100;
    c.nic.gbs = 10;
    expect_bound(&c, 1, 8, n, 2 * 7.0 / 8 * n / 100);
    expect_bound(&c, 4, 8, n, 2 * 3.0 / 4 * n / 40);
    expect_bound(&c, 4, 4, n, 2 * 3.0 / 4 * n / 20);
    c.nic.gbs = 1000;
    c.fabric = GSIM_PCIE;
    expect_bound(&c, 4, 8, n, (2 * 7.0 / 8 + 2 * 3.0 / 4 / 8) * n / 100);
    c.launch_cpu = 1;
    c.launch_ns = 2;
    c.kernel_ns = 4;
    c.nic.put_ns = 8;
    c.nic.word_ns = 16;
    expect_bound(&c, 2, 8, 8, 7 + 8 + 16 + 4);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(values_are_read),         cmocka_unit_test(wrong_lines_are_named),
        cmocka_unit_test(wrong_numbers_are_named), cmocka_unit_test(hostile_files_are_refused),
        cmocka_unit_test(cut_files_are_refused),   cmocka_unit_test(files_are_found),
        cmocka_unit_test(bounds_are_right),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
