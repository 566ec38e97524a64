/*
 * The request of a nonblocking call and its way to completion.
 *
 * Order. The component before us numbers nonblocking collectives when they are posted, so on every
 * rank they must reach it in call order. While a device call is undecided (it may still be
 * declined, or turn out to be mixed, and then goes there too), later calls that go there wait in
 * the module's list, whatever nonblocking collective they are.
 */
#ifndef GDR_REQUEST_H
#define GDR_REQUEST_H

#include "mca/away.h"
#include "mca/coll.h"
#include "mca/gdr_mca.h"
#include "mca/staging.h"

typedef enum gdr_request_state {
    GDR_REQUEST_DEVICE,  /* the engine has it */
    GDR_REQUEST_WAITING, /* for earlier undecided calls; then to be passed on */
    GDR_REQUEST_PASSED,  /* the previous component has it */
    GDR_REQUEST_FINAL    /* result and `rc` are there */
} gdr_request_state_t;

/* What a persistent request keeps between its starts. */
typedef struct gdr_persistent {
    gdr_team_t *team;  /* NULL: every start is staged */
    gdr_asked_t asked; /* with a team: its starts, the first of which has index 1 */
    gdr_call_desc_t desc;
} gdr_persistent_t;

typedef struct gdr_mca_request {
    /* Open MPI casts the request of every nonblocking collective to this and writes into it. */
    ompi_coll_base_nbc_request_t super;
    gdr_mca_module_t *module;
    gdr_request_state_t state;
    bool ordered; /* in the module's list */
    int rc;
    gdr_job_t *job;               /* NULL: this is an MPI_Iallreduce */
    gdr_persistent_t *persistent; /* NULL: it is for one call */
    gdr_mca_args_t args;
    uint64_t caller; /* context that was current when it was posted */
    gdr_call_desc_t desc;
    uint64_t index; /* of an allreduce, */
    bool counted;   /* if its end is to be told to its ways */
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

/* Looks what can be done; true: FINAL. One thread at a time (progress). */
bool gdr_request_drive(gdr_mca_request_t *request);

/* A start that is staged, and its end: OMPI error codes; and the end of everything. */
int gdr_persistent_pass_on(gdr_mca_request_t *request);
int gdr_persistent_ended(gdr_mca_request_t *request);
void gdr_persistent_free(gdr_mca_request_t *request);

/* Tells the application; the request may be gone afterwards. */
void gdr_request_complete(gdr_mca_request_t *request);

#endif
