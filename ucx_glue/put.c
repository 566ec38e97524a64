/*
 * Puts and what is ordered behind them: data, its completion, a flush of the endpoint, its
 * completion, then the word. UCX's callbacks only mark an operation; posting calls and progress()
 * take it further.
 */
#include "ucx_glue/ucx.h"

static gdr_net_op_t *public_op(gdr_ucx_op_t *op)
{
    return (gdr_net_op_t *)(void *)((char *)op - offsetof(gdr_net_op_t, priv));
}

static gdr_ucx_op_t *private_op(gdr_net_op_t *op)
{
    return (gdr_ucx_op_t *)(void *)op->priv;
}

static void link_op(gdr_ucx_op_t *op)
{
    gdr_net_peer_t *peer = op->peer;

    op->prev = NULL;
    op->next = peer->ops;
    if (peer->ops != NULL)
        peer->ops->prev = op;
    peer->ops = op;
}

static void unlink_op(gdr_ucx_op_t *op)
{
    if (op->prev != NULL)
        op->prev->next = op->next;
    else
        op->peer->ops = op->next;
    if (op->next != NULL)
        op->next->prev = op->prev;
}

/* The caller may reuse or free the operation from here on. */
static void finish(gdr_ucx_op_t *op, gdr_status_t status)
{
    gdr_net_t *net = op->peer->net;

    gdr_ucx_verify_end(op);
    unlink_op(op);
    if (status != GDR_OK)
        net->counters->failed++;
    public_op(op)->status = status;
}

/* An operation that failed: with the peer's error if UCX has reported one. */
static void finish_failed(gdr_ucx_op_t *op, const char *what, ucs_status_t status)
{
    gdr_status_t result = op->peer->status;

    if (result == GDR_OK)
        result = gdr_ucx_failed(op->peer->net->log, what, status);
    finish(op, result);
}

static void called_back(void *request, ucs_status_t status, void *user_data)
{
    gdr_ucx_op_t *op = user_data;
    gdr_net_t *net = op->peer->net;

    (void)request;
    op->result = status;
    op->next_marked = NULL;
    if (net->marked_last != NULL)
        net->marked_last->next_marked = op;
    else
        net->marked_first = op;
    net->marked_last = op;
}

static ucp_request_param_t request_param(gdr_ucx_op_t *op)
{
    return (ucp_request_param_t){
        .op_attr_mask = UCP_OP_ATTR_FIELD_CALLBACK | UCP_OP_ATTR_FIELD_USER_DATA,
        .cb = {.send = called_back},
        .user_data = op,
    };
}

/* `flags`: further ones of UCX's operation attributes. */
static void *post_put(gdr_ucx_op_t *op, const void *source, size_t bytes, ucp_mem_h memh,
                      ucs_memory_type_t type, uint64_t target, ucp_rkey_h rkey, uint32_t flags)
{
    ucp_request_param_t param = request_param(op);

    param.op_attr_mask |= UCP_OP_ATTR_FIELD_MEMORY_TYPE | UCP_OP_ATTR_FIELD_MEMH | flags;
    param.memory_type = type;
    param.memh = memh;
    return ucp_put_nbx(op->peer->ep, source, bytes, target, rkey, &param);
}

static void *post_flush(gdr_ucx_op_t *op)
{
    ucp_request_param_t param = request_param(op);

    op->peer->net->counters->flushes++;
    return ucp_ep_flush_nbx(op->peer->ep, &param);
}

static void *post_word(gdr_ucx_op_t *op)
{
    op->peer->net->counters->words++;
    return post_put(op, op->word_source, sizeof(uint64_t), op->word_memh,
                    (ucs_memory_type_t)op->word_type, op->word_target, op->word_rkey, 0);
}

/* The step whose request is done has been followed by the next one, or the operation is finished.
 */
static void advance(gdr_ucx_op_t *op);

/* `posted`: what UCX returned for the step that op->step names. */
static void after_post(gdr_ucx_op_t *op, void *posted)
{
    if (UCS_PTR_IS_ERR(posted)) {
        finish_failed(op, "posting to a peer", UCS_PTR_STATUS(posted));
        return;
    }
    if (posted == NULL)
        advance(op);
    else
        op->request = posted;
}

/* After the flush: the word, but behind the first put to a peer only once that is read back. */
static void advance_flushed(gdr_ucx_op_t *op)
{
    ucp_request_param_t param = request_param(op);

    if (gdr_ucx_verify_is_due(op)) {
        op->step = GDR_UCX_STEP_THERE;
        after_post(op, gdr_ucx_verify_there(op, &param));
        return;
    }
    op->step = GDR_UCX_STEP_LAST;
    after_post(op, post_word(op));
}

static void advance_read_back(gdr_ucx_op_t *op)
{
    gdr_status_t status = gdr_ucx_verify_compare(op);

    if (status != GDR_OK) {
        finish(op, status);
        return;
    }
    op->step = GDR_UCX_STEP_LAST;
    after_post(op, post_word(op));
}

static void advance(gdr_ucx_op_t *op)
{
    ucp_request_param_t param = request_param(op);

    switch ((gdr_ucx_step_t)op->step) {
    case GDR_UCX_STEP_DATA:
        if (op->word_rkey == NULL) {
            finish(op, GDR_OK);
            break;
        }
        op->step = GDR_UCX_STEP_FLUSH;
        after_post(op, post_flush(op));
        break;
    case GDR_UCX_STEP_FLUSH:
        advance_flushed(op);
        break;
    case GDR_UCX_STEP_THERE:
        op->step = GDR_UCX_STEP_HERE;
        after_post(op, gdr_ucx_verify_here(op, &param));
        break;
    case GDR_UCX_STEP_HERE:
        advance_read_back(op);
        break;
    case GDR_UCX_STEP_LAST:
        finish(op, GDR_OK);
        break;
    }
}

static gdr_ucx_op_t *pop_marked(gdr_net_t *net)
{
    gdr_ucx_op_t *op = net->marked_first;

    if (op != NULL) {
        net->marked_first = op->next_marked;
        if (net->marked_first == NULL)
            net->marked_last = NULL;
    }
    return op;
}

static void drop_marked(gdr_net_t *net, const gdr_ucx_op_t *op)
{
    gdr_ucx_op_t *last = NULL;

    for (gdr_ucx_op_t **link = &net->marked_first; *link != NULL;) {
        if (*link == op) {
            *link = op->next_marked;
        } else {
            last = *link;
            link = &last->next_marked;
        }
    }
    net->marked_last = last;
}

unsigned gdr_ucx_progress(gdr_net_t *net)
{
    bool entered = gdr_ucx_enter_if_old(net, 0);
    unsigned events = ucp_worker_progress(net->worker);
    gdr_ucx_op_t *op;

    while ((op = pop_marked(net)) != NULL) {
        events++;
        ucp_request_free(op->request);
        op->request = NULL;
        if (op->result == UCS_OK)
            advance(op);
        else
            finish_failed(op, "an operation on a peer's memory", (ucs_status_t)op->result);
    }
    if (net->closing != NULL)
        gdr_ucx_reap(net);
    gdr_ucx_leave(net, entered);
    return events;
}

static bool inside(const gdr_net_t *net, const char *what, uint64_t offset, uint64_t bytes,
                   uint64_t region)
{
    if (offset <= region && bytes <= region - offset)
        return true;
    gdr_error(net->log, "%s: %llu bytes at offset %llu are outside a region of %llu bytes", what,
              (unsigned long long)bytes, (unsigned long long)offset, (unsigned long long)region);
    return false;
}

/* Both sides inside their regions and of one kind: UCX copies anything else on the CPU. */
static bool valid(const gdr_net_peer_t *peer, const char *what, const gdr_net_rmem_t *rmem,
                  uint64_t roff, const gdr_net_mem_t *lmem, uint64_t loff, uint64_t bytes)
{
    const gdr_net_t *net = peer->net;

    if (rmem->peer != peer) {
        gdr_error(net->log, "%s: the target region belongs to another peer", what);
        return false;
    }
    if (rmem->device != lmem->device) {
        gdr_error(net->log, "%s: from %s to %s memory, which is never done", what,
                  lmem->device ? "device" : "host", rmem->device ? "device" : "host");
        return false;
    }
    if (rmem->device && rmem->from != lmem->owner) {
        gdr_error(net->log, "%s: from another device than the key is for", what);
        return false;
    }
    return inside(net, what, loff, bytes, lmem->bytes) &&
           inside(net, what, roff, bytes, rmem->bytes);
}

/* Starts the books of an operation; false, and finished, when the peer has failed before. */
static bool begin(gdr_net_peer_t *peer, gdr_net_op_t *public, gdr_ucx_step_t step)
{
    gdr_ucx_op_t *op = private_op(public);

    *op = (gdr_ucx_op_t){.peer = peer, .step = step};
    public->status = GDR_INPROGRESS;
    link_op(op);
    if (peer->status == GDR_OK)
        return true;
    finish(op, peer->status);
    return false;
}

static void set_word(gdr_ucx_op_t *op, const gdr_net_word_t *word)
{
    op->word_rkey = word->rmem->rkey;
    op->word_target = word->rmem->address + word->roff;
    op->word_source = (const void *)(uintptr_t)(word->lmem->address + word->loff);
    op->word_memh = word->lmem->memh;
    op->word_type = word->lmem->type;
}

/* A put through a bounce buffer of UCX may be complete at once. As long as its way is not known one
 * is kept that can be asked. */
static void *post_data(gdr_ucx_op_t *op, const gdr_net_rmem_t *rmem, uint64_t roff,
                       const gdr_net_mem_t *lmem, uint64_t loff, size_t bytes)
{
    gdr_net_peer_t *peer = op->peer;
    bool ask = gdr_ucx_path_wanted(peer, lmem, bytes);
    void *posted =
        post_put(op, (const void *)(uintptr_t)(lmem->address + loff), bytes, lmem->memh, lmem->type,
                 rmem->address + roff, rmem->rkey, ask ? UCP_OP_ATTR_FLAG_NO_IMM_CMPL : 0);

    peer->net->counters->puts++;
    peer->net->counters->put_bytes += bytes;
    if (ask && UCS_PTR_IS_PTR(posted))
        gdr_ucx_say_path(peer, posted, bytes);
    return posted;
}

void gdr_ucx_put(gdr_net_peer_t *peer, gdr_net_rmem_t *rmem, uint64_t roff, gdr_net_mem_t *lmem,
                 uint64_t loff, size_t bytes, const gdr_net_word_t *word, gdr_net_op_t *public)
{
    gdr_ucx_op_t *op = private_op(public);
    bool entered;

    if ((bytes != 0 && !valid(peer, "put", rmem, roff, lmem, loff, bytes)) ||
        (word != NULL &&
         !valid(peer, "word", word->rmem, word->roff, word->lmem, word->loff, sizeof(uint64_t)))) {
        public->status = GDR_ERR_INVALID;
        return;
    }
    if (!begin(peer, public, bytes != 0 ? GDR_UCX_STEP_DATA : GDR_UCX_STEP_LAST))
        return;
    if (word != NULL)
        set_word(op, word);
    if (word != NULL && bytes != 0)
        gdr_ucx_verify_begin(op, rmem, roff, lmem, loff, bytes);
    entered = gdr_ucx_enter_if_old(peer->net, lmem->owner);
    if (bytes != 0) {
        after_post(op, post_data(op, rmem, roff, lmem, loff, bytes));
    } else if (word != NULL) {
        after_post(op, post_word(op));
    } else {
        finish(op, GDR_OK);
    }
    gdr_ucx_leave(peer->net, entered);
}

void gdr_ucx_flush(gdr_net_peer_t *peer, gdr_net_op_t *public)
{
    gdr_ucx_op_t *op = private_op(public);
    bool entered;

    if (!begin(peer, public, GDR_UCX_STEP_LAST))
        return;
    entered = gdr_ucx_enter_if_old(peer->net, 0);
    after_post(op, post_flush(op));
    gdr_ucx_leave(peer->net, entered);
}

void gdr_ucx_abandon(gdr_net_peer_t *peer, gdr_status_t status)
{
    while (peer->ops != NULL) {
        gdr_ucx_op_t *op = peer->ops;
        drop_marked(peer->net, op);
        if (op->request != NULL) {
            gdr_ucx_verify_abandon(op);
            ucp_request_free(op->request); /* takes the callback away as well */
        }
        finish(op, status);
    }
}
