/*
 * What one thread of a reduce-copy kernel does. C++ and CUDA: the kernel and its twin are thin
 * shells around gdr_reduce_thread().
 *
 * The operands are cut, at the same places, into 16-byte units: a head that brings the first
 * output to a 16-byte boundary, whole units, a tail. Where every operand lies right after the head,
 * units move by 16-byte accesses; otherwise each operand is read and written as wide as its own
 * address allows. Head and tail go byte by byte. No byte outside the operands is touched.
 */
#ifndef GDR_REDUCE_H
#define GDR_REDUCE_H

#include "kernels/gdr_element.h"
#include "kernels/gdr_kernels.h"
#include "kernels/gdr_memory.h"

/* Threads that load and store together. */
#define GDR_WARP 32

/* Units that a thread has in flight per operand in the hot loop; byte-wise arithmetic costs many
 * registers and instructions, and is rare. */
template <class E> struct gdr_depth {
    static const int value = sizeof(E) == 1 ? 2 : 4;
};

template <gdr_op_t OP, class E> GDR_INLINE gdr_unit_t gdr_combine(gdr_unit_t a, gdr_unit_t b)
{
    const int n = sizeof(gdr_unit_t) / sizeof(E);
    E x[n], y[n];

    memcpy(x, &a, sizeof(x));
    memcpy(y, &b, sizeof(y));
    GDR_UNROLL
    for (int i = 0; i < n; i++)
        x[i] = gdr_apply<OP>(x[i], y[i]);
    memcpy(&a, x, sizeof(x));
    return a;
}

/* Everything below: INPUTS is the number of inputs where it is known, 0 where args.nin says it. */
template <int INPUTS> GDR_INLINE uint32_t gdr_inputs(const gdr_kernel_args_t &args)
{
    return INPUTS != 0 ? INPUTS : args.nin;
}

/* DEPTH units from byte `at` on, `stride` bytes apart. The loads of two inputs are issued before
 * either is needed. */
template <gdr_op_t OP, class E, int INPUTS, class Access, int DEPTH>
GDR_INLINE void gdr_reduce_units(const gdr_kernel_args_t &args, uint64_t at, uint64_t stride)
{
    gdr_unit_t sum[DEPTH], x[DEPTH], y[DEPTH];
    uint32_t k = 1;

    gdr_load<Access>(sum, args.in[0] + at, stride);
    for (; k + 1 < gdr_inputs<INPUTS>(args); k += 2) {
        gdr_load<Access>(x, args.in[k] + at, stride);
        gdr_load<Access>(y, args.in[k + 1] + at, stride);
        GDR_UNROLL
        for (int i = 0; i < DEPTH; i++)
            sum[i] = gdr_combine<OP, E>(gdr_combine<OP, E>(sum[i], x[i]), y[i]);
    }
    if (k < gdr_inputs<INPUTS>(args)) {
        gdr_load<Access>(x, args.in[k] + at, stride);
        GDR_UNROLL
        for (int i = 0; i < DEPTH; i++)
            sum[i] = gdr_combine<OP, E>(sum[i], x[i]);
    }
    gdr_store<Access>(sum, args.out[0] + at, stride);
    if (args.nout == 2)
        gdr_store<Access>(sum, args.out[1] + at, stride);
}

/* This thread's share of `units` whole units from byte `at` on. */
template <gdr_op_t OP, class E, int INPUTS, class Access, int DEPTH>
GDR_INLINE void gdr_reduce_span(const gdr_kernel_args_t &args, uint64_t at, uint64_t units,
                                uint64_t thread, uint64_t threads)
{
    const uint64_t size = sizeof(gdr_unit_t);
    uint64_t u = thread;

    for (; u + (DEPTH - 1) * threads < units; u += DEPTH * threads)
        gdr_reduce_units<OP, E, INPUTS, Access, DEPTH>(args, at + u * size, threads * size);
    for (; u < units; u += threads)
        gdr_reduce_units<OP, E, INPUTS, Access, 1>(args, at + u * size, threads * size);
}

/* `bytes` (< 16) from byte `at` on. */
template <gdr_op_t OP, class E, int INPUTS>
GDR_INLINE void gdr_reduce_rest(const gdr_kernel_args_t &args, uint64_t at, uint32_t bytes)
{
    gdr_unit_t sum = gdr_load_bytes(args.in[0] + at, bytes);

    for (uint32_t k = 1; k < gdr_inputs<INPUTS>(args); k++)
        sum = gdr_combine<OP, E>(sum, gdr_load_bytes(args.in[k] + at, bytes));
    gdr_store_bytes(sum, args.out[0] + at, bytes);
    if (args.nout == 2)
        gdr_store_bytes(sum, args.out[1] + at, bytes);
}

/* All operand addresses, `head` bytes on, or-ed: its low bits say how they are aligned. */
template <int INPUTS>
GDR_INLINE uint64_t gdr_reduce_alignment(const gdr_kernel_args_t &args, uint64_t head)
{
    uint64_t bits = 0;

    for (uint32_t k = 0; k < gdr_inputs<INPUTS>(args); k++)
        bits |= args.in[k] + head;
    bits |= args.out[0] + head;
    if (args.nout == 2)
        bits |= args.out[1] + head;
    return bits;
}

/* Bytes before the first output's 16-byte boundary; 0 where that would cut an element. */
template <class E>
GDR_INLINE uint64_t gdr_reduce_head(const gdr_kernel_args_t &args, uint64_t total)
{
    uint64_t head = -args.out[0] % sizeof(gdr_unit_t);

    if (head % sizeof(E) != 0)
        head = 0;
    return head < total ? head : total;
}

/* Thread `thread` of `threads` in the grid. */
template <gdr_op_t OP, class E, int INPUTS = 0, int DEPTH = gdr_depth<E>::value>
GDR_INLINE void gdr_reduce_thread(const gdr_kernel_args_t &args, uint64_t thread, uint64_t threads)
{
    const uint64_t size = sizeof(gdr_unit_t);
    uint64_t total = args.count * sizeof(E);
    uint64_t head = gdr_reduce_head<E>(args, total);
    uint64_t units = (total - head) / size;
    uint64_t tail = (total - head) % size;

    if (gdr_aborted(args.abort, args.abort_value))
        return;
    if (gdr_reduce_alignment<INPUTS>(args, head) % size == 0)
        gdr_reduce_span<OP, E, INPUTS, gdr_whole, DEPTH>(args, head, units, thread, threads);
    else
        gdr_reduce_span<OP, E, INPUTS, gdr_split, 1>(args, head, units, thread, threads);
    if (head != 0 && thread == 0)
        gdr_reduce_rest<OP, E, INPUTS>(args, 0, (uint32_t)head);
    if (tail != 0 && thread == threads - 1)
        gdr_reduce_rest<OP, E, INPUTS>(args, total - tail, (uint32_t)tail);
}

/* The plain copy: a reduction of one operand, in bytes. */
GDR_INLINE void gdr_copy_thread(const gdr_kernel_args_t &args, uint64_t thread, uint64_t threads)
{
    gdr_reduce_thread<GDR_OP_BOR, uint8_t, 1, 4>(args, thread, threads);
}

/*
 * Every input is copied to its place by warps of its own, all inputs at once: they may lie behind
 * different links. Warps take turns, so that their shares differ by one at most, whatever the
 * number of inputs; where they are fewer, one copies several inputs.
 */
GDR_INLINE void gdr_gather_thread(const gdr_kernel_args_t &args, uint64_t thread, uint64_t threads)
{
    const uint64_t width = threads % GDR_WARP == 0 ? GDR_WARP : 1;
    uint64_t warp = thread / width, warps = threads / width;
    uint64_t turns = args.nin < warps ? args.nin : warps;
    uint64_t first = warp % turns, members = (warps - first + turns - 1) / turns;

    for (uint64_t k = first; k < args.nin; k += turns) {
        uint64_t at = k * args.block, rest = args.count - at;
        gdr_kernel_args_t copy;

        copy.abort = args.abort;
        copy.abort_value = args.abort_value;
        copy.in[0] = args.in[k];
        copy.out[0] = args.out[0] + at;
        copy.count = rest < args.block ? rest : args.block;
        copy.nin = copy.nout = 1;
        gdr_copy_thread(copy, warp / turns * width + thread % width, members * width);
    }
}

#endif
