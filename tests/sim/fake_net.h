/* What the files of the fake network share. */
#ifndef SIM_FAKE_NET_H
#define SIM_FAKE_NET_H

#include "tests/sim/sim.h"

typedef struct done_op {
    struct done_op *next;
    gdr_net_op_t *op;
    gdr_status_t status;
} done_op_t;

struct gdr_net {
    sim_proc_t *proc;
    done_op_t *done;
    uint64_t inside;
    gdr_net_peer_t *peers;
    void (*lost)(void *ctx);
    void *lost_ctx;
};

struct gdr_net_mem {
    gdr_net_t *net;
    uint64_t address, bytes;
    bool host;
};

struct gdr_net_peer {
    gdr_net_peer_t *next;
    gdr_net_t *net;
    unsigned closing; /* progress calls until what is mapped of it is closed; 1: it is closed */
    sim_proc_t *to;
    uint64_t last; /* when everything posted so far is complete */
};

struct gdr_net_rmem {
    gdr_net_peer_t *peer;
    uint64_t address, bytes;
    bool host, mapped;
};

void sim_net_release(gdr_net_rmem_t *rmem);
gdr_status_t sim_net_map(gdr_net_rmem_t *rmem, uint64_t *address);
bool sim_net_maps(const gdr_net_t *net);

#endif
