# unit tests of gdr_bench's pure parts
EXTRA_DIST += tests/unit/bench.mk
if HAVE_CMOCKA
check_PROGRAMS += tests/unit/bench_test tests/unit/tax_test
TESTS += tests/unit/bench_test tests/unit/tax_test
tests_unit_bench_test_SOURCES = tests/unit/bench_test.c
tests_unit_bench_test_CPPFLAGS = $(AM_CPPFLAGS) -I$(top_srcdir)/tools/bench $(CMOCKA_CFLAGS)
tests_unit_bench_test_LDADD = libgdr_bench.la $(CMOCKA_LIBS)
tests_unit_tax_test_SOURCES = tests/unit/tax_test.c
tests_unit_tax_test_CPPFLAGS = $(AM_CPPFLAGS) -I$(top_srcdir)/tools/bench $(CMOCKA_CFLAGS)
tests_unit_tax_test_LDADD = libgdr_bench.la $(CMOCKA_LIBS)
endif
