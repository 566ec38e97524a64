/* Peer access: which card may reach which (CUDA_EMU_PEERS), and what a context has enabled. */
#include "cuda_emu/core/emu.h"

bool emu_device_peers(int from, int to)
{
    return emu_config()->peer[emu_devices[from].card][emu_devices[to].card];
}

/* Where this id stands; for 0 a free place. EMU_PEERS_MAX: nowhere. */
static int place(const struct emu_ctx *ctx, uint64_t id)
{
    int i = 0;

    while (i < EMU_PEERS_MAX && ctx->peers[i] != id)
        i++;
    return i;
}

bool emu_ctx_peers(const struct emu_ctx *ctx, uint64_t id)
{
    return place(ctx, id) < EMU_PEERS_MAX;
}

static CUresult disable(struct emu_ctx *ctx, const struct emu_ctx *peer)
{
    int i = place(ctx, peer->id);

    if (i == EMU_PEERS_MAX)
        return CUDA_ERROR_PEER_ACCESS_NOT_ENABLED;
    ctx->peers[i] = 0;
    return CUDA_SUCCESS;
}

static void forget(struct emu_ctx *ctx, void *gone)
{
    (void)disable(ctx, gone);
}

void emu_ctx_forget(struct emu_ctx *gone)
{
    emu_ctx_each(forget, gone);
}

CUresult CUDAAPI cuDeviceCanAccessPeer(int *can, CUdevice device, CUdevice peer)
{
    CUresult rc = emu_enter_device(__func__, device);

    if (rc != CUDA_SUCCESS)
        return rc;
    if (!emu_device_valid(peer))
        return CUDA_ERROR_INVALID_DEVICE;
    if (can == NULL)
        return CUDA_ERROR_INVALID_VALUE;
    *can = device != peer && emu_device_peers(device, peer);
    return CUDA_SUCCESS;
}

CUresult CUDAAPI cuDeviceGetP2PAttribute(int *value, CUdevice_P2PAttribute attribute, CUdevice from,
                                         CUdevice to)
{
    CUresult rc = emu_enter_device(__func__, from);

    if (rc != CUDA_SUCCESS)
        return rc;
    if (!emu_device_valid(to) || from == to)
        return CUDA_ERROR_INVALID_DEVICE;
    if (value == NULL)
        return CUDA_ERROR_INVALID_VALUE;
    switch (attribute) {
    case CU_DEVICE_P2P_ATTRIBUTE_PERFORMANCE_RANK:
        *value = 0;
        return CUDA_SUCCESS;
    case CU_DEVICE_P2P_ATTRIBUTE_ACCESS_SUPPORTED:
    case CU_DEVICE_P2P_ATTRIBUTE_NATIVE_ATOMIC_SUPPORTED:
    case CU_DEVICE_P2P_ATTRIBUTE_CUDA_ARRAY_ACCESS_SUPPORTED:
        *value = emu_device_peers(from, to);
        return CUDA_SUCCESS;
    default:
        return CUDA_ERROR_INVALID_VALUE;
    }
}

static CUresult enable(struct emu_ctx *ctx, const struct emu_ctx *peer)
{
    int i = place(ctx, 0);

    if (emu_ctx_peers(ctx, peer->id))
        return CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED;
    if (i == EMU_PEERS_MAX)
        return CUDA_ERROR_TOO_MANY_PEERS;
    ctx->peers[i] = peer->id;
    return CUDA_SUCCESS;
}

CUresult CUDAAPI cuCtxEnablePeerAccess(CUcontext handle, unsigned int flags)
{
    struct emu_ctx *ctx, *peer = (struct emu_ctx *)handle;
    CUresult rc = emu_enter_ctx(__func__, &ctx);

    if (rc != CUDA_SUCCESS)
        return rc;
    if (flags != 0)
        return CUDA_ERROR_INVALID_VALUE;
    if (!emu_handle_is(peer, EMU_TYPE_CTX) || peer == ctx)
        return CUDA_ERROR_INVALID_CONTEXT;
    if (ctx->device == peer->device || !emu_device_peers(ctx->device, peer->device))
        return CUDA_ERROR_PEER_ACCESS_UNSUPPORTED;
    emu_lock();
    rc = enable(ctx, peer);
    emu_unlock();
    return rc;
}

CUresult CUDAAPI cuCtxDisablePeerAccess(CUcontext handle)
{
    struct emu_ctx *ctx, *peer = (struct emu_ctx *)handle;
    CUresult rc = emu_enter_ctx(__func__, &ctx);

    if (rc != CUDA_SUCCESS)
        return rc;
    if (!emu_handle_is(peer, EMU_TYPE_CTX))
        return CUDA_ERROR_INVALID_CONTEXT;
    emu_ctx_drain(ctx);
    emu_lock();
    rc = disable(ctx, peer);
    emu_unlock();
    return rc;
}
