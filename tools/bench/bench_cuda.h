/*
 * The CUDA driver, opened with dlopen: one binary runs on a card, on the emulated driver and, for
 * host buffers, without either. Functions return 0, or -1 and the reason in bench_cuda_error().
 * One thread.
 */
#ifndef BENCH_CUDA_H
#define BENCH_CUDA_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Opens the driver and takes device `number` modulo the device count for this thread. */
int bench_cuda_open(int number);
bool bench_cuda_emulated(void);
const char *bench_cuda_name(void);
const char *bench_cuda_error(void);

int bench_cuda_alloc(size_t bytes, void **address);
void bench_cuda_free(void *address);
int bench_cuda_alloc_host(size_t bytes, void **address); /* pinned */
void bench_cuda_free_host(void *address);
int bench_cuda_to_device(void *to, const void *from, size_t bytes);
int bench_cuda_to_host(void *to, const void *from, size_t bytes);

/* Payload bytes that passed through memory the CPU can see, as the emulated driver counts them
 * (never decreasing); 0 on a card, where nobody counts. */
uint64_t bench_cuda_host_bytes(void);

#endif
