# the kernels, as their twins; their names; the table of op x type
check_PROGRAMS += tests/unit/kernels_list
tests_unit_kernels_list_SOURCES = tests/unit/kernels/list.c
tests_unit_kernels_list_LDADD = libgdr_kernels.la libgdr_base.la

dist_check_SCRIPTS += tests/unit/kernels/names.sh tests/unit/kernels/optypes_doc.sh \
	tests/unit/kernels/sass.sh
EXTRA_DIST += tests/unit/kernels/sass.py
TESTS += tests/unit/kernels/names.sh tests/unit/kernels/optypes_doc.sh
if !GDR_SANITIZED
TESTS += tests/unit/kernels/sass.sh
endif

if HAVE_CMOCKA
check_PROGRAMS += tests/unit/kernels_test tests/unit/kernels_table_test
tests_unit_kernels_test_SOURCES = \
	tests/unit/kernels/kernels_test.c \
	tests/unit/kernels/arena.c tests/unit/kernels/arena.h \
	tests/unit/kernels/reference.c tests/unit/kernels/reference.h
tests_unit_kernels_test_CPPFLAGS = $(AM_CPPFLAGS) -I$(top_srcdir)/tests
tests_unit_kernels_test_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS) -ffp-contract=off
tests_unit_kernels_test_LDADD = libgdr_kernels.la libgdr_base.la libgdr_twins.la $(CMOCKA_LIBS)

tests_unit_kernels_table_test_SOURCES = tests/unit/kernels/table_test.c
tests_unit_kernels_table_test_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
tests_unit_kernels_table_test_LDADD = libgdr_kernels.la libgdr_base.la $(CMOCKA_LIBS)
TESTS += tests/unit/kernels_test tests/unit/kernels_table_test
endif
