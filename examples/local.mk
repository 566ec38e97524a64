# examples: programs that a user would copy. They link the emulator's cudart, which has the soname
# of the toolkit's; with a card the loader finds that one.
noinst_PROGRAMS += examples/allreduce
examples_allreduce_SOURCES = examples/allreduce.c
examples_allreduce_CPPFLAGS = $(AM_CPPFLAGS) $(OMPI_CPPFLAGS) $(CUDA_CPPFLAGS)
examples_allreduce_LDFLAGS = $(AM_LDFLAGS) $(OMPI_LDFLAGS)
examples_allreduce_LDADD = cuda_emu/libcudart.so.$(CUDA_MAJOR) -lmpi
examples_allreduce_DEPENDENCIES = cuda_emu/libcudart.so.$(CUDA_MAJOR)
