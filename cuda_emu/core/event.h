/* Events; see event.c, and event_ipc.c for those that processes share. */
#ifndef EMU_EVENT_H
#define EMU_EVENT_H

#include "cuda_emu/core/emu.h"

/* One cuEventRecord. The operation and the event hold references. */
struct record {
    atomic_int refs;
    struct emu_stream *stream; /* a reference */
    uint64_t seq;
    atomic_ullong ns; /* when it ran */
};
struct emu_event {
    struct emu_ctx *ctx;
    uint64_t ctx_id;
    unsigned flags;
    pthread_mutex_t lock;
    struct record *record;         /* NULL: never recorded, which counts as done */
    struct emu_event_words *words; /* CU_EVENT_INTERPROCESS: shared with other processes */
    int words_fd;
    struct emu_event *next;
};

/* In memory that processes share: the event is done when `completed` has reached `recorded`. */
struct emu_event_words {
    atomic_ullong recorded, completed;
};

/* event.c: an event in the current context, in the list of events; NULL: no memory. */
struct emu_event *emu_event_new(struct emu_ctx *ctx, unsigned flags);

/* event_ipc.c */
bool emu_event_share(struct emu_event *event); /* makes the words */
void emu_event_unshare(struct emu_event *event);
uint64_t emu_event_words_record(struct emu_event *event);
void emu_event_words_complete(struct emu_event_words *words, uint64_t number);
bool emu_event_words_done(const struct emu_event *event);
CUresult emu_event_words_wait(struct emu_stream *stream, struct emu_event *event);

#endif
