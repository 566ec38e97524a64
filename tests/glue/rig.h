/*
 * Two processes with a window, a control page and a connection each: what the engine has, without
 * an engine and without MPI. Everything that fails ends the process with a line that says what.
 */
#ifndef GDR_TEST_GLUE_RIG_H
#define GDR_TEST_GLUE_RIG_H

#include "device/gdr_device.h"
#include "ucx_glue/gdr_ucx.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define MIB       ((size_t)1 << 20)
#define MAX_DATA  (4 * MIB)
#define AT_SOURCE ((uint64_t)0)
#define AT_TARGET ((uint64_t)MAX_DATA)
#define AT_SEEN   ((uint64_t)2 * MAX_DATA) /* what the receiver's stream found behind the flag */
#define WORDS_AT  ((uint64_t)3 * MAX_DATA) /* words to send, then the flags that arrive */
#define FLAGS_AT  (WORDS_AT + 32768)
#define WINDOW    (3 * MAX_DATA + 65536)

/* Words of the control page, by index. */
enum { PAGE_SOURCE = 0, PAGE_FLAG = 8, PAGE_CREDIT_SOURCE = 16, PAGE_CREDIT = 24, PAGE_DONE = 32 };
#define PAGE_AT(word) ((uint64_t)(word) * sizeof(uint64_t))
#define PAGE_BYTES    ((size_t)65536)

typedef struct rig_options {
    bool host;           /* windows in host memory: no CUDA */
    bool no_peer_errors; /* see gdr_ucx_params_t */
    int rounds;
    int verbose; /* a gdr_log_level_t */
    const char *library;
} rig_options_t;

typedef struct rig {
    const rig_options_t *options;
    int rank; /* 0 or 1 */
    int socket;
    pid_t child; /* rank 0's; 0 once it has been waited for */
    gdr_log_t log;

    const gdr_dev_ops_t *dev_ops;
    gdr_dev_t *dev;
    gdr_dev_stream_t *stream;
    gdr_dev_caps_t caps;
    uint64_t window;
    volatile uint64_t *page;
    uint64_t page_on_device;

    gdr_ucx_counters_t counters;
    const gdr_net_ops_t *ops;
    gdr_net_t *net;
    gdr_net_mem_t *window_mem, *page_mem;
    gdr_net_peer_t *peer;
    gdr_net_rmem_t *peer_window, *peer_page;
} rig_t;

/* Ends the process with a line when the condition is false. */
#define NEED(rig, condition, ...)                                                                  \
    do {                                                                                           \
        if (!(condition))                                                                          \
            rig_fail((rig), #condition, __VA_ARGS__);                                              \
    } while (0)

void rig_fail(const rig_t *rig, const char *condition, const char *format, ...)
    __attribute__((noreturn, format(printf, 3, 4)));

/* What the watchdog prints when the process hangs. */
void rig_state(const rig_t *rig, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* From now on the process has this many seconds. */
void rig_watchdog(unsigned seconds);
double rig_seconds(void);

/* False: there is no device here. */
bool rig_open(rig_t *rig);
void rig_connect(rig_t *rig);
void rig_close(rig_t *rig);
/* What cudaDeviceReset does, then a new window in the new context, known to the peer. */
void rig_reset_device(rig_t *rig);
/* Both processes are here; the network makes progress while waiting. */
void rig_barrier(rig_t *rig);

/* The window: a pattern that differs at every byte, round and rank; words; what is there. */
void rig_fill(rig_t *rig, uint64_t offset, size_t bytes, uint64_t seed);
void rig_check(rig_t *rig, uint64_t offset, size_t bytes, uint64_t seed);
void rig_set_word(rig_t *rig, uint64_t offset, uint64_t value);
/* Copies inside the window by a kernel; waits for it. */
void rig_copy(rig_t *rig, uint64_t from_address, uint64_t to_offset, size_t bytes);

/* Both processes give the other a region of theirs: the other's, to be released. */
gdr_net_rmem_t *rig_swap_keys(rig_t *rig, gdr_net_mem_t *mem);
/* Runs `work` while this thread captures a graph in the strictest mode, which must survive it. */
void rig_capture(rig_t *rig, void (*work)(rig_t *rig));
/* Progress until the operation is done; its status must be GDR_OK. */
void rig_finish(rig_t *rig, gdr_net_op_t *op);
/* Plain loads of a word of the control page until it has reached value; `progress`: with the
 * network's help. False after `seconds`. */
bool rig_await(rig_t *rig, int word, uint64_t value, bool progress, double seconds);

#endif
