# the kernels, as their twins; the table of op x type
if HAVE_CMOCKA
check_PROGRAMS += tests/unit/kernels_test
tests_unit_kernels_test_SOURCES = \
	tests/unit/kernels/kernels_test.c \
	tests/unit/kernels/arena.c tests/unit/kernels/arena.h \
	tests/unit/kernels/reference.c tests/unit/kernels/reference.h
tests_unit_kernels_test_CPPFLAGS = $(AM_CPPFLAGS) -I$(top_srcdir)/tests
tests_unit_kernels_test_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS) -ffp-contract=off
tests_unit_kernels_test_LDADD = libgdr_kernels.la libgdr_base.la libgdr_twins.la $(CMOCKA_LIBS)
TESTS += tests/unit/kernels_test
endif
