/*
 * Which way device memory takes to a peer, in UCX's own words; where it is the way through host
 * memory, a line says so and why there is no GPUDirect RDMA. Asked of a put that has been posted:
 * only then has UCX decided.
 */
#include "ucx_glue/ucx.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#define LARGE_BYTES 65536u
#define TEXT_BYTES  512

/* UCX finds the drivers that register GPU memory with a NIC by these. */
static bool has_driver(void)
{
    static const char *const files[] = {"/sys/module/nvidia_peermem/version",
                                        "/sys/module/nv_peer_mem/version",
                                        "/sys/kernel/mm/memory_peers/nv_mem/version"};

    for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++)
        if (access(files[i], F_OK) == 0)
            return true;
    return false;
}

static bool is_off(const char *value)
{
    return value != NULL &&
           (strcasecmp(value, "n") == 0 || strcasecmp(value, "no") == 0 || strcmp(value, "0") == 0);
}

static const char *reason(const gdr_net_peer_t *peer)
{
    if (!peer->has_rdma)
        return "UCX uses no RDMA device to this peer: see UCX_TLS and UCX_NET_DEVICES";
    if (is_off(getenv("UCX_IB_GPU_DIRECT_RDMA")))
        return "UCX_IB_GPU_DIRECT_RDMA says no";
    if (!has_driver())
        return "no driver registers GPU memory with the NIC: load nvidia-peermem, or use a kernel, "
               "CUDA driver and UCX with dma-buf";
    return "UCX prefers it to GPUDirect RDMA: see UCX_IB_GPU_DIRECT_RDMA=yes";
}

/* Anything but a copy by the NIC or the GPU alone: emulation by messages, or a bounce buffer. */
static bool through_host(const char *text)
{
    return strstr(text, "zero-copy") == NULL || strstr(text, "emulation") != NULL;
}

/* "{flags} put from cuda/GPU0 length 4096 zero-copy rc_mlx5/mlx5_0:1 900.0 MB/s 2.1 us": leaves
 * what comes behind the length, without the estimates. */
static char *shorten(char *text)
{
    static const char length[] = "length ";
    char *begin = strstr(text, length), *end = strstr(text, " MB/s");

    begin = begin == NULL ? text : begin + sizeof(length) - 1;
    if (begin != text)
        begin += strcspn(begin, " ");
    while (end != NULL && end > begin && *--end != ' ')
        ;
    if (end != NULL && end > begin)
        *end = '\0';
    return begin + strspn(begin, " ");
}

static void say(gdr_net_peer_t *peer, const char *text, size_t bytes)
{
    gdr_net_t *net = peer->net;

    if (through_host(text)) {
        if (!net->emulates)
            gdr_warn(net->log,
                     "a put of %zu bytes of device memory to a peer passes through host memory "
                     "(UCX: %s): %s",
                     bytes, text, reason(peer));
        net->emulates = true;
        return;
    }
    if (strcmp(net->path_said, text) != 0)
        gdr_info(net->log, "a put of %zu bytes of device memory to a peer: UCX: %s", bytes, text);
    snprintf(net->path_said, sizeof(net->path_said), "%s", text);
}

static unsigned class_of(size_t bytes)
{
    return bytes < LARGE_BYTES ? 1 : 2;
}

bool gdr_ucx_path_wanted(const gdr_net_peer_t *peer, const gdr_net_mem_t *from, size_t bytes)
{
    return from->type == UCS_MEMORY_TYPE_CUDA && peer->path_class < class_of(bytes);
}

void gdr_ucx_say_path(gdr_net_peer_t *peer, void *request, size_t bytes)
{
    char text[TEXT_BYTES] = "";
    ucp_request_attr_t attr = {.field_mask = UCP_REQUEST_ATTR_FIELD_INFO_STRING |
                                             UCP_REQUEST_ATTR_FIELD_INFO_STRING_SIZE,
                               .debug_string = text,
                               .debug_string_size = sizeof(text)};

    peer->path_class = class_of(bytes);
    if (ucp_request_query(request, &attr) == UCS_OK && text[0] != '\0')
        say(peer, shorten(text), bytes);
}
