# unit test of the info value that promises kinds of memory
EXTRA_DIST += tests/unit/kinds.mk
if HAVE_CMOCKA
check_PROGRAMS += tests/unit/kinds_test
TESTS += tests/unit/kinds_test
tests_unit_kinds_test_SOURCES = tests/unit/kinds_test.c coll_gdr/mca/kinds.c coll_gdr/mca/kinds.h
tests_unit_kinds_test_CPPFLAGS = $(AM_CPPFLAGS) $(CMOCKA_CFLAGS)
tests_unit_kinds_test_LDADD = $(CMOCKA_LIBS)
endif
