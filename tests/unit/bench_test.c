/* gdr_bench: its command line, its numbers, and inputs that really tell right from wrong. */
#include "bench_data.h"
#include "bench_format.h"
#include "bench_options.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define PARSE(options, error, ...)                                                                 \
    parse(options, error, (char *[]){(char *)(uintptr_t) "gdr_bench", __VA_ARGS__, NULL})

static int parse(bench_options_t *options, char error[256], char *argv[])
{
    int argc = 0;

    while (argv[argc] != NULL)
        argc++;
    error[0] = '\0';
    return bench_options_parse(argc, argv, options, error, 256);
}

static void sizes_are_read(void **state)
{
    static const struct {
        const char *text;
        uint64_t bytes;
    } good[] = {{"8", 8}, {"64K", 65536}, {"16M", 16u << 20}, {"1g", 1u << 30}, {"1", 1}};
    static const char *const bad[] = {"",
                                      "0",
                                      "-1",
                                      "+1",
                                      " 1",
                                      "1.5",
                                      "K",
                                      "1KB",
                                      "0x10",
                                      "64Q",
                                      "1 K",
                                      "99999999999999999999",
                                      "9999999999T",
                                      "nan",
                                      "1e3"};
    uint64_t bytes;

    (void)state;
    for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
        assert_int_equal(bench_parse_size(good[i].text, &bytes), 0);
        assert_int_equal(bytes, good[i].bytes);
    }
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        bytes = 77;
        assert_int_equal(bench_parse_size(bad[i], &bytes), -1);
        assert_int_equal(bytes, 77);
    }
}

static void numbers_are_printed(void **state)
{
    char text[64];

    (void)state;
    assert_string_equal(bench_format_size(8, text, sizeof(text)), "8");
    assert_string_equal(bench_format_size(1025, text, sizeof(text)), "1025");
    assert_string_equal(bench_format_size(65536, text, sizeof(text)), "64K");
    assert_string_equal(bench_format_size(3u << 20, text, sizeof(text)), "3M");
    assert_string_equal(bench_format_number(3.14159, text, sizeof(text)), "3.142");
    assert_string_equal(bench_format_number(31.4159, text, sizeof(text)), "31.42");
    assert_string_equal(bench_format_number(314.159, text, sizeof(text)), "314.2");
    assert_string_equal(bench_format_number(31415.9, text, sizeof(text)), "31416");
    assert_string_equal(bench_format_per(12, 4, text, sizeof(text)), "3");
    assert_string_equal(bench_format_per(10, 4, text, sizeof(text)), "2.500");
    assert_string_equal(bench_format_json("a\"b\\c\n", text, sizeof(text)),
                        "\"a\\\"b\\\\c\\u000a\"");
}

static void options_have_defaults(void **state)
{
    bench_options_t o;
    char error[256];

    (void)state;
    assert_int_equal(PARSE(&o, error, (char[]){"allreduce"}), 0);
    assert_false(o.host || o.check || o.in_place || o.help);
    assert_int_equal(o.min, 8);
    assert_int_equal(o.max, 16u << 20);
    assert_int_equal(o.op, BENCH_SUM);
    assert_int_equal(o.type, BENCH_FLOAT);
    assert_int_equal(o.compare, BENCH_COMPARE_NONE);
    assert_null(o.json);
    assert_true(bench_options_iters(&o, 8) > bench_options_iters(&o, 64u << 20));
}

static void options_are_read(void **state)
{
    bench_options_t o;
    char error[256];

    (void)state;
    assert_int_equal(PARSE(&o, error, (char[]){"allreduce"}, (char[]){"--min"}, (char[]){"64K"},
                           (char[]){"--max"}, (char[]){"1M"}, (char[]){"--op"}, (char[]){"bxor"},
                           (char[]){"--type"}, (char[]){"uint64"}, (char[]){"--in-place"},
                           (char[]){"--check"}, (char[]){"--iters"}, (char[]){"3"},
                           (char[]){"--warmup"}, (char[]){"0"}, (char[]){"--compare"},
                           (char[]){"staged"}, (char[]){"--json"}, (char[]){"out"}),
                     0);
    assert_true(o.in_place && o.check);
    assert_int_equal(o.min, 65536);
    assert_int_equal(o.max, 1 << 20);
    assert_int_equal(o.op, BENCH_BXOR);
    assert_int_equal(o.type, BENCH_UINT64);
    assert_int_equal(bench_options_iters(&o, 1 << 20), 3);
    assert_int_equal(bench_options_warmup(&o, 1 << 20), 0);
    assert_int_equal(o.compare, BENCH_COMPARE_STAGED);
    assert_string_equal(o.json, "out");
}

static void bad_options_are_named(void **state)
{
    static const char *const bad[][2] = {{"--min", "-3"},
                                         {"--min", "2"},
                                         {"--min", "32M"},
                                         {"--max", "nan"},
                                         {"--max", "1"},
                                         {"--max", "16G"},
                                         {"--max", "99999999999999999999"},
                                         {"--op", "avg"},
                                         {"--op", "band"},
                                         {"--type", "half"},
                                         {"--iters", "0"},
                                         {"--iters", "-1"},
                                         {"--iters", "1e9"},
                                         {"--iters", "9999999999999999999999"},
                                         {"--warmup", "x"},
                                         {"--compare", "me"},
                                         {"--frobnicate", "1"},
                                         {"extra", "1"}};
    bench_options_t o;
    char error[256], name[32], value[32];

    (void)state;
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        strcpy(name, bad[i][0]);
        strcpy(value, bad[i][1]);
        assert_int_equal(PARSE(&o, error, (char[]){"allreduce"}, name, value), -1);
        assert_true(strlen(error) > 10);
        assert_null(strchr(error, '\n'));
    }
    assert_int_equal(PARSE(&o, error, (char[]){"allreduce"}, (char[]){"--json"}), -1);
    assert_int_equal(PARSE(&o, error, (char[]){"alltoall"}), -1);
    assert_int_equal(
        PARSE(&o, error, (char[]){"allreduce"}, (char[]){"--device"}, (char[]){"--host"}), -1);
}

/* What the expected results say must be what C computes from the inputs, narrowed to the type. */
static void float_sums_are_what_c_computes(void **state)
{
    float input[3][BENCH_PERIOD], expected[BENCH_PERIOD];

    (void)state;
    for (int rank = 0; rank < 3; rank++)
        bench_input(BENCH_SUM, BENCH_FLOAT, rank, 3, input[rank]);
    bench_expected(BENCH_SUM, BENCH_FLOAT, 3, expected);
    for (int i = 0; i < BENCH_PERIOD; i++)
        assert_true(expected[i] == input[0][i] + input[1][i] + input[2][i]);
    assert_true(input[0][7] != input[1][7] && input[1][7] != input[2][7]);
}

static void small_integers_do_not_overflow(void **state)
{
    int8_t input[BENCH_PERIOD];

    (void)state;
    for (int ranks = 1; ranks <= 64; ranks *= 2) {
        for (int i = 0; i < BENCH_PERIOD; i++) {
            int sum = 0;

            for (int rank = 0; rank < ranks; rank++) {
                bench_input(BENCH_SUM, BENCH_INT8, rank, ranks, input);
                sum += input[i];
            }
            assert_true(sum <= 127);
            i += 100;
        }
    }
}

/* One wrong element, a shifted result and a missing rank are all seen. */
static void differences_are_found(void **state)
{
    enum { COUNT = 5000 };
    static int32_t period[BENCH_PERIOD], wrong_period[BENCH_PERIOD], buffer[COUNT + 1];
    size_t first = 0;

    (void)state;
    bench_expected(BENCH_SUM, BENCH_INT32, 4, period);
    bench_repeat(BENCH_INT32, period, buffer, COUNT + 1);
    assert_int_equal(bench_differences(BENCH_INT32, period, buffer, COUNT, &first), 0);
    assert_true(bench_differences(BENCH_INT32, period, buffer + 1, COUNT, &first) > COUNT / 2);
    buffer[4321] ^= 1;
    assert_int_equal(bench_differences(BENCH_INT32, period, buffer, COUNT, &first), 1);
    assert_int_equal(first, 4321);
    bench_expected(BENCH_SUM, BENCH_INT32, 3, wrong_period);
    assert_true(bench_differences(BENCH_INT32, wrong_period, buffer, COUNT, &first) > COUNT / 2);
}

static void every_op_depends_on_every_rank(void **state)
{
    static uint64_t two[BENCH_PERIOD], three[BENCH_PERIOD];
    size_t first;

    (void)state;
    for (int op = 0; op < BENCH_OPS; op++) {
        bench_expected((bench_op_t)op, BENCH_INT64, 2, two);
        bench_expected((bench_op_t)op, BENCH_INT64, 3, three);
        assert_true(bench_differences(BENCH_INT64, two, three, BENCH_PERIOD, &first) > 50);
    }
}

static void elements_are_printed(void **state)
{
    const int8_t bytes[] = {-3, 5};
    const double doubles[] = {0.5};
    char text[40];

    (void)state;
    assert_string_equal(bench_element(BENCH_INT8, bytes, 0, text, sizeof(text)), "-3");
    assert_string_equal(bench_element(BENCH_UINT8, bytes, 0, text, sizeof(text)), "253");
    assert_string_equal(bench_element(BENCH_DOUBLE, doubles, 0, text, sizeof(text)), "0.5");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sizes_are_read),
        cmocka_unit_test(numbers_are_printed),
        cmocka_unit_test(options_have_defaults),
        cmocka_unit_test(options_are_read),
        cmocka_unit_test(bad_options_are_named),
        cmocka_unit_test(float_sums_are_what_c_computes),
        cmocka_unit_test(small_integers_do_not_overflow),
        cmocka_unit_test(differences_are_found),
        cmocka_unit_test(every_op_depends_on_every_rank),
        cmocka_unit_test(elements_are_printed),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
