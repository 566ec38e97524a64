# cuda_emu/front.mk: NVML, the CUDA runtime, the launcher, the emulator's own tests
noinst_HEADERS += cuda_emu/emu_device.h
EXTRA_DIST += cuda_emu/front_stubs.awk cuda_emu/nvml/functions.list

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
