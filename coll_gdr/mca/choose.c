/* Which way a call goes on this rank. */
#include "mca/gdr_mca.h"

#include "device/gdr_device.h"
#include "mca/host_memory.h"
#include "mca/staging.h"

static gdr_mca_way_t host_call(void)
{
    gdr_mca_count_host();
    return GDR_WAY_HOST;
}

static gdr_mca_way_t stage_because(const char **reason, const char *text)
{
    *reason = text;
    return GDR_WAY_STAGE;
}

/* A derived type's bytes may lie anywhere. */
static gdr_mca_way_t derived_type(const gdr_mca_args_t *args, const char **reason)
{
    bool all;

    if (!gdr_stage_needed(args, &all))
        return host_call();
    if (all)
        return stage_because(reason, "derived types are not served on the device");
    atomic_fetch_add(&gdr_mca.counters.mixed_calls, 1);
    return GDR_WAY_STAGE;
}

static gdr_mca_way_t device_call(gdr_mca_module_t *module, const gdr_mca_args_t *args,
                                 bool blocking, gdr_call_desc_t *desc, const char **reason)
{
    if (OMPI_COMM_IS_INTER(module->comm))
        return stage_because(reason, "inter-communicators are not served on the device");
    if (!gdr_mca_optype(args->op, args->dtype, &desc->op, &desc->type))
        return stage_because(reason, "this operation and type are not served on the device");
    switch (gdr_mca_reach(module, desc->device, reason)) {
    case GDR_REACH_TEAM:
        break;
    case GDR_REACH_STAGE:
        return GDR_WAY_STAGE;
    case GDR_REACH_UNKNOWN: /* nobody else knows: for them it is a mixed call */
        atomic_fetch_add(&gdr_mca.counters.mixed_calls, 1);
        return GDR_WAY_STAGE;
    }
    desc->recv = (uint64_t)(uintptr_t)args->recv;
    desc->send = args->send == MPI_IN_PLACE ? desc->recv : (uint64_t)(uintptr_t)args->send;
    desc->count = (uint64_t)args->count;
    desc->blocking = blocking;
    desc->context = gdr_device_current();
    return GDR_WAY_DEVICE;
}

gdr_mca_way_t gdr_mca_choose(gdr_mca_module_t *module, const gdr_mca_args_t *args, bool blocking,
                             gdr_call_desc_t *desc, const char **reason)
{
    gdr_mem_info_t recv, send;

    *reason = NULL;
    if (gdr_device_absent())
        return host_call();
    if (gdr_host_memory_sure(args->recv) &&
        (args->send == MPI_IN_PLACE || gdr_host_memory_sure(args->send)))
        return host_call();
    if (!gdr_device_seen() || args->count == 0)
        return host_call();
    if (gdr_host_memory_look(args->recv) &&
        (args->send == MPI_IN_PLACE || gdr_host_memory_sure(args->send)))
        return host_call();
    if (gdr_host_promised(module->comm))
        return host_call();
    if (!ompi_datatype_is_predefined(args->dtype))
        return derived_type(args, reason);
    gdr_device_classify(args->recv, &recv);
    send = recv;
    if (args->send != MPI_IN_PLACE)
        gdr_device_classify(args->send, &send);
    if (!gdr_device_is_device(&recv) && !gdr_device_is_device(&send))
        return host_call();
    if (gdr_device_is_device(&recv) != gdr_device_is_device(&send)) {
        /* Other ranks may see something else: never an error, and nothing to say. */
        atomic_fetch_add(&gdr_mca.counters.mixed_calls, 1);
        return GDR_WAY_STAGE;
    }
    desc->apart = recv.context != send.context || recv.ordinal != send.ordinal;
    desc->device = recv.ordinal >= 0 ? recv.ordinal : send.ordinal;
    return device_call(module, args, blocking, desc, reason);
}
