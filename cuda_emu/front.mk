# cuda_emu/front.mk: NVML, the CUDA runtime, the launcher, the emulator's own tests
noinst_HEADERS += cuda_emu/emu_device.h
