/* Events: a record is a place in a stream; waiting and asking look at that place. */
#include "cuda_emu/core/event.h"

#include <unistd.h>

struct record_op {
    struct emu_op op;
    struct record *record;
    struct emu_event_words *words; /* the event's, which outlives its pending records */
    uint64_t number;
};
struct empty_op {
    struct emu_op op;
};

static struct emu_event *events; /* all that live; guarded by list_lock */
static pthread_mutex_t list_lock = PTHREAD_MUTEX_INITIALIZER;

static void put_record(struct record *record)
{
    if (record == NULL || atomic_fetch_sub(&record->refs, 1) != 1)
        return;
    emu_stream_put(record->stream);
    free(record);
}

static struct record *get_record(struct emu_event *event)
{
    struct record *record;

    pthread_mutex_lock(&event->lock);
    record = event->record;
    if (record != NULL)
        atomic_fetch_add(&record->refs, 1);
    pthread_mutex_unlock(&event->lock);
    return record;
}

static CUresult enter_event(const char *function, CUevent handle, struct emu_ctx **ctx,
                            struct emu_event **event)
{
    CUresult rc = emu_enter_ctx(function, ctx);

    if (rc != CUDA_SUCCESS)
        return rc;
    if (!emu_handle_is(handle, EMU_TYPE_EVENT))
        return CUDA_ERROR_INVALID_HANDLE;
    *event = (struct emu_event *)handle;
    return CUDA_SUCCESS;
}

struct emu_event *emu_event_new(struct emu_ctx *ctx, unsigned flags)
{
    struct emu_event *event = calloc(1, sizeof(*event));

    if (event == NULL || !emu_handle_add(event, EMU_TYPE_EVENT)) {
        free(event);
        return NULL;
    }
    event->ctx = ctx;
    event->ctx_id = ctx->id;
    event->flags = flags;
    event->words_fd = -1;
    pthread_mutex_init(&event->lock, NULL);
    pthread_mutex_lock(&list_lock);
    event->next = events;
    events = event;
    pthread_mutex_unlock(&list_lock);
    return event;
}

/* Out of the list already. */
static void free_event(struct emu_event *event)
{
    emu_handle_remove(event);
    emu_event_unshare(event);
    put_record(event->record);
    pthread_mutex_destroy(&event->lock);
    free(event);
}

static void unlink_event(struct emu_event *event)
{
    pthread_mutex_lock(&list_lock);
    for (struct emu_event **e = &events; *e != NULL; e = &(*e)->next) {
        if (*e == event) {
            *e = event->next;
            break;
        }
    }
    pthread_mutex_unlock(&list_lock);
}

CUresult CUDAAPI cuEventCreate(CUevent *out, unsigned int flags)
{
    const unsigned known = CU_EVENT_BLOCKING_SYNC | CU_EVENT_DISABLE_TIMING | CU_EVENT_INTERPROCESS;
    struct emu_ctx *ctx;
    CUresult rc = emu_enter_ctx(__func__, &ctx);
    struct emu_event *event;

    if (rc != CUDA_SUCCESS)
        return rc;
    if (out == NULL || (flags & ~known) != 0 ||
        ((flags & CU_EVENT_INTERPROCESS) != 0 && (flags & CU_EVENT_DISABLE_TIMING) == 0))
        return CUDA_ERROR_INVALID_VALUE;
    event = emu_event_new(ctx, flags);
    if (event != NULL && (flags & CU_EVENT_INTERPROCESS) != 0 && !emu_event_share(event)) {
        unlink_event(event);
        free_event(event);
        event = NULL;
    }
    if (event == NULL)
        return CUDA_ERROR_OUT_OF_MEMORY;
    *out = (CUevent)event;
    return CUDA_SUCCESS;
}

/* Like cuEventQuery it finds the context by the handle: UCX cleans up without a current one. */
CUresult CUDAAPI cuEventDestroy(CUevent handle)
{
    struct emu_event *event = (struct emu_event *)handle;
    CUresult rc = emu_enter(__func__);

    if (rc != CUDA_SUCCESS)
        return rc;
    if (!emu_handle_is(handle, EMU_TYPE_EVENT))
        return CUDA_ERROR_INVALID_HANDLE;
    unlink_event(event);
    free_event(event);
    return CUDA_SUCCESS;
}

void emu_event_drop_ctx(struct emu_ctx *ctx)
{
    struct emu_event *doomed = NULL, *event;

    pthread_mutex_lock(&list_lock);
    for (struct emu_event **e = &events; *e != NULL;) {
        event = *e;
        if (event->ctx != ctx || event->ctx_id != ctx->id) {
            e = &event->next;
            continue;
        }
        *e = event->next;
        event->next = doomed;
        doomed = event;
    }
    pthread_mutex_unlock(&list_lock);
    while (doomed != NULL) {
        event = doomed;
        doomed = event->next;
        free_event(event);
    }
}

static CUresult run_record(struct emu_op *op, struct emu_stream *stream)
{
    struct record_op *r = (struct record_op *)op;

    (void)stream;
    atomic_store(&r->record->ns, emu_now_ns());
    if (r->words != NULL)
        emu_event_words_complete(r->words, r->number);
    return CUDA_SUCCESS;
}

static void drop_record(struct emu_op *op)
{
    put_record(((struct record_op *)op)->record);
}

static CUresult record_on(struct emu_event *event, struct emu_stream *stream)
{
    struct record_op *op = emu_op_new(sizeof(*op), "event record", run_record);
    struct record *record = calloc(1, sizeof(*record)), *old;
    CUresult rc;

    if (op == NULL || record == NULL) {
        free(op);
        free(record);
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    emu_stream_ref(stream);
    record->stream = stream;
    atomic_store(&record->refs, 2);
    op->record = record;
    op->op.drop = drop_record;
    op->op.no_delay = true;
    op->words = event->words;
    op->number = event->words == NULL ? 0 : emu_event_words_record(event);
    rc = emu_submit(stream, &op->op, &record->seq);
    if (rc != CUDA_SUCCESS) {
        put_record(record);
        return rc;
    }
    pthread_mutex_lock(&event->lock);
    old = event->record;
    event->record = record;
    pthread_mutex_unlock(&event->lock);
    put_record(old);
    return CUDA_SUCCESS;
}

static CUresult event_record(const char *function, CUevent handle, CUstream on)
{
    struct emu_ctx *ctx;
    struct emu_event *event;
    struct emu_stream *stream;
    CUresult rc = enter_event(function, handle, &ctx, &event);

    if (rc != CUDA_SUCCESS)
        return rc;
    if (event->ctx != ctx)
        return CUDA_ERROR_INVALID_HANDLE;
    rc = emu_stream_get(ctx, on, &stream);
    if (rc != CUDA_SUCCESS)
        return rc;
    rc = record_on(event, stream);
    emu_stream_put(stream);
    return rc;
}

CUresult CUDAAPI cuEventRecord(CUevent handle, CUstream on)
{
    return event_record(__func__, handle, on);
}

CUresult CUDAAPI cuEventRecordWithFlags(CUevent handle, CUstream on, unsigned int flags)
{
    if ((flags & ~(unsigned)CU_EVENT_RECORD_EXTERNAL) != 0)
        return CUDA_ERROR_INVALID_VALUE;
    return event_record(__func__, handle, on);
}

/*
 * Needs no current context: UCX asks its events from threads that have none. Forbidden while
 * somebody captures, like the other calls that look at what a stream has done.
 */
CUresult CUDAAPI cuEventQuery(CUevent handle)
{
    struct emu_event *event = (struct emu_event *)handle;
    CUresult rc = emu_enter(__func__);
    struct record *record;

    if (rc != CUDA_SUCCESS)
        return rc;
    if (!emu_handle_is(handle, EMU_TYPE_EVENT))
        return CUDA_ERROR_INVALID_HANDLE;
    rc = emu_capture_forbids_unsafe();
    if (rc != CUDA_SUCCESS)
        return rc;
    record = get_record(event);
    if (!emu_event_words_done(event) ||
        (record != NULL && !emu_stream_done(record->stream, record->seq)))
        rc = CUDA_ERROR_NOT_READY;
    else
        rc = atomic_load(&event->ctx->sticky);
    put_record(record);
    return rc;
}

CUresult CUDAAPI cuEventSynchronize(CUevent handle)
{
    struct emu_ctx *ctx;
    struct emu_event *event;
    CUresult rc = enter_event(__func__, handle, &ctx, &event);
    struct record *record;

    if (rc == CUDA_SUCCESS)
        rc = emu_capture_forbids_unsafe();
    if (rc != CUDA_SUCCESS)
        return rc;
    record = get_record(event);
    if (record != NULL)
        emu_stream_wait(record->stream, record->seq);
    put_record(record);
    while (!emu_event_words_done(event))
        usleep(100);
    return atomic_load(&ctx->sticky);
}

static CUresult elapsed(struct emu_event *from, struct emu_event *to, float *ms)
{
    struct record *a = get_record(from), *b = get_record(to);
    CUresult rc = CUDA_SUCCESS;

    if (a == NULL || b == NULL) {
        rc = CUDA_ERROR_INVALID_HANDLE;
    } else if (!emu_stream_done(a->stream, a->seq) || !emu_stream_done(b->stream, b->seq)) {
        rc = CUDA_ERROR_NOT_READY;
    } else {
        double ns = (double)atomic_load(&b->ns) - (double)atomic_load(&a->ns);

        *ms = (float)(ns / 1e6);
    }
    put_record(a);
    put_record(b);
    return rc;
}

static CUresult elapsed_time(const char *function, float *ms, CUevent from, CUevent to)
{
    struct emu_ctx *ctx;
    struct emu_event *a, *b;
    CUresult rc = enter_event(function, from, &ctx, &a);

    if (rc != CUDA_SUCCESS)
        return rc;
    if (!emu_handle_is(to, EMU_TYPE_EVENT))
        return CUDA_ERROR_INVALID_HANDLE;
    b = (struct emu_event *)to;
    if (ms == NULL)
        return CUDA_ERROR_INVALID_VALUE;
    if ((a->flags | b->flags) & CU_EVENT_DISABLE_TIMING)
        return CUDA_ERROR_INVALID_HANDLE;
    return elapsed(a, b, ms);
}

#undef cuEventElapsedTime
CUresult CUDAAPI cuEventElapsedTime(float *ms, CUevent from, CUevent to);
CUresult CUDAAPI cuEventElapsedTime(float *ms, CUevent from, CUevent to)
{
    return elapsed_time("cuEventElapsedTime", ms, from, to);
}

CUresult CUDAAPI cuEventElapsedTime_v2(float *ms, CUevent from, CUevent to);
CUresult CUDAAPI cuEventElapsedTime_v2(float *ms, CUevent from, CUevent to)
{
    return elapsed_time("cuEventElapsedTime_v2", ms, from, to);
}

static CUresult run_nothing(struct emu_op *op, struct emu_stream *stream)
{
    (void)op;
    (void)stream;
    return CUDA_SUCCESS;
}

/* What is submitted to `stream` from now on waits for the latest record of the event. */
static CUresult wait_on(struct emu_stream *stream, struct emu_event *event)
{
    struct record *record;
    struct empty_op *op;
    CUresult rc;

    if (event->words != NULL)
        return emu_event_words_wait(stream, event);
    record = get_record(event);
    if (record == NULL)
        return CUDA_SUCCESS;
    op = emu_op_new(sizeof(*op), "event wait", run_nothing);
    if (op == NULL) {
        put_record(record);
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    op->op.no_delay = true;
    rc = emu_op_depend(&op->op, record->stream, record->seq);
    put_record(record);
    if (rc != CUDA_SUCCESS) {
        free(op);
        return rc;
    }
    return emu_submit(stream, &op->op, NULL);
}

CUresult CUDAAPI cuStreamWaitEvent(CUstream on, CUevent handle, unsigned int flags)
{
    struct emu_ctx *ctx;
    struct emu_event *event;
    struct emu_stream *stream;
    CUresult rc = enter_event(__func__, handle, &ctx, &event);

    if (rc != CUDA_SUCCESS)
        return rc;
    if ((flags & ~(unsigned)CU_EVENT_WAIT_EXTERNAL) != 0)
        return CUDA_ERROR_INVALID_VALUE;
    rc = emu_stream_get_any(ctx, on, &stream);
    if (rc != CUDA_SUCCESS)
        return rc;
    rc = wait_on(stream, event);
    emu_stream_put(stream);
    return rc;
}
