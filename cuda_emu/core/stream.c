/*
 * The engine: operations run in order within a stream, streams run beside each other, each in a
 * thread of its own that sleeps when there is nothing to do. With CUDA_EMU_SYNC an operation that
 * can run does so in the caller.
 */
#include "cuda_emu/core/emu.h"

#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <time.h>

#define SLEEP_FIRST_NS 20000L
#define SLEEP_MOST_NS  200000L
#define DEP_WAIT_NS    50000000L

uint64_t emu_now_ns(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

static void sleep_ns(long ns)
{
    struct timespec pause = {ns / 1000000000, ns % 1000000000};

    nanosleep(&pause, NULL);
}

void *emu_op_new(size_t size, const char *name,
                 CUresult (*run)(struct emu_op *, struct emu_stream *))
{
    struct emu_op *op = calloc(1, size);

    if (op != NULL) {
        op->name = name;
        op->run = run;
    }
    return op;
}

static void free_op(struct emu_op *op)
{
    struct emu_dep *dep, *next;

    for (dep = op->deps; dep != NULL; dep = next) {
        next = dep->next;
        emu_stream_put(dep->stream);
        free(dep);
    }
    if (op->drop != NULL)
        op->drop(op);
    free(op);
}

CUresult emu_op_depend(struct emu_op *op, struct emu_stream *stream, uint64_t seq)
{
    struct emu_dep *dep;

    if (emu_stream_done(stream, seq))
        return CUDA_SUCCESS;
    dep = malloc(sizeof(*dep));
    if (dep == NULL)
        return CUDA_ERROR_OUT_OF_MEMORY;
    emu_stream_ref(stream);
    *dep = (struct emu_dep){op->deps, stream, seq};
    op->deps = dep;
    return CUDA_SUCCESS;
}

/*
 * The legacy stream waits for all blocking streams of its context, and they wait for it.
 * Under ctx->submit.
 */
static CUresult order_with_legacy(struct emu_stream *stream, struct emu_op *op)
{
    struct emu_ctx *ctx = stream->ctx;
    CUresult rc = CUDA_SUCCESS;

    if (stream->flags & CU_STREAM_NON_BLOCKING)
        return CUDA_SUCCESS;
    if (stream != ctx->legacy)
        return emu_op_depend(op, ctx->legacy, emu_stream_last(ctx->legacy));
    for (struct emu_stream *s = ctx->streams; s != NULL && rc == CUDA_SUCCESS; s = s->next) {
        if (s != stream && !(s->flags & CU_STREAM_NON_BLOCKING))
            rc = emu_op_depend(op, s, emu_stream_last(s));
    }
    return rc;
}

/* A queue is worked off in the order of the calls, whichever of its streams they are for. */
static CUresult order_in_queue(struct emu_stream *stream, struct emu_op *op)
{
    CUresult rc = CUDA_SUCCESS;

    if (emu_config()->queues == 0)
        return CUDA_SUCCESS;
    for (struct emu_stream *s = stream->ctx->streams; s != NULL && rc == CUDA_SUCCESS;
         s = s->next) {
        if (s != stream && s->queue == stream->queue)
            rc = emu_op_depend(op, s, emu_stream_last(s));
    }
    return rc;
}

static bool op_ready(struct emu_op *op)
{
    for (struct emu_dep *dep = op->deps; dep != NULL; dep = dep->next) {
        if (!emu_stream_done(dep->stream, dep->seq))
            return false;
    }
    return op->ready == NULL || op->ready(op);
}

static unsigned random_below(struct emu_stream *stream, unsigned limit)
{
    stream->rng ^= stream->rng << 13;
    stream->rng ^= stream->rng >> 7;
    stream->rng ^= stream->rng << 17;
    return (unsigned)(stream->rng % ((uint64_t)limit + 1));
}

static void delay(struct emu_stream *stream, const struct emu_op *op)
{
    const struct emu_config *config = emu_config();
    unsigned us;

    if (config->delay_us == 0 || config->sync || op->no_delay)
        return;
    us = random_below(stream, config->delay_us);
    if (emu_tracing())
        emu_trace("stream %llu delays %s by %u us", (unsigned long long)stream->id, op->name, us);
    sleep_ns((long)us * 1000);
}

static void wait_done_or_killed(struct emu_stream *self, struct emu_dep *dep)
{
    struct emu_stream *other = dep->stream;
    struct timespec until;

    pthread_mutex_lock(&other->lock);
    while (other->completed < dep->seq && !atomic_load(&self->killed)) {
        clock_gettime(CLOCK_MONOTONIC, &until);
        until.tv_nsec += DEP_WAIT_NS;
        if (until.tv_nsec >= 1000000000) {
            until.tv_nsec -= 1000000000;
            until.tv_sec++;
        }
        pthread_cond_timedwait(&other->done, &other->lock, &until);
    }
    pthread_mutex_unlock(&other->lock);
}

/* What `ready` looks at is written by anybody, another process too: it is polled, gently. */
static void wait_ready(struct emu_stream *stream, struct emu_op *op)
{
    long pause = SLEEP_FIRST_NS;

    for (struct emu_dep *dep = op->deps; dep != NULL; dep = dep->next)
        wait_done_or_killed(stream, dep);
    while (op->ready != NULL && !atomic_load(&stream->killed) && !op->ready(op)) {
        sleep_ns(pause);
        pause = pause * 2 > SLEEP_MOST_NS ? SLEEP_MOST_NS : pause * 2;
    }
}

static void execute(struct emu_stream *stream, struct emu_op *op)
{
    CUresult rc;

    delay(stream, op);
    if (atomic_load(&stream->killed) || atomic_load(&stream->ctx->sticky) != CUDA_SUCCESS)
        return;
    rc = op->run(op, stream);
    if (emu_tracing())
        emu_trace("stream %llu ran %s: %d", (unsigned long long)stream->id, op->name, (int)rc);
    if (rc != CUDA_SUCCESS)
        emu_ctx_fail(stream->ctx, rc);
}

static void finish(struct emu_stream *stream, struct emu_op *op)
{
    pthread_mutex_lock(&stream->lock);
    stream->head = op->next;
    if (stream->head == NULL)
        stream->tail = &stream->head;
    stream->completed = op->seq;
    stream->running = false;
    pthread_cond_broadcast(&stream->done);
    if (stream->head != NULL)
        pthread_cond_signal(&stream->work);
    pthread_mutex_unlock(&stream->lock);
    free_op(op);
}

static void unlink_stream(struct emu_stream *stream)
{
    struct emu_ctx *ctx = stream->ctx;

    pthread_mutex_lock(&ctx->submit);
    for (struct emu_stream **s = &ctx->streams; *s != NULL; s = &(*s)->next) {
        if (*s == stream) {
            *s = stream->next;
            break;
        }
    }
    pthread_mutex_unlock(&ctx->submit);
}

static struct emu_op *next_op(struct emu_stream *stream)
{
    struct emu_op *op;

    pthread_mutex_lock(&stream->lock);
    while (stream->running || (stream->head == NULL && !stream->closing))
        pthread_cond_wait(&stream->work, &stream->lock);
    op = stream->head;
    stream->running = op != NULL;
    pthread_mutex_unlock(&stream->lock);
    return op;
}

static void *worker(void *arg)
{
    struct emu_stream *stream = arg;
    struct emu_ctx *ctx = stream->ctx;
    struct emu_op *op;

    prctl(PR_SET_TIMERSLACK, 1UL, 0UL, 0UL, 0UL);
    while ((op = next_op(stream)) != NULL) {
        wait_ready(stream, op);
        execute(stream, op);
        finish(stream, op);
    }
    unlink_stream(stream);
    emu_stream_put(stream); /* the list's */
    emu_stream_put(stream); /* the thread's */
    pthread_mutex_lock(&ctx->submit);
    ctx->workers--;
    pthread_cond_broadcast(&ctx->idle);
    pthread_mutex_unlock(&ctx->submit);
    return NULL;
}

/* Under ctx->submit and stream->lock. */
static CUresult start_worker(struct emu_stream *stream)
{
    sigset_t all, old;
    pthread_attr_t attr;
    pthread_t thread;
    int rc;

    if (stream->started)
        return CUDA_SUCCESS;
    sigfillset(&all);
    sigdelset(&all, SIGSEGV);
    sigdelset(&all, SIGBUS);
    sigdelset(&all, SIGFPE);
    sigdelset(&all, SIGILL);
    pthread_sigmask(SIG_SETMASK, &all, &old);
    pthread_attr_init(&attr);
    pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
    emu_stream_ref(stream);
    rc = pthread_create(&thread, &attr, worker, stream);
    pthread_attr_destroy(&attr);
    pthread_sigmask(SIG_SETMASK, &old, NULL);
    if (rc != 0) {
        emu_say("no thread for a stream: %s", strerror(rc));
        atomic_fetch_sub(&stream->refs, 1);
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    stream->started = true;
    stream->ctx->workers++;
    return CUDA_SUCCESS;
}

/*
 * Under ctx->submit. *mine: the caller runs it now; otherwise the operation may be over, and freed,
 * before this returns.
 */
static CUresult append(struct emu_stream *stream, struct emu_op *op, bool *mine, uint64_t *seq)
{
    CUresult rc = order_with_legacy(stream, op);
    bool ready;

    if (rc == CUDA_SUCCESS)
        rc = order_in_queue(stream, op);
    if (rc != CUDA_SUCCESS)
        return rc;
    ready = (emu_config()->sync || op->caller_waits) && op_ready(op);
    pthread_mutex_lock(&stream->lock);
    *mine = ready && stream->head == NULL;
    if (!*mine)
        rc = start_worker(stream);
    if (rc == CUDA_SUCCESS) {
        op->seq = ++stream->enqueued;
        if (seq != NULL)
            *seq = op->seq;
        *stream->tail = op;
        stream->tail = &op->next;
        stream->running = stream->running || *mine;
        if (!stream->running)
            pthread_cond_signal(&stream->work);
    }
    pthread_mutex_unlock(&stream->lock);
    return rc;
}

CUresult emu_submit(struct emu_stream *stream, struct emu_op *op, uint64_t *seq)
{
    bool mine = false;
    CUresult rc;

    if (emu_capture_takes(stream, &rc)) {
        free_op(op);
        if (seq != NULL)
            *seq = 0;
        return rc;
    }
    pthread_mutex_lock(&stream->ctx->submit);
    rc = append(stream, op, &mine, seq);
    pthread_mutex_unlock(&stream->ctx->submit);
    if (rc != CUDA_SUCCESS) {
        free_op(op);
    } else if (mine) {
        execute(stream, op);
        finish(stream, op);
    }
    return rc;
}

CUresult emu_stream_submit_wait(struct emu_stream *stream, struct emu_op *op)
{
    uint64_t seq;
    CUresult rc;

    op->caller_waits = true;
    rc = emu_submit(stream, op, &seq);
    if (rc != CUDA_SUCCESS)
        return rc;
    emu_stream_wait(stream, seq);
    return atomic_load(&stream->ctx->sticky);
}

void emu_stream_wait(struct emu_stream *stream, uint64_t seq)
{
    pthread_mutex_lock(&stream->lock);
    while (stream->completed < seq)
        pthread_cond_wait(&stream->done, &stream->lock);
    pthread_mutex_unlock(&stream->lock);
}

bool emu_stream_done(struct emu_stream *stream, uint64_t seq)
{
    bool done;

    pthread_mutex_lock(&stream->lock);
    done = stream->completed >= seq;
    pthread_mutex_unlock(&stream->lock);
    return done;
}

uint64_t emu_stream_last(struct emu_stream *stream)
{
    uint64_t last;

    pthread_mutex_lock(&stream->lock);
    last = stream->enqueued;
    pthread_mutex_unlock(&stream->lock);
    return last;
}
