/*
 * The control plane: small messages over Open MPI's own point-to-point layer, on
 * MPI_COMM_WORLD, which is never freed before MPI_Finalize, with a tag that no wildcard of a user
 * sees. One receive from anybody stands from the first device call to MPI_Finalize.
 */
#include "mca/gdr_mca.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

/* Below MPI_ANY_TAG and above what Open MPI uses itself: free in 4.1 and 5.0. */
enum { CTL_TAG = -4 };

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

    pthread_mutex_t lock; /* of the queue */
    message_t *first, *last;

    message_t *sent; /* of progress alone */
} ctl = {.lock = PTHREAD_MUTEX_INITIALIZER, .keyval = MPI_KEYVAL_INVALID};

static struct ompi_communicator_t *world(void)
{
    return &ompi_mpi_comm_world.comm;
}

/* Runs inside whatever thread drives Open MPI; gdr_engine_deliver only queues. */
static int received(ompi_request_t *request)
{
    const ompi_status_public_t *status = &request->req_status;
    gdr_engine_t *engine = atomic_load(&gdr_mca.engine);

    if (status->_cancelled)
        return 0;
    if (engine != NULL)
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
    empty = ctl.first == NULL;
    pthread_mutex_unlock(&ctl.lock);
    return empty && ctl.sent == NULL;
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
    while (!idle() && seconds() < end)
        opal_progress();
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

gdr_status_t gdr_ctl_pml_start(void)
{
    int rc = PMPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, finalizing, &ctl.keyval, NULL);

    if (rc == MPI_SUCCESS)
        rc = PMPI_Comm_set_attr(MPI_COMM_SELF, ctl.keyval, NULL);
    if (rc == MPI_SUCCESS)
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

static void post(message_t *message)
{
    int rc;

    if (message->proc == ompi_comm_rank(world())) {
        gdr_engine_deliver(atomic_load(&gdr_mca.engine), message->proc, message->data,
                           message->bytes);
        free(message);
        return;
    }
    rc = MCA_PML_CALL(isend(message->data, message->bytes, MPI_BYTE, message->proc, CTL_TAG,
                            MCA_PML_BASE_SEND_STANDARD, world(), &message->request));
    if (rc != OMPI_SUCCESS) {
        gdr_error(&gdr_mca.log, "control message of %zu bytes to rank %d failed: Open MPI error %d",
                  message->bytes, message->proc, rc);
        free(message);
        return;
    }
    message->next = ctl.sent;
    ctl.sent = message;
}

int gdr_ctl_pml_progress(void)
{
    message_t *message = take_queue();
    message_t **link = &ctl.sent;
    int events = 0;

    while (message != NULL) {
        message_t *next = message->next;

        post(message);
        message = next;
        events++;
    }
    while (*link != NULL) {
        message = *link;
        if (!REQUEST_COMPLETE(message->request)) {
            link = &message->next;
            continue;
        }
        *link = message->next;
        ompi_request_free(&message->request);
        free(message);
    }
    return events;
}
