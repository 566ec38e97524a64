/* Small signed numbers, not characters: NOLINTBEGIN(bugprone-signed-char-misuse) */
/*
 * Random collectives against a reference of its own:
 *   fuzz SEED CALLS [--uniform] [--host] [--allreduce] [--only FIRST-LAST] [--words]
 * --uniform: all buffers of a call on the device, or none; --host: all on the host, to see what
 * Open MPI does by itself; --allreduce: no other collective;
 * --only: calls outside are left out (communicators and the rest stay as they were);
 * --words: every call and communicator of every rank in words on stderr.
 */
#include "tests/fuzz/disturb.h"
#include "tests/fuzz/requests.h"
#include "tests/mpi/harness.h"

#include <cuda_runtime_api.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { STALL_SECONDS = 120 };

static struct {
    uint64_t seed;
    long calls, first, last;
    bool uniform, allreduce, words, host;
} options = {.last = 1L << 60};

static fz_generator_t generator;
static fz_requests_t requests;
static MPI_Comm comms[FZ_COMMS];

/* ---- communicators -------------------------------------------------------------------------- */

static void make_inter(const fz_step_t *step, const fz_comm_t *made)
{
    MPI_Comm parent = comms[step->parent], half;
    int size, rank;

    comms[step->comm] = MPI_COMM_NULL;
    MPI_Comm_size(parent, &size);
    MPI_Comm_rank(parent, &rank);
    if (made->group[t_rank] < 0)
        return;
    MPI_Comm_split(parent, rank >= size / 2, rank, &half);
    MPI_Intercomm_create(half, 0, parent, rank >= size / 2 ? 0 : size / 2, (int)step->number % 1000,
                         &comms[step->comm]);
    MPI_Comm_free(&half);
}

static void check_made(const fz_step_t *step, const fz_comm_t *made)
{
    int members[FZ_RANKS], size = 0, rank = -1;
    int group = made->group[t_rank];

    t_check((comms[step->comm] == MPI_COMM_NULL) == (group < 0), "a communicator in vain");
    if (group < 0)
        return;
    MPI_Comm_size(comms[step->comm], &size);
    MPI_Comm_rank(comms[step->comm], &rank);
    t_check(size == fz_members(made, group, members) && rank == made->rank[t_rank],
            "rank %d of %d in a new communicator", rank, size);
}

static void make_comm(const fz_step_t *step)
{
    static const char *const names[] = {"duplicate", "split", "halves"};
    const fz_comm_t *made = &generator.comms[step->comm];
    int colour, key;

    t_case("after call %ld: communicator %d as %s of %d", step->number, step->comm,
           names[step->make], step->parent);
    comms[step->comm] = MPI_COMM_NULL;
    if (comms[step->parent] != MPI_COMM_NULL) {
        fz_split_keys(step, t_rank, &colour, &key);
        if (step->make == FZ_DUP)
            MPI_Comm_dup(comms[step->parent], &comms[step->comm]);
        else if (step->make == FZ_SPLIT)
            MPI_Comm_split(comms[step->parent], colour < 0 ? MPI_UNDEFINED : colour, key,
                           &comms[step->comm]);
        else
            make_inter(step, made);
    }
    check_made(step, made);
    if (options.words)
        fprintf(stderr, "rank %d: communicator %d is a %s of %d: %s\n", t_rank, step->comm,
                names[step->make], step->parent,
                comms[step->comm] == MPI_COMM_NULL ? "not in it" : "in it");
}

static void free_comm(int comm)
{
    t_case("freeing communicator %d", comm);
    if (options.words)
        fprintf(stderr, "rank %d: communicator %d is freed\n", t_rank, comm);
    fz_requests_leave(&requests, comm);
    if (comms[comm] != MPI_COMM_NULL)
        MPI_Comm_free(&comms[comm]);
}

/* ---- all ranks meet ------------------------------------------------------------------------- */

typedef struct report {
    int failures;
    uint64_t hash[2 * FZ_OUTSTANDING];
} report_t;

/* The bits of rounded results are the same on all ranks that share one. */
static void compare_hashes(const report_t *reports, const int8_t (*groups)[FZ_RANKS],
                           const bool *inter)
{
    for (int i = 0; i < 2 * FZ_OUTSTANDING; i++)
        for (int r = 0; r < t_size; r++)
            for (int q = 0; q < r; q++)
                t_check(inter[i] || groups[i][q] != groups[i][r] || groups[i][q] < 0 ||
                            reports[q].hash[i] == reports[r].hash[i],
                        "the %dth result before differs between ranks %d and %d", i, q, r);
}

/* Who was in the communicator of each call since the last meeting. */
static int8_t met[2 * FZ_OUTSTANDING][FZ_RANKS];
static bool met_inter[2 * FZ_OUTSTANDING];
static int met_calls;

/* False: a rank has failed, and there is no point in going on. */
static bool meet(const fz_step_t *step)
{
    report_t own = {0}, all[FZ_RANKS];
    int failures = 0;

    fz_requests_all(&requests, fz_hash(step->random, (uint64_t)t_rank, 4));
    t_case("after call %ld: all ranks meet", step->number);
    own.failures = t_failures();
    for (int i = 0; i < requests.results.n; i++)
        own.hash[i] = requests.results.hash[i];
    MPI_Gather(&own, sizeof(own), MPI_BYTE, all, sizeof(own), MPI_BYTE, 0, MPI_COMM_WORLD);
    if (t_rank == 0) {
        compare_hashes(all, met, met_inter);
        for (int r = 1; r < t_size; r++)
            failures += all[r].failures;
        failures += t_failures();
        printf("%ld calls\n", step->number);
    }
    MPI_Bcast(&failures, 1, MPI_INT, 0, MPI_COMM_WORLD);
    requests.results.n = met_calls = 0;
    memset(met, -1, sizeof(met));
    return failures == 0;
}

/* ---- steps ---------------------------------------------------------------------------------- */

static void call_step(const fz_step_t *step)
{
    const fz_comm_t *comm = &generator.comms[step->comm];
    fz_call_t *call;

    memcpy(met[met_calls], comm->group, sizeof(met[0]));
    met_inter[met_calls++] = comm->inter;
    if (comms[step->comm] == MPI_COMM_NULL || step->number < options.first ||
        step->number > options.last) {
        requests.results.number[requests.results.n] = step->number;
        requests.results.hash[requests.results.n++] = 0;
        return;
    }
    call = fz_requests_place(&requests);
    fz_call_begin(call, step, comm, comms[step->comm], !options.uniform);
    if (options.words)
        fprintf(stderr, "rank %d: %s\n", t_rank, call->words);
    if (step->way == FZ_BLOCKING)
        fz_requests_blocking(&requests, call);
    else
        fz_requests_posted(&requests, call);
}

static bool run_step(const fz_step_t *step)
{
    uint64_t random = fz_hash(step->random, (uint64_t)t_rank, 5);

    switch (step->kind) {
    case FZ_CALL:
        call_step(step);
        break;
    case FZ_SOME:
        fz_requests_some(&requests, random);
        break;
    case FZ_SYNC:
        return meet(step);
    case FZ_MAKE:
        make_comm(step);
        break;
    case FZ_FREE:
        free_comm(step->comm);
        break;
    case FZ_DISTURB:
        fz_disturb(random);
        break;
    case FZ_MESSAGES:
        fz_messages(step->random);
        break;
    case FZ_KINDS:
        break;
    }
    return true;
}

static bool run(void)
{
    fz_step_t step = {0};
    bool good = true;

    fz_start(&generator, options.seed, t_size, !options.allreduce);
    memset(met, -1, sizeof(met));
    while (good && generator.number < options.calls) {
        fz_next(&generator, &step);
        step.on_host = step.on_host || options.host;
        good = run_step(&step);
    }
    if (good)
        good = meet(&step);
    if (!good && t_rank == 0)
        printf("stopped after call %ld\n", step.number);
    for (int c = 2; c < FZ_COMMS; c++)
        if (comms[c] != MPI_COMM_NULL)
            MPI_Comm_free(&comms[c]);
    return good;
}

static void read_options(int argc, char **argv)
{
    for (int a = 1; a < argc; a++) {
        if (strcmp(argv[a], "--uniform") == 0)
            options.uniform = true;
        else if (strcmp(argv[a], "--allreduce") == 0)
            options.allreduce = true;
        else if (strcmp(argv[a], "--host") == 0)
            options.host = true;
        else if (strcmp(argv[a], "--words") == 0)
            options.words = true;
        else if (strcmp(argv[a], "--only") == 0 && a + 1 < argc &&
                 sscanf(argv[a + 1], "%ld-%ld", &options.first, &options.last) == 2)
            a++;
        else if (a == 1)
            options.seed = strtoull(argv[a], NULL, 10);
        else if (a == 2)
            options.calls = strtol(argv[a], NULL, 10);
        else
            t_fatal("what is %s?", argv[a]);
    }
    if (options.calls <= 0 || t_size > FZ_RANKS)
        t_fatal("usage: fuzz SEED CALLS [options], on at most %d ranks", FZ_RANKS);
}

int main(int argc, char **argv)
{
    bool good;

    t_init(&argc, &argv, MPI_THREAD_SINGLE);
    t_stall(STALL_SECONDS);
    read_options(argc, argv);
    comms[0] = MPI_COMM_WORLD;
    comms[1] = MPI_COMM_SELF;
    for (int c = 2; c < FZ_COMMS; c++)
        comms[c] = MPI_COMM_NULL;
    fz_elements_open();
    good = run();
    fz_elements_close();
    if (t_rank == 0 && good)
        printf("seed %llu, %d ranks: %ld calls right\n", (unsigned long long)options.seed, t_size,
               options.calls);
    return t_finish();
}
/* NOLINTEND(bugprone-signed-char-misuse) */
