/*
 * Preloaded: the MISPUT-th put from device memory, counted from 1, goes 4 KiB beside its target and
 * is reported as done: what a broken UCX or a stale mapping would do.
 */
#include <dlfcn.h>
#include <stdlib.h>
#include <ucp/api/ucp.h>

typedef ucs_status_ptr_t (*put_t)(ucp_ep_h, const void *, size_t, uint64_t, ucp_rkey_h,
                                  const ucp_request_param_t *);

__attribute__((visibility("default"))) ucs_status_ptr_t
ucp_put_nbx(ucp_ep_h ep, const void *buffer, size_t count, uint64_t remote_addr, ucp_rkey_h rkey,
            const ucp_request_param_t *param)
{
    static long puts;
    const char *which = getenv("MISPUT");
    put_t put;

    *(void **)&put = dlsym(dlopen("libucp.so.0", RTLD_LAZY | RTLD_NOLOAD), "ucp_put_nbx");
    if (param->memory_type == UCS_MEMORY_TYPE_CUDA && which != NULL && ++puts == atol(which))
        remote_addr += 4096;
    return put(ep, buffer, count, remote_addr, rkey, param);
}
