/*
 * The other nonblocking collectives. They are the previous component's, but it numbers nonblocking
 * collectives when they are posted, alike on all ranks only if they reach it in call order: while a
 * device call is undecided, they queue behind it (request.c). Otherwise they cost one test.
 */
#include "mca/gdr_mca.h"
#include "mca/request.h"

#include <string.h>

typedef struct ompi_datatype_t *dtype_t;
typedef struct ompi_datatype_t *const *dtypes_t;
typedef struct ompi_op_t *op_t;
typedef struct ompi_communicator_t *comm_t;

/* Lists of n arguments: parameters, members, what is passed on, what is kept, what was kept. */
#define PARAMS_0(A)
#define PARAMS_4(A, B, C, D)             A a, B b, C c, D d,
#define PARAMS_5(A, B, C, D, E)          PARAMS_4(A, B, C, D) E e,
#define PARAMS_6(A, B, C, D, E, F)       PARAMS_5(A, B, C, D, E) F f,
#define PARAMS_7(A, B, C, D, E, F, G)    PARAMS_6(A, B, C, D, E, F) G g,
#define PARAMS_8(A, B, C, D, E, F, G, H) PARAMS_7(A, B, C, D, E, F, G) H h,
#define MEMBERS_0(A)                     A none;
#define MEMBERS_4(A, B, C, D)                                                                      \
    A a;                                                                                           \
    B b;                                                                                           \
    C c;                                                                                           \
    D d;
#define MEMBERS_5(A, B, C, D, E)          MEMBERS_4(A, B, C, D) E e;
#define MEMBERS_6(A, B, C, D, E, F)       MEMBERS_5(A, B, C, D, E) F f;
#define MEMBERS_7(A, B, C, D, E, F, G)    MEMBERS_6(A, B, C, D, E, F) G g;
#define MEMBERS_8(A, B, C, D, E, F, G, H) MEMBERS_7(A, B, C, D, E, F, G) H h;
#define NAMES_0
#define NAMES_4  a, b, c, d,
#define NAMES_5  NAMES_4 e,
#define NAMES_6  NAMES_5 f,
#define NAMES_7  NAMES_6 g,
#define NAMES_8  NAMES_7 h,
#define VALUES_0 0
#define VALUES_4 NAMES_4
#define VALUES_5 NAMES_5
#define VALUES_6 NAMES_6
#define VALUES_7 NAMES_7
#define VALUES_8 NAMES_8
#define KEPT_0
#define KEPT_4 kept.a, kept.b, kept.c, kept.d,
#define KEPT_5 KEPT_4 kept.e,
#define KEPT_6 KEPT_5 kept.f,
#define KEPT_7 KEPT_6 kept.g,
#define KEPT_8 KEPT_7 kept.h,

/* The function for one slot, and the one that posts a call that had to wait. */
#define SLOT(slot, n, ...)                                                                         \
    typedef struct {                                                                               \
        MEMBERS_##n(__VA_ARGS__)                                                                   \
    } slot##_args_t;                                                                               \
                                                                                                   \
    static int later_##slot(gdr_mca_request_t *request, ompi_request_t **out)                      \
    {                                                                                              \
        const mca_coll_base_comm_coll_t *prev = &request->module->prev;                            \
        slot##_args_t kept;                                                                        \
                                                                                                   \
        memcpy(&kept, request->later_args, sizeof(kept));                                          \
        return prev->coll_##slot(KEPT_##n request->module->comm, out, prev->coll_##slot##_module); \
    }                                                                                              \
                                                                                                   \
    static int slot(PARAMS_##n(__VA_ARGS__) comm_t comm, ompi_request_t **out,                     \
                    mca_coll_base_module_t *base)                                                  \
    {                                                                                              \
        gdr_mca_module_t *module = (gdr_mca_module_t *)base;                                       \
        const mca_coll_base_comm_coll_t *prev = &module->prev;                                     \
                                                                                                   \
        if (atomic_load(&module->held) == 0)                                                       \
            return prev->coll_##slot(NAMES_##n comm, out, prev->coll_##slot##_module);             \
        slot##_args_t kept = {VALUES_##n};                                                         \
        return gdr_request_later(module, later_##slot, &kept, sizeof(kept), out);                  \
    }

/* One line for each slot of Open MPI: what the arguments are. */
#define IN const void *
#define SLOTS(X)                                                                                   \
    X(iallgather, 6, IN, int, dtype_t, void *, int, dtype_t)                                       \
    X(iallgatherv, 7, IN, int, dtype_t, void *, const int *, const int *, dtype_t)                 \
    X(ialltoall, 6, IN, int, dtype_t, void *, int, dtype_t)                                        \
    X(ialltoallv, 8, IN, const int *, const int *, dtype_t, void *, const int *, const int *,      \
      dtype_t)                                                                                     \
    X(ialltoallw, 8, IN, const int *, const int *, dtypes_t, void *, const int *, const int *,     \
      dtypes_t)                                                                                    \
    X(ibarrier, 0, int)                                                                            \
    X(ibcast, 4, void *, int, dtype_t, int)                                                        \
    X(iexscan, 5, IN, void *, int, dtype_t, op_t)                                                  \
    X(igather, 7, IN, int, dtype_t, void *, int, dtype_t, int)                                     \
    X(igatherv, 8, IN, int, dtype_t, void *, const int *, const int *, dtype_t, int)               \
    X(ireduce, 6, IN, void *, int, dtype_t, op_t, int)                                             \
    X(ireduce_scatter, 5, IN, void *, const int *, dtype_t, op_t)                                  \
    X(ireduce_scatter_block, 5, IN, void *, int, dtype_t, op_t)                                    \
    X(iscan, 5, IN, void *, int, dtype_t, op_t)                                                    \
    X(iscatter, 7, IN, int, dtype_t, void *, int, dtype_t, int)                                    \
    X(iscatterv, 8, IN, const int *, const int *, dtype_t, void *, int, dtype_t, int)              \
    X(ineighbor_allgather, 6, IN, int, dtype_t, void *, int, dtype_t)                              \
    X(ineighbor_allgatherv, 7, IN, int, dtype_t, void *, const int *, const int *, dtype_t)        \
    X(ineighbor_alltoall, 6, IN, int, dtype_t, void *, int, dtype_t)                               \
    X(ineighbor_alltoallv, 8, IN, const int *, const int *, dtype_t, void *, const int *,          \
      const int *, dtype_t)                                                                        \
    X(ineighbor_alltoallw, 8, IN, const int *, const MPI_Aint *, dtypes_t, void *, const int *,    \
      const MPI_Aint *, dtypes_t)

SLOTS(SLOT)

/* Where nobody was before, nothing may seem to be there. */
#define TAKE(slot, ...)                                                                            \
    if (module->prev.coll_##slot != NULL) {                                                        \
        OBJ_RETAIN(module->prev.coll_##slot##_module);                                             \
        module->super.coll_##slot = slot;                                                          \
    }

#define GIVE_BACK(slot, ...)                                                                       \
    if (module->super.coll_##slot != NULL)                                                         \
        OBJ_RELEASE(module->prev.coll_##slot##_module);

void gdr_passed_enable(gdr_mca_module_t *module)
{
    module->prev = *module->comm->c_coll;
    SLOTS(TAKE)
}

void gdr_passed_disable(gdr_mca_module_t *module)
{
    SLOTS(GIVE_BACK)
}
