# cuda_emu: an emulated CUDA driver (core/) and what stands in front of it (front.mk).
# Everything is installed in $(libdir)/cuda_emu, where no real driver is looked for.
emulibdir = $(libdir)/cuda_emu
emulib_LTLIBRARIES =

noinst_HEADERS += cuda_emu/include/cuda_emu_twin.h

include cuda_emu/front.mk
