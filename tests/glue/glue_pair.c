/*
 * Two processes put data and flags into each other's windows through gdr_ucx.so and the device
 * room, without MPI. See --help.
 */
#include "tests/glue/rig.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

static const char help[] =
    "usage: glue_pair [--host] [--no-peer-errors] [--rounds N] [--verbose LEVEL] [CASE...]\n"
    "  cases: device-flags host-flags many refused map bad-input early-release capture reset "
    "peer-dies (default: all)\n"
    "  --host: windows in host memory, no CUDA\n"
    "  the library is GDR_UCX_SO, else .libs/gdr_ucx.so\n";

static const size_t sizes[] = {1,    2,     3,       7,       8,       9,        63,
                               4096, 65537, 1 << 20, 3 << 20, 4000001, MAX_DATA, 8};
#define SIZES (sizeof(sizes) / sizeof(sizes[0]))

/* The number of puts and bytes that this process has asked for: compared with the glue's own. */
static uint64_t puts_asked, bytes_asked;

static void post(rig_t *rig, size_t bytes, const gdr_net_word_t *word, gdr_net_op_t *op)
{
    puts_asked += bytes != 0;
    bytes_asked += bytes;
    rig->ops->put(rig->peer, rig->peer_window, AT_TARGET, rig->window_mem, AT_SOURCE, bytes, word,
                  op);
}

static void send_credit(rig_t *rig, uint64_t value)
{
    gdr_net_word_t word = {rig->peer_page, PAGE_AT(PAGE_CREDIT), rig->page_mem,
                           PAGE_AT(PAGE_CREDIT_SOURCE)};
    gdr_net_op_t op;

    rig->page[PAGE_CREDIT_SOURCE] = value;
    post(rig, 0, &word, &op);
    rig_finish(rig, &op);
}

/* The sender of a round: data, then the word, then the receiver's credit. */
static void send_round(rig_t *rig, size_t bytes, uint64_t value, bool device_flag)
{
    gdr_net_word_t word = {rig->peer_page, PAGE_AT(PAGE_FLAG), rig->page_mem, PAGE_AT(PAGE_SOURCE)};
    gdr_net_op_t op;

    rig_fill(rig, AT_SOURCE, bytes, value);
    if (device_flag) {
        word = (gdr_net_word_t){rig->peer_window, FLAGS_AT, rig->window_mem, WORDS_AT};
        rig_set_word(rig, WORDS_AT, value);
    } else {
        rig->page[PAGE_SOURCE] = value;
    }
    post(rig, bytes, &word, &op);
    rig_finish(rig, &op);
    NEED(rig, rig_await(rig, PAGE_CREDIT, value, true, 20.0), "no credit for %llu",
         (unsigned long long)value);
}

/* The stream waits for the flag in the window and copies at once; `helped`: whether the flag did
 * not come without this process's progress. */
static void await_device_flag(rig_t *rig, size_t bytes, uint64_t value, bool *helped)
{
    gdr_dev_reduce_t copy = {.nin = 1,
                             .nout = 1,
                             .in = {rig->window + AT_TARGET},
                             .out = {rig->window + AT_SEEN},
                             .bytes = bytes};
    gdr_status_t status = rig->dev_ops->wait_word(rig->stream, rig->window + FLAGS_AT, value);

    if (status == GDR_OK)
        status = rig->dev_ops->reduce(rig->stream, &copy);
    if (status == GDR_OK)
        status =
            rig->dev_ops->write_word(rig->stream, rig->page_on_device + PAGE_AT(PAGE_DONE), value);
    NEED(rig, status == GDR_OK, "%s", gdr_status_string(status));
    if (rig_await(rig, PAGE_DONE, value, false, 1.0))
        return;
    *helped = true;
    NEED(rig, rig_await(rig, PAGE_DONE, value, true, 20.0), "the flag %llu does not arrive",
         (unsigned long long)value);
    status = rig->dev_ops->stream_status(rig->stream);
    NEED(rig, status == GDR_OK, "%s", gdr_status_string(status));
}

/* Device memory cannot be polled by the CPU; host windows can. */
static void await_word_in_host_window(rig_t *rig, size_t bytes, uint64_t value, bool *helped)
{
    const uint64_t *flag = (const uint64_t *)(uintptr_t)(rig->window + FLAGS_AT);
    double start = rig_seconds();

    while (__atomic_load_n(flag, __ATOMIC_ACQUIRE) < value) {
        if (rig_seconds() - start < 1.0)
            continue;
        *helped = true;
        rig->ops->progress(rig->net);
        NEED(rig, rig_seconds() - start < 20.0, "the flag %llu does not arrive",
             (unsigned long long)value);
    }
    rig_copy(rig, rig->window + AT_TARGET, AT_SEEN, bytes);
}

static void await_host_flag(rig_t *rig, size_t bytes, uint64_t value, bool *helped)
{
    if (!rig_await(rig, PAGE_FLAG, value, false, 1.0)) {
        *helped = true;
        NEED(rig, rig_await(rig, PAGE_FLAG, value, true, 20.0), "the flag %llu does not arrive",
             (unsigned long long)value);
    }
    if (!rig->options->host)
        NEED(rig, rig->dev_ops->flush_rdma_writes(rig->dev) == GDR_OK, "flush");
    rig_copy(rig, rig->window + AT_TARGET, AT_SEEN, bytes);
}

static void receive_round(rig_t *rig, size_t bytes, uint64_t value, bool device_flag, bool *helped)
{
    if (!device_flag)
        await_host_flag(rig, bytes, value, helped);
    else if (rig->options->host)
        await_word_in_host_window(rig, bytes, value, helped);
    else
        await_device_flag(rig, bytes, value, helped);
    rig_check(rig, AT_SEEN, bytes, value);
    send_credit(rig, value);
}

/* Values go on from case to case: flags are never reset. */
static uint64_t next_value = 1;

static void rounds_with(rig_t *rig, bool device_flag)
{
    bool helped = false;
    double start = rig_seconds();
    int rounds = rig->options->rounds;

    for (int round = 0; round < rounds; round++) {
        size_t bytes = sizes[(size_t)round / 2 % SIZES];
        uint64_t value = next_value++;
        rig_state(rig, "rank %d, %s flags, round %d, %zu bytes", rig->rank,
                  device_flag ? "device" : "host", round, bytes);
        if (round % 2 == rig->rank)
            send_round(rig, bytes, value, device_flag);
        else
            receive_round(rig, bytes, value, device_flag, &helped);
    }
    printf("rank %d: %d rounds, flags %s the receiver's progress, %.1f ms a round\n", rig->rank,
           rounds, helped ? "NEED" : "need not", 1e3 * (rig_seconds() - start) / rounds);
    NEED(rig, !helped || rig->options->no_peer_errors || rig->options->host,
         "a flag came only when the receiver made progress: it is emulated");
}

static void device_flags(rig_t *rig)
{
    if (rig->options->host || rig->caps.stream_words)
        rounds_with(rig, true);
}

static void host_flags(rig_t *rig)
{
    rounds_with(rig, false);
}

#define MANY 64

/* Many puts with a word each in flight to one peer, words in different places. */
static void many(rig_t *rig)
{
    static gdr_net_op_t ops[MANY];
    uint64_t value = next_value++;
    size_t bytes = 40000;

    rig_fill(rig, AT_SOURCE, MAX_DATA, value);
    for (uint64_t i = 0; i < MANY; i++)
        rig_set_word(rig, WORDS_AT + 256 * i, value);
    rig_barrier(rig);
    for (uint64_t i = 0; i < MANY; i++) {
        gdr_net_word_t word = {rig->peer_window, FLAGS_AT + 256 * i, rig->window_mem,
                               WORDS_AT + 256 * i};
        rig->ops->put(rig->peer, rig->peer_window, AT_TARGET + i * bytes, rig->window_mem,
                      AT_SOURCE + i * bytes, bytes, &word, &ops[i]);
        puts_asked++;
        bytes_asked += bytes;
    }
    for (uint64_t i = 0; i < MANY; i++) {
        rig_state(rig, "rank %d, many, operation %u", rig->rank, (unsigned)i);
        rig_finish(rig, &ops[i]);
    }
    rig->ops->flush(rig->peer, &ops[0]);
    rig_finish(rig, &ops[0]);
    rig_barrier(rig);
    rig_check(rig, AT_TARGET, MANY * bytes, value);
    rig_barrier(rig);
}

static void expect_invalid(rig_t *rig, const char *what, const gdr_net_op_t *op)
{
    NEED(rig, op->status == GDR_ERR_INVALID, "%s: %s", what, gdr_status_string(op->status));
}

/* Refused at once, without a message that would look like a failure in the test's output. */
static void refused(rig_t *rig)
{
    gdr_net_word_t crossed = {rig->peer_window, FLAGS_AT, rig->page_mem, 0};
    gdr_net_word_t back = {rig->peer_page, 0, rig->window_mem, WORDS_AT};
    gdr_net_op_t op;
    int level = rig->log.level;

    rig->log.level = -1;
    rig->ops->put(rig->peer, rig->peer_window, AT_TARGET, rig->window_mem, 0, 8, &crossed, &op);
    expect_invalid(rig, "a host word for a device flag", &op);
    rig->ops->put(rig->peer, rig->peer_window, AT_TARGET, rig->window_mem, 0, 0, &back, &op);
    expect_invalid(rig, "a device word for a host flag", &op);
    rig->ops->put(rig->peer, rig->peer_page, 0, rig->window_mem, 0, 8, NULL, &op);
    expect_invalid(rig, "device data into host memory", &op);
    rig->ops->put(rig->peer, rig->peer_window, WINDOW - 4, rig->window_mem, 0, 8, NULL, &op);
    expect_invalid(rig, "beyond the peer's window", &op);
    rig->ops->put(rig->peer, rig->peer_window, 0, rig->window_mem, WINDOW + 8, 8, NULL, &op);
    expect_invalid(rig, "beyond the own window", &op);
    rig->log.level = level;
    rig->ops->put(rig->peer, rig->peer_window, 0, rig->window_mem, 0, 0, NULL, &op);
    NEED(rig, op.status == GDR_OK, "nothing at all: %s", gdr_status_string(op.status));
}

/* The peer's window as memory of this process. */
static void map(rig_t *rig)
{
    uint64_t value = next_value++, address = 0;
    gdr_status_t status;

    rig_fill(rig, AT_SOURCE, MIB, value + (uint64_t)rig->rank * 1000);
    rig_barrier(rig);
    status = rig->ops->map(rig->peer_window, &address);
    if (status == GDR_OK) {
        rig_copy(rig, address + AT_SOURCE, AT_SEEN, MIB);
        rig_check(rig, AT_SEEN, MIB, value + (uint64_t)(1 - rig->rank) * 1000);
    }
    NEED(rig, status == GDR_OK || status == GDR_ERR_UNSUPPORTED, "%s", gdr_status_string(status));
    printf("rank %d: the peer's window %s\n", rig->rank,
           status == GDR_OK ? "is mapped and read by a kernel" : "cannot be mapped");
    rig_barrier(rig);
    NEED(rig, rig->ops->map(rig->peer_page, &address) == GDR_ERR_UNSUPPORTED, "a control page");
}

static void bad_input(rig_t *rig)
{
    static char bad[512];
    char buffer[4096];
    gdr_net_rmem_t *rmem = NULL;
    gdr_net_peer_t *peer = NULL;
    size_t bytes = 3, needed;
    const gdr_net_mem_t *mem = rig->window_mem;
    int level = rig->log.level;

    NEED(rig, rig->ops->address(rig->net, buffer, &bytes) == GDR_ERR_INVALID, "3 bytes");
    NEED(rig, bytes > 3 && bytes <= sizeof(buffer), "%zu bytes", bytes);
    needed = bytes;
    NEED(rig, rig->ops->address(rig->net, buffer, &bytes) == GDR_OK, "%zu bytes", bytes);
    NEED(rig, bytes == needed, "%zu bytes", bytes);
    bytes = 3;
    NEED(rig, rig->ops->pack(rig->window_mem, buffer, &bytes) == GDR_ERR_INVALID, "3 bytes");
    NEED(rig, bytes > 3 && bytes <= sizeof(buffer), "%zu bytes", bytes);
    NEED(rig, rig->ops->pack(rig->window_mem, buffer, &bytes) == GDR_OK, "%zu bytes", bytes);
    rig->log.level = -1;
    NEED(rig, rig->ops->import(rig->peer, mem, buffer, bytes - 1, &rmem) == GDR_ERR_INVALID, "cut");
    NEED(rig, rig->ops->import(rig->peer, mem, buffer, 2, &rmem) == GDR_ERR_INVALID, "2 bytes");
    NEED(rig, rig->ops->import(rig->peer, mem, bad, sizeof(bad), &rmem) == GDR_ERR_INVALID, "junk");
    NEED(rig, rig->ops->connect(rig->net, NULL, 0, &peer) == GDR_ERR_INVALID, "no address");
    NEED(rig, rmem == NULL && peer == NULL, "an output was set on an error");
    rig->log.level = level;
}

/* A peer's region that is released under a put goes when the put is done. */
static void early_release(rig_t *rig)
{
    gdr_net_rmem_t *again = rig_swap_keys(rig, rig->window_mem);
    gdr_net_word_t word = {again, FLAGS_AT + 16384, rig->window_mem, WORDS_AT + 16384};
    uint64_t value = next_value++;
    gdr_net_op_t op;

    rig_fill(rig, AT_SOURCE, MIB, value);
    rig_barrier(rig);
    rig->ops->put(rig->peer, again, AT_TARGET, rig->window_mem, AT_SOURCE, MIB, &word, &op);
    puts_asked++;
    bytes_asked += MIB;
    rig->ops->release(again);
    rig_finish(rig, &op);
    rig_barrier(rig);
    rig_check(rig, AT_TARGET, MIB, value);
    rig_barrier(rig);
}

/* Every entry that a call needs once its communicator is wired, and a window more. */
static void work_in_capture(rig_t *rig)
{
    gdr_net_word_t word = {rig->peer_window, FLAGS_AT + 16384, rig->window_mem, WORDS_AT + 16384};
    gdr_net_mem_t *mem = NULL;
    gdr_net_op_t op;

    NEED(rig, rig->ops->register_device(rig->net, rig->window, MIB, &mem) == GDR_OK, "a window");
    post(rig, 65536, &word, &op);
    rig_finish(rig, &op);
    send_credit(rig, next_value++);
    rig->ops->flush(rig->peer, &op);
    rig_finish(rig, &op);
    rig->ops->deregister(rig->net, mem);
}

static void capture(rig_t *rig)
{
    if (rig->options->host)
        return;
    rig_barrier(rig);
    rig_capture(rig, work_in_capture);
    rig_barrier(rig);
}

/* The application resets the device: everything old is dropped, the connection stays. */
static void reset(rig_t *rig)
{
    if (rig->options->host)
        return;
    rig_barrier(rig);
    rig_reset_device(rig);
    device_flags(rig);
    map(rig);
}

/* Puts and flushes until one fails, the peer is reported dead, or time is up. */
static gdr_status_t put_until_error(rig_t *rig, double seconds)
{
    double end = rig_seconds() + seconds;
    gdr_net_op_t op = {.status = GDR_OK};

    for (unsigned i = 0; op.status == GDR_OK && rig_seconds() < end; i++) {
        if (i % 2 == 0)
            post(rig, 4096, NULL, &op);
        else
            rig->ops->flush(rig->peer, &op);
        while (op.status == GDR_INPROGRESS)
            rig->ops->progress(rig->net);
    }
    return op.status;
}

/*
 * The last case: rank 1 is killed; rank 0 must neither hang nor crash, and every operation on a
 * peer that is reported dead fails. Shared memory notices a death only when it looks for the
 * process (UCX_KEEPALIVE_INTERVAL), and this one must not linger as a zombie.
 */
static void peer_dies(rig_t *rig)
{
    gdr_net_op_t op;
    gdr_status_t first;
    double start;
    int status;

    rig_barrier(rig);
    if (rig->rank == 1)
        raise(SIGKILL);
    NEED(rig, waitpid(rig->child, &status, 0) == rig->child && WIFSIGNALED(status), "rank 1");
    rig->child = 0;
    rig->log.level = -1;
    start = rig_seconds();
    first = put_until_error(rig, 8.0);
    printf("rank 0: %.1f s after the peer's death: operation %s, peer %s\n", rig_seconds() - start,
           gdr_status_string(first), gdr_status_string(rig->ops->peer_status(rig->peer)));
    NEED(rig, first != GDR_OK || rig->options->no_peer_errors, "nobody says that the peer is dead");
    if (rig->ops->peer_status(rig->peer) != GDR_OK) {
        rig->ops->put(rig->peer, rig->peer_window, 0, rig->window_mem, 0, 8, NULL, &op);
        NEED(rig, op.status < GDR_OK, "an operation to a dead peer is accepted");
    }
    rig->ops->release(rig->peer_window);
    rig->ops->release(rig->peer_page);
    rig->ops->disconnect(rig->peer);
    rig->peer = NULL;
}

/* The first put to a peer needs its help: the connection is made, and the put is read back. */
static void first_contact(rig_t *rig)
{
    gdr_net_word_t word = {rig->peer_window, FLAGS_AT + 16384, rig->window_mem, WORDS_AT + 16384};
    gdr_net_op_t op;

    rig_fill(rig, AT_SOURCE, 4096, 12345);
    rig_barrier(rig);
    post(rig, 4096, &word, &op);
    rig_finish(rig, &op);
    rig_barrier(rig);
    rig_check(rig, AT_TARGET, 4096, 12345);
    rig_barrier(rig);
}

static const struct {
    const char *name;
    void (*run)(rig_t *rig);
} cases[] = {
    {"device-flags", device_flags},
    {"host-flags", host_flags},
    {"many", many},
    {"refused", refused},
    {"map", map},
    {"bad-input", bad_input},
    {"early-release", early_release},
    {"capture", capture},
    {"reset", reset},
    {"peer-dies", peer_dies},
};

static bool wanted(const char *name, char **names, int count)
{
    for (int i = 0; i < count; i++)
        if (strcmp(names[i], name) == 0)
            return true;
    return count == 0;
}

static int run(rig_t *rig, char **names, int count)
{
    rig_watchdog(150);
    rig_state(rig, "rank %d, opening", rig->rank);
    if (!rig_open(rig))
        return 77;
    rig_state(rig, "rank %d, connecting", rig->rank);
    rig_connect(rig);
    first_contact(rig);
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        if (!wanted(cases[i].name, names, count))
            continue;
        rig_state(rig, "rank %d, %s", rig->rank, cases[i].name);
        cases[i].run(rig);
        if (rig->rank == 0)
            printf("ok: %s\n", cases[i].name);
        fflush(stdout);
    }
    NEED(rig, rig->counters.puts == puts_asked && rig->counters.put_bytes == bytes_asked,
         "%llu puts of %llu bytes counted, %llu of %llu asked for",
         (unsigned long long)rig->counters.puts, (unsigned long long)rig->counters.put_bytes,
         (unsigned long long)puts_asked, (unsigned long long)bytes_asked);
    rig_state(rig, "rank %d, closing", rig->rank);
    if (rig->peer != NULL)
        rig_barrier(rig);
    rig_close(rig);
    return 0;
}

/* Rank 1's end as an exit status. */
static int reap(pid_t child)
{
    int status = 0;

    if (child == 0)
        return 0;
    if (waitpid(child, &status, 0) != child || WIFSIGNALED(status))
        return 1;
    return WEXITSTATUS(status);
}

int main(int argc, char **argv)
{
    rig_options_t options = {.rounds = 2 * (int)SIZES, .verbose = GDR_LOG_WARN};
    rig_t rig = {.options = &options};
    int sockets[2], first = 1, mine, theirs;

    for (; first < argc && argv[first][0] == '-'; first++) {
        if (strcmp(argv[first], "--host") == 0)
            options.host = true;
        else if (strcmp(argv[first], "--no-peer-errors") == 0)
            options.no_peer_errors = true;
        else if (strcmp(argv[first], "--rounds") == 0 && first + 1 < argc)
            options.rounds = atoi(argv[++first]);
        else if (strcmp(argv[first], "--verbose") == 0 && first + 1 < argc)
            options.verbose = atoi(argv[++first]);
        else
            return fputs(help, stderr), 2;
    }
    options.library = getenv("GDR_UCX_SO");
    if (options.library == NULL)
        options.library = ".libs/gdr_ucx.so";
    if (options.rounds < 1 || socketpair(AF_UNIX, SOCK_STREAM, 0, sockets) != 0)
        return 2;
    rig.child = fork();
    if (rig.child < 0)
        return 2;
    rig.rank = rig.child == 0;
    rig.socket = sockets[rig.rank];
    close(sockets[1 - rig.rank]);
    mine = run(&rig, argv + first, argc - first);
    if (rig.rank == 1)
        return mine;
    close(rig.socket);
    theirs = reap(rig.child);
    return mine != 0 ? mine : theirs;
}
