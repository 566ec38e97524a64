/* The control plane: small messages over Open MPI's own point-to-point layer. */
#ifndef GDR_MCA_CTL_H
#define GDR_MCA_CTL_H

#include "base/gdr_status.h"

#include <stdbool.h>
#include <stddef.h>

/* Posts the receive that stands until MPI_Finalize; from MPI_COMM_WORLD's selection. */
gdr_status_t gdr_ctl_pml_open(void);
/* Whether that has been done: else no communicator can be served on a device. */
bool gdr_ctl_pml_is_open(void);
/* Port of the engine: queues. */
gdr_status_t gdr_ctl_pml_send(void *ctx, int proc, const void *message, size_t bytes);
/* Sends at once, also from inside the receive's callback; one that fails is lost. */
void gdr_ctl_pml_answer(int proc, const void *message, size_t bytes);
/* Posts what is queued, frees what is sent. */
int gdr_ctl_pml_progress(void);

#endif
