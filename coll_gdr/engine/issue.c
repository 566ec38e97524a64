/* What a single step does, whoever decided that it is its turn. */
#include "engine/gdr_items.h"

static const gdr_layout_t *layout_of(const gdr_context_t *context)
{
    return &context->call->planned->plan->layout;
}

static uint64_t slot_offset(const gdr_context_t *context, const gdr_operand_t *operand)
{
    return context->slot_offset + operand->slot * context->chunk_bytes + operand->offset;
}

/* In a mapped window of another rank. */
static uint64_t mapped_address(const gdr_context_t *context, const gdr_operand_t *operand)
{
    const gdr_member_t *member = gdr_member_look(context->call->team, operand->rank);

    return member->import->mapped + member->offset + context->part_offset +
           slot_offset(context, operand);
}

static uint64_t operand_address(const gdr_context_t *context, const gdr_operand_t *operand)
{
    switch (operand->buffer) {
    case GDR_BUFFER_SEND:
        return context->send + operand->offset;
    case GDR_BUFFER_RECV:
        return context->recv + operand->offset;
    default:
        return operand->rank == context->rank
                   ? context->part_address + slot_offset(context, operand)
                   : mapped_address(context, operand);
    }
}

/* Data that the network has just written may still be on its way to the device's memory. */
static gdr_status_t flush_arrivals(gdr_context_t *context)
{
    gdr_device_t *device = context->stream->device;

    if (!device->flush_due)
        return GDR_OK;
    device->flush_due = false;
    return device->caps.flush_rdma ? device->ops->flush_rdma_writes(device->dev) : GDR_OK;
}

static gdr_status_t follow(gdr_context_t *context)
{
    const gdr_call_desc_t *desc = &context->call->desc;
    const gdr_dev_ops_t *ops = context->stream->device->ops;
    gdr_status_t status;

    if (context->followed)
        return GDR_OK;
    context->followed = true;
    status = ops->follow_default(context->stream->handle, desc->send, desc->context);
    if (status == GDR_OK && desc->apart)
        status = ops->follow_default(context->stream->handle, desc->recv, 0);
    return status;
}

gdr_status_t gdr_issue_kernel(gdr_context_t *context, uint32_t item)
{
    const gdr_step_t *step = gdr_item_step(context, item);
    const gdr_operand_t *operands = &context->program->sched->operands[step->operand];
    const gdr_dev_ops_t *ops = context->stream->device->ops;
    gdr_dev_reduce_t reduce;
    gdr_status_t status;
    uint32_t i;

    /* What is mapped of the peer that is lost will be closed: nothing more may come to read it. */
    if (gdr_context_engine(context)->lost && context->call->planned->pulls)
        return GDR_ERR_NET;
    reduce.op = context->call->desc.op;
    reduce.type = context->call->desc.type;
    reduce.nin = step->nin;
    reduce.nout = step->nout;
    reduce.bytes = step->bytes;
    reduce.block = step->block;
    reduce.abort = context->call->abort_address;
    reduce.abort_value = context->call->number;
    for (i = 0; i < step->nin; i++) {
        reduce.in[i] = operand_address(context, &operands[i]);
        if (operands[i].rank != context->rank)
            gdr_stat_add(&gdr_context_engine(context)->stats.pull_bytes,
                         gdr_step_input_bytes(step, i));
    }
    for (i = 0; i < step->nout; i++)
        reduce.out[i] = operand_address(context, &operands[step->nin + i]);
    status = gdr_stream_mark(context->stream, true);
    if (status == GDR_OK)
        status = follow(context);
    if (status == GDR_OK)
        status = flush_arrivals(context);
    if (status == GDR_OK && step->bytes > 0) {
        status = ops->reduce(context->stream->handle, &reduce);
        gdr_stat_add(&gdr_context_engine(context)->stats.kernels, 1);
    }
    if (status != GDR_OK)
        return status;
    gdr_item_expect(context, item, context->items[item].wanted, context->items[item].urgent);
    gdr_item_enqueued(context, item);
    return GDR_OK;
}

uint64_t gdr_wait_address(const gdr_context_t *context, uint32_t item)
{
    return context->part_address +
           gdr_layout_flag(layout_of(context), context->index, gdr_item_step(context, item)->flag);
}

gdr_status_t gdr_issue_source(gdr_context_t *context, uint32_t item)
{
    const gdr_step_t *step = gdr_item_step(context, item);
    uint64_t address = context->part_address +
                       gdr_layout_source(layout_of(context), context->index, step->channel);

    return context->stream->device->ops->write_word(context->stream->handle, address,
                                                    gdr_item_value(context, item));
}

/* Instance i - 1 of the channel was read at the peer; true where there was none in this call. */
static bool credit_is_there(const gdr_context_t *context, uint32_t item)
{
    const gdr_step_t *step = gdr_item_step(context, item);
    const gdr_planned_t *planned = context->call->planned;
    const gdr_program_t *program = context->program;
    int64_t prior = program->items[item].prior;
    uint64_t value = context->value;

    if (step->kind == GDR_STEP_SIGNAL) /* the schedule sees to it */
        return true;
    if (prior < 0) { /* then it was the last one of the context's segment before */
        if (context->segment < planned->plan->layout.depth)
            return true;
        program = planned->full;
        prior = program->last_written[step->channel];
        if (prior < 0)
            return true;
        value -= program->sched->rounds;
    }
    value += program->sched->steps[prior].round;
    return gdr_word_load(&context->credits[step->channel]) >= value;
}

/* Source word of a host flag or credit: written by the CPU, free since its last op is done. */
static void word_fill(const gdr_context_t *context, gdr_net_word_t *word, uint64_t offset,
                      uint64_t value)
{
    gdr_engine_t *engine = gdr_context_engine(context);

    word->lmem = engine->page_mem;
    word->loff = context->ctl_offset + offset;
    __atomic_store_n((uint64_t *)(engine->page + word->loff), value, __ATOMIC_RELEASE);
}

static void word_of_flag(const gdr_context_t *context, uint32_t item, gdr_net_word_t *word)
{
    const gdr_step_t *step = gdr_item_step(context, item);
    const gdr_member_t *member = gdr_item_peer(context, item);
    const gdr_layout_t *layout = layout_of(context);

    if (gdr_item_to_window(context, item)) {
        word->rmem = member->window;
        word->roff = member->offset + context->part_offset +
                     gdr_layout_flag(layout, context->index, step->flag);
        word->lmem = context->mem;
        word->loff =
            context->window_offset + gdr_layout_source(layout, context->index, step->channel);
        return;
    }
    word->rmem = member->page;
    word->roff = member->ctl_offset + context->ctl_part_offset +
                 gdr_layout_ctl_flag(layout, context->index, step->flag);
    word_fill(context, word, gdr_layout_ctl_flag_source(layout, context->index, step->channel),
              gdr_item_value(context, item));
}

static void post_data(gdr_context_t *context, uint32_t item, gdr_net_op_t *op)
{
    const gdr_step_t *step = gdr_item_step(context, item);
    const gdr_member_t *member = gdr_item_peer(context, item);
    const gdr_operand_t *operands = &context->program->sched->operands[step->operand];
    gdr_engine_t *engine = gdr_context_engine(context);
    uint64_t bytes = step->kind == GDR_STEP_PUT ? step->bytes : 0;
    uint64_t roff = 0, loff = 0;
    gdr_net_word_t word;

    word_of_flag(context, item, &word);
    if (bytes > 0) {
        loff = context->window_offset + slot_offset(context, &operands[0]);
        roff = member->offset + context->part_offset + slot_offset(context, &operands[1]);
        gdr_stat_add(&engine->stats.puts, 1);
        gdr_stat_add(&engine->stats.put_bytes, bytes);
    }
    gdr_stat_add(&engine->stats.signals, 1);
    engine->net_ops->put(member->proc->peer, member->window, roff, context->mem, loff, bytes, &word,
                         op);
}

static void post_credit(gdr_context_t *context, uint32_t item, gdr_net_op_t *op)
{
    const gdr_step_t *wait = gdr_item_step(context, context->items[item].wait);
    const gdr_member_t *member = gdr_item_peer(context, item);
    const gdr_layout_t *layout = layout_of(context);
    gdr_engine_t *engine = gdr_context_engine(context);
    gdr_net_word_t word;

    word.rmem = member->page;
    word.roff = member->ctl_offset + context->ctl_part_offset +
                gdr_layout_ctl_credit(layout, context->index, wait->channel);
    word_fill(context, &word, gdr_layout_ctl_credit_source(layout, context->index, wait->flag),
              context->value + wait->round);
    gdr_stat_add(&engine->stats.signals, 1);
    engine->net_ops->put(member->proc->peer, member->page, 0, engine->page_mem, 0, 0, &word, op);
}

static gdr_status_t post(gdr_context_t *context, uint32_t item, gdr_net_op_t *op)
{
    if (gdr_context_engine(context)->lost) /* the stream may have been let go: nothing is right */
        return GDR_ERR_NET;
    if (context->items[item].kind == GDR_ITEM_CREDIT) {
        post_credit(context, item, op);
    } else {
        /* The source may be a slot that the network has just filled. */
        gdr_status_t status = flush_arrivals(context);

        if (status != GDR_OK)
            return status;
        post_data(context, item, op);
    }
    if (op->status == GDR_INPROGRESS) {
        context->state[item] = GDR_ITEM_POSTED;
        context->posted[context->nposted++] = (gdr_posted_t){op, item};
    } else if (op->status == GDR_OK) {
        gdr_item_done(context, item);
    }
    return op->status < 0 ? op->status : GDR_OK;
}

static bool may_post(const gdr_context_t *context, uint32_t item, const gdr_net_op_t *op)
{
    return op->status != GDR_INPROGRESS &&
           (context->items[item].kind == GDR_ITEM_CREDIT || credit_is_there(context, item));
}

gdr_status_t gdr_issue_put(gdr_context_t *context, uint32_t item)
{
    gdr_net_op_t *op = gdr_item_op(context, item);

    if (may_post(context, item, op))
        return post(context, item, op);
    context->state[item] = GDR_ITEM_HELD;
    context->held.index[context->held.n++] = item;
    return GDR_OK;
}

gdr_status_t gdr_issue_held(gdr_context_t *context)
{
    gdr_index_list_t *held = &context->held;
    uint32_t i = 0;

    while (i < held->n) {
        uint32_t item = held->index[i];
        gdr_net_op_t *op = gdr_item_op(context, item);
        gdr_status_t status;

        if (!may_post(context, item, op)) {
            i++;
            continue;
        }
        held->index[i] = held->index[--held->n];
        status = post(context, item, op);
        if (status != GDR_OK)
            return status;
    }
    return GDR_OK;
}
