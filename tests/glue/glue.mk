# ucx_glue and device together: two processes, no MPI
check_PROGRAMS += tests/glue/glue_pair
tests_glue_glue_pair_SOURCES = \
	tests/glue/glue_pair.c tests/glue/rig.c tests/glue/rig.h
tests_glue_glue_pair_LDADD = \
	libgdr_device.la libgdr_kernels.la libgdr_base.la
