/* The value of the info key mpi_assert_memory_alloc_kinds (MPI 4.1, 11.4.3). Pure. */
#ifndef GDR_KINDS_H
#define GDR_KINDS_H

#include <stdbool.h>

/*
 * Whether the value promises that no buffer is device memory: a list of "mpi", "system" and
 * "cuda:host", with the restrictors that MPI defines. false for anything else, so for kinds that
 * are not known here, for an empty list and for what is no list at all.
 */
bool gdr_kinds_promise_host(const char *value);

#endif
