/*
 * Messages go on MPI_COMM_WORLD, which is never freed before MPI_Finalize, with a tag that no
 * wildcard of a user sees. One receive from anybody stands from MPI_Init to MPI_Finalize: also
 * where no device is used, for others may ask which way a call went.
 */
#include "mca/asked.h"
#include "mca/ctl.h"
#include "mca/gdr_mca.h"

#include "ompi/attribute/attribute.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

/* Below MPI_ANY_TAG and above what Open MPI uses itself: free in 4.1 and 5.0. */
enum { CTL_TAG = -4 };

enum { LOOKS = 64 }; /* at sent messages, in one turn */

typedef struct message {
    struct message *next;
    ompi_request_t *request; /* NULL: not posted yet */
    int proc;
    size_t bytes;
    unsigned char data[];
} message_t;

static struct {
    unsigned char buffer[GDR_CTL_MAX];
    ompi_request_t *receive;
    atomic_bool stopping;
    int keyval;

    pthread_mutex_t lock;        /* of what follows */
    message_t *first, *last;     /* to be posted by progress, in order */
    message_t *sent, *sent_last; /* posted, in no order */
} ctl = {.lock = PTHREAD_MUTEX_INITIALIZER, .keyval = MPI_KEYVAL_INVALID};

static struct ompi_communicator_t *world(void)
{
    return &ompi_mpi_comm_world.comm;
}

/*
 * Runs inside whatever thread drives Open MPI; gdr_engine_deliver only queues. Without an engine
 * only questions matter: who has not voted yet will be asked to (engine/vote.c).
 */
static int received(ompi_request_t *request)
{
    const ompi_status_public_t *status = &request->req_status;
    gdr_engine_t *engine = atomic_load(&gdr_mca.engine);

    if (status->_cancelled)
        return 0;
    if (!gdr_asked_take(status->MPI_SOURCE, ctl.buffer, status->_ucount) && engine != NULL)
        gdr_engine_deliver(engine, status->MPI_SOURCE, ctl.buffer, status->_ucount);
    if (atomic_load(&ctl.stopping))
        return 0;
    /* Cleared before this call: set again, or the next message would be lost. */
    request->req_complete_cb = received;
    MCA_PML_CALL(start(1, &request));
    return 1;
}

static bool idle(void)
{
    bool empty;

    pthread_mutex_lock(&ctl.lock);
    empty = ctl.first == NULL && ctl.sent == NULL;
    pthread_mutex_unlock(&ctl.lock);
    return empty;
}

static double seconds(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/*
 * First thing in MPI_Finalize, as the attributes of MPI_COMM_SELF are deleted: what is queued goes
 * out, and the receive is taken back while the layer below still lives. Bounded: a peer that died
 * must not keep this process.
 */
static int finalizing(MPI_Comm comm, int keyval, void *value, void *extra)
{
    double end = seconds() + 5;

    (void)comm;
    (void)keyval;
    (void)value;
    (void)extra;
    gdr_ctl_pml_progress(); /* no callback does, where no device was used */
    while (!idle() && seconds() < end) {
        opal_progress();
        gdr_ctl_pml_progress();
    }
    atomic_store(&ctl.stopping, true);
    if (ctl.receive == NULL)
        return MPI_SUCCESS;
    ompi_request_cancel(ctl.receive);
    while (!REQUEST_COMPLETE(ctl.receive) && seconds() < end)
        opal_progress();
    if (REQUEST_COMPLETE(ctl.receive))
        ompi_request_free(&ctl.receive);
    ctl.receive = NULL;
    return MPI_SUCCESS;
}

/* A duplicate of MPI_COMM_SELF does not matter. Open MPI 5.0 has no last argument here. */
static int copy_nothing(MPI_Comm comm, int keyval, void *extra, void *value, void *copy,
                        int *flag GDR_OMPI_COPY_LAST)
{
    (void)comm;
    (void)keyval;
    (void)extra;
    (void)value;
    (void)copy;
    *flag = 0;
    return MPI_SUCCESS;
}

/* By the functions below MPI's, which may not be called before MPI_Init has come further. */
static int on_finalize(void)
{
    struct ompi_communicator_t *self = &ompi_mpi_comm_self.comm;
    ompi_attribute_fn_ptr_union_t copy = {.attr_communicator_copy_fn = copy_nothing};
    ompi_attribute_fn_ptr_union_t del = {.attr_communicator_delete_fn = finalizing};
    int rc = ompi_attr_create_keyval(COMM_ATTR, copy, del, &ctl.keyval, NULL, 0, NULL);

    if (rc != OMPI_SUCCESS)
        return rc;
    return ompi_attr_set_c(COMM_ATTR, self, &self->c_keyhash, ctl.keyval, NULL, false);
}

bool gdr_ctl_pml_is_open(void)
{
    return ctl.receive != NULL;
}

gdr_status_t gdr_ctl_pml_open(void)
{
    int rc = on_finalize();

    if (rc == OMPI_SUCCESS)
        rc = MCA_PML_CALL(irecv_init(ctl.buffer, sizeof(ctl.buffer), MPI_BYTE, MPI_ANY_SOURCE,
                                     CTL_TAG, world(), &ctl.receive));
    if (rc == OMPI_SUCCESS) {
        /* Before it is started: on a started request a callback can be lost. */
        ctl.receive->req_complete_cb = received;
        rc = MCA_PML_CALL(start(1, &ctl.receive));
    }
    if (rc != OMPI_SUCCESS) {
        gdr_error(&gdr_mca.log, "cannot post the receive of control messages: Open MPI error %d",
                  rc);
        return GDR_ERR_NO_RESOURCE;
    }
    return GDR_OK;
}

gdr_status_t gdr_ctl_pml_send(void *ctx, int proc, const void *data, size_t bytes)
{
    message_t *message = malloc(sizeof(*message) + bytes);

    (void)ctx;
    if (message == NULL) {
        gdr_error(&gdr_mca.log, "no memory for a control message of %zu bytes", bytes);
        return GDR_ERR_NO_MEMORY;
    }
    *message = (message_t){.proc = proc, .bytes = bytes};
    memcpy(message->data, data, bytes);
    pthread_mutex_lock(&ctl.lock);
    if (ctl.last == NULL)
        ctl.first = message;
    else
        ctl.last->next = message;
    ctl.last = message;
    pthread_mutex_unlock(&ctl.lock);
    return GDR_OK;
}

static message_t *take_queue(void)
{
    message_t *first;

    pthread_mutex_lock(&ctl.lock);
    first = ctl.first;
    ctl.first = ctl.last = NULL;
    pthread_mutex_unlock(&ctl.lock);
    return first;
}

/* Under the lock. */
static void append_sent(message_t *message)
{
    message->next = NULL;
    if (ctl.sent == NULL)
        ctl.sent = message;
    else
        ctl.sent_last->next = message;
    ctl.sent_last = message;
}

/* Looks at a few and puts those that are under way behind the others: it runs in every turn of the
 * progress loop, and a slow receiver may owe any number. */
static void free_sent(void)
{
    message_t *done = NULL, *kept = NULL;

    pthread_mutex_lock(&ctl.lock);
    for (int i = 0; i < LOOKS && ctl.sent != kept; i++) {
        message_t *message = ctl.sent;

        ctl.sent = message->next;
        if (!REQUEST_COMPLETE(message->request)) {
            append_sent(message);
            if (kept == NULL)
                kept = message;
            continue;
        }
        message->next = done;
        done = message;
    }
    pthread_mutex_unlock(&ctl.lock);
    while (done != NULL) {
        message_t *message = done;

        done = message->next;
        ompi_request_free(&message->request);
        free(message);
    }
}

static void post(message_t *message)
{
    int rc;

    rc = MCA_PML_CALL(isend(message->data, message->bytes, MPI_BYTE, message->proc, CTL_TAG,
                            MCA_PML_BASE_SEND_STANDARD, world(), &message->request));
    if (rc != OMPI_SUCCESS) {
        gdr_error(&gdr_mca.log, "control message of %zu bytes to rank %d failed: Open MPI error %d",
                  message->bytes, message->proc, rc);
        free(message);
        return;
    }
    pthread_mutex_lock(&ctl.lock);
    append_sent(message);
    pthread_mutex_unlock(&ctl.lock);
}

void gdr_ctl_pml_answer(int proc, const void *data, size_t bytes)
{
    message_t *message = malloc(sizeof(*message) + bytes);

    if (message == NULL)
        return;
    *message = (message_t){.proc = proc, .bytes = bytes};
    memcpy(message->data, data, bytes);
    free_sent();
    post(message);
}

int gdr_ctl_pml_progress(void)
{
    message_t *message = take_queue();
    int events = 0;

    while (message != NULL) {
        message_t *next = message->next;

        post(message);
        message = next;
        events++;
    }
    free_sent();
    return events;
}
