# tests/rdma: GPUDirect RDMA on emulated devices over soft RoCE in emulated machines; run by
# ./quickstart check (scripts/rdma.sh). `make check` builds the program only.
EXTRA_DIST += tests/rdma/ucx.sh tests/rdma/kernel.sh tests/rdma/init tests/rdma/guest.sh \
	tests/rdma/rsh.sh tests/rdma/boot.sh tests/rdma/lib.sh tests/rdma/one.sh \
	tests/rdma/two.sh tests/rdma/local.mk

if !GDR_SANITIZED
check_PROGRAMS += tests/rdma/sweep
tests_rdma_sweep_SOURCES = $(gdr_mpi_harness) tests/rdma/sweep.c
tests_rdma_sweep_CPPFLAGS = $(gdr_mpi_cppflags)
tests_rdma_sweep_LDFLAGS = $(gdr_mpi_ldflags)
tests_rdma_sweep_LDADD = $(gdr_mpi_libs)
tests_rdma_sweep_DEPENDENCIES = $(gdr_mpi_cudart)
endif
