/* What the previous component offers, one function for each of its slots. */
#include "mca/coll.h"
#include "mca/shapes.h"

#define OPS(name, S, R, T)                                                                         \
    static int call_##name(gdr_mca_module_t *module, const gdr_coll_args_t *args)                  \
    {                                                                                              \
        const mca_coll_base_comm_coll_t *prev = &module->prev;                                     \
                                                                                                   \
        return prev->coll_##name(GET_##S(args) GET_##R(args) GET_##T(args) module->comm,           \
                                 prev->coll_##name##_module);                                      \
    }                                                                                              \
                                                                                                   \
    static int post_##name(gdr_mca_module_t *module, const gdr_coll_args_t *args,                  \
                           ompi_request_t **out)                                                   \
    {                                                                                              \
        const mca_coll_base_comm_coll_t *prev = &module->prev;                                     \
                                                                                                   \
        return prev->coll_i##name(GET_##S(args) GET_##R(args) GET_##T(args) module->comm, out,     \
                                  prev->coll_i##name##_module);                                    \
    }                                                                                              \
                                                                                                   \
    static int init_##name(gdr_mca_module_t *module, const gdr_coll_args_t *args,                  \
                           struct ompi_info_t *info, ompi_request_t **out)                         \
    {                                                                                              \
        const mca_coll_base_comm_coll_t *prev = &module->prev;                                     \
                                                                                                   \
        return prev->coll_##name##_init(GET_##S(args) GET_##R(args) GET_##T(args) module->comm,    \
                                        info, out, prev->coll_##name##_init_module);               \
    }

GDR_COLLECTIVES(OPS)
OPS(allreduce, S0, RED, NOROOT)

static int call_reduce_local(gdr_mca_module_t *module, const gdr_coll_args_t *args)
{
    const mca_coll_base_comm_coll_t *prev = &module->prev;

    return prev->coll_reduce_local(args->send.buffer, args->recv.buffer, args->recv.count,
                                   args->recv.type, args->op, prev->coll_reduce_local_module);
}

static int post_barrier(gdr_mca_module_t *module, const gdr_coll_args_t *args, ompi_request_t **out)
{
    const mca_coll_base_comm_coll_t *prev = &module->prev;

    (void)args;
    return prev->coll_ibarrier(module->comm, out, prev->coll_ibarrier_module);
}

#define ENTRY(name, ...) [GDR_COLL_##name] = {#name, call_##name, post_##name, init_##name},

const gdr_coll_ops_t *gdr_coll_ops(gdr_coll_t coll)
{
    static const gdr_coll_ops_t table[] = {
        GDR_COLLECTIVES(ENTRY) /* each with its comma */
            [GDR_COLL_allreduce] = {"allreduce", call_allreduce, post_allreduce, init_allreduce},
        [GDR_COLL_reduce_local] = {"reduce_local", call_reduce_local, NULL, NULL},
        [GDR_COLL_barrier] = {"barrier", NULL, post_barrier, NULL},
    };

    return &table[coll];
}
