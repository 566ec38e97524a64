/*
 * Every other nonblocking collective behind a device call that is declined late: on one rank after,
 * on the others before the previous component has got the declined call. Needs more communicators
 * than lanes (coll_gdr_window_size=4m).
 */
#include "harness.h"

#include <stdlib.h>
#include <unistd.h>

enum { MAX_RANKS = 8, LANES = 5 };

/* Of the call under test; arrays stay until it is done. */
static int send[MAX_RANKS], recv[MAX_RANKS], want[MAX_RANKS];
static int ones[MAX_RANKS], up[MAX_RANKS], down[MAX_RANKS], up_bytes[MAX_RANKS];
static int down_bytes[MAX_RANKS];
static MPI_Aint up_far[2], down_far[2];
static MPI_Datatype types[MAX_RANKS];
static int left, right, last, total; /* total: the sum of all ranks */

static void prepare(void)
{
    last = t_size - 1;
    left = (t_rank + last) % t_size;
    right = (t_rank + 1) % t_size;
    total = t_size * last / 2;
    for (int i = 0; i < t_size; i++) {
        send[i] = 100 * t_rank + i;
        recv[i] = want[i] = -1;
        ones[i] = 1;
        up[i] = i;
        down[i] = last - i;
        up_bytes[i] = 4 * up[i];
        down_bytes[i] = 4 * down[i];
        types[i] = MPI_INT;
    }
    for (int i = 0; i < 2; i++) {
        up_far[i] = (MPI_Aint)4 * i;
        down_far[i] = (MPI_Aint)4 * (1 - i);
    }
}

static void gathered(const int *places)
{
    for (int i = 0; i < t_size; i++)
        want[places[i]] = 100 * i;
}

static void exchanged(const int *places)
{
    for (int i = 0; i < t_size; i++)
        want[places[i]] = 100 * i + t_rank;
}

static void from_neighbors(int first, int second)
{
    want[0] = first;
    want[1] = second;
}

static void allgather(MPI_Comm comm, MPI_Request *request)
{
    MPI_Iallgather(send, 1, MPI_INT, recv, 1, MPI_INT, comm, request);
    gathered(up);
}

static void allgatherv(MPI_Comm comm, MPI_Request *request)
{
    MPI_Iallgatherv(send, 1, MPI_INT, recv, ones, down, MPI_INT, comm, request);
    gathered(down);
}

static void alltoall(MPI_Comm comm, MPI_Request *request)
{
    MPI_Ialltoall(send, 1, MPI_INT, recv, 1, MPI_INT, comm, request);
    exchanged(up);
}

static void alltoallv(MPI_Comm comm, MPI_Request *request)
{
    MPI_Ialltoallv(send, ones, up, MPI_INT, recv, ones, down, MPI_INT, comm, request);
    exchanged(down);
}

static void alltoallw(MPI_Comm comm, MPI_Request *request)
{
    MPI_Ialltoallw(send, ones, up_bytes, types, recv, ones, down_bytes, types, comm, request);
    exchanged(down);
}

static void barrier(MPI_Comm comm, MPI_Request *request)
{
    MPI_Ibarrier(comm, request);
}

static void bcast(MPI_Comm comm, MPI_Request *request)
{
    recv[0] = t_rank == last ? 777 : 0;
    MPI_Ibcast(recv, 1, MPI_INT, last, comm, request);
    want[0] = 777;
}

static void exscan(MPI_Comm comm, MPI_Request *request)
{
    MPI_Iexscan(send, recv, 1, MPI_INT, MPI_SUM, comm, request);
    want[0] = t_rank == 0 ? -1 : 100 * t_rank * (t_rank - 1) / 2;
}

static void gather(MPI_Comm comm, MPI_Request *request)
{
    MPI_Igather(send, 1, MPI_INT, recv, 1, MPI_INT, last, comm, request);
    if (t_rank == last)
        gathered(up);
}

static void gatherv(MPI_Comm comm, MPI_Request *request)
{
    MPI_Igatherv(send, 1, MPI_INT, recv, ones, down, MPI_INT, 0, comm, request);
    if (t_rank == 0)
        gathered(down);
}

static void reduce(MPI_Comm comm, MPI_Request *request)
{
    MPI_Ireduce(send, recv, 1, MPI_INT, MPI_SUM, last, comm, request);
    if (t_rank == last)
        want[0] = 100 * total;
}

static void reduce_scatter(MPI_Comm comm, MPI_Request *request)
{
    MPI_Ireduce_scatter(send, recv, ones, MPI_INT, MPI_SUM, comm, request);
    want[0] = 100 * total + t_size * t_rank;
}

static void reduce_scatter_block(MPI_Comm comm, MPI_Request *request)
{
    MPI_Ireduce_scatter_block(send, recv, 1, MPI_INT, MPI_SUM, comm, request);
    want[0] = 100 * total + t_size * t_rank;
}

static void scan(MPI_Comm comm, MPI_Request *request)
{
    MPI_Iscan(send, recv, 1, MPI_INT, MPI_SUM, comm, request);
    want[0] = 100 * t_rank * (t_rank + 1) / 2;
}

static void scatter(MPI_Comm comm, MPI_Request *request)
{
    MPI_Iscatter(send, 1, MPI_INT, recv, 1, MPI_INT, last, comm, request);
    want[0] = 100 * last + t_rank;
}

static void scatterv(MPI_Comm comm, MPI_Request *request)
{
    MPI_Iscatterv(send, ones, down, MPI_INT, recv, 1, MPI_INT, 0, comm, request);
    want[0] = down[t_rank];
}

static void neighbor_allgather(MPI_Comm comm, MPI_Request *request)
{
    MPI_Ineighbor_allgather(send, 1, MPI_INT, recv, 1, MPI_INT, comm, request);
    from_neighbors(100 * left, 100 * right);
}

static void neighbor_allgatherv(MPI_Comm comm, MPI_Request *request)
{
    static const int places[2] = {1, 0};

    MPI_Ineighbor_allgatherv(send, 1, MPI_INT, recv, ones, places, MPI_INT, comm, request);
    from_neighbors(100 * right, 100 * left);
}

static void neighbor_alltoall(MPI_Comm comm, MPI_Request *request)
{
    MPI_Ineighbor_alltoall(send, 1, MPI_INT, recv, 1, MPI_INT, comm, request);
    from_neighbors(100 * left + 1, 100 * right);
}

static void neighbor_alltoallv(MPI_Comm comm, MPI_Request *request)
{
    static const int places[2] = {1, 0};

    MPI_Ineighbor_alltoallv(send, ones, up, MPI_INT, recv, ones, places, MPI_INT, comm, request);
    from_neighbors(100 * right, 100 * left + 1);
}

static void neighbor_alltoallw(MPI_Comm comm, MPI_Request *request)
{
    MPI_Ineighbor_alltoallw(send, ones, up_far, types, recv, ones, down_far, types, comm, request);
    from_neighbors(100 * right, 100 * left + 1);
}

static const struct {
    const char *name;
    void (*post)(MPI_Comm comm, MPI_Request *request);
} table[] = {
    {"Iallgather", allgather},
    {"Iallgatherv", allgatherv},
    {"Ialltoall", alltoall},
    {"Ialltoallv", alltoallv},
    {"Ialltoallw", alltoallw},
    {"Ibarrier", barrier},
    {"Ibcast", bcast},
    {"Iexscan", exscan},
    {"Igather", gather},
    {"Igatherv", gatherv},
    {"Ireduce", reduce},
    {"Ireduce_scatter", reduce_scatter},
    {"Ireduce_scatter_block", reduce_scatter_block},
    {"Iscan", scan},
    {"Iscatter", scatter},
    {"Iscatterv", scatterv},
    {"Ineighbor_allgather", neighbor_allgather},
    {"Ineighbor_allgatherv", neighbor_allgatherv},
    {"Ineighbor_alltoall", neighbor_alltoall},
    {"Ineighbor_alltoallv", neighbor_alltoallv},
    {"Ineighbor_alltoallw", neighbor_alltoallw},
};

/* For so long that the verdict, and what follows from it, is surely there. */
static void progress(void)
{
    double end = t_seconds() + 0.05;
    int there;

    while (t_seconds() < end)
        MPI_Iprobe(MPI_ANY_SOURCE, 5, MPI_COMM_WORLD, &there, MPI_STATUS_IGNORE);
}

/* The vote needs rank 0, which comes last: on the others the device call is undecided for sure. */
static void behind(void (*post)(MPI_Comm comm, MPI_Request *request), int *device)
{
    const int periodic = 1;
    MPI_Request requests[2];
    MPI_Comm ring;
    int sum = 0, one = 1;

    prepare();
    t_upload(device, &one, sizeof(one));
    MPI_Cart_create(MPI_COMM_WORLD, 1, &t_size, &periodic, 0, &ring);
    MPI_Barrier(MPI_COMM_WORLD);
    if (t_rank == 0)
        usleep(20000);
    MPI_Iallreduce(MPI_IN_PLACE, device, 1, MPI_INT, MPI_SUM, ring, &requests[0]);
    if (t_rank == 0)
        progress();
    post(ring, &requests[1]);
    /* Posted out of the checker's sight. NOLINTNEXTLINE(clang-analyzer-optin.mpi*) */
    MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    t_download(&sum, device, sizeof(sum));
    t_check(sum == t_size, "the sum on the device is %d", sum);
    for (int i = 0; i < t_size; i++)
        t_check(recv[i] == want[i], "element %d is %d, not %d", i, recv[i], want[i]);
    MPI_Comm_free(&ring);
}

int main(int argc, char **argv)
{
    MPI_Comm lanes[LANES];
    int *device;

    t_init(&argc, &argv, MPI_THREAD_SINGLE);
    if (t_size < 3 || t_size > MAX_RANKS)
        t_fatal("needs 3 to %d ranks", MAX_RANKS);
    device = t_device_alloc(sizeof(int));
    for (int i = 0; i < LANES; i++) {
        MPI_Comm_dup(MPI_COMM_WORLD, &lanes[i]);
        t_float_sum(lanes[i], 1, (float)t_size, false);
    }
    for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
        t_case("%s", table[i].name);
        behind(table[i].post, device);
    }
    t_check(t_pvar("staged_calls") > 0, "nothing was declined");
    for (int i = 0; i < LANES; i++)
        MPI_Comm_free(&lanes[i]);
    t_device_free(device);
    return t_finish();
}
