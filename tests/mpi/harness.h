/*
 * What the MPI test programs share. A failed check prints one line and is counted; a program that
 * hangs says by itself where each rank was (SIGALRM after GDR_TEST_ALARM seconds, default 100).
 */
#ifndef GDR_TEST_HARNESS_H
#define GDR_TEST_HARNESS_H

#include <mpi.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

extern int t_rank, t_size;

/* MPI_Init_thread at `level`; picks device rank mod count if there is one, except on the rank that
 * GDR_TEST_NO_CUDA names, which makes no CUDA call at all. */
void t_init(int *argc, char ***argv, int level);
/* Without MPI, for what must happen before MPI_Init: the alarm alone. */
void t_guard(void);
/* All ranks' failures, a summary on rank 0, MPI_Finalize; the program's exit status. */
int t_finish(void);
/* The same after MPI_Finalize, for this rank alone. */
int t_status(void);

typedef struct t_named {
    const char *name;
    void (*run)(void);
} t_named_t;

/* Runs the cases that the arguments name, in their order; a name that the table of n lacks ends the
 * job, lest a test pass by running nothing. */
void t_cases(int argc, char **argv, const t_named_t *table, size_t n);
/* Names what runs now: part of every message. */
void t_case(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* From now on a case that lasts longer than this is a hang, however long the program runs. */
void t_stall(unsigned seconds);
/* Checks that failed in this process. */
int t_failures(void);
/* Counts a check; prints if it failed. Any thread. */
bool t_check(bool ok, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Stops the job: there is no point in going on. */
void t_fatal(const char *format, ...) __attribute__((format(printf, 1, 2), noreturn));

/* Value of performance variable coll_gdr_NAME of this process; of a text into out. */
uint64_t t_pvar(const char *name);
void t_pvar_text(const char *name, char *out, size_t size);

/* Payload bytes that the emulated driver saw in host memory; 0 on a real one. */
uint64_t t_emu_host_bytes(void);

/* A function of the driver, which is loaded if need be, into a pointer to it; none ends the job. */
void t_driver_function(const char *name, void *function);

/* Device memory. A failure ends the job. */
void *t_device_alloc(size_t bytes);
void t_device_free(void *address);
void t_upload(void *device, const void *host, size_t bytes);
void t_download(void *host, const void *device, size_t bytes);

/* One float allreduced on the device by `comm`: the sum of value over its ranks. */
void t_float_sum(MPI_Comm comm, float value, float expected, bool nonblocking);

double t_seconds(void);

#endif
