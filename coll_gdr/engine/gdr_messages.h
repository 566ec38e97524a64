/* Control messages of the engine: what travels through gdr_ctl.h. All machines are alike. */
#ifndef GDR_MESSAGES_H
#define GDR_MESSAGES_H

#include "engine/gdr_ctl.h"
#include "engine/gdr_engine_types.h"

enum {
    GDR_MESSAGE_MAGIC = 0x47445234, /* "GDR4": also the version of what follows */
    GDR_MESSAGE_TOTAL_MAX = 64 * 1024,
    GDR_ORPHAN_BYTES_MAX = 1 << 20
};

typedef struct gdr_message_head {
    uint32_t magic;
    uint16_t type;          /* gdr_message_type_t */
    uint16_t bytes;         /* of this piece's payload */
    uint32_t total, offset; /* of the whole payload; of this piece in it */
    uint64_t team, nonce;   /* 0 between processes */
    int32_t rank;           /* the sender's in the team */
    uint32_t epoch;         /* of the team: how often its lanes were made anew */
} gdr_message_head_t;

enum { GDR_MESSAGE_PIECE = GDR_CTL_MAX - sizeof(gdr_message_head_t) };

typedef struct gdr_vote_body {
    uint32_t can;
    int32_t compute_capability;
    uint32_t stream_words;
    uint32_t maps; /* the voter can map windows of its node, as far as it knows */
    uint32_t emulates; /* puts are carried out by the target's CPU, as far as it knows */
    uint32_t waits;    /* streams may wait for words */
    uint64_t config_hash;
    uint64_t last_call;
    uint64_t from;                 /* of a new epoch, see gdr_team_t */
    uint64_t index;                /* of the voter's first device call that is not over */
    uint64_t node;                 /* gdr_engine_config_t.node */
    uint64_t lane_bytes;           /* of the voter's lane, */
    uint64_t lane_most;            /* the largest that it could have, */
    uint64_t lane_wish;            /* and what its calls want */
    char reason[GDR_REASON_BYTES]; /* terminated */
} gdr_vote_body_t;

typedef struct gdr_verdict_body {
    uint32_t go;
    int32_t decliner;
    uint32_t stream_words;
    uint32_t mapped;   /* plans read windows of the node */
    uint32_t emulates; /* all begin a call together */
    uint32_t waits;    /* fewer contexts are chosen */
    uint64_t base;
    uint64_t first;                 /* index of the first call in the lanes */
    uint64_t lane_bytes, lane_most; /* the least of the votes' */
    char reason[GDR_REASON_BYTES];
} gdr_verdict_body_t;

/* Before the verdict and along its tree, if it matters to plans: on which nodes members are. */
typedef struct gdr_nodes_body {
    uint32_t first, n; /* members; behind it the number of each one's node, uint32_t, from 0 on */
} gdr_nodes_body_t;

typedef struct gdr_renew_body {
    uint64_t from; /* index of the first call of the new epoch */
    uint64_t lane_wish;
} gdr_renew_body_t;

typedef struct gdr_ask_body {
    uint64_t index; /* of the call in question */
} gdr_ask_body_t;

typedef struct gdr_begin_body {
    uint64_t index; /* of the call that the sender, and others for which it speaks, have come to */
} gdr_begin_body_t;

typedef struct gdr_lane_body {
    uint32_t window;
    uint32_t modes;
    uint64_t offset, ctl_offset;
} gdr_lane_body_t;

typedef struct gdr_abort_body {
    int32_t status;
    uint32_t reserved;
} gdr_abort_body_t;

typedef struct gdr_proc_body {
    uint32_t address_bytes, page_bytes;
    uint8_t data[]; /* worker address, then the control page's key */
} gdr_proc_body_t;

typedef struct gdr_window_body {
    uint32_t id, bytes;
    uint8_t data[]; /* key */
} gdr_window_body_t;

struct gdr_inbox_entry {
    gdr_inbox_entry_t *next;
    int proc;
    uint32_t bytes;
    uint8_t data[]; /* a piece, as it came */
};

#endif
