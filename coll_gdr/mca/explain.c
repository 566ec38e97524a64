/* coll_gdr_explain: which algorithm served a call, and what speaks for it. */
#include "mca/gdr_mca.h"

#include <inttypes.h>
#include <stdio.h>

enum { OPTIONS_MAX = 16 };

static unsigned log2_floor(uint64_t x)
{
    return x == 0 ? 0 : 63U - (unsigned)__builtin_clzll(x);
}

static void print_option(const gdr_plan_option_t *o)
{
    const gdr_flow_t *net = &o->work.link[GDR_LINK_NET], *node = &o->work.link[GDR_LINK_NODE];

    if (!o->serves) {
        opal_output(0, "coll/gdr:   %-13s cannot serve it", o->name);
        return;
    }
    opal_output(0,
                "coll/gdr: %c %-13s %10.1f us predicted: %" PRIu64 " steps, %" PRIu64
                " segments of %" PRIu64 " puts, %" PRIu64 " bytes sent",
                o->taken ? '*' : ' ', o->name, (double)o->ns / 1000, net->steps + node->steps,
                o->nsegments, net->puts + node->puts, o->work.sent);
}

static void print_options(const gdr_mca_module_t *module, const gdr_call_desc_t *desc)
{
    gdr_plan_option_t options[OPTIONS_MAX];
    uint32_t n;

    if (!atomic_load(&module->has_team)) /* so far only persistent calls have one */
        return;
    n = gdr_team_options(module->team, desc->count, desc->type, options, OPTIONS_MAX);
    for (uint32_t i = 0; i < n; i++)
        print_option(&options[i]);
}

void gdr_mca_served(gdr_mca_module_t *module, const gdr_call_t *call, const gdr_call_desc_t *desc)
{
    const char *path = gdr_call_path(call);
    uint64_t bytes = desc->count * gdr_type_bytes(desc->type);
    uint64_t bit = UINT64_C(1) << log2_floor(bytes);

    atomic_store(&gdr_mca.counters.last_path, path);
    gdr_trace(&gdr_mca.log, "allreduce of %llu x %s, %s, %llu bytes: gdr/%s",
              (unsigned long long)desc->count, gdr_type_name(desc->type), gdr_op_name(desc->op),
              (unsigned long long)bytes, path);
    if ((atomic_fetch_or(&module->explained, bit) & bit) != 0 || ompi_comm_rank(module->comm) != 0)
        return;
    if (!gdr_mca.params.explain) {
        gdr_info(&gdr_mca.log, "communicator \"%s\", %d ranks, allreduce from %llu bytes: gdr/%s",
                 module->comm->c_name, ompi_comm_size(module->comm), (unsigned long long)bit, path);
        return;
    }
    opal_output(0, "coll/gdr: communicator \"%s\", %d ranks, allreduce from %llu bytes: gdr/%s",
                module->comm->c_name, ompi_comm_size(module->comm), (unsigned long long)bit, path);
    print_options(module, desc);
}
