/* This process as a peer of its own: how the CPU gets at bytes of device memory. */
#include "ucx_glue/ucx.h"

#include <stdlib.h>

gdr_status_t gdr_ucx_self(gdr_net_t *net, gdr_net_peer_t **self)
{
    gdr_status_t status = GDR_OK;

    if (net->self == NULL)
        status = gdr_ucx_peer_create(net, net->address, net->address_bytes, &net->self);
    if (status == GDR_OK)
        *self = net->self;
    return status;
}

gdr_status_t gdr_ucx_import_own(gdr_net_mem_t *mem, gdr_net_rmem_t **rmem)
{
    size_t bytes = 0;
    gdr_net_peer_t *self;
    gdr_status_t status = gdr_ucx_self(mem->net, &self);
    void *packed;

    if (status != GDR_OK)
        return status;
    (void)gdr_ucx_pack(mem, NULL, &bytes); /* how long it is: a key for each NIC of the machine */
    packed = malloc(bytes);
    if (packed == NULL) {
        gdr_error(mem->net->log, "no memory for %zu bytes of a region's keys", bytes);
        return GDR_ERR_NO_MEMORY;
    }
    status = gdr_ucx_pack(mem, packed, &bytes);
    if (status == GDR_OK)
        status = gdr_ucx_import(self, mem, packed, bytes, rmem);
    free(packed);
    return status;
}

void *gdr_ucx_get(const gdr_net_rmem_t *rmem, uint64_t address, void *buffer, size_t bytes,
                  ucp_request_param_t *param)
{
    param->op_attr_mask |= UCP_OP_ATTR_FIELD_MEMORY_TYPE;
    param->memory_type = UCS_MEMORY_TYPE_HOST;
    return ucp_get_nbx(rmem->peer->ep, buffer, bytes, address, rmem->rkey, param);
}
