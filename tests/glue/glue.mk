# ucx_glue and device on an emulated driver, without MPI
dist_check_SCRIPTS += tests/glue/on_emulator tests/glue/device.sh tests/glue/pair.sh \
	tests/glue/misput.sh tests/glue/no_hooks.sh

check_PROGRAMS += tests/glue/glue_pair
tests_glue_glue_pair_SOURCES = \
	tests/glue/glue_pair.c tests/glue/rig.c tests/glue/rig.h
tests_glue_glue_pair_CPPFLAGS = $(AM_CPPFLAGS) $(CUDA_CPPFLAGS)
tests_glue_glue_pair_LDADD = \
	libgdr_device.la libgdr_kernels.la libgdr_base.la
TESTS += tests/glue/pair.sh tests/glue/no_hooks.sh

check_LTLIBRARIES += tests/glue/misput.la
tests_glue_misput_la_SOURCES = tests/glue/misput.c
tests_glue_misput_la_CPPFLAGS = $(AM_CPPFLAGS) -D_GNU_SOURCE $(UCX_CPPFLAGS)
tests_glue_misput_la_LDFLAGS = $(AM_LDFLAGS) -module -avoid-version -shared \
	-rpath $(abs_top_builddir)/tests/glue
TESTS += tests/glue/misput.sh

if HAVE_CMOCKA
check_PROGRAMS += tests/glue/device_test tests/unit/tls_test
tests_glue_device_test_SOURCES = tests/glue/device_test.c
tests_glue_device_test_CPPFLAGS = $(AM_CPPFLAGS) $(CUDA_CPPFLAGS)
tests_glue_device_test_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
tests_glue_device_test_LDADD = \
	libgdr_device.la libgdr_kernels.la libgdr_base.la $(CMOCKA_LIBS)
TESTS += tests/glue/device.sh

tests_unit_tls_test_SOURCES = tests/unit/glue/tls_test.c ucx_glue/tls.c
tests_unit_tls_test_CPPFLAGS = $(AM_CPPFLAGS) $(UCX_CPPFLAGS)
tests_unit_tls_test_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
tests_unit_tls_test_LDADD = $(CMOCKA_LIBS)
TESTS += tests/unit/tls_test
endif
