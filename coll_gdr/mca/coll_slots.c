/*
 * The entries of all collectives but MPI_Allreduce and MPI_Iallreduce in a communicator's table. A
 * blocking call on host memory costs one more function and a look at two addresses; a nonblocking
 * or persistent one must not overtake calls that are still undecided (request.h), too.
 */
#include "mca/coll.h"
#include "mca/shapes.h"

typedef struct ompi_communicator_t *comm_t;

#define SLOT(name, S, R, T)                                                                        \
    static int name(PARAMS_##S PARAMS_##R PARAMS_##T comm_t comm, mca_coll_base_module_t *base)    \
    {                                                                                              \
        gdr_mca_module_t *module = (gdr_mca_module_t *)base;                                       \
        const mca_coll_base_comm_coll_t *prev = &module->prev;                                     \
                                                                                                   \
        if (IS_HOST_##S && gdr_coll_surely_host(recv))                                             \
            return prev->coll_##name(NAMES_##S NAMES_##R NAMES_##T comm,                           \
                                     prev->coll_##name##_module);                                  \
        gdr_coll_args_t args = {PUT_##S PUT_##R PUT_##T};                                          \
        return gdr_coll_call(module, GDR_COLL_##name, &args);                                      \
    }                                                                                              \
                                                                                                   \
    static int i##name(PARAMS_##S PARAMS_##R PARAMS_##T comm_t comm, ompi_request_t **out,         \
                       mca_coll_base_module_t *base)                                               \
    {                                                                                              \
        gdr_mca_module_t *module = (gdr_mca_module_t *)base;                                       \
        const mca_coll_base_comm_coll_t *prev = &module->prev;                                     \
                                                                                                   \
        if (atomic_load(&module->held) == 0 && IS_HOST_##S && gdr_coll_surely_host(recv))          \
            return prev->coll_i##name(NAMES_##S NAMES_##R NAMES_##T comm, out,                     \
                                      prev->coll_i##name##_module);                                \
        gdr_coll_args_t args = {PUT_##S PUT_##R PUT_##T};                                          \
        return gdr_coll_post(module, GDR_COLL_##name, &args, out);                                 \
    }                                                                                              \
                                                                                                   \
    static int name##_init(PARAMS_##S PARAMS_##R PARAMS_##T comm_t comm, struct ompi_info_t *info, \
                           ompi_request_t **out, mca_coll_base_module_t *base)                     \
    {                                                                                              \
        gdr_mca_module_t *module = (gdr_mca_module_t *)base;                                       \
        const mca_coll_base_comm_coll_t *prev = &module->prev;                                     \
                                                                                                   \
        if (atomic_load(&module->held) == 0 && IS_HOST_##S && gdr_coll_surely_host(recv))          \
            return prev->coll_##name##_init(NAMES_##S NAMES_##R NAMES_##T comm, info, out,         \
                                            prev->coll_##name##_init_module);                      \
        gdr_coll_args_t args = {PUT_##S PUT_##R PUT_##T};                                          \
        return gdr_coll_init(module, GDR_COLL_##name, &args, info, out);                           \
    }

GDR_COLLECTIVES(SLOT)

static int reduce_local(const void *send, void *recv, int count, gdr_dtype_t dtype,
                        struct ompi_op_t *op, mca_coll_base_module_t *base)
{
    gdr_mca_module_t *module = (gdr_mca_module_t *)base;
    const mca_coll_base_comm_coll_t *prev = &module->prev;

    if (gdr_host_memory_sure(send) && gdr_host_memory_sure(recv))
        return prev->coll_reduce_local(send, recv, count, dtype, op,
                                       prev->coll_reduce_local_module);
    gdr_coll_args_t args = {.send = {.buffer = (void *)(uintptr_t)send},
                            .recv = {.buffer = recv, .count = count, .type = dtype},
                            .op = op};
    return gdr_coll_call(module, GDR_COLL_reduce_local, &args);
}

static int ibarrier(comm_t comm, ompi_request_t **out, mca_coll_base_module_t *base)
{
    gdr_mca_module_t *module = (gdr_mca_module_t *)base;
    const mca_coll_base_comm_coll_t *prev = &module->prev;
    gdr_coll_args_t none = {0};

    if (atomic_load(&module->held) == 0)
        return prev->coll_ibarrier(comm, out, prev->coll_ibarrier_module);
    return gdr_coll_post(module, GDR_COLL_barrier, &none, out);
}

static int barrier_init(comm_t comm, struct ompi_info_t *info, ompi_request_t **out,
                        mca_coll_base_module_t *base)
{
    gdr_mca_module_t *module = (gdr_mca_module_t *)base;
    const mca_coll_base_comm_coll_t *prev = &module->prev;

    gdr_request_settle(module);
    return prev->coll_barrier_init(comm, info, out, prev->coll_barrier_init_module);
}

/* Where nobody was before, nothing may seem to be there. */
#define TAKE_AS(slot, function)                                                                    \
    if (module->prev.coll_##slot != NULL) {                                                        \
        OBJ_RETAIN(module->prev.coll_##slot##_module);                                             \
        module->super.coll_##slot = function;                                                      \
    }

#define GIVE_BACK_ONE(slot)                                                                        \
    if (module->super.coll_##slot != NULL)                                                         \
        OBJ_RELEASE(module->prev.coll_##slot##_module);

#define TAKE(name, ...)                                                                            \
    TAKE_AS(name, name)                                                                            \
    TAKE_AS(i##name, i##name)                                                                      \
    TAKE_AS(name##_init, name##_init)

#define GIVE_BACK(name, ...)                                                                       \
    GIVE_BACK_ONE(name)                                                                            \
    GIVE_BACK_ONE(i##name)                                                                         \
    GIVE_BACK_ONE(name##_init)

void gdr_coll_enable(gdr_mca_module_t *module)
{
    module->prev = *module->comm->c_coll;
    GDR_COLLECTIVES(TAKE)
    TAKE_AS(reduce_local, reduce_local)
    TAKE_AS(ibarrier, ibarrier)
    TAKE_AS(barrier_init, barrier_init)
    TAKE_AS(allreduce_init, mca_coll_gdr_allreduce_init)
}

void gdr_coll_disable(gdr_mca_module_t *module)
{
    GDR_COLLECTIVES(GIVE_BACK)
    GIVE_BACK_ONE(reduce_local)
    GIVE_BACK_ONE(ibarrier)
    GIVE_BACK_ONE(barrier_init)
    GIVE_BACK_ONE(allreduce_init)
}
