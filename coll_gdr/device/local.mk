# device: the CUDA driver by dlopen; streams, words, launches, what a pointer is
noinst_LTLIBRARIES += libgdr_device.la
libgdr_device_la_SOURCES = \
	coll_gdr/device/gdr_device.h coll_gdr/device/driver.h coll_gdr/device/driver.def \
	coll_gdr/device/driver.c coll_gdr/device/watch.c coll_gdr/device/classify.c \
	coll_gdr/device/dev.h \
	coll_gdr/device/dev.c coll_gdr/device/stream.c coll_gdr/device/words.c \
	coll_gdr/device/kernels.c coll_gdr/device/staging.c coll_gdr/device/peer.c
libgdr_device_la_CPPFLAGS = $(AM_CPPFLAGS) $(CUDA_CPPFLAGS)

# beside gdr_ucx.so
gdrlib_LTLIBRARIES += gdr_watch.la
gdr_watch_la_SOURCES = coll_gdr/device/watch_object.c
gdr_watch_la_LDFLAGS = $(AM_LDFLAGS) -module -avoid-version -shared
