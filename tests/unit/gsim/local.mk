# unit tests of gdr_sim
EXTRA_DIST += tests/unit/gsim/local.mk
dist_check_SCRIPTS += tests/unit/gsim/cli.sh
TESTS += tests/unit/gsim/cli.sh
if HAVE_CMOCKA
gsim_tests = tests/unit/gsim/test_choice tests/unit/gsim/test_cluster tests/unit/gsim/test_model \
	tests/unit/gsim/test_options tests/unit/gsim/test_output
check_PROGRAMS += $(gsim_tests)
TESTS += $(gsim_tests)

tests_unit_gsim_test_choice_SOURCES = tests/unit/gsim/test_choice.c tests/unit/gsim/gsim_test.h
tests_unit_gsim_test_choice_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
tests_unit_gsim_test_choice_LDADD = libgdr_sim.la $(CMOCKA_LIBS)
tests_unit_gsim_test_cluster_SOURCES = tests/unit/gsim/test_cluster.c tests/unit/gsim/gsim_test.h
tests_unit_gsim_test_cluster_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
tests_unit_gsim_test_cluster_LDADD = libgdr_sim.la $(CMOCKA_LIBS)
tests_unit_gsim_test_model_SOURCES = tests/unit/gsim/test_model.c tests/unit/gsim/gsim_test.h
tests_unit_gsim_test_model_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
tests_unit_gsim_test_model_LDADD = libgdr_sim.la $(CMOCKA_LIBS)
tests_unit_gsim_test_options_SOURCES = tests/unit/gsim/test_options.c tests/unit/gsim/gsim_test.h
tests_unit_gsim_test_options_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
tests_unit_gsim_test_options_LDADD = libgdr_sim.la $(CMOCKA_LIBS)
tests_unit_gsim_test_output_SOURCES = tests/unit/gsim/test_output.c tests/unit/gsim/gsim_test.h
tests_unit_gsim_test_output_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
tests_unit_gsim_test_output_LDADD = libgdr_sim.la $(CMOCKA_LIBS)
endif
