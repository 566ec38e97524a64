# tests/sim: the real engine on a fake device and a fake network, in virtual time
if HAVE_CMOCKA
check_LTLIBRARIES += tests/sim/libsim.la
tests_sim_libsim_la_SOURCES = tests/sim/sim.h tests/sim/script.h tests/sim/harness.h \
	tests/sim/world.c tests/sim/alloc.c tests/sim/fake_ctl.c tests/sim/fake_net.c \
	tests/sim/fake_net.h tests/sim/fake_map.c tests/sim/fake_late.c \
	tests/sim/fake_dev.c tests/sim/reduce.c tests/sim/script.c tests/sim/script_calls.c \
	tests/sim/script_priv.h

sim_ldadd = tests/sim/libsim.la libgdr_engine.la libgdr_plan.la libgdr_base.la $(CMOCKA_LIBS)
sim_wrap = -Wl,--wrap=malloc,--wrap=calloc,--wrap=realloc
sim_tests = tests/sim/test_allreduce tests/sim/test_teams tests/sim/test_faults \
	tests/sim/test_messages tests/sim/test_threads tests/sim/test_reset \
	tests/sim/test_steady tests/sim/test_abandon tests/sim/test_mixed tests/sim/test_mapped \
	tests/sim/test_lanes
check_PROGRAMS += $(sim_tests)
TESTS += $(sim_tests)

tests_sim_test_allreduce_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
tests_sim_test_allreduce_LDFLAGS = $(AM_LDFLAGS) $(sim_wrap)
tests_sim_test_allreduce_LDADD = $(sim_ldadd)
tests_sim_test_teams_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
tests_sim_test_teams_LDFLAGS = $(AM_LDFLAGS) $(sim_wrap)
tests_sim_test_teams_LDADD = $(sim_ldadd)
tests_sim_test_faults_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
tests_sim_test_faults_LDFLAGS = $(AM_LDFLAGS) $(sim_wrap)
tests_sim_test_faults_LDADD = $(sim_ldadd)
tests_sim_test_messages_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
tests_sim_test_messages_LDFLAGS = $(AM_LDFLAGS) $(sim_wrap)
tests_sim_test_messages_LDADD = $(sim_ldadd)
tests_sim_test_mixed_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
tests_sim_test_mixed_LDFLAGS = $(AM_LDFLAGS) $(sim_wrap)
tests_sim_test_mixed_LDADD = $(sim_ldadd)
tests_sim_test_mapped_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
tests_sim_test_mapped_LDFLAGS = $(AM_LDFLAGS) $(sim_wrap)
tests_sim_test_mapped_LDADD = $(sim_ldadd)
tests_sim_test_lanes_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
tests_sim_test_lanes_LDFLAGS = $(AM_LDFLAGS) $(sim_wrap)
tests_sim_test_lanes_LDADD = $(sim_ldadd)
tests_sim_test_threads_LDFLAGS = $(AM_LDFLAGS) $(sim_wrap)
tests_sim_test_threads_LDADD = $(sim_ldadd)
tests_sim_test_reset_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
tests_sim_test_reset_LDFLAGS = $(AM_LDFLAGS) $(sim_wrap)
tests_sim_test_reset_LDADD = $(sim_ldadd)
tests_sim_test_steady_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
tests_sim_test_steady_LDFLAGS = $(AM_LDFLAGS) $(sim_wrap)
tests_sim_test_steady_LDADD = $(sim_ldadd)
tests_sim_test_abandon_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
tests_sim_test_abandon_LDFLAGS = $(AM_LDFLAGS) $(sim_wrap)
tests_sim_test_abandon_LDADD = $(sim_ldadd)

dist_check_SCRIPTS += tests/sim/cost.sh
check_PROGRAMS += tests/sim/cost
if !GDR_SANITIZED
TESTS += tests/sim/cost.sh
endif
tests_sim_cost_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
tests_sim_cost_LDFLAGS = $(AM_LDFLAGS) $(sim_wrap)
tests_sim_cost_LDADD = $(sim_ldadd)
endif
