# cuda_emu/front.mk: NVML, the CUDA runtime, the launcher, the emulator's own tests
noinst_HEADERS += cuda_emu/emu_device.h
EXTRA_DIST += cuda_emu/README.md cuda_emu/front_stubs.awk cuda_emu/nvml/functions.list

# libnvidia-ml.so.1: no libtool version machinery, the soname is the file's name
emulib_LTLIBRARIES += cuda_emu/libnvidia-ml.la
nodist_cuda_emu_libnvidia_ml_la_SOURCES = cuda_emu/nvml/stubs.c
cuda_emu_libnvidia_ml_la_SOURCES = \
	cuda_emu/nvml/emu_nvml.h cuda_emu/nvml/nvml.c cuda_emu/nvml/nvml_device.c
cuda_emu_libnvidia_ml_la_LDFLAGS = $(AM_LDFLAGS) -version-info 1:0:0 -Wl,-z,defs
CLEANFILES += cuda_emu/nvml/stubs.c
cuda_emu/nvml/stubs.c: cuda_emu/nvml/functions.list cuda_emu/front_stubs.awk
	$(AM_V_GEN)$(MKDIR_P) cuda_emu/nvml && awk -v report=emu_nvml_unsupported \
	    -f $(srcdir)/cuda_emu/front_stubs.awk $(srcdir)/cuda_emu/nvml/functions.list > $@.tmp && \
	    mv $@.tmp $@

# The runtime: one core, compiled once per major version. libtool would write both into one
# libcudart.la, so they are linked as what they are: files with a fixed name and soname.
emu_rt_sources = \
	cuda_emu/cudart/rt.h cuda_emu/cudart/errors.def cuda_emu/cudart/properties.def \
	cuda_emu/cudart/driver.def \
	cuda_emu/cudart/register.h cuda_emu/cudart/driver.c cuda_emu/cudart/error.c \
	cuda_emu/cudart/context.c cuda_emu/cudart/memory.c cuda_emu/cudart/copy.c \
	cuda_emu/cudart/stream.c cuda_emu/cudart/device.c cuda_emu/cudart/properties.c \
	cuda_emu/cudart/register.c cuda_emu/cudart/launch.c cuda_emu/cudart/symbol.c
EXTRA_DIST += cuda_emu/cudart/functions.list
emulib_PROGRAMS = cuda_emu/libcudart.so.12 cuda_emu/libcudart.so.13

cuda_emu_libcudart_so_12_SOURCES = $(emu_rt_sources)
nodist_cuda_emu_libcudart_so_12_SOURCES = cuda_emu/cudart/stubs12.c
cuda_emu_libcudart_so_12_CPPFLAGS = $(AM_CPPFLAGS) $(CUDA_CPPFLAGS) -DRT_MAJOR=12
cuda_emu_libcudart_so_12_CFLAGS = $(AM_CFLAGS) -fPIC
cuda_emu_libcudart_so_12_LINK = $(emu_rt_link) -Wl,-soname,libcudart.so.12 \
	-Wl,--version-script,cuda_emu/cudart/map12 -o $@
cuda_emu_libcudart_so_12_DEPENDENCIES = cuda_emu/cudart/map12
cuda_emu_libcudart_so_12_LDADD = -ldl

cuda_emu_libcudart_so_13_SOURCES = $(emu_rt_sources)
nodist_cuda_emu_libcudart_so_13_SOURCES = cuda_emu/cudart/stubs13.c
cuda_emu_libcudart_so_13_CPPFLAGS = $(AM_CPPFLAGS) $(CUDA_CPPFLAGS) -DRT_MAJOR=13
cuda_emu_libcudart_so_13_CFLAGS = $(AM_CFLAGS) -fPIC
cuda_emu_libcudart_so_13_LINK = $(emu_rt_link) -Wl,-soname,libcudart.so.13 \
	-Wl,--version-script,cuda_emu/cudart/map13 -o $@
cuda_emu_libcudart_so_13_DEPENDENCIES = cuda_emu/cudart/map13
cuda_emu_libcudart_so_13_LDADD = -ldl

emu_rt_link = $(CC) -shared -Wl,-z,defs $(AM_CFLAGS) $(CFLAGS) $(AM_LDFLAGS) $(LDFLAGS)

CLEANFILES += cuda_emu/cudart/stubs12.c cuda_emu/cudart/stubs13.c cuda_emu/cudart/map12 \
	cuda_emu/cudart/map13 cuda_emu/libcudart.so
emu_rt_stubs = $(MKDIR_P) cuda_emu/cudart && awk -v report=rt_unsupported
cuda_emu/cudart/stubs12.c: cuda_emu/cudart/functions.list cuda_emu/front_stubs.awk
	$(AM_V_GEN)$(emu_rt_stubs) -v major=12 \
	    -f $(srcdir)/cuda_emu/front_stubs.awk $(srcdir)/cuda_emu/cudart/functions.list > $@.tmp && mv $@.tmp $@
cuda_emu/cudart/stubs13.c: cuda_emu/cudart/functions.list cuda_emu/front_stubs.awk
	$(AM_V_GEN)$(emu_rt_stubs) -v major=13 \
	    -f $(srcdir)/cuda_emu/front_stubs.awk $(srcdir)/cuda_emu/cudart/functions.list > $@.tmp && mv $@.tmp $@
emu_rt_map = $(MKDIR_P) cuda_emu/cudart && echo "libcudart.so.$$major" \
	"{ global: cuda*; __cuda*; local: *; };" > $@
cuda_emu/cudart/map12:
	$(AM_V_GEN)major=12; $(emu_rt_map)
cuda_emu/cudart/map13:
	$(AM_V_GEN)major=13; $(emu_rt_map)

# cuda-emu COMMAND...
bin_PROGRAMS += cuda_emu/launcher/cuda-emu
cuda_emu_launcher_cuda_emu_SOURCES = cuda_emu/launcher/cuda-emu.c
cuda_emu_launcher_cuda_emu_CPPFLAGS = $(AM_CPPFLAGS) \
	-DCUDA_EMU_BINDIR='"$(bindir)"' -DCUDA_EMU_LIBDIR='"$(emulibdir)"'

# libcudart.so for -lcudart and dlopen: the newest major
install-exec-local:
	$(MKDIR_P) $(DESTDIR)$(emulibdir) && \
	    ln -sf libcudart.so.13 $(DESTDIR)$(emulibdir)/libcudart.so
uninstall-local:
	rm -f $(DESTDIR)$(emulibdir)/libcudart.so
all-local: cuda_emu/libcudart.so
cuda_emu/libcudart.so: cuda_emu/libcudart.so.13
	$(AM_V_GEN)ln -sf libcudart.so.13 $@

# The emulator's own tests. They find the built libraries by GDR_BUILDDIR.
if HAVE_CMOCKA
emu_tests = cuda_emu/tests/test_context cuda_emu/tests/test_memory cuda_emu/tests/test_stream \
	cuda_emu/tests/test_ipc cuda_emu/tests/test_kernel cuda_emu/tests/test_pool \
	cuda_emu/tests/test_runtime cuda_emu/tests/test_runtime_kernel cuda_emu/tests/test_nvml \
	cuda_emu/tests/test_emu
check_PROGRAMS += $(emu_tests)
TESTS += $(emu_tests)

check_LTLIBRARIES += cuda_emu/tests/libemu_test.la cuda_emu/tests/emu_test_twins.la
cuda_emu_tests_libemu_test_la_SOURCES = cuda_emu/tests/emu_test.h cuda_emu/tests/emu_test.c \
	cuda_emu/tests/rt_api.h cuda_emu/tests/rt_api.c
cuda_emu_tests_libemu_test_la_CPPFLAGS = $(AM_CPPFLAGS) -D_GNU_SOURCE $(CUDA_CPPFLAGS)
cuda_emu_tests_libemu_test_la_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
# -rpath: libtool makes a shared object of what is never installed only when told where
cuda_emu_tests_emu_test_twins_la_SOURCES = cuda_emu/tests/twins.c
cuda_emu_tests_emu_test_twins_la_LDFLAGS = $(AM_LDFLAGS) -module -avoid-version \
	-rpath $(abs_builddir)

emu_test_cppflags = $(AM_CPPFLAGS) $(CUDA_CPPFLAGS)
emu_test_cflags = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
emu_test_ldadd = cuda_emu/tests/libemu_test.la cuda_emu/libcuda.la $(CMOCKA_LIBS) -ldl
cuda_emu_tests_test_context_SOURCES = cuda_emu/tests/test_context.c
cuda_emu_tests_test_context_CPPFLAGS = $(emu_test_cppflags)
cuda_emu_tests_test_context_CFLAGS = $(emu_test_cflags)
cuda_emu_tests_test_context_LDADD = $(emu_test_ldadd)
cuda_emu_tests_test_memory_SOURCES = cuda_emu/tests/test_memory.c
cuda_emu_tests_test_memory_CPPFLAGS = $(emu_test_cppflags)
cuda_emu_tests_test_memory_CFLAGS = $(emu_test_cflags)
cuda_emu_tests_test_memory_LDADD = $(emu_test_ldadd)
cuda_emu_tests_test_stream_SOURCES = cuda_emu/tests/test_stream.c
cuda_emu_tests_test_stream_CPPFLAGS = $(emu_test_cppflags)
cuda_emu_tests_test_stream_CFLAGS = $(emu_test_cflags)
cuda_emu_tests_test_stream_LDADD = $(emu_test_ldadd)
cuda_emu_tests_test_ipc_SOURCES = cuda_emu/tests/test_ipc.c
cuda_emu_tests_test_ipc_CPPFLAGS = $(emu_test_cppflags)
cuda_emu_tests_test_ipc_CFLAGS = $(emu_test_cflags)
cuda_emu_tests_test_ipc_LDADD = $(emu_test_ldadd)
cuda_emu_tests_test_kernel_SOURCES = cuda_emu/tests/test_kernel.c
cuda_emu_tests_test_kernel_CPPFLAGS = $(emu_test_cppflags)
cuda_emu_tests_test_kernel_CFLAGS = $(emu_test_cflags)
cuda_emu_tests_test_kernel_LDADD = $(emu_test_ldadd)
cuda_emu_tests_test_pool_SOURCES = cuda_emu/tests/test_pool.c
cuda_emu_tests_test_pool_CPPFLAGS = $(emu_test_cppflags)
cuda_emu_tests_test_pool_CFLAGS = $(emu_test_cflags)
cuda_emu_tests_test_pool_LDADD = $(emu_test_ldadd)
cuda_emu_tests_test_runtime_SOURCES = cuda_emu/tests/test_runtime.c
cuda_emu_tests_test_runtime_CPPFLAGS = $(emu_test_cppflags)
cuda_emu_tests_test_runtime_CFLAGS = $(emu_test_cflags)
cuda_emu_tests_test_runtime_LDADD = $(emu_test_ldadd)
cuda_emu_tests_test_runtime_kernel_SOURCES = cuda_emu/tests/test_runtime_kernel.c
cuda_emu_tests_test_runtime_kernel_CPPFLAGS = $(emu_test_cppflags)
cuda_emu_tests_test_runtime_kernel_CFLAGS = $(emu_test_cflags)
cuda_emu_tests_test_runtime_kernel_LDADD = $(emu_test_ldadd)
cuda_emu_tests_test_emu_SOURCES = cuda_emu/tests/test_emu.c
cuda_emu_tests_test_emu_CPPFLAGS = $(emu_test_cppflags) -D_GNU_SOURCE
cuda_emu_tests_test_emu_CFLAGS = $(emu_test_cflags)
cuda_emu_tests_test_emu_LDADD = $(emu_test_ldadd)
cuda_emu_tests_test_nvml_SOURCES = cuda_emu/tests/test_nvml.c
cuda_emu_tests_test_nvml_CPPFLAGS = $(emu_test_cppflags)
cuda_emu_tests_test_nvml_CFLAGS = $(emu_test_cflags)
cuda_emu_tests_test_nvml_LDADD = $(emu_test_ldadd)
endif

# What the launcher's test compiles with. EMU_LIBDIR_FROM_BINDIR is how this build installs.
AM_TESTS_ENVIRONMENT += CUDA_HOME='$(CUDA_HOME)'; export CUDA_HOME; \
	EMU_CC='$(CC)'; export EMU_CC; NVCC='$(NVCC)'; export NVCC; \
	EMU_LIBDIR_FROM_BINDIR=`echo '$(bindir)|$(libdir)' | sed -n 's,^\(.*\)/bin|\1/lib$$,../lib/cuda_emu,p'`; \
	export EMU_LIBDIR_FROM_BINDIR;
dist_check_SCRIPTS += cuda_emu/tests/launcher.sh
EXTRA_DIST += cuda_emu/tests/sample.c cuda_emu/tests/sample.cu
TESTS += cuda_emu/tests/launcher.sh
