# cuda_emu
