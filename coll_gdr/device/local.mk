# device: the CUDA driver by dlopen; streams, words, launches, what a pointer is
noinst_LTLIBRARIES += libgdr_device.la
libgdr_device_la_SOURCES = \
	coll_gdr/device/gdr_device.h coll_gdr/device/driver.h coll_gdr/device/driver.def \
	coll_gdr/device/driver.c coll_gdr/device/classify.c coll_gdr/device/dev.h \
	coll_gdr/device/dev.c coll_gdr/device/stream.c coll_gdr/device/words.c \
	coll_gdr/device/kernels.c coll_gdr/device/staging.c coll_gdr/device/peer.c
libgdr_device_la_CPPFLAGS = $(AM_CPPFLAGS) $(CUDA_CPPFLAGS)
