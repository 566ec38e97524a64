# unit tests of gdr_tune's pure parts
EXTRA_DIST += tests/unit/tune.mk
if HAVE_CMOCKA
check_PROGRAMS += tests/unit/tune_test
TESTS += tests/unit/tune_test
tests_unit_tune_test_SOURCES = tests/unit/tune_test.c
tests_unit_tune_test_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
tests_unit_tune_test_LDADD = libgdr_tune.la $(CMOCKA_LIBS)
endif
