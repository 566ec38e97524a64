# cuda_emu
include cuda_emu/front.mk
