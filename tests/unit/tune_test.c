/* gdr_tune without a machine: its command line, and the files that it writes. */
#include "plan/gdr_machine.h"
#include "tools/tune/tune_figures.h"
#include "tools/tune/tune_options.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static int parse(tune_options_t *options, char *error, size_t size, const char *const argv[])
{
    char *words[32];
    int argc = 0;

    for (; argv[argc] != NULL; argc++)
        words[argc] = (char *)(uintptr_t)argv[argc];
    return tune_options_parse(argc, words, options, error, size);
}

#define PARSE(...) parse(&o, error, sizeof(error), (const char *[]){"gdr_tune", __VA_ARGS__, NULL})

static void test_options(void **state)
{
    tune_options_t o;
    char error[256];

    (void)state;
    assert_int_equal(PARSE("--quick", "--output", "a", "--json", "b", "--node-size", "2",
                           "--timeout", "9", "--verbose", "3"),
                     0);
    assert_true(o.quick && !o.help && o.node_size == 2 && o.timeout == 9 && o.verbose == 3);
    assert_string_equal(o.output, "a");
    assert_string_equal(o.json, "b");
    assert_int_equal(PARSE("--help"), 0);
    assert_true(o.help && o.timeout == 300 && o.output == NULL);
}

static void test_bad_options(void **state)
{
    tune_options_t o;
    char error[256];

    (void)state;
    assert_int_equal(PARSE("--fast"), -1);
    assert_non_null(strstr(error, "--fast: unknown option"));
    assert_int_equal(PARSE("--output"), -1);
    assert_non_null(strstr(error, "its value is missing"));
    assert_int_equal(PARSE("--output", ""), -1);
    assert_int_equal(PARSE("--node-size", "0"), -1);
    assert_int_equal(PARSE("--node-size", "2x"), -1);
    assert_int_equal(PARSE("--node-size", ""), -1);
    assert_int_equal(PARSE("--timeout", "-1"), -1);
    assert_int_equal(PARSE("--timeout", "99999999999999999999"), -1);
    assert_non_null(strstr(error, "not a number from 1 to 86400"));
}

static void fill(tune_figures_t *figures)
{
    double launch[] = {5000, 3000.4, 4000, 3500}, put[] = {0.2}, mbs[] = {1e12, 2e12},
           unknown[] = {7};

    *figures = (tune_figures_t){.ranks = 4, .nodes = 2, .emulated = true};
    strcpy(figures->version, "1.2.3");
    strcpy(figures->date, "2026-12-01 10:00 UTC");
    strcpy(figures->host, "h");
    strcpy(figures->ucx, "1.22.0");
    memset(figures->device, 'x', sizeof(figures->device) - 1);
    memcpy(figures->device, "a \"card\"\nnode_mbs 1", 19);
    tune_figures_add(figures, "launch_ns", launch, 4, "kernels");
    tune_figures_add(figures, "node_put_ns", put, 1, "puts");
    tune_figures_add(figures, "net_mbs", mbs, 2, "bytes");
    tune_figures_add(figures, "colour", unknown, 1, "what no component knows");
}

static void test_add(void **state)
{
    tune_figures_t figures;
    const tune_figure_t *figure;

    (void)state;
    fill(&figures);
    figure = tune_figures_find(&figures, "launch_ns");
    assert_non_null(figure);
    assert_true(figure->value == 4000 && figure->low == 3000.4 && figure->high == 5000);
    assert_int_equal(figure->ranks, 4);
    assert_null(tune_figures_find(&figures, "flag_ns"));
    for (int i = 0; i < 2 * TUNE_FIGURES_MAX; i++) {
        double value = 1;

        tune_figures_add(&figures, "more", &value, 1, "");
    }
    assert_int_equal(figures.n, TUNE_FIGURES_MAX);
}

static char *printed(void (*print)(const tune_figures_t *figures, FILE *to))
{
    tune_figures_t figures;
    char *text = NULL;
    size_t size = 0;
    FILE *to = open_memstream(&text, &size);

    assert_non_null(to);
    fill(&figures);
    print(&figures, to);
    fclose(to);
    return text;
}

/* As the component reads it: comments off, a name and a number a line, at most 255 bytes. */
static void test_tuning_file(void **state)
{
    char *text = printed(tune_figures_print), *rest = text, *line;
    gdr_machine_t machine, standard;
    char unmeasured[80];
    int taken = 0;

    (void)state;
    gdr_machine_init(&machine);
    gdr_machine_init(&standard);
    assert_non_null(strstr(text, "# AN EMULATED DEVICE"));
    assert_non_null(strstr(text, "# colour 7 # measured: what no component knows; 1 ranks, 7 to"));
    snprintf(unmeasured, sizeof(unmeasured), "# flag_ns %llu: the default; not measured",
             (unsigned long long)standard.flag_ns);
    assert_non_null(strstr(text, unmeasured));
    assert_non_null(strstr(text, "gdr_tune 1.2.3 on 2026-12-01 10:00 UTC, 4 ranks on 2 nodes"));
    while ((line = strsep(&rest, "\n")) != NULL) {
        char name[32];
        unsigned long long value;

        assert_true(strlen(line) < 255);
        line[strcspn(line, "#")] = '\0';
        if (line[0] == '\0')
            continue;
        assert_int_equal(sscanf(line, "%31s %llu", name, &value), 2);
        assert_true(gdr_machine_set(&machine, name, value));
        taken++;
    }
    assert_int_equal(taken, 3);
    assert_int_equal(machine.launch_ns, 4000);
    assert_int_equal(machine.link[GDR_LINK_NODE].put_ns, 1);
    assert_int_equal(machine.link[GDR_LINK_NET].mbs, GDR_FIGURE_MAX);
    assert_int_equal(machine.link[GDR_LINK_NODE].mbs, standard.link[GDR_LINK_NODE].mbs);
    free(text);
}

static void test_json(void **state)
{
    char *text = printed(tune_figures_print_json);

    (void)state;
    assert_non_null(strstr(text, "\"device\": \"a \\\"card\\\"\\u000anode_mbs 1xxx"));
    assert_non_null(strstr(text, "{\"name\": \"launch_ns\", \"value\": 4000.0, \"low\": 3000.4"));
    assert_non_null(strstr(text, "\"emulated\": true"));
    free(text);
}

static void print_word(const tune_figures_t *figures, FILE *to)
{
    fputs(figures->version, to);
}

static void print_badly(const tune_figures_t *figures, FILE *to)
{
    (void)figures;
    fputs("half of it", to);
    close(fileno(to)); /* it does not reach the disk */
}

static void expect_content(const char *name, const char *wanted)
{
    char text[64] = "";
    FILE *file = fopen(name, "r");

    assert_non_null(file);
    assert_non_null(fgets(text, sizeof(text), file));
    fclose(file);
    assert_string_equal(text, wanted);
}

/* The old file stays until the new one is complete, and nothing is left beside it. */
static void test_write(void **state)
{
    tune_figures_t figures = {.version = "first"};
    char directory[] = "tune_test.XXXXXX", name[64], error[256];
    struct stat is;

    (void)state;
    assert_non_null(mkdtemp(directory));
    snprintf(name, sizeof(name), "%s/file", directory);
    umask(022);
    assert_int_equal(tune_figures_write(&figures, print_word, name, error, sizeof(error)), 0);
    expect_content(name, "first");
    assert_int_equal(stat(name, &is), 0);
    assert_int_equal(is.st_mode & 0777, 0644);
    assert_int_equal(tune_figures_write(&figures, print_badly, name, error, sizeof(error)), -1);
    assert_non_null(strstr(error, name));
    expect_content(name, "first");
    strcpy(figures.version, "second");
    assert_int_equal(tune_figures_write(&figures, print_word, name, error, sizeof(error)), 0);
    expect_content(name, "second");
    assert_int_equal(tune_figures_write(&figures, print_word, directory, error, sizeof(error)), -1);
    assert_int_equal(tune_figures_write(&figures, print_word, "/nowhere/x", error, sizeof(error)),
                     -1);
    assert_string_equal(error, "/nowhere/x: No such file or directory");
    assert_int_equal(unlink(name), 0);
    assert_int_equal(rmdir(directory), 0); /* empty */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_options), cmocka_unit_test(test_bad_options),
        cmocka_unit_test(test_add),     cmocka_unit_test(test_tuning_file),
        cmocka_unit_test(test_json),    cmocka_unit_test(test_write),
    };

    return cmocka_run_group_tests_name("tune", tests, NULL, NULL);
}
