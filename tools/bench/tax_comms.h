/* The communicators of gdr_bench host-tax. */
#ifndef TAX_COMMS_H
#define TAX_COMMS_H

#include <mpi.h>

typedef enum tax_kind {
    TAX_WITH,    /* gdr serves it */
    TAX_WITHOUT, /* made while gdr's priority was 0 */
    TAX_CONTROL, /* the same once more: how far two equal ones differ */
    TAX_KINDS
} tax_kind_t;

/* Several of each kind, because where their structures lie in the caches makes a difference. */
enum { TAX_SETS = 6 };

typedef struct tax_comms {
    MPI_Comm comm[TAX_KINDS][TAX_SETS];
} tax_comms_t;

/* Collective; 0, or -1 after a line on stderr. Close also after a failed open. */
int tax_comms_open(tax_comms_t *comms, int rank);
void tax_comms_close(tax_comms_t *comms);

#endif
