/*
 * Every collective, in every form, with buffers of every kind on every side, on types with and
 * without holes; lists with gaps and negative displacements; all bytes checked:
 *   collectives [NAME...]
 */
#include "calls.h"
#include "harness.h"

#include <string.h>

static MPI_Op join;
static image_t send_image, recv_image;
static call_t call;

/* Which memory a process passes: by the parity of its rank. */
typedef struct mode {
    const char *name;
    memory_t send[2], recv[2];
} mode_t;

static const mode_t modes[] = {
    {"device", {DEVICE, DEVICE}, {DEVICE, DEVICE}},
    {"host", {HOST, HOST}, {HOST, HOST}},
    {"host to device", {HOST, HOST}, {DEVICE, DEVICE}},
    {"device to host", {DEVICE, DEVICE}, {HOST, HOST}},
    {"managed", {MANAGED, MANAGED}, {MANAGED, MANAGED}},
    {"device and host ranks", {DEVICE, HOST}, {DEVICE, HOST}},
    {"crossed", {HOST, DEVICE}, {DEVICE, HOST}},
};

static const char *const forms[FORMS] = {"blocking", "nonblocking", "persistent"};

/* ---- one call ------------------------------------------------------------------------------- */

static void prepare(const kind_t *kind, const mode_t *mode, int round)
{
    call.round = round;
    image_clear(&send_image, mode->send[call.me % 2]);
    image_clear(&recv_image, mode->recv[call.me % 2]);
    kind->fill(&call);
    image_load(&send_image);
    image_load(&recv_image);
}

static void check(void)
{
    image_check(&send_image, "send");
    image_check(&recv_image, "receive");
}

static void wait_for_it(void)
{
    /* Posted out of the checker's sight. NOLINTNEXTLINE(clang-analyzer-optin.mpi*) */
    MPI_Wait(&call.request, MPI_STATUS_IGNORE);
}

static void persistent(const kind_t *kind, const mode_t *mode)
{
    prepare(kind, mode, 0);
    kind->issue(&call);
    for (int round = 0; round < 2; round++) {
        prepare(kind, mode, round);
        MPI_Start(&call.request);
        wait_for_it();
        check();
    }
    MPI_Request_free(&call.request);
}

static void one(const kind_t *kind, const mode_t *mode)
{
    if ((kind->traits & SCRATCH) != 0 && call.in_place &&
        (mode->recv[0] == HOST || mode->recv[1] == HOST))
        return;
    t_case("%s, %s, %s%s, type %s%s, root %d%s", kind->name, forms[call.form], mode->name,
           call.in_place ? ", in place" : "", layouts[call.layout].name,
           call.op == MPI_SUM ? ", sum" : "", call.root, call.inter ? ", inter" : "");
    if (call.form == PERSISTENT) {
        persistent(kind, mode);
        return;
    }
    prepare(kind, mode, 0);
    kind->issue(&call);
    if (call.form == NONBLOCKING)
        wait_for_it();
    check();
}

/* ---- all of one communicator ---------------------------------------------------------------- */

static void ways(const kind_t *kind, const mode_t *mode)
{
    for (call.form = BLOCKING; call.form < FORMS; call.form++)
        for (call.in_place = false;; call.in_place = true) {
            one(kind, mode);
            if (call.in_place || (kind->traits & IN_PLACE) == 0 || call.inter)
                break;
        }
    call.in_place = false;
}

static void operations(const kind_t *kind, const mode_t *mode)
{
    call.op = join;
    join_layout(&layouts[call.layout]);
    ways(kind, mode);
    if ((kind->traits & REDUCES) != 0 && call.layout == 0) {
        call.op = MPI_SUM;
        ways(kind, mode);
    }
    call.op = join;
}

static void run(const kind_t *kind)
{
    for (size_t m = 0; m < sizeof(modes) / sizeof(modes[0]); m++)
        for (call.layout = 0; call.layout < LAYOUTS; call.layout++)
            operations(kind, &modes[m]);
}

static bool wanted(const kind_t *kind, int argc, char **argv)
{
    for (int i = 1; i < argc; i++)
        if (strcmp(argv[i], kind->name) == 0)
            return true;
    return argc == 1;
}

static void intra(int argc, char **argv)
{
    call.comm = MPI_COMM_WORLD;
    call.inter = false;
    call.rank = t_rank;
    call.size = call.n = t_size;
    for (int i = 0; i < t_size; i++)
        call.peers[i] = i;
    for (int k = 0; k < n_kinds; k++) {
        if (!wanted(&kinds[k], argc, argv) || (kinds[k].traits & NEIGHBOR) != 0)
            continue;
        call.root = 0;
        run(&kinds[k]);
        call.root = t_size - 1;
        if (t_size > 1 && (kinds[k].traits & ROOTED) != 0)
            run(&kinds[k]);
    }
}

/* Two groups: the lower third, and the others. The root is in each of them in turn. */
static void inter(int argc, char **argv)
{
    int low = t_size / 3 > 0 ? t_size / 3 : 1;
    bool lower = t_rank < low;
    MPI_Comm half;

    if (t_size < 2)
        return;
    MPI_Comm_split(MPI_COMM_WORLD, lower, 0, &half);
    MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, lower ? low : 0, 7, &call.comm);
    call.inter = true;
    MPI_Comm_rank(half, &call.rank);
    MPI_Comm_size(half, &call.size);
    call.n = t_size - call.size;
    for (int i = 0; i < call.n; i++)
        call.peers[i] = lower ? low + i : i;
    for (int k = 0; k < n_kinds; k++) {
        if (!wanted(&kinds[k], argc, argv) || (kinds[k].traits & INTER) == 0)
            continue;
        call.root = 0;
        call.root_here = lower;
        run(&kinds[k]);
        call.root_here = !lower;
        call.root = call.root_here ? call.size - 1 : call.n - 1;
        if ((kinds[k].traits & ROOTED) != 0)
            run(&kinds[k]);
    }
    call.inter = false;
    MPI_Comm_free(&call.comm);
    MPI_Comm_free(&half);
}

/* ---- neighbours ----------------------------------------------------------------------------- */

static void neighbors(int argc, char **argv, MPI_Comm comm)
{
    call.comm = comm;
    call.rank = t_rank;
    call.size = t_size;
    call.root = 0;
    for (int k = 0; k < n_kinds; k++)
        if (wanted(&kinds[k], argc, argv) && (kinds[k].traits & NEIGHBOR) != 0)
            run(&kinds[k]);
    MPI_Comm_free(&comm);
}

/* A line, at whose ends there is nobody. */
static void line(int argc, char **argv)
{
    const int open = 0;
    MPI_Comm comm;

    MPI_Cart_create(MPI_COMM_WORLD, 1, &t_size, &open, 0, &comm);
    call.outs = call.ins = 2;
    call.out[0] = call.in[0] = t_rank - 1;
    call.out[1] = call.in[1] = t_rank + 1 < t_size ? t_rank + 1 : -1;
    neighbors(argc, argv, comm);
}

/* As many in as out, and symmetric: a ring. */
static void graph(int argc, char **argv)
{
    int index[MAX_PEERS], edges[2 * MAX_PEERS];
    MPI_Comm comm;

    if (t_size < 3)
        return;
    for (int i = 0; i < t_size; i++) {
        index[i] = 2 * (i + 1);
        edges[2 * (size_t)i] = (i + 1) % t_size;
        edges[2 * (size_t)i + 1] = (i + t_size - 1) % t_size;
    }
    MPI_Graph_create(MPI_COMM_WORLD, t_size, index, edges, 0, &comm);
    call.outs = call.ins = 2;
    call.out[0] = call.in[0] = (t_rank + 1) % t_size;
    call.out[1] = call.in[1] = (t_rank + t_size - 1) % t_size;
    neighbors(argc, argv, comm);
}

/* Everybody gives to those of higher rank: the last to nobody, the first gets from nobody. */
static void directed(int argc, char **argv)
{
    int ones[MAX_PEERS];
    MPI_Comm comm;

    call.ins = t_rank;
    call.outs = t_size - 1 - t_rank;
    for (int i = 0; i < MAX_PEERS; i++)
        ones[i] = 1;
    for (int i = 0; i < call.ins; i++)
        call.in[i] = i;
    for (int i = 0; i < call.outs; i++)
        call.out[i] = t_size - 1 - i;
    MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, call.ins, call.in, ones, call.outs, call.out,
                                   ones, MPI_INFO_NULL, 0, &comm);
    neighbors(argc, argv, comm);
}

int main(int argc, char **argv)
{
    t_init(&argc, &argv, MPI_THREAD_SINGLE);
    if (t_size > MAX_PEERS / 2)
        t_fatal("not for more than %d ranks", MAX_PEERS / 2);
    layouts_make();
    MPI_Op_create(join_ints, 0, &join);
    image_make(&send_image);
    image_make(&recv_image);
    call.send = &send_image;
    call.recv = &recv_image;
    call.me = t_rank;
    intra(argc, argv);
    inter(argc, argv);
    line(argc, argv);
    graph(argc, argv);
    directed(argc, argv);
    t_check(t_pvar("staged_calls") > 0, "nothing was staged");
    image_free(&send_image);
    image_free(&recv_image);
    MPI_Op_free(&join);
    layouts_free();
    return t_finish();
}
