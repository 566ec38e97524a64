# tests/mpi: real Open MPI and real UCX on emulated devices, or on a card (GDR_TEST_GPU=1)
gdr_mpi_tests = \
	tests/mpi/select.sh tests/mpi/quiet.sh tests/mpi/params.sh tests/mpi/counters.sh \
	tests/mpi/cases.sh \
	tests/mpi/async.sh \
	tests/mpi/threads.sh \
	tests/mpi/delays.sh \
	tests/mpi/mapped.sh tests/mpi/lanes.sh \
	tests/mpi/matrix.sh \
	tests/mpi/mixed.sh \
	tests/mpi/across.sh \
	tests/mpi/churn.sh \
	tests/mpi/memory.sh \
	tests/mpi/queues.sh \
	tests/mpi/lifecycle.sh \
	tests/mpi/large.sh \
	tests/mpi/field.sh \
	tests/mpi/foreign.sh \
	tests/mpi/sessions.sh \
	tests/mpi/tax.sh tests/mpi/tune.sh \
	tests/mpi/promise.sh
dist_check_SCRIPTS += $(gdr_mpi_tests)
EXTRA_DIST += tests/mpi/lib.sh tests/mpi/local.mk

# A sanitized plugin cannot be loaded into an mpirun that is not.
if !GDR_SANITIZED
TESTS += $(gdr_mpi_tests)

gdr_mpi_cuda_programs = \
	tests/mpi/matrix tests/mpi/path tests/mpi/cases tests/mpi/devices tests/mpi/async \
	tests/mpi/threads \
	tests/mpi/counters \
	tests/mpi/mixed \
	tests/mpi/across \
	tests/mpi/queued \
	tests/mpi/churn \
	tests/mpi/memory tests/mpi/current \
	tests/mpi/queues \
	tests/mpi/lifecycle \
	tests/mpi/large \
	tests/mpi/field \
	tests/mpi/sessions \
	tests/mpi/promise
check_PROGRAMS += $(gdr_mpi_cuda_programs) tests/mpi/host tests/mpi/late_driver

gdr_mpi_harness = tests/mpi/harness.c tests/mpi/harness.h
gdr_mpi_cppflags = $(AM_CPPFLAGS) $(OMPI_CPPFLAGS) $(CUDA_CPPFLAGS)
gdr_mpi_ldflags = $(AM_LDFLAGS) $(OMPI_LDFLAGS) -export-dynamic
gdr_mpi_cudart = cuda_emu/libcudart.so.$(CUDA_MAJOR)
gdr_mpi_libs = $(gdr_mpi_cudart) -lmpi -ldl

tests_mpi_matrix_SOURCES = $(gdr_mpi_harness) tests/mpi/matrix.c tests/mpi/types.c \
	tests/mpi/types.h
tests_mpi_matrix_CPPFLAGS = $(gdr_mpi_cppflags)
tests_mpi_matrix_LDFLAGS = $(gdr_mpi_ldflags)
tests_mpi_matrix_LDADD = $(gdr_mpi_libs)
tests_mpi_matrix_DEPENDENCIES = $(gdr_mpi_cudart)

tests_mpi_path_SOURCES = $(gdr_mpi_harness) tests/mpi/path.c
tests_mpi_path_CPPFLAGS = $(gdr_mpi_cppflags)
tests_mpi_path_LDFLAGS = $(gdr_mpi_ldflags)
tests_mpi_path_LDADD = $(gdr_mpi_libs)
tests_mpi_path_DEPENDENCIES = $(gdr_mpi_cudart)

tests_mpi_cases_SOURCES = $(gdr_mpi_harness) tests/mpi/cases.c
tests_mpi_cases_CPPFLAGS = $(gdr_mpi_cppflags)
tests_mpi_cases_LDFLAGS = $(gdr_mpi_ldflags)
tests_mpi_cases_LDADD = $(gdr_mpi_libs)
tests_mpi_cases_DEPENDENCIES = $(gdr_mpi_cudart)

tests_mpi_devices_SOURCES = $(gdr_mpi_harness) tests/mpi/devices.c
tests_mpi_devices_CPPFLAGS = $(gdr_mpi_cppflags)
tests_mpi_devices_LDFLAGS = $(gdr_mpi_ldflags)
tests_mpi_devices_LDADD = $(gdr_mpi_libs)
tests_mpi_devices_DEPENDENCIES = $(gdr_mpi_cudart)

tests_mpi_async_SOURCES = $(gdr_mpi_harness) tests/mpi/async.c
tests_mpi_async_CPPFLAGS = $(gdr_mpi_cppflags)
tests_mpi_async_LDFLAGS = $(gdr_mpi_ldflags)
tests_mpi_async_LDADD = $(gdr_mpi_libs)
tests_mpi_async_DEPENDENCIES = $(gdr_mpi_cudart)

tests_mpi_threads_SOURCES = $(gdr_mpi_harness) tests/mpi/threads.c
tests_mpi_threads_CPPFLAGS = $(gdr_mpi_cppflags)
tests_mpi_threads_LDFLAGS = $(gdr_mpi_ldflags)
tests_mpi_threads_LDADD = $(gdr_mpi_libs)
tests_mpi_threads_DEPENDENCIES = $(gdr_mpi_cudart)

tests_mpi_counters_SOURCES = $(gdr_mpi_harness) tests/mpi/counters.c
tests_mpi_counters_CPPFLAGS = $(gdr_mpi_cppflags)
tests_mpi_counters_LDFLAGS = $(gdr_mpi_ldflags)
tests_mpi_counters_LDADD = $(gdr_mpi_libs) libgdr_plan.la libgdr_base.la
tests_mpi_counters_DEPENDENCIES = $(gdr_mpi_cudart) libgdr_plan.la libgdr_base.la

tests_mpi_mixed_SOURCES = $(gdr_mpi_harness) tests/mpi/mixed.c
tests_mpi_mixed_CPPFLAGS = $(gdr_mpi_cppflags)
tests_mpi_mixed_LDFLAGS = $(gdr_mpi_ldflags)
tests_mpi_mixed_LDADD = $(gdr_mpi_libs)
tests_mpi_mixed_DEPENDENCIES = $(gdr_mpi_cudart)

tests_mpi_queued_SOURCES = $(gdr_mpi_harness) tests/mpi/queued.c
tests_mpi_queued_CPPFLAGS = $(gdr_mpi_cppflags)
tests_mpi_queued_LDFLAGS = $(gdr_mpi_ldflags)
tests_mpi_queued_LDADD = $(gdr_mpi_libs)
tests_mpi_queued_DEPENDENCIES = $(gdr_mpi_cudart)

tests_mpi_churn_SOURCES = $(gdr_mpi_harness) tests/mpi/churn.c
tests_mpi_churn_CPPFLAGS = $(gdr_mpi_cppflags)
tests_mpi_churn_LDFLAGS = $(gdr_mpi_ldflags)
tests_mpi_churn_LDADD = $(gdr_mpi_libs)
tests_mpi_churn_DEPENDENCIES = $(gdr_mpi_cudart)

tests_mpi_memory_SOURCES = $(gdr_mpi_harness) tests/mpi/memory.c
tests_mpi_memory_CPPFLAGS = $(gdr_mpi_cppflags)
tests_mpi_memory_LDFLAGS = $(gdr_mpi_ldflags)
tests_mpi_memory_LDADD = $(gdr_mpi_libs)
tests_mpi_memory_DEPENDENCIES = $(gdr_mpi_cudart)

tests_mpi_current_SOURCES = $(gdr_mpi_harness) tests/mpi/current.c
tests_mpi_current_CPPFLAGS = $(gdr_mpi_cppflags)
tests_mpi_current_LDFLAGS = $(gdr_mpi_ldflags)
tests_mpi_current_LDADD = $(gdr_mpi_libs)
tests_mpi_current_DEPENDENCIES = $(gdr_mpi_cudart)

tests_mpi_queues_SOURCES = $(gdr_mpi_harness) tests/mpi/queues.c
tests_mpi_queues_CPPFLAGS = $(gdr_mpi_cppflags)
tests_mpi_queues_LDFLAGS = $(gdr_mpi_ldflags)
tests_mpi_queues_LDADD = $(gdr_mpi_libs)
tests_mpi_queues_DEPENDENCIES = $(gdr_mpi_cudart)

tests_mpi_lifecycle_SOURCES = $(gdr_mpi_harness) tests/mpi/lifecycle.c
tests_mpi_lifecycle_CPPFLAGS = $(gdr_mpi_cppflags)
tests_mpi_lifecycle_LDFLAGS = $(gdr_mpi_ldflags)
tests_mpi_lifecycle_LDADD = $(gdr_mpi_libs)
tests_mpi_lifecycle_DEPENDENCIES = $(gdr_mpi_cudart)

tests_mpi_large_SOURCES = $(gdr_mpi_harness) tests/mpi/large.c
tests_mpi_large_CPPFLAGS = $(gdr_mpi_cppflags)
tests_mpi_large_LDFLAGS = $(gdr_mpi_ldflags)
tests_mpi_large_LDADD = $(gdr_mpi_libs)
tests_mpi_large_DEPENDENCIES = $(gdr_mpi_cudart)

tests_mpi_field_SOURCES = $(gdr_mpi_harness) tests/mpi/field.c tests/fuzz/memory.c \
	tests/fuzz/memory.h
tests_mpi_field_CPPFLAGS = $(gdr_mpi_cppflags)
tests_mpi_field_LDFLAGS = $(gdr_mpi_ldflags)
tests_mpi_field_LDADD = $(gdr_mpi_libs)
tests_mpi_field_DEPENDENCIES = $(gdr_mpi_cudart)

tests_mpi_sessions_SOURCES = $(gdr_mpi_harness) tests/mpi/sessions.c
tests_mpi_sessions_CPPFLAGS = $(gdr_mpi_cppflags)
tests_mpi_sessions_LDFLAGS = $(gdr_mpi_ldflags)
tests_mpi_sessions_LDADD = $(gdr_mpi_libs)
tests_mpi_sessions_DEPENDENCIES = $(gdr_mpi_cudart)

check_LTLIBRARIES += tests/mpi/version.la
tests_mpi_version_la_SOURCES = tests/mpi/version.c
tests_mpi_version_la_CPPFLAGS = $(AM_CPPFLAGS) $(OMPI_CPPFLAGS)
tests_mpi_version_la_CFLAGS = $(AM_CFLAGS) -fvisibility=default
tests_mpi_version_la_LDFLAGS = $(AM_LDFLAGS) -module -avoid-version -shared \
	-rpath $(abs_top_builddir)/tests/mpi

tests_mpi_promise_SOURCES = $(gdr_mpi_harness) tests/mpi/promise.c
tests_mpi_promise_CPPFLAGS = $(gdr_mpi_cppflags)
tests_mpi_promise_LDFLAGS = $(gdr_mpi_ldflags)
tests_mpi_promise_LDADD = $(gdr_mpi_libs)
tests_mpi_promise_DEPENDENCIES = $(gdr_mpi_cudart)

tests_mpi_across_SOURCES = $(gdr_mpi_harness) tests/mpi/across.c
tests_mpi_across_CPPFLAGS = $(gdr_mpi_cppflags)
tests_mpi_across_LDFLAGS = $(gdr_mpi_ldflags)
tests_mpi_across_LDADD = $(gdr_mpi_libs)
tests_mpi_across_DEPENDENCIES = $(gdr_mpi_cudart)

tests_mpi_host_SOURCES = tests/mpi/host.c
tests_mpi_host_CPPFLAGS = $(AM_CPPFLAGS) $(OMPI_CPPFLAGS)
tests_mpi_host_LDFLAGS = $(AM_LDFLAGS) $(OMPI_LDFLAGS)
tests_mpi_host_LDADD = -lmpi

tests_mpi_late_driver_SOURCES = tests/mpi/late_driver.c
tests_mpi_late_driver_CPPFLAGS = $(gdr_mpi_cppflags)
tests_mpi_late_driver_LDFLAGS = $(AM_LDFLAGS) $(OMPI_LDFLAGS)
tests_mpi_late_driver_LDADD = -lmpi -ldl
endif
