/*
 * Logging without global state: whoever opens a room hands it a gdr_log_t, which must outlive it.
 * A message is one line without a newline: lower case, exact cause, units. The first function that
 * detects an error logs it; callers propagate the status.
 */
#ifndef GDR_LOG_H
#define GDR_LOG_H

typedef enum gdr_log_level {
    GDR_LOG_ERROR = 0, /* always shown */
    GDR_LOG_WARN = 1,  /* what a user must know, once */
    GDR_LOG_INFO = 2,  /* which path runs and why */
    GDR_LOG_DEBUG = 3, /* set-up details */
    GDR_LOG_TRACE = 4  /* every call */
} gdr_log_level_t;

typedef struct gdr_log {
    int level; /* messages above it are not formatted */
    void (*emit)(void *ctx, gdr_log_level_t level, const char *message); /* any thread */
    void *ctx;
} gdr_log_t;

/* Formats into at most 1 KiB and emits; a NULL log drops the message. */
void gdr_log_write(const gdr_log_t *log, gdr_log_level_t level, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

#define GDR_LOG(log, lvl, ...)                                                                     \
    do {                                                                                           \
        if ((log) != 0 && (int)(lvl) <= (log)->level)                                              \
            gdr_log_write((log), (lvl), __VA_ARGS__);                                              \
    } while (0)

#define gdr_error(log, ...) GDR_LOG(log, GDR_LOG_ERROR, __VA_ARGS__)
#define gdr_warn(log, ...)  GDR_LOG(log, GDR_LOG_WARN, __VA_ARGS__)
#define gdr_info(log, ...)  GDR_LOG(log, GDR_LOG_INFO, __VA_ARGS__)
#define gdr_debug(log, ...) GDR_LOG(log, GDR_LOG_DEBUG, __VA_ARGS__)
#define gdr_trace(log, ...) GDR_LOG(log, GDR_LOG_TRACE, __VA_ARGS__)

#endif
