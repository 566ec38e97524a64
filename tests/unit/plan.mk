# Unit tests of the plan room.
if HAVE_CMOCKA
plan_tests = \
	tests/unit/plan/test_layout tests/unit/plan/test_plan tests/unit/plan/test_prove \
	tests/unit/plan/test_large tests/unit/plan/test_nodes tests/unit/plan/test_cost \
	tests/unit/plan/test_faults_order tests/unit/plan/test_faults_form \
	tests/unit/plan/test_mapped tests/unit/plan/test_gather
check_PROGRAMS += $(plan_tests)
TESTS += $(plan_tests)
endif

tests_unit_plan_test_layout_SOURCES = tests/unit/plan/test_layout.c tests/unit/plan/plan_test.h
tests_unit_plan_test_layout_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
tests_unit_plan_test_layout_LDADD = libgdr_plan.la libgdr_base.la $(CMOCKA_LIBS)

tests_unit_plan_test_plan_SOURCES = tests/unit/plan/test_plan.c tests/unit/plan/plan_test.h
tests_unit_plan_test_plan_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
tests_unit_plan_test_plan_LDADD = libgdr_plan.la libgdr_base.la $(CMOCKA_LIBS)

tests_unit_plan_test_prove_SOURCES = tests/unit/plan/test_prove.c tests/unit/plan/plan_test.h
tests_unit_plan_test_prove_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
tests_unit_plan_test_prove_LDADD = libgdr_plan_check.la $(CMOCKA_LIBS)

tests_unit_plan_test_large_SOURCES = tests/unit/plan/test_large.c tests/unit/plan/plan_test.h
tests_unit_plan_test_large_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
tests_unit_plan_test_large_LDADD = libgdr_plan_check.la $(CMOCKA_LIBS)

tests_unit_plan_test_nodes_SOURCES = tests/unit/plan/test_nodes.c tests/unit/plan/plan_test.h
tests_unit_plan_test_nodes_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
tests_unit_plan_test_nodes_LDADD = libgdr_plan_check.la $(CMOCKA_LIBS)

tests_unit_plan_test_cost_SOURCES = tests/unit/plan/test_cost.c tests/unit/plan/plan_test.h
tests_unit_plan_test_cost_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
tests_unit_plan_test_cost_LDADD = libgdr_plan.la libgdr_base.la $(CMOCKA_LIBS)

tests_unit_plan_test_faults_order_SOURCES = tests/unit/plan/test_faults_order.c \
	tests/unit/plan/broken_call.c tests/unit/plan/broken_call.h tests/unit/plan/plan_test.h
tests_unit_plan_test_faults_order_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
tests_unit_plan_test_faults_order_LDADD = libgdr_plan_check.la $(CMOCKA_LIBS)

tests_unit_plan_test_faults_form_SOURCES = tests/unit/plan/test_faults_form.c \
	tests/unit/plan/broken_call.c tests/unit/plan/broken_call.h tests/unit/plan/plan_test.h
tests_unit_plan_test_faults_form_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
tests_unit_plan_test_faults_form_LDADD = libgdr_plan_check.la $(CMOCKA_LIBS)

tests_unit_plan_test_mapped_SOURCES = tests/unit/plan/test_mapped.c \
	tests/unit/plan/broken_call.c tests/unit/plan/broken_call.h tests/unit/plan/plan_test.h
tests_unit_plan_test_mapped_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
tests_unit_plan_test_mapped_LDADD = libgdr_plan_check.la $(CMOCKA_LIBS)

tests_unit_plan_test_gather_SOURCES = tests/unit/plan/test_gather.c \
	tests/unit/plan/broken_call.c tests/unit/plan/broken_call.h tests/unit/plan/plan_test.h
tests_unit_plan_test_gather_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
tests_unit_plan_test_gather_LDADD = libgdr_plan_check.la $(CMOCKA_LIBS)
