/* Streams come and go. */
#include "cuda_emu/core/emu.h"

static atomic_ullong last_stream_id;

void emu_stream_ref(struct emu_stream *stream)
{
    atomic_fetch_add(&stream->refs, 1);
}

void emu_stream_put(struct emu_stream *stream)
{
    if (atomic_fetch_sub(&stream->refs, 1) != 1)
        return;
    pthread_cond_destroy(&stream->work);
    pthread_cond_destroy(&stream->done);
    pthread_mutex_destroy(&stream->lock);
    free(stream);
}

/* Equal in every run of a rank, different between ranks and streams. */
static uint64_t seed_of(unsigned ordinal)
{
    uint64_t x = emu_config()->seed + (uint64_t)(ordinal + 1) * UINT64_C(0x9e3779b97f4a7c15);

    x = (x ^ (x >> 31)) * UINT64_C(0xbf58476d1ce4e5b9);
    x ^= x >> 29;
    return x == 0 ? 1 : x;
}

static void init_sync(struct emu_stream *stream)
{
    pthread_condattr_t attr;

    pthread_condattr_init(&attr);
    pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
    pthread_mutex_init(&stream->lock, NULL);
    pthread_cond_init(&stream->work, NULL);
    pthread_cond_init(&stream->done, &attr);
    pthread_condattr_destroy(&attr);
}

struct emu_stream *emu_stream_new(struct emu_ctx *ctx, unsigned flags, int priority)
{
    struct emu_stream *stream = calloc(1, sizeof(*stream));

    if (stream == NULL)
        return NULL;
    stream->refs = 1; /* the list's */
    stream->ctx = ctx;
    stream->flags = flags;
    stream->priority = priority;
    stream->id = atomic_fetch_add(&last_stream_id, 1) + 1;
    stream->tail = &stream->head;
    init_sync(stream);
    pthread_mutex_lock(&ctx->submit);
    if (emu_config()->queues != 0)
        stream->queue = ctx->stream_ordinal % emu_config()->queues;
    stream->rng = seed_of(ctx->stream_ordinal++);
    stream->next = ctx->streams;
    ctx->streams = stream;
    pthread_mutex_unlock(&ctx->submit);
    return stream;
}

void emu_stream_close(struct emu_stream *stream)
{
    struct emu_ctx *ctx = stream->ctx;
    bool started;

    emu_handle_remove(stream);
    pthread_mutex_lock(&ctx->submit);
    pthread_mutex_lock(&stream->lock);
    stream->closing = true;
    started = stream->started;
    pthread_cond_signal(&stream->work);
    pthread_mutex_unlock(&stream->lock);
    if (!started) {
        for (struct emu_stream **s = &ctx->streams; *s != NULL; s = &(*s)->next) {
            if (*s == stream) {
                *s = stream->next;
                break;
            }
        }
    }
    pthread_mutex_unlock(&ctx->submit);
    if (!started)
        emu_stream_put(stream);
}

/* A snapshot, so that nobody waits with a lock held. Returns the number; *list is malloc'ed. */
static size_t snapshot(struct emu_ctx *ctx, struct emu_stream ***list)
{
    size_t count = 0, taken = 0;

    pthread_mutex_lock(&ctx->submit);
    for (struct emu_stream *s = ctx->streams; s != NULL; s = s->next)
        count++;
    *list = calloc(count + 1, sizeof(struct emu_stream *));
    for (struct emu_stream *s = ctx->streams; s != NULL && *list != NULL; s = s->next) {
        emu_stream_ref(s);
        (*list)[taken++] = s;
    }
    pthread_mutex_unlock(&ctx->submit);
    return taken;
}

static void release(struct emu_stream **list, size_t count)
{
    /* The analyzer does not count references: each stream of the list has one of its own. */
    for (size_t i = 0; i < count; i++)
        emu_stream_put(list[i]); /* NOLINT(clang-analyzer-unix.Malloc) */
    free(list);
}

void emu_ctx_drain(struct emu_ctx *ctx)
{
    struct emu_stream **list;
    size_t count = snapshot(ctx, &list);

    for (size_t i = 0; i < count; i++)
        emu_stream_wait(list[i], emu_stream_last(list[i]));
    release(list, count);
}

void emu_ctx_implicit_sync(struct emu_ctx *ctx)
{
    if (emu_config()->implicit_sync)
        emu_ctx_drain(ctx);
}

static bool ordered(const struct emu_stream *stream, const struct emu_stream *other)
{
    return other == stream ||
           (stream == stream->ctx->legacy && !(other->flags & CU_STREAM_NON_BLOCKING));
}

void emu_stream_wait_ordered(struct emu_stream *stream)
{
    struct emu_stream **list;
    size_t count = snapshot(stream->ctx, &list);

    for (size_t i = 0; i < count; i++) {
        if (ordered(stream, list[i]))
            emu_stream_wait(list[i], emu_stream_last(list[i]));
    }
    release(list, count);
}

bool emu_stream_done_ordered(struct emu_stream *stream)
{
    bool done = true;

    pthread_mutex_lock(&stream->ctx->submit);
    for (struct emu_stream *s = stream->ctx->streams; s != NULL && done; s = s->next) {
        if (ordered(stream, s))
            done = emu_stream_done(s, emu_stream_last(s));
    }
    pthread_mutex_unlock(&stream->ctx->submit);
    return done;
}

void emu_ctx_kill_streams(struct emu_ctx *ctx)
{
    struct emu_stream **list;
    size_t count = snapshot(ctx, &list);

    for (size_t i = 0; i < count; i++)
        atomic_store(&list[i]->killed, true);
    for (size_t i = 0; i < count; i++)
        emu_stream_close(list[i]);
    release(list, count);
    pthread_mutex_lock(&ctx->submit);
    while (ctx->workers != 0)
        pthread_cond_wait(&ctx->idle, &ctx->submit);
    pthread_mutex_unlock(&ctx->submit);
}
