# tests/gpu: what runs on a machine with a card and nothing else; the pack that takes it there
dist_check_SCRIPTS += tests/gpu/pack tests/gpu/run.sh tests/gpu/pack.sh
EXTRA_DIST += tests/gpu/nccl.py tests/gpu/table.awk
check_PROGRAMS += tests/gpu/kernel_rate
tests_gpu_kernel_rate_SOURCES = tests/gpu/kernel_rate.c
tests_gpu_kernel_rate_LDADD = libgdr_tune.la
if !GDR_SANITIZED
TESTS += tests/gpu/pack.sh
endif
