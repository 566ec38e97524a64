# The tests of all collectives but allreduce, and of persistent ones.
dist_check_SCRIPTS += tests/mpi/collectives.sh

if !GDR_SANITIZED
TESTS += tests/mpi/collectives.sh
check_PROGRAMS += tests/mpi/collectives tests/mpi/staged tests/mpi/persistent

tests_mpi_collectives_SOURCES = $(gdr_mpi_harness) tests/mpi/collectives.c tests/mpi/calls.c \
	tests/mpi/calls_exchange.c tests/mpi/calls_root.c tests/mpi/calls_priv.h \
	tests/mpi/calls.h tests/mpi/image.c tests/mpi/image.h
tests_mpi_collectives_CPPFLAGS = $(gdr_mpi_cppflags)
tests_mpi_collectives_LDFLAGS = $(gdr_mpi_ldflags)
tests_mpi_collectives_LDADD = $(gdr_mpi_libs)
tests_mpi_collectives_DEPENDENCIES = $(gdr_mpi_cudart)

tests_mpi_staged_SOURCES = $(gdr_mpi_harness) tests/mpi/staged.c
tests_mpi_staged_CPPFLAGS = $(gdr_mpi_cppflags)
tests_mpi_staged_LDFLAGS = $(gdr_mpi_ldflags)
tests_mpi_staged_LDADD = $(gdr_mpi_libs)
tests_mpi_staged_DEPENDENCIES = $(gdr_mpi_cudart)

tests_mpi_persistent_SOURCES = $(gdr_mpi_harness) tests/mpi/persistent.c
tests_mpi_persistent_CPPFLAGS = $(gdr_mpi_cppflags)
tests_mpi_persistent_LDFLAGS = $(gdr_mpi_ldflags)
tests_mpi_persistent_LDADD = $(gdr_mpi_libs)
tests_mpi_persistent_DEPENDENCIES = $(gdr_mpi_cudart)
endif
