#include "engine/gdr_messages.h"
#include "base/gdr_math.h"
#include "engine/gdr_engine_priv.h"
#include "engine/gdr_lock.h"

#include <stdlib.h>
#include <string.h>

gdr_status_t gdr_message_send(gdr_engine_t *engine, const gdr_team_t *team, int proc,
                              gdr_message_type_t type, const void *payload, size_t bytes)
{
    struct {
        gdr_message_head_t head;
        uint8_t data[GDR_MESSAGE_PIECE];
    } message;
    size_t offset = 0;

    memset(&message.head, 0, sizeof(message.head));
    message.head.magic = GDR_MESSAGE_MAGIC;
    message.head.type = (uint16_t)type;
    message.head.total = (uint32_t)bytes;
    if (team != NULL) {
        message.head.team = team->id;
        message.head.nonce = team->nonce;
        message.head.rank = team->rank;
        message.head.epoch = team->epoch;
    }
    do {
        size_t piece = gdr_min_u64(bytes - offset, GDR_MESSAGE_PIECE);
        gdr_status_t status;

        message.head.offset = (uint32_t)offset;
        message.head.bytes = (uint16_t)piece;
        if (piece > 0)
            memcpy(message.data, (const uint8_t *)payload + offset, piece);
        status = engine->ports.ctl.send(engine->ports.ctl.ctx, proc, &message,
                                        sizeof(message.head) + piece);
        if (status != GDR_OK) {
            gdr_error(engine->ports.log, "control message of type %d to process %d: %s", (int)type,
                      proc, gdr_status_string(status));
            return status;
        }
        offset += piece;
    } while (offset < bytes);
    return GDR_OK;
}

void gdr_engine_deliver(gdr_engine_t *engine, int proc, const void *message, size_t bytes)
{
    gdr_inbox_entry_t *entry;

    if (bytes > GDR_CTL_MAX) {
        gdr_error(engine->ports.log,
                  "control message of %zu bytes from process %d dropped: too long", bytes, proc);
        return;
    }
    entry = malloc(sizeof(*entry) + bytes);
    if (entry == NULL) {
        __atomic_store_n(&engine->missed, 1, __ATOMIC_RELAXED);
        __atomic_store_n(&engine->work, 1, __ATOMIC_RELEASE);
        return;
    }
    entry->next = NULL;
    entry->proc = proc;
    entry->bytes = (uint32_t)bytes;
    if (bytes > 0)
        memcpy(entry->data, message, bytes);
    gdr_lock(&engine->queue_lock);
    *engine->inbox_end = entry;
    engine->inbox_end = &entry->next;
    gdr_unlock(&engine->queue_lock);
    __atomic_store_n(&engine->work, 1, __ATOMIC_RELEASE);
}

void gdr_inbox_free(gdr_inbox_entry_t *entry)
{
    while (entry != NULL) {
        gdr_inbox_entry_t *next = entry->next;

        free(entry);
        entry = next;
    }
}

static const char *head_error(const gdr_inbox_entry_t *entry, gdr_message_head_t *head)
{
    bool whole;

    if (entry->bytes < sizeof(*head))
        return "shorter than a header";
    memcpy(head, entry->data, sizeof(*head));
    if (head->magic != GDR_MESSAGE_MAGIC)
        return "not a message of this version";
    if (head->type == 0 || head->type > GDR_MESSAGE_LAST)
        return "unknown type";
    if (head->bytes != entry->bytes - sizeof(*head))
        return "length does not match its header";
    if (head->total > GDR_MESSAGE_TOTAL_MAX || head->offset > head->total ||
        head->bytes > head->total - head->offset)
        return "pieces do not fit";
    whole = head->bytes == head->total;
    if (head->type <= GDR_MESSAGE_TEAM_LAST && !whole)
        return "a team's message in pieces";
    if (!whole && head->bytes == 0)
        return "an empty piece";
    return NULL;
}

/* GDR_ERR_INVALID: the body makes no sense. Other errors: it would be missed, so the team ends. */
static gdr_status_t team_message(gdr_team_t *team, const gdr_message_head_t *head, const void *body)
{
    switch (head->type) {
    case GDR_MESSAGE_VOTE:
        return gdr_vote_on_vote(team, head->rank, head->epoch, body, head->bytes);
    case GDR_MESSAGE_VERDICT:
        return gdr_vote_on_verdict(team, head->rank, head->epoch, body, head->bytes);
    case GDR_MESSAGE_NODES:
        return gdr_nodes_on_message(team, head->rank, head->epoch, body, head->bytes);
    case GDR_MESSAGE_LANE:
        return gdr_peers_on_lane(team, head->rank, head->epoch, body, head->bytes);
    case GDR_MESSAGE_BEGIN:
        return gdr_begin_on_message(team, head->rank, head->epoch, body, head->bytes);
    case GDR_MESSAGE_RENEW:
        return gdr_renew_on_message(team, head->rank, head->epoch, body, head->bytes);
    case GDR_MESSAGE_HOST:
        return gdr_ask_on_host(team, head->rank, body, head->bytes);
    case GDR_MESSAGE_WANTED:
        return gdr_vote_on_wanted(team, head->rank, head->epoch, head->bytes);
    case GDR_MESSAGE_ASK:
        return GDR_ERR_INVALID;
    default:
        return gdr_fail_on_abort(team, head->rank, body, head->bytes);
    }
}

static void reject(gdr_engine_t *engine, const gdr_inbox_entry_t *entry, const char *why)
{
    gdr_warn(engine->ports.log, "control message of %u bytes from process %d rejected: %s",
             entry->bytes, entry->proc, why);
}

static void to_team(gdr_team_t *team, const gdr_inbox_entry_t *entry,
                    const gdr_message_head_t *head)
{
    gdr_engine_t *engine = team->engine;
    gdr_status_t status;

    if (head->rank < 0 || head->rank >= team->size || team->procs[head->rank] != entry->proc) {
        reject(engine, entry, "sender is not that member");
        return;
    }
    status = team_message(team, head, entry->data + sizeof(*head));
    if (status == GDR_ERR_INVALID)
        reject(engine, entry, "body makes no sense");
    else if (status != GDR_OK)
        gdr_team_fail(team, status);
}

/* Takes the entry over. Where too many are kept the oldest goes: a communicator that is about to be
 * made was written to lately, one that is long gone may have been written to at any time. */
static void keep_orphan(gdr_engine_t *engine, gdr_inbox_entry_t *entry)
{
    while (engine->orphans != NULL && engine->orphan_bytes + entry->bytes > GDR_ORPHAN_BYTES_MAX) {
        gdr_inbox_entry_t *oldest = engine->orphans;

        reject(engine, oldest, "too many are kept for communicators that do not exist here");
        engine->orphan_bytes -= oldest->bytes;
        engine->orphans = oldest->next;
        if (engine->orphans == NULL)
            engine->orphans_end = &engine->orphans;
        free(oldest);
    }
    engine->orphan_bytes += entry->bytes;
    entry->next = NULL;
    *engine->orphans_end = entry;
    engine->orphans_end = &entry->next;
}

static gdr_status_t proc_message(gdr_engine_t *engine, gdr_proc_t *proc, uint16_t type,
                                 const uint8_t *body, size_t bytes)
{
    if (type == GDR_MESSAGE_PROC)
        return gdr_peers_on_proc(engine, proc, body, bytes);
    return gdr_peers_on_window(engine, proc, body, bytes);
}

static void assembly_drop(gdr_proc_t *proc)
{
    free(proc->parts);
    proc->parts = NULL;
}

/* Pieces of a process come in order, one message after the other. */
static gdr_status_t assemble(gdr_proc_t *proc, const gdr_message_head_t *head, const uint8_t *data)
{
    if (head->offset == 0) {
        assembly_drop(proc);
        proc->parts = malloc(head->total + 1);
        if (proc->parts == NULL)
            return GDR_ERR_NO_MEMORY;
        proc->parts_type = (uint8_t)head->type;
        proc->parts_total = head->total;
        proc->parts_have = 0;
    }
    if (proc->parts == NULL || proc->parts_type != head->type || proc->parts_total != head->total ||
        proc->parts_have != head->offset)
        return GDR_ERR_INVALID;
    memcpy(proc->parts + head->offset, data, head->bytes);
    proc->parts_have += head->bytes;
    return proc->parts_have == proc->parts_total ? GDR_OK : GDR_INPROGRESS;
}

static void to_proc(gdr_engine_t *engine, const gdr_inbox_entry_t *entry,
                    const gdr_message_head_t *head)
{
    gdr_proc_t *proc = gdr_proc_get(engine, entry->proc);
    gdr_status_t status = GDR_ERR_NO_MEMORY;

    if (proc != NULL)
        status = assemble(proc, head, entry->data + sizeof(*head));
    if (status == GDR_OK) {
        status = proc_message(engine, proc, head->type, proc->parts, proc->parts_total);
        assembly_drop(proc);
    }
    if (status != GDR_OK && status != GDR_INPROGRESS)
        reject(engine, entry, gdr_status_string(status));
}

/* Takes the entry over. */
static void dispatch(gdr_engine_t *engine, gdr_inbox_entry_t *entry)
{
    gdr_message_head_t head;
    const char *error = head_error(entry, &head);
    gdr_team_t *team;

    if (error != NULL) {
        reject(engine, entry, error);
    } else if (head.type > GDR_MESSAGE_TEAM_LAST) {
        to_proc(engine, entry, &head);
    } else if ((team = gdr_team_find(engine, head.team, head.nonce)) != NULL) {
        to_team(team, entry, &head);
    } else if (!gdr_team_is_gone(engine, head.team, head.nonce)) {
        keep_orphan(engine, entry);
        return;
    }
    free(entry);
}

/*
 * A control message came when there was no memory for it, for whichever communicator: each that may
 * wait for it ends, and all later ones decline, as one whose message it was may come to be.
 */
static void end_for_missed(gdr_engine_t *engine)
{
    gdr_team_t *team;
    unsigned i;

    if (engine->unfit == NULL)
        engine->unfit = "a control message was lost for want of memory";
    for (i = 0; i < GDR_TEAM_BUCKETS; i++) {
        for (team = engine->teams[i]; team != NULL; team = team->next) {
            if (team->state != GDR_TEAM_NEW || team->epoch > 0)
                gdr_team_fail(team, GDR_ERR_NO_MEMORY);
        }
    }
}

unsigned gdr_inbox_drain(gdr_engine_t *engine)
{
    gdr_inbox_entry_t *entry, *next;
    unsigned events = 0;

    if (__atomic_exchange_n(&engine->missed, 0, __ATOMIC_RELAXED) != 0)
        end_for_missed(engine);
    gdr_lock(&engine->queue_lock);
    entry = engine->inbox;
    engine->inbox = NULL;
    engine->inbox_end = &engine->inbox;
    gdr_unlock(&engine->queue_lock);
    for (; entry != NULL; entry = next) {
        next = entry->next;
        dispatch(engine, entry);
        events++;
    }
    return events;
}

void gdr_orphans_adopt(gdr_engine_t *engine, gdr_team_t *team)
{
    gdr_inbox_entry_t **link = &engine->orphans;
    gdr_message_head_t head;

    while (*link != NULL) {
        gdr_inbox_entry_t *entry = *link;

        memcpy(&head, entry->data, sizeof(head));
        if (head.team != team->id || head.nonce != team->nonce) {
            link = &entry->next;
            continue;
        }
        *link = entry->next;
        engine->orphan_bytes -= entry->bytes;
        to_team(team, entry, &head);
        free(entry);
    }
    engine->orphans_end = link;
}
