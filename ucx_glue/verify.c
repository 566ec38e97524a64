/*
 * Does a put to a peer's window really arrive? Seen from here, once per peer: the last bytes of the
 * first put that a word follows are read back from the peer's window, after the flush, and compared
 * with those of the source, before the word goes out.
 */
#include "ucx_glue/ucx.h"

#include <stdlib.h>
#include <string.h>

/* Without memory, or without the own region, the put is simply not read back. */
void gdr_ucx_verify_begin(const gdr_ucx_op_t *op, gdr_net_rmem_t *rmem, uint64_t roff,
                          gdr_net_mem_t *lmem, uint64_t loff, size_t bytes)
{
    gdr_net_peer_t *peer = op->peer;
    gdr_ucx_verify_t *verify;

    if (peer->verify != NULL || !lmem->device)
        return;
    verify = calloc(1, sizeof(*verify));
    if (verify == NULL)
        return;
    if (gdr_ucx_import_own(lmem, &verify->own) != GDR_OK) {
        free(verify);
        return;
    }
    verify->op = op;
    verify->rmem = rmem;
    verify->bytes = bytes < GDR_UCX_VERIFY_BYTES ? (uint32_t)bytes : GDR_UCX_VERIFY_BYTES;
    verify->target = rmem->address + roff + bytes - verify->bytes;
    verify->source = lmem->address + loff + bytes - verify->bytes;
    verify->next = peer->net->verifies;
    peer->net->verifies = verify;
    peer->verify = verify;
}

bool gdr_ucx_verify_is_due(const gdr_ucx_op_t *op)
{
    return op->peer->verify != NULL && op->peer->verify->op == op;
}

void *gdr_ucx_verify_there(const gdr_ucx_op_t *op, ucp_request_param_t *param)
{
    gdr_ucx_verify_t *verify = op->peer->verify;

    return gdr_ucx_get(verify->rmem, verify->target, verify->there, verify->bytes, param);
}

void *gdr_ucx_verify_here(const gdr_ucx_op_t *op, ucp_request_param_t *param)
{
    gdr_ucx_verify_t *verify = op->peer->verify;

    return gdr_ucx_get(verify->own, verify->source, verify->here, verify->bytes, param);
}

void gdr_ucx_verify_end(const gdr_ucx_op_t *op)
{
    gdr_ucx_verify_t *verify = op->peer->verify;

    if (!gdr_ucx_verify_is_due(op))
        return;
    gdr_ucx_release(verify->own);
    verify->own = NULL;
    verify->op = NULL;
}

void gdr_ucx_verify_abandon(const gdr_ucx_op_t *op)
{
    gdr_ucx_verify_t *verify = op->peer->verify;

    if (!gdr_ucx_verify_is_due(op))
        return;
    gdr_ucx_keep(verify->own);
    verify->own = NULL;
    verify->op = NULL;
}

gdr_status_t gdr_ucx_verify_compare(const gdr_ucx_op_t *op)
{
    const gdr_ucx_verify_t *verify = op->peer->verify;
    const gdr_log_t *log = op->peer->net->log;

    if (memcmp(verify->there, verify->here, verify->bytes) == 0) {
        gdr_debug(log, "the first put to a peer has arrived: %u bytes read back", verify->bytes);
        return GDR_OK;
    }
    gdr_error(log,
              "UCX %s says that a put into a peer's window is done, but %u bytes read back from "
              "0x%llx there are not those that were put: nothing more goes to this peer",
              ucp_get_version_string(), verify->bytes, (unsigned long long)verify->target);
    op->peer->status = GDR_ERR_NET;
    return GDR_ERR_NET;
}
