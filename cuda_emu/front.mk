# cuda_emu: cudart, NVML, launcher, tests
