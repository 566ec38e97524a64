/*
 * Buffers that are not at home on the device of the communicator's lane: of another device, or
 * of another context. The lane's device reaches them directly where it can; else the call works on
 * copies in the lane's device, which never touch the host.
 */
#ifndef GDR_AWAY_H
#define GDR_AWAY_H

#include "mca/gdr_mca.h"

typedef struct gdr_away {
    struct gdr_away_helper *helper;    /* of the lane's device */
    struct gdr_away_copy *send, *recv; /* NULL: none */
    uint64_t user_recv;
    uint64_t caller; /* context that was current at entry */
    uint64_t bytes;
} gdr_away_t;

/*
 * Makes desc's buffers usable on the lane's device, maybe by other addresses. After an error,
 * logged, nothing is held, and the call cannot be a device call here.
 */
gdr_status_t gdr_away_begin(gdr_away_t *away, gdr_mca_module_t *module, gdr_call_desc_t *desc);
/*
 * Copies the result to where it belongs if `status` is GDR_OK; the status of both. Fit for the
 * progress callback: the memory is kept for later calls and freed at entry of one (or at shutdown).
 */
gdr_status_t gdr_away_end(gdr_away_t *away, gdr_status_t status);

void gdr_away_shutdown(void);

#endif
