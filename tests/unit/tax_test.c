/* gdr_bench host-tax: its command line, its medians and their ratio. */
#include "bench_stats.h"
#include "tax_options.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static int parse(tax_options_t *options, const char *name, const char *value)
{
    static char text[4][32] = {"gdr_bench", "host-tax"}; /* options keep pointers into it */
    char *argv[] = {text[0], text[1], text[2], value == NULL ? NULL : text[3], NULL};
    char error[256] = "";
    int rc;

    strcpy(text[2], name);
    if (value != NULL)
        strcpy(text[3], value);
    rc = tax_options_parse(value == NULL ? 3 : 4, argv, options, error, sizeof(error));
    assert_true((rc == 0) == (error[0] == '\0'));
    return rc;
}

static void options_are_read(void **state)
{
    tax_options_t o;

    (void)state;
    assert_int_equal(parse(&o, "--call", "iallreduce"), 0);
    assert_int_equal(o.call, TAX_IALLREDUCE);
    assert_int_equal(o.bytes, 8);
    assert_int_equal(parse(&o, "--bytes", "64"), 0);
    assert_int_equal(o.bytes, 64);
    assert_int_equal(parse(&o, "--seed", "18446744073709551615"), 0);
    assert_true(o.seed == UINT64_MAX);
    assert_int_equal(parse(&o, "--limit", "1.01"), 0);
    assert_true(o.limit > 1.0099 && o.limit < 1.0101);
    assert_int_equal(parse(&o, "--json", "file"), 0);
    assert_string_equal(o.json, "file");
    assert_int_equal(parse(&o, "--cuda", NULL), 0);
    assert_true(o.cuda);
    assert_false(o.help);
}

static void bad_options_are_refused(void **state)
{
    static const struct {
        const char *name, *value;
    } bad[] = {{"--call", "gather_all"}, {"--call", NULL},   {"--bytes", "0"},
               {"--bytes", "12"},        {"--bytes", "-8"},  {"--rounds", "0"},
               {"--rounds", "1x"},       {"--calls", "1e3"}, {"--seed", "-1"},
               {"--limit", "nan"},       {"--limit", "0"},   {"--seed", "18446744073709551616"},
               {"--limit", "1.01x"},     {"--unknown", "1"}, {"--unknown", NULL},
               {"--json", NULL},         {"allreduce", NULL}};
    tax_options_t o;

    (void)state;
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
        assert_int_equal(parse(&o, bad[i].name, bad[i].value), -1);
}

static void medians(void **state)
{
    double odd[] = {3, 1, 2}, even[] = {4, 1, 3, 2}, one[] = {7};

    (void)state;
    assert_true(bench_median(odd, 3) == 2);
    assert_true(bench_median(even, 4) == 2.5);
    assert_true(bench_median(one, 1) == 7);
}

enum { ROUNDS = 1000 };

/* A machine that is slow at times, and one way that is 3 % slower than the other. */
static void fill(double *a, double *b, double factor)
{
    uint64_t random = 5;

    for (int i = 0; i < ROUNDS; i++) {
        double slow = bench_random(&random) % 10 == 0 ? 50 : 1;

        b[i] = slow * (1 + (double)(bench_random(&random) % 100) / 1000);
        a[i] = slow * (1 + (double)(bench_random(&random) % 100) / 1000) * factor;
    }
}

static void ratio_is_found_and_bracketed(void **state)
{
    static double a[ROUNDS], b[ROUNDS];
    bench_ratio_t tax, same;

    (void)state;
    fill(a, b, 1.03);
    assert_int_equal(bench_ratio_of(a, b, ROUNDS, 1, &tax), 0);
    assert_true(tax.low <= tax.ratio && tax.ratio <= tax.high);
    assert_true(tax.low > 1.015 && tax.high < 1.045);
    fill(a, b, 1);
    assert_int_equal(bench_ratio_of(a, b, ROUNDS, 1, &same), 0);
    assert_true(same.low < 1.005 && same.high > 0.995 && same.high < 1.015);
    assert_int_equal(bench_ratio_of(a, b, 1, 1, &same), 0); /* one round: no interval */
    assert_true(same.low == same.ratio && same.high == same.ratio);
}

static void seeded_alike(void **state)
{
    uint64_t one = 3, two = 3, other = 4;

    (void)state;
    assert_true(bench_random(&one) == bench_random(&two));
    assert_true(bench_random(&one) != bench_random(&other));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(options_are_read), cmocka_unit_test(bad_options_are_refused),
        cmocka_unit_test(medians),          cmocka_unit_test(ratio_is_found_and_bracketed),
        cmocka_unit_test(seeded_alike),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
