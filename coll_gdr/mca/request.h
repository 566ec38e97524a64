/*
 * The request of a nonblocking call and its way to completion.
 *
 * Order. The component before us numbers nonblocking collectives when they are posted, so on every
 * rank they must reach it in call order. While a device call is undecided (it may still be
 * declined, and then goes there too), later calls that go there wait in the module's list, whatever
 * nonblocking collective they are.
 */
#ifndef GDR_REQUEST_H
#define GDR_REQUEST_H

#include "mca/away.h"
#include "mca/gdr_mca.h"
#include "mca/staging.h"

typedef enum gdr_request_state {
    GDR_REQUEST_DEVICE,  /* the engine has it */
    GDR_REQUEST_WAITING, /* for earlier undecided calls; then to be passed on */
    GDR_REQUEST_PASSED,  /* the previous component has it */
    GDR_REQUEST_FINAL    /* result and `rc` are there */
} gdr_request_state_t;

struct gdr_mca_request;

/* Posts a call of another collective than allreduce, by its request's later_args. */
typedef int (*gdr_later_fn_t)(struct gdr_mca_request *request, ompi_request_t **inner);

typedef struct gdr_mca_request {
    /* Open MPI casts the request of every nonblocking collective to this and writes into it. */
    ompi_coll_base_nbc_request_t super;
    gdr_mca_module_t *module;
    gdr_request_state_t state;
    bool ordered; /* in the module's list */
    int rc;
    gdr_later_fn_t later;   /* NULL: this is an allreduce */
    uint64_t later_args[8]; /* bytes of a structure that `later` knows */
    gdr_mca_args_t args;
    gdr_call_desc_t desc;
    gdr_away_t away;
    gdr_call_t *call;
    gdr_stage_t stage;
    ompi_request_t *inner;
    struct gdr_mca_request *next_ordered, *next_active;
} gdr_mca_request_t;

OBJ_CLASS_DECLARATION(gdr_mca_request_t);

/* A request in no state yet, holding its communicator; NULL: no memory. */
gdr_mca_request_t *gdr_request_new(gdr_mca_module_t *module, const gdr_mca_args_t *args);
/* For one that was never returned to the application. */
void gdr_request_drop(gdr_mca_request_t *request);

/* Appends to the module's list; the caller holds module->lock. */
void gdr_request_order(gdr_mca_request_t *request);

/*
 * Stages if need be and posts to the previous component: state PASSED, or FINAL with an error.
 * `entry` as of gdr_stage_begin().
 */
void gdr_request_pass_on(gdr_mca_request_t *request, bool entry);

/* Hands the request to progress, which completes it: never before it has been returned. */
int gdr_request_start(gdr_mca_request_t *request, ompi_request_t **out);

/*
 * Starts a call that is passed on, at once or after earlier undecided ones: the second half of a
 * nonblocking call. Takes the request.
 */
int gdr_request_start_passed(gdr_mca_request_t *request, ompi_request_t **out);

/* The whole call of another collective, behind undecided ones; copies `bytes` bytes of args. */
int gdr_request_later(gdr_mca_module_t *module, gdr_later_fn_t later, const void *args,
                      size_t bytes, ompi_request_t **out);

/* Looks what can be done; true: FINAL. One thread at a time (progress). */
bool gdr_request_drive(gdr_mca_request_t *request);

/* Tells the application; the request may be gone afterwards. */
void gdr_request_complete(gdr_mca_request_t *request);

#endif
