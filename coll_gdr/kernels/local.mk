# kernels: n-input reduce-copy kernels (fatbins) and their host twins
gdr_kernel_sources = \
	coll_gdr/kernels/float.cu coll_gdr/kernels/arith.cu coll_gdr/kernels/order.cu \
	coll_gdr/kernels/logic.cu coll_gdr/kernels/bits.cu coll_gdr/kernels/pair.cu
gdr_kernel_fatbins = $(gdr_kernel_sources:.cu=.fatbin)
gdr_kernel_headers = \
	coll_gdr/kernels/gdr_kernels.h coll_gdr/kernels/gdr_kernels.def \
	coll_gdr/kernels/gdr_inline.h coll_gdr/kernels/gdr_element.h \
	coll_gdr/kernels/gdr_memory.h coll_gdr/kernels/gdr_reduce.h coll_gdr/kernels/gdr_shell.h
EXTRA_DIST += $(gdr_kernel_sources)
noinst_HEADERS += $(gdr_kernel_headers) \
	coll_gdr/kernels/gdr_kernel_images.h coll_gdr/kernels/gdr_twin.h

# -fmad=false: every rank, and the twin, must get the same bits from the same expression.
GDR_NVCC_FLAGS = -std=c++17 -O3 -fmad=false -Wno-deprecated-gpu-targets \
	-Xfatbin -compress-all $(NVCC_GENCODE) -I$(top_srcdir)/coll_gdr -I$(top_srcdir)
AM_V_NVCC = $(am__v_NVCC_@AM_V@)
am__v_NVCC_ = $(am__v_NVCC_@AM_DEFAULT_V@)
am__v_NVCC_0 = @echo "  NVCC    " $@;
am__v_NVCC_1 =

SUFFIXES = .cu .fatbin
.cu.fatbin:
	$(AM_V_NVCC)$(MKDIR_P) $(@D) && $(NVCC) $(GDR_NVCC_FLAGS) $(NVCCFLAGS) -fatbin -o $@ $<
$(gdr_kernel_fatbins): $(gdr_kernel_headers) coll_gdr/base/optypes.def
CLEANFILES += $(gdr_kernel_fatbins)

noinst_LTLIBRARIES += libgdr_kernels.la
libgdr_kernels_la_SOURCES = \
	coll_gdr/kernels/gdr_kernel_table.c coll_gdr/kernels/gdr_kernel_images.c
coll_gdr/kernels/gdr_kernel_images.lo: $(gdr_kernel_fatbins)

# The same source for the emulator. C++ for its templates only: linked as C, without its runtime.
gdr_twinsdir = $(libdir)/cuda_emu
gdr_twins_LTLIBRARIES = libgdr_twins.la
libgdr_twins_la_SOURCES = \
	coll_gdr/kernels/gdr_twin.cc \
	coll_gdr/kernels/gdr_twins_numbers.cc coll_gdr/kernels/gdr_twins_bits.cc
libgdr_twins_la_CXXFLAGS = -std=gnu++17 $(GDR_WARN_CXXFLAGS) $(GDR_SAN_CFLAGS) \
	-fvisibility=hidden -fno-exceptions -fno-rtti -ffp-contract=off
if GDR_SANITIZED
libgdr_twins_la_CXXFLAGS += -DGDR_TWIN_COMPACT
endif
libgdr_twins_la_LDFLAGS = $(AM_LDFLAGS) -avoid-version -Wl,-z,defs
libgdr_twins_la_LINK = $(LIBTOOL) $(AM_V_lt) --tag=CC $(AM_LIBTOOLFLAGS) $(LIBTOOLFLAGS) \
	--mode=link $(CCLD) $(AM_CFLAGS) $(CFLAGS) $(libgdr_twins_la_LDFLAGS) $(LDFLAGS) -o $@

# The table of operations and types in the documentation; tests/unit/kernels/optypes_doc.sh compares.
check_PROGRAMS += coll_gdr/kernels/optypes_doc
coll_gdr_kernels_optypes_doc_SOURCES = coll_gdr/kernels/optypes_doc.c
coll_gdr_kernels_optypes_doc_LDADD = libgdr_kernels.la libgdr_base.la
EXTRA_DIST += docs/optypes.md
.PHONY: docs-optypes
docs-optypes: coll_gdr/kernels/optypes_doc
	coll_gdr/kernels/optypes_doc > $(srcdir)/docs/optypes.md
