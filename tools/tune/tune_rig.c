#include "tools/tune/tune_rig.h"

#include "device/gdr_device.h"
#include "tools/tune/tune_glue.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char *volatile state = "starting";
static char late[80]; /* what is said before it */

/* One write, so that lines of several ranks do not mix. */
static void too_late(int signal)
{
    char line[160];

    (void)signal;
    strcpy(line, late);
    strncat(line, state, sizeof(line) - sizeof(late) - 2);
    strcat(line, "\n");
    if (write(STDERR_FILENO, line, strlen(line)) < 0)
        _exit(1);
    sleep(2); /* the first one's end ends the others: let them speak */
    _exit(1);
}

void tune_rig_state(const char *what)
{
    state = what;
}

void tune_rig_fail(void)
{
    MPI_Abort(MPI_COMM_WORLD, 1);
    _exit(1);
}

static void emit(void *ctx, gdr_log_level_t level, const char *message)
{
    (void)level;
    fprintf(stderr, "gdr_tune: rank %d: %s\n", *(const int *)ctx, message);
}

bool tune_all(bool good)
{
    int bad = !good, any = 0;

    MPI_Allreduce(&bad, &any, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
    return any == 0;
}

void tune_rig_barrier(tune_rig_t *rig, MPI_Comm comm)
{
    MPI_Request request;
    int done = 0;

    MPI_Ibarrier(comm, &request);
    while (!done) {
        MPI_Test(&request, &done, MPI_STATUS_IGNORE);
        rig->ops->progress(rig->net);
    }
}

static void split(tune_rig_t *rig)
{
    const tune_options_t *options = rig->options;
    int leader, place;

    if (options->node_size > 0)
        MPI_Comm_split(MPI_COMM_WORLD, rig->rank / options->node_size, rig->rank,
                       &rig->inside.comm);
    else
        MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, rig->rank, MPI_INFO_NULL,
                            &rig->inside.comm);
    MPI_Comm_rank(rig->inside.comm, &place);
    MPI_Comm_split(MPI_COMM_WORLD, place, rig->rank, &rig->between.comm);
    leader = place == 0;
    MPI_Allreduce(&leader, &rig->nodes, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
}

static int ordinal_of(void)
{
    MPI_Comm host;
    int place;

    MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &host);
    MPI_Comm_rank(host, &place);
    MPI_Comm_free(&host);
    return place % gdr_device_count();
}

static int open_device(tune_rig_t *rig)
{
    if (gdr_device_load(&rig->log) != GDR_OK) {
        gdr_error(&rig->log, "there is no CUDA device here");
        return -1;
    }
    return 0;
}

static int open_memory(tune_rig_t *rig, int ordinal)
{
    const gdr_dev_ops_t *ops;

    if (tune_device_open(&rig->device, &rig->log, ordinal, 0) != GDR_OK)
        return -1;
    ops = rig->device.ops;
    return ops->alloc(rig->device.dev, TUNE_WINDOW, &rig->window) == GDR_OK ? 0 : -1;
}

static int open_net(tune_rig_t *rig)
{
    void *page = NULL;

    if (tune_glue_open(&rig->log, &rig->ops, &rig->net) != 0 ||
        rig->ops->register_device(rig->net, rig->window, TUNE_WINDOW, &rig->window_mem) != GDR_OK ||
        rig->ops->alloc_host(rig->net, TUNE_PAGE, &page, &rig->page_mem) != GDR_OK)
        return -1;
    rig->page = page;
    return 0;
}

/* What the next one needs to be put to goes to the one before. */
static size_t pass(const tune_ring_t *ring, const void *mine, size_t bytes, void *next,
                   size_t capacity)
{
    int before = (ring->rank + ring->size - 1) % ring->size, after = (ring->rank + 1) % ring->size;
    int got;
    MPI_Status status;

    MPI_Sendrecv(mine, (int)bytes, MPI_BYTE, before, 0, next, (int)capacity, MPI_BYTE, after, 0,
                 ring->comm, &status);
    MPI_Get_count(&status, MPI_BYTE, &got);
    return (size_t)got;
}

static gdr_status_t get_key(tune_rig_t *rig, tune_ring_t *ring, gdr_net_mem_t *mem,
                            gdr_net_rmem_t **rmem)
{
    char mine[4096], next[4096];
    size_t bytes = sizeof(mine);

    if (rig->ops->pack(mem, mine, &bytes) != GDR_OK)
        bytes = 0;
    bytes = pass(ring, mine, bytes, next, sizeof(next));
    if (bytes == 0 || ring->next == NULL)
        return GDR_ERR_NET;
    return rig->ops->import(ring->next, mem, next, bytes, rmem);
}

static int connect_ring(tune_rig_t *rig, tune_ring_t *ring)
{
    char mine[8192], next[8192];
    size_t bytes = sizeof(mine);
    gdr_status_t status;

    MPI_Comm_rank(ring->comm, &ring->rank);
    MPI_Comm_size(ring->comm, &ring->size);
    if (ring->size < 2)
        return 0;
    status = rig->ops->address(rig->net, mine, &bytes);
    bytes = pass(ring, mine, status == GDR_OK ? bytes : 0, next, sizeof(next));
    if (bytes != 0)
        status = rig->ops->connect(rig->net, next, bytes, &ring->next);
    if (get_key(rig, ring, rig->window_mem, &ring->window) != GDR_OK)
        status = GDR_ERR_NET;
    if (get_key(rig, ring, rig->page_mem, &ring->page) != GDR_OK)
        status = GDR_ERR_NET;
    return status == GDR_OK ? 0 : -1;
}

int tune_rig_open(tune_rig_t *rig, const tune_options_t *options)
{
    *rig = (tune_rig_t){.inside.comm = MPI_COMM_NULL, .between.comm = MPI_COMM_NULL};
    MPI_Comm_rank(MPI_COMM_WORLD, &rig->rank);
    MPI_Comm_size(MPI_COMM_WORLD, &rig->ranks);
    rig->options = options;
    rig->between.words = TUNE_RING_WORDS;
    rig->log = (gdr_log_t){options->verbose, emit, &rig->rank};
    snprintf(late, sizeof(late),
             "gdr_tune: rank %d: no end in sight; this rank was at: ", rig->rank);
    signal(SIGALRM, too_late);
    alarm((unsigned)options->timeout);
    tune_rig_state("opening the driver");
    if (!tune_all(open_device(rig) == 0))
        return -1;
    split(rig);
    tune_rig_state("opening the device");
    if (!tune_all(open_memory(rig, ordinal_of()) == 0))
        return -1;
    tune_rig_state("opening UCX");
    if (!tune_all(open_net(rig) == 0))
        return -1;
    tune_rig_state("connecting");
    return tune_all(connect_ring(rig, &rig->inside) == 0) &&
                   tune_all(connect_ring(rig, &rig->between) == 0)
               ? 0
               : -1;
}

static void close_ring(tune_rig_t *rig, tune_ring_t *ring)
{
    if (ring->window != NULL)
        rig->ops->release(ring->window);
    if (ring->page != NULL)
        rig->ops->release(ring->page);
    if (ring->next != NULL)
        rig->ops->disconnect(ring->next);
    if (ring->comm != MPI_COMM_NULL)
        MPI_Comm_free(&ring->comm);
}

void tune_rig_close(tune_rig_t *rig)
{
    tune_rig_state("closing");
    close_ring(rig, &rig->inside);
    close_ring(rig, &rig->between);
    if (rig->net != NULL) {
        if (rig->page_mem != NULL)
            rig->ops->deregister(rig->net, rig->page_mem);
        if (rig->window_mem != NULL)
            rig->ops->deregister(rig->net, rig->window_mem);
        rig->ops->close(rig->net);
    }
    if (rig->window != 0)
        rig->device.ops->free(rig->device.dev, rig->window);
    tune_device_close(&rig->device);
}
