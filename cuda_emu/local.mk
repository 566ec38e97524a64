# cuda_emu: an emulated CUDA driver (core/) and what stands in front of it (front.mk).
# Everything is installed in $(libdir)/cuda_emu, where no real driver is looked for.
emulibdir = $(libdir)/cuda_emu
emulib_LTLIBRARIES = cuda_emu/libcuda.la

noinst_HEADERS += cuda_emu/include/cuda_emu_twin.h cuda_emu/include/cuda_emu.h
EXTRA_DIST += cuda_emu/core/exports.list cuda_emu/core/gen_exports.awk

# A new emulated function is a line here at most: its stub goes by itself.
cuda_emu_libcuda_la_SOURCES = \
	cuda_emu/core/emu.h cuda_emu/core/trampoline.h cuda_emu/core/module.h \
	cuda_emu/core/access.c cuda_emu/core/callback.c cuda_emu/core/capture.c \
	cuda_emu/core/config.c \
	cuda_emu/core/copy.c cuda_emu/core/copy_api.c cuda_emu/core/counters.c \
	cuda_emu/core/ctx.c cuda_emu/core/ctx_query.c cuda_emu/core/device.c \
	cuda_emu/core/driver.c cuda_emu/core/enter.c cuda_emu/core/event.c \
	cuda_emu/core/event_ipc.c cuda_emu/core/event.h \
	cuda_emu/core/fault.c cuda_emu/core/function.c cuda_emu/core/handles.c \
	cuda_emu/core/host.c cuda_emu/core/ipc.c cuda_emu/core/launch.c \
	cuda_emu/core/mem.c cuda_emu/core/memops.c cuda_emu/core/memset.c \
	cuda_emu/core/module.c cuda_emu/core/peer.c cuda_emu/core/pointer.c cuda_emu/core/pool.c \
	cuda_emu/core/report.c cuda_emu/core/space.c cuda_emu/core/stream.c \
	cuda_emu/core/stream_api.c cuda_emu/core/stream_life.c cuda_emu/core/symbols.c \
	cuda_emu/core/twins.c cuda_emu/core/vmm.c
nodist_cuda_emu_libcuda_la_SOURCES = \
	cuda_emu/core/emu_names.h cuda_emu/core/emu_exports.c
cuda_emu_libcuda_la_CPPFLAGS = $(AM_CPPFLAGS) -D_GNU_SOURCE $(CUDA_CPPFLAGS)
cuda_emu_libcuda_la_LDFLAGS = $(AM_LDFLAGS) -version-info 1:0:0 -Wl,-z,defs -Wl,-z,nodelete
cuda_emu_libcuda_la_LIBADD = -ldl -lpthread

BUILT_SOURCES += cuda_emu/core/emu_names.h
CLEANFILES += cuda_emu/core/emu_names.h cuda_emu/core/emu_exports.c
emu_gen = $(MKDIR_P) cuda_emu/core && $(AWK) -f $(srcdir)/cuda_emu/core/gen_exports.awk
cuda_emu/core/emu_names.h: cuda_emu/core/exports.list cuda_emu/core/gen_exports.awk
	$(AM_V_GEN)$(emu_gen) -v mode=names $(srcdir)/cuda_emu/core/exports.list > $@.tmp && mv $@.tmp $@
cuda_emu/core/emu_exports.c: cuda_emu/core/exports.list cuda_emu/core/gen_exports.awk
	$(AM_V_GEN)$(emu_gen) -v mode=exports $(srcdir)/cuda_emu/core/exports.list > $@.tmp && mv $@.tmp $@

# What nvidia-peermem does for a real card, preloaded; nothing links to libibverbs.
if HAVE_VERBS
emulib_LTLIBRARIES += cuda_emu/libcuda_emu_peermem.la
cuda_emu_libcuda_emu_peermem_la_SOURCES = cuda_emu/peermem/peermem.c
cuda_emu_libcuda_emu_peermem_la_CPPFLAGS = $(AM_CPPFLAGS) -D_GNU_SOURCE
cuda_emu_libcuda_emu_peermem_la_LDFLAGS = $(AM_LDFLAGS) -module -avoid-version -Wl,-z,defs
cuda_emu_libcuda_emu_peermem_la_LIBADD = -ldl -lpthread
endif

include cuda_emu/front.mk

# cuda-emu --peermem, against a libibverbs without a device
dist_check_SCRIPTS += cuda_emu/tests/peermem.sh
EXTRA_DIST += cuda_emu/tests/peermem.c cuda_emu/tests/fake_verbs.c cuda_emu/tests/fake_verbs.h
TESTS += cuda_emu/tests/peermem.sh
