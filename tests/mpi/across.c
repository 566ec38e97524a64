/*
 * Host and device buffers mixed across the ranks of one call:  across NAME...
 * What each rank does follows from one seed, which all share (GDR_TEST_SEED); results are compared
 * on every rank. After the mixed calls uniform ones must go by the device again.
 */
#include "harness.h"

#include <cuda_runtime_api.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SLOTS = 6, MAX_COUNT = 30000, THREADS = 3 };

typedef struct rng {
    uint64_t state;
} rng_t;

static uint64_t seed = 1;

static uint64_t draw(rng_t *rng, uint64_t below)
{
    rng->state ^= rng->state >> 12;
    rng->state ^= rng->state << 25;
    rng->state ^= rng->state >> 27;
    return (rng->state * UINT64_C(0x2545f4914f6cdd1d) >> 16) % below;
}

/* One call of this rank, pending or not. */
typedef struct slot {
    int *device_send, *device_recv, *host_send, *host_recv;
    int call, count;
    bool in_place, send_on_device, recv_on_device, pending;
    MPI_Request request;
} slot_t;

/* The calls of one communicator. */
typedef struct stream {
    MPI_Comm comm;
    int rank, size;
    rng_t shared, own; /* the same on all ranks; of this rank */
    int calls;
    slot_t slots[SLOTS];
} stream_t;

/* How the ranks of a call are mixed. */
typedef enum kind { UNIFORM, RANDOM, RANK_0_HOST, LAST_HOST } kind_t;

static int value_of(int rank, int call, int i)
{
    return (rank + 1) * (1 + call % 5) + i % 7;
}

static int sum_of(int size, int call, int i)
{
    return size * (size + 1) / 2 * (1 + call % 5) + size * (i % 7);
}

static void open_stream(stream_t *s, MPI_Comm comm, bool with_device, uint64_t number)
{
    memset(s, 0, sizeof(*s));
    s->comm = comm;
    MPI_Comm_rank(comm, &s->rank);
    MPI_Comm_size(comm, &s->size);
    s->shared.state = seed * 1000003 + number * 77 + 5;
    s->own.state = s->shared.state + (uint64_t)t_rank * 7919 + 1;
    for (int i = 0; i < SLOTS; i++) {
        slot_t *slot = &s->slots[i];

        if (with_device) {
            slot->device_send = t_device_alloc(MAX_COUNT * sizeof(int));
            slot->device_recv = t_device_alloc(MAX_COUNT * sizeof(int));
        }
        slot->host_send = malloc(MAX_COUNT * sizeof(int));
        slot->host_recv = malloc(MAX_COUNT * sizeof(int));
    }
}

static void close_stream(stream_t *s)
{
    for (int i = 0; i < SLOTS; i++) {
        if (s->slots[i].device_send != NULL) {
            t_device_free(s->slots[i].device_send);
            t_device_free(s->slots[i].device_recv);
        }
        free(s->slots[i].host_send);
        free(s->slots[i].host_recv);
    }
}

static void check(const stream_t *s, slot_t *slot)
{
    if (slot->recv_on_device)
        t_download(slot->host_recv, slot->device_recv, (size_t)slot->count * sizeof(int));
    for (int i = 0; i < slot->count; i++)
        if (!t_check(slot->host_recv[i] == sum_of(s->size, slot->call, i),
                     "call %d of %d ints: element %d is %d, not %d", slot->call, slot->count, i,
                     slot->host_recv[i], sum_of(s->size, slot->call, i)))
            break;
    slot->pending = false;
}

static void finish_slot(const stream_t *s, slot_t *slot)
{
    if (!slot->pending)
        return;
    /* The slot's call was posted before. NOLINTNEXTLINE(clang-analyzer-optin.mpi*) */
    t_check(MPI_Wait(&slot->request, MPI_STATUS_IGNORE) == MPI_SUCCESS, "MPI_Wait");
    check(s, slot);
}

static bool on_device(stream_t *s, kind_t kind, bool can)
{
    bool coin = draw(&s->own, 3) != 0;

    switch (kind) {
    case UNIFORM:
        return true;
    case RANK_0_HOST:
        return s->rank != 0;
    case LAST_HOST:
        return can && s->rank != s->size - 1;
    default:
        return can && coin;
    }
}

static void fill(const stream_t *s, slot_t *slot, int call, int count)
{
    size_t bytes = (size_t)count * sizeof(int);

    slot->call = call;
    slot->count = count;
    for (int i = 0; i < count; i++) {
        slot->host_send[i] = value_of(s->rank, call, i);
        slot->host_recv[i] = slot->in_place ? slot->host_send[i] : -1;
    }
    if (slot->send_on_device)
        t_upload(slot->device_send, slot->host_send, bytes);
    if (slot->recv_on_device)
        t_upload(slot->device_recv, slot->host_recv, bytes);
}

static void one_call(stream_t *s, kind_t kind)
{
    static const int counts[] = {1, 2, 100, 1000, 5000, MAX_COUNT};
    slot_t *slot = &s->slots[draw(&s->own, SLOTS)];
    int call = s->calls++, count = counts[draw(&s->shared, 6)];
    bool blocking = draw(&s->shared, 2) == 0, can = slot->device_send != NULL;
    const void *send;
    void *recv;

    finish_slot(s, slot);
    slot->in_place = draw(&s->shared, 3) == 0; /* MPI wants it alike on all ranks */
    slot->send_on_device = slot->recv_on_device = on_device(s, kind, can);
    if (kind == RANDOM && can && draw(&s->own, 8) == 0)
        slot->send_on_device = !slot->recv_on_device;
    fill(s, slot, call, count);
    send = slot->send_on_device ? slot->device_send : slot->host_send;
    recv = slot->recv_on_device ? slot->device_recv : slot->host_recv;
    if (slot->in_place)
        send = MPI_IN_PLACE;
    if (blocking) {
        t_check(MPI_Allreduce(send, recv, count, MPI_INT, MPI_SUM, s->comm) == MPI_SUCCESS,
                "MPI_Allreduce");
        check(s, slot);
        return;
    }
    slot->pending = true;
    t_check(MPI_Iallreduce(send, recv, count, MPI_INT, MPI_SUM, s->comm, &slot->request) ==
                MPI_SUCCESS,
            "MPI_Iallreduce");
}

static void some_calls(stream_t *s, kind_t kind, int n)
{
    for (int k = 0; k < n; k++) {
        t_case("call %d, kind %d, %d ranks, seed %llu", s->calls, (int)kind, s->size,
               (unsigned long long)seed);
        one_call(s, kind);
        if (draw(&s->own, 4) == 0)
            finish_slot(s, &s->slots[draw(&s->own, SLOTS)]);
    }
    for (int i = 0; i < SLOTS; i++)
        finish_slot(s, &s->slots[i]);
}

/* Uniform calls go by the device, whatever was before. */
static void device_again(stream_t *s, int n)
{
    uint64_t before = t_pvar("calls");

    some_calls(s, UNIFORM, n);
    t_check(t_pvar("calls") == before + (uint64_t)n, "%llu of %d uniform calls by the device",
            (unsigned long long)(t_pvar("calls") - before), n);
}

static int length(int n)
{
    const char *text = getenv("GDR_TEST_CALLS");

    return text == NULL ? n : atoi(text);
}

/* {1,2,3} on both: rank 0 on the device, the others not; then the reverse; then buffers of a kind
 * each. All as the first call of a communicator, and again. */
static void small(void)
{
    for (int way = 0; way < 8; way++) {
        bool device = (t_rank == 0) == (way % 2 == 0), crossed = way / 2 % 2 == 1;
        int in[3] = {1, 2, 3}, out[3] = {0, 0, 0};
        int *send = t_device_alloc(sizeof(in)), *recv = t_device_alloc(sizeof(in));
        MPI_Comm comm;

        t_case("small, way %d", way);
        MPI_Comm_dup(MPI_COMM_WORLD, &comm);
        t_upload(send, in, sizeof(in));
        for (int again = 0; again < 3; again++) {
            bool recv_on_device = crossed ? !device : device;
            MPI_Request request;

            out[0] = out[1] = out[2] = 0;
            t_upload(recv, out, sizeof(out));
            if (way < 4) {
                MPI_Allreduce(device ? send : in, recv_on_device ? recv : out, 3, MPI_INT, MPI_SUM,
                              comm);
            } else {
                MPI_Iallreduce(device ? send : in, recv_on_device ? recv : out, 3, MPI_INT, MPI_SUM,
                               comm, &request);
                MPI_Wait(&request, MPI_STATUS_IGNORE);
            }
            if (recv_on_device)
                t_download(out, recv, sizeof(out));
            for (int i = 0; i < 3; i++)
                t_check(out[i] == t_size * (i + 1), "element %d is %d", i, out[i]);
        }
        MPI_Comm_free(&comm);
        t_device_free(send);
        t_device_free(recv);
    }
}

static void mixed(kind_t kind, int n)
{
    MPI_Comm half, dup;
    stream_t s;

    MPI_Comm_dup(MPI_COMM_WORLD, &dup);
    MPI_Comm_split(MPI_COMM_WORLD, t_rank % 2, -t_rank, &half);
    open_stream(&s, MPI_COMM_WORLD, true, 1);
    some_calls(&s, kind, n);
    device_again(&s, 5);
    close_stream(&s);
    open_stream(&s, half, true, 2);
    some_calls(&s, kind, n / 4);
    if (s.size > 1)
        device_again(&s, 5);
    close_stream(&s);
    open_stream(&s, dup, true, 3);
    device_again(&s, 5);
    some_calls(&s, kind, n / 4);
    device_again(&s, 5);
    close_stream(&s);
    MPI_Comm_free(&half);
    MPI_Comm_free(&dup);
    t_check(t_size == 1 || t_pvar("mixed_calls") > 0 || kind == RANK_0_HOST, "nothing was mixed");
}

static void at_random(void)
{
    mixed(RANDOM, length(400));
}

static void rank_0(void)
{
    mixed(RANK_0_HOST, length(100));
}

/* The last rank never touches CUDA (GDR_TEST_NO_CUDA). */
static void no_cuda(void)
{
    stream_t s;

    open_stream(&s, MPI_COMM_WORLD, t_rank != t_size - 1, 4);
    some_calls(&s, LAST_HOST, length(60));
    close_stream(&s);
}

static void set_priority(int value)
{
    MPI_T_cvar_handle handle;
    int index, count;

    if (MPI_T_cvar_get_index("coll_gdr_priority", &index) != MPI_SUCCESS ||
        MPI_T_cvar_handle_alloc(index, NULL, &handle, &count) != MPI_SUCCESS ||
        MPI_T_cvar_write(handle, &value) != MPI_SUCCESS)
        t_fatal("coll_gdr_priority cannot be set");
    MPI_T_cvar_handle_free(&handle);
}

/* One rank makes a communicator with priority 0: it has host buffers only there. Others with the
 * same number follow, on which it takes part. */
static void priority(void)
{
    for (int absent = 0; absent < t_size; absent++) {
        MPI_Comm comm;
        stream_t s;

        if (t_rank == absent)
            set_priority(0);
        MPI_Comm_dup(MPI_COMM_WORLD, &comm);
        set_priority(95);
        open_stream(&s, comm, t_rank != absent, 5 + (uint64_t)absent);
        some_calls(&s, RANDOM, length(40));
        close_stream(&s);
        MPI_Comm_free(&comm);
        MPI_Comm_dup(MPI_COMM_WORLD, &comm);
        open_stream(&s, comm, true, 20 + (uint64_t)absent);
        some_calls(&s, RANDOM, 10);
        device_again(&s, 4);
        close_stream(&s);
        MPI_Comm_free(&comm);
    }
}

static int device;

static void *one_thread(void *arg)
{
    stream_t *s = arg;

    cudaSetDevice(device); /* of this thread's copies */
    some_calls(s, RANDOM, length(100));
    return NULL;
}

static void threads(void)
{
    pthread_t thread[THREADS];
    stream_t s[THREADS];
    MPI_Comm comm[THREADS];

    cudaGetDevice(&device);
    for (int i = 0; i < THREADS; i++) {
        MPI_Comm_dup(MPI_COMM_WORLD, &comm[i]);
        open_stream(&s[i], comm[i], true, 40 + (uint64_t)i);
    }
    for (int i = 0; i < THREADS; i++)
        pthread_create(&thread[i], NULL, one_thread, &s[i]);
    for (int i = 0; i < THREADS; i++)
        pthread_join(thread[i], NULL);
    for (int i = 0; i < THREADS; i++) {
        device_again(&s[i], 4);
        close_stream(&s[i]);
        MPI_Comm_free(&comm[i]);
    }
}

/* Prints what mixed calls cost beyond host calls: no check. */
static void latency(void)
{
    enum { N = 200 };
    int *on_device = t_device_alloc(4), host = 1;
    double times[3] = {0, 0, 0};

    for (int kind = 0; kind < 3; kind++) { /* host, mixed, device */
        for (int k = -5; k < N; k++) {
            void *buffer = kind == 2 || (kind == 1 && t_rank != 0) ? (void *)on_device : &host;
            double start;

            MPI_Barrier(MPI_COMM_WORLD);
            start = t_seconds();
            MPI_Allreduce(MPI_IN_PLACE, buffer, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
            times[kind] += k < 0 ? 0 : t_seconds() - start;
        }
    }
    if (t_rank == t_size - 1)
        printf("per call: host %.1f us, mixed %.1f us, device %.1f us\n", 1e6 * times[0] / N,
               1e6 * times[1] / N, 1e6 * times[2] / N);
    t_device_free(on_device);
}

static const t_named_t table[] = {
    {"small", small},       {"random", at_random}, {"rank_0", rank_0},  {"no_cuda", no_cuda},
    {"priority", priority}, {"threads", threads},  {"latency", latency}};

int main(int argc, char **argv)
{
    const char *given = getenv("GDR_TEST_SEED");
    bool threaded = argc > 1 && strcmp(argv[1], "threads") == 0;

    t_init(&argc, &argv, threaded ? MPI_THREAD_MULTIPLE : MPI_THREAD_SINGLE);
    if (given != NULL)
        seed = strtoull(given, NULL, 0);
    t_cases(argc, argv, table, sizeof(table) / sizeof(table[0]));
    return t_finish();
}
