# tests/late: a preloaded UCX whose puts are as late as its interface allows
EXTRA_DIST += tests/late/local.mk
dist_check_SCRIPTS += tests/late/late_puts.sh
check_LTLIBRARIES += tests/late/late_puts.la
tests_late_late_puts_la_SOURCES = tests/late/late_puts.c
tests_late_late_puts_la_CPPFLAGS = $(AM_CPPFLAGS) -D_GNU_SOURCE $(UCX_CPPFLAGS) $(CUDA_CPPFLAGS)
tests_late_late_puts_la_LDFLAGS = $(AM_LDFLAGS) -module -avoid-version -shared \
	-rpath $(abs_top_builddir)/tests/late

if !GDR_SANITIZED
TESTS += tests/late/late_puts.sh
endif
