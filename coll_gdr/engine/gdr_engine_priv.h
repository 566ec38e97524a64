/* Functions that the engine's files share. The caller holds the engine (gdr_engine_t.busy). */
#ifndef GDR_ENGINE_PRIV_H
#define GDR_ENGINE_PRIV_H

#include "engine/gdr_engine_types.h"

/* windows.c: devices, windows and the control page */

/* Opens what is missing: the network, the control page. Tried once. */
gdr_status_t gdr_net_get(gdr_engine_t *engine);
/* The live device of that ordinal, opened if need be. */
gdr_status_t gdr_device_get(gdr_engine_t *engine, int ordinal, gdr_device_t **device);
/* Whether the context that the device was opened in still is there. */
bool gdr_device_alive(const gdr_device_t *device);
/* Looks for devices that were reset: their generation becomes 0, and this process unfit if it was
 * connected. */
void gdr_devices_check(gdr_engine_t *engine);
/* Sees to it that the kernel is loaded. */
gdr_status_t gdr_device_prepare(gdr_device_t *device, gdr_op_t op, gdr_type_t type);
void gdr_devices_close(gdr_engine_t *engine);
/* A window of `nlanes` lanes of `lane_bytes`. */
gdr_status_t gdr_window_make(gdr_device_t *device, uint64_t lane_bytes, uint64_t nlanes,
                             gdr_window_t **window);

/* lanes.c */

/* The largest lane that a communicator may have on the device; plan.lane_bytes: none is larger. */
uint64_t gdr_lane_most(const gdr_device_t *device);
/* A lane for the team, on its device: as large as is wished, or else an ordinary one.
 * GDR_ERR_NO_RESOURCE when neither a lane nor a further window is left. */
gdr_status_t gdr_lane_get(gdr_team_t *team);
/* Between epochs: a larger lane, if one is wished and can be had, in place of the team's. */
void gdr_lane_grow(gdr_team_t *team);
/* The first call number that a new life of the lane may use is greater than this. */
uint64_t gdr_lane_last_call(const gdr_engine_t *engine, const gdr_lane_t *lane);
/* `clean`: nothing can still arrive in it; else nobody gets it again. */
void gdr_lane_release(gdr_engine_t *engine, gdr_lane_t *lane, uint64_t last_call, bool clean);

/* streams.c */

/* `ordered`: the user will enqueue stream waits. */
gdr_status_t gdr_stream_acquire(gdr_device_t *device, bool ordered, gdr_stream_t **stream);
void gdr_stream_release(gdr_stream_t *stream);
/* Sets a word of an abandoned call by the device's side stream: soon, not at once. */
gdr_status_t gdr_side_word(gdr_device_t *device, uint64_t address, uint64_t value);
/* Has the device tell how far it is, if somebody wants to know (urgent: and cannot wait). */
gdr_status_t gdr_stream_mark(gdr_stream_t *stream, bool urgent);
/* Ends the items whose work is done; number of them. */
unsigned gdr_stream_poll(gdr_stream_t *stream);
/* Forgets a context's items: nobody will be told. */
void gdr_stream_forget(gdr_stream_t *stream, const gdr_context_t *context);

/* plans.c */

/* The team's plan for such calls; (*planned)->plan is NULL if no algorithm serves them. */
gdr_status_t gdr_planned_get(gdr_team_t *team, uint64_t count, uint32_t type_bytes,
                             bool commutative, gdr_planned_t **planned);
void gdr_planned_clear(gdr_planned_t *planned);

/* messages.c */

typedef enum gdr_message_type {
    GDR_MESSAGE_VOTE = 1,
    GDR_MESSAGE_VERDICT,
    GDR_MESSAGE_LANE,
    GDR_MESSAGE_ABORT,
    GDR_MESSAGE_RENEW,
    GDR_MESSAGE_ASK,    /* never for an engine: see gdr_ways.h */
    GDR_MESSAGE_HOST,   /* the answer */
    GDR_MESSAGE_WANTED, /* rank 0 misses a vote */
    GDR_MESSAGE_NODES,
    GDR_MESSAGE_BEGIN,
    GDR_MESSAGE_TEAM_LAST = GDR_MESSAGE_BEGIN,
    GDR_MESSAGE_PROC,
    GDR_MESSAGE_WINDOW,
    GDR_MESSAGE_LAST = GDR_MESSAGE_WINDOW
} gdr_message_type_t;

/* team: NULL for the types between processes. Cut into pieces if need be. */
gdr_status_t gdr_message_send(gdr_engine_t *engine, const gdr_team_t *team, int proc,
                              gdr_message_type_t type, const void *payload, size_t bytes);
/* Takes what was delivered; number of messages. */
unsigned gdr_inbox_drain(gdr_engine_t *engine);
/* Messages that came before the team was created. */
void gdr_orphans_adopt(gdr_engine_t *engine, gdr_team_t *team);
void gdr_inbox_free(gdr_inbox_entry_t *entry);

/* peers.c */

gdr_proc_t *gdr_proc_find(gdr_engine_t *engine, int proc); /* NULL: it is not known */
gdr_proc_t *gdr_proc_get(gdr_engine_t *engine, int proc);  /* made if need be; NULL: no memory */
void gdr_procs_close(gdr_engine_t *engine);
/* GDR_MODE_BIT_*: where this process wants its flags, for calls of either kind. */
uint32_t gdr_peers_own_modes(const gdr_team_t *team);
/* Whether this process can map windows of its node, as far as it knows; with a network. */
bool gdr_peers_map(const gdr_engine_t *engine);
/* GDR_OK when every peer of the plan is ready; GDR_INPROGRESS while some lane is awaited. Sets
 * team->unmapped if a window that kernels of the plan read cannot be mapped. */
gdr_status_t gdr_peers_wire(gdr_team_t *team, gdr_planned_t *planned);
gdr_status_t gdr_peers_on_proc(gdr_engine_t *engine, gdr_proc_t *proc, const void *payload,
                               size_t bytes);
gdr_status_t gdr_peers_on_window(gdr_engine_t *engine, gdr_proc_t *proc, const void *payload,
                                 size_t bytes);
gdr_status_t gdr_peers_on_lane(gdr_team_t *team, int32_t rank, uint32_t epoch, const void *payload,
                               size_t bytes);

/* begin.c: calls that all members begin together */

/* Whether puts are carried out by their target's CPU, as far as this process knows. */
bool gdr_begin_due(const gdr_engine_t *engine);
/* Whether all members begin the team's next call together; equal on all. */
bool gdr_begin_is_common(const gdr_team_t *team, const gdr_call_t *call);
/* The team's next call has come up here. GDR_OK when it has on all members, else GDR_INPROGRESS. */
gdr_status_t gdr_begin_together(gdr_team_t *team, gdr_call_t *call);
/* The rank that the call waits for here, after `last` (-1: the first one); -1: no more. */
int32_t gdr_begin_missing(const gdr_team_t *team, uint64_t index, int32_t last);
gdr_status_t gdr_begin_on_message(gdr_team_t *team, int32_t rank, uint32_t epoch,
                                  const void *payload, size_t bytes);

/* vote.c */

void gdr_vote_start(gdr_team_t *team, const gdr_call_desc_t *first);
gdr_status_t gdr_vote_on_vote(gdr_team_t *team, int32_t rank, uint32_t epoch, const void *payload,
                              size_t bytes);
gdr_status_t gdr_vote_on_verdict(gdr_team_t *team, int32_t rank, uint32_t epoch,
                                 const void *payload, size_t bytes);
/* Rank 0 has not got our vote of that epoch. */
gdr_status_t gdr_vote_on_wanted(gdr_team_t *team, int32_t rank, uint32_t epoch, size_t bytes);
/* A member's process serves no call of the communicator on a device. */
void gdr_vote_without(gdr_team_t *team, int32_t rank);
/* To this member's children in the tree that the verdict goes down. */
void gdr_vote_send_down(gdr_team_t *team, gdr_message_type_t type, const void *body, size_t bytes);
uint64_t gdr_vote_hash(const gdr_engine_config_t *config);

/* members.c */

/* What is known of a member; all zero if nothing is. */
const gdr_member_t *gdr_member_look(const gdr_team_t *team, int32_t rank);
/* The member, to write to, made if need be. NULL: no memory. It stays where it is. */
gdr_member_t *gdr_member_get(gdr_team_t *team, int32_t rank);
/* A new epoch: nobody is wired. */
void gdr_members_forget(gdr_team_t *team);
void gdr_members_free(gdr_team_t *team);

/* team.c */

gdr_team_t *gdr_team_find(gdr_engine_t *engine, uint64_t id, uint64_t nonce);
bool gdr_team_is_gone(const gdr_engine_t *engine, uint64_t id, uint64_t nonce);
/* Takes teams that were created or destroyed meanwhile. */
void gdr_teams_update(gdr_engine_t *engine);
void gdr_team_free(gdr_team_t *team);

/* renew.c */

/* Our device's context is gone, or the lane is too small for what comes (no call runs): a new epoch
 * begins with our next vote, for the call with index `from`. */
void gdr_renew_own(gdr_team_t *team, uint64_t from);
/* A member begins an epoch with call `from`, which it has not started: from there on all run again.
 * lane_wish: bytes of the lanes that it wants, 0: as they are. */
gdr_status_t gdr_renew_for(gdr_team_t *team, uint32_t epoch, uint64_t from, uint64_t lane_wish);
gdr_status_t gdr_renew_on_message(gdr_team_t *team, int32_t rank, uint32_t epoch,
                                  const void *payload, size_t bytes);
/* The lane ends with the epoch that it was used in; if its device is gone, so is the lane. */
void gdr_renew_lane_end(gdr_team_t *team);
/* Ends the old epoch once no call of it runs. */
void gdr_renew_progress(gdr_team_t *team);

/* calls.c */

/* Takes posted calls into their teams. */
unsigned gdr_calls_take(gdr_engine_t *engine);
/* Starts, advances and completes the team's calls; number of events. */
unsigned gdr_calls_progress(gdr_team_t *team);
void gdr_call_finish(gdr_call_t *call, gdr_status_t status);
/* An abandoned call that has come to rest goes back where it was in the queue. */
void gdr_call_requeue(gdr_call_t *call);
/* Ends all queued calls of the team. */
void gdr_calls_refuse(gdr_team_t *team, gdr_status_t status);
/* The call with that index is a host call on some member, hence on all. */
void gdr_calls_turn(gdr_team_t *team, uint64_t index);
void gdr_call_free(gdr_call_t *call);

/* contexts.c */

gdr_status_t gdr_context_take(gdr_call_t *call, uint32_t index, gdr_context_t **context);
void gdr_context_give(gdr_context_t *context);
void gdr_context_free(gdr_context_t *context);
void gdr_context_begin(gdr_context_t *context, uint64_t segment);
/* GDR_OK: the context has run its last segment. */
gdr_status_t gdr_context_progress(gdr_context_t *context);

/* issue.c: what a step does */

gdr_status_t gdr_issue_kernel(gdr_context_t *context, uint32_t item);
/* Hands a put to the network, or holds it until its credit is there and its channel free. */
gdr_status_t gdr_issue_put(gdr_context_t *context, uint32_t item);
/* Posts the puts that are held and may go now. */
gdr_status_t gdr_issue_held(gdr_context_t *context);
gdr_status_t gdr_issue_source(gdr_context_t *context, uint32_t item);
uint64_t gdr_wait_address(const gdr_context_t *context, uint32_t item);

/* host.c, ordered.c: which step goes next */

gdr_status_t gdr_host_advance(gdr_context_t *context);
gdr_status_t gdr_ordered_advance(gdr_context_t *context);

/* nodes.c: which members share a node */

/* Rank 0: tells all, after the last vote and before the verdict. */
void gdr_nodes_tell(gdr_team_t *team);
gdr_status_t gdr_nodes_on_message(gdr_team_t *team, int32_t rank, uint32_t epoch,
                                  const void *payload, size_t bytes);
/* With the verdict: what was told is for plans from now on. */
gdr_status_t gdr_nodes_settle(gdr_team_t *team, bool mapped);

/* fail.c */

/* The team is dead: abandons its calls, tells the others. First cause wins. */
void gdr_team_fail(gdr_team_t *team, gdr_status_t status);
/* Tells a member of a dead team that it is dead. */
void gdr_fail_tell(gdr_team_t *team, int32_t rank);
gdr_status_t gdr_fail_on_abort(gdr_team_t *team, int32_t rank, const void *payload, size_t bytes);
/* Stops the call's work; `again`: it will be queued once more. */
void gdr_call_abandon(gdr_call_t *call, gdr_status_t status, bool again);
/* Tells the call's kernels to write nothing, and lets the stream pass the waits that are in it. */
void gdr_context_let_go(const gdr_context_t *context);
/* Abandoned: whether the stream has done what was in it. */
bool gdr_context_stream_rests(const gdr_context_t *context);
/* Whether an abandoned call has come to rest. */
bool gdr_abandoned_rests(gdr_call_t *call);
gdr_status_t gdr_fail_check(gdr_team_t *team); /* peers and streams, now and then */

/* lost.c */

/* The network's news that a peer of the engine `ctx` has failed. */
void gdr_lost_hear(void *ctx);
/* Ends what a failed peer ends; after gdr_lost_hear(), before anything else goes on. */
void gdr_lost_end_calls(gdr_engine_t *engine);
/* Whether the network must not go on yet: it may wait for streams that wait for words. */
bool gdr_lost_holds(const gdr_engine_t *engine);
/* GDR_OK, or the error of the connection to a member. */
gdr_status_t gdr_lost_members(const gdr_team_t *team);

/* ask.c */

/* For a running call to which nothing has happened since the last look: asks those members that it
 * waits for, when it is time. */
void gdr_ask_running(gdr_call_t *call);
/* The same for the first queued call, of which there is one. */
void gdr_ask_queued(gdr_team_t *team);
/* "Host" is the answer now to questions that were asked before. */
void gdr_ask_answer_due(gdr_team_t *team);
gdr_status_t gdr_ask_on_host(gdr_team_t *team, int32_t rank, const void *payload, size_t bytes);

/* explain.c */

void gdr_explain_check(gdr_team_t *team); /* the timeout */

static inline gdr_engine_t *gdr_context_engine(const gdr_context_t *context)
{
    return context->call->team->engine;
}

static inline void gdr_stat_add(uint64_t *counter, uint64_t amount)
{
    __atomic_store_n(counter, *counter + amount, __ATOMIC_RELAXED);
}

static inline uint64_t gdr_word_load(const void *address)
{
    return __atomic_load_n((const uint64_t *)address, __ATOMIC_ACQUIRE);
}

#endif
