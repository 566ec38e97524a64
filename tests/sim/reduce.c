/* The reference of the fake device: a few types and operations, one operand after the other. */
#include "tests/sim/sim.h"

#include <string.h>

#define FOLD(type, expr_sum, expr_prod)                                                            \
    static void fold_##type##_(gdr_op_t op, type *out, const type *in, size_t n)                   \
    {                                                                                              \
        for (size_t i = 0; i < n; i++) {                                                           \
            type a = out[i], b = in[i];                                                            \
                                                                                                   \
            if (op == GDR_OP_SUM)                                                                  \
                out[i] = (type)(expr_sum);                                                         \
            else if (op == GDR_OP_PROD)                                                            \
                out[i] = (type)(expr_prod);                                                        \
            else if (op == GDR_OP_MAX)                                                             \
                out[i] = a > b ? a : b;                                                            \
            else                                                                                   \
                out[i] = a < b ? a : b;                                                            \
        }                                                                                          \
    }

FOLD(float, a + b, a *b)
FOLD(double, a + b, a *b)
FOLD(int32_t, (uint32_t)a + (uint32_t)b, (uint32_t)a *(uint32_t)b)
FOLD(int64_t, (uint64_t)a + (uint64_t)b, (uint64_t)a *(uint64_t)b)

bool sim_reduce_aborted(const gdr_dev_reduce_t *reduce)
{
    return reduce->abort != 0 && *(const uint64_t *)(uintptr_t)reduce->abort == reduce->abort_value;
}

static uint64_t mix(uint64_t digest, uint64_t address, uint64_t bytes)
{
    uint64_t k, word = 0;

    for (k = 0; k + sizeof(word) <= bytes; k += sizeof(word)) {
        memcpy(&word, (const void *)(uintptr_t)(address + k), sizeof(word));
        digest = (digest ^ word) * 0x100000001b3u;
    }
    memcpy(&word, (const void *)(uintptr_t)(address + k), bytes - k);
    return (digest ^ word) * 0x100000001b3u;
}

bool sim_reduce_inputs(const sim_proc_t *proc, const gdr_dev_reduce_t *reduce, uint64_t *digest)
{
    uint32_t i, o;

    *digest = 0xcbf29ce484222325u;
    for (i = 0; i < reduce->nin; i++) {
        uint64_t bytes = gdr_dev_input_bytes(reduce, i);
        bool output = false;

        if (!sim_region_holds(proc, reduce->in[i], bytes)) {
            sim_fail(proc->world, "a kernel of process %d reads what is no memory", proc->index);
            return false;
        }
        for (o = 0; o < reduce->nout && reduce->block == 0; o++)
            output = output || reduce->in[i] == reduce->out[o];
        if (!output)
            *digest = mix(*digest, reduce->in[i], bytes);
    }
    return true;
}

static void gather(const gdr_dev_reduce_t *reduce, char *out)
{
    for (uint32_t i = 0; i < reduce->nin; i++)
        memcpy(out + i * reduce->block, (const void *)(uintptr_t)reduce->in[i],
               gdr_dev_input_bytes(reduce, i));
}

void sim_reduce(const gdr_dev_reduce_t *reduce, void *out)
{
    size_t bytes = gdr_type_bytes(reduce->type), n = reduce->bytes / bytes;
    uint32_t i;

    if (reduce->block != 0) {
        gather(reduce, out);
        return;
    }
    memcpy(out, (const void *)(uintptr_t)reduce->in[0], reduce->bytes);
    for (i = 1; i < reduce->nin; i++) {
        const void *in = (const void *)(uintptr_t)reduce->in[i];

        if (reduce->type == GDR_TYPE_FLOAT32)
            fold_float_(reduce->op, out, in, n);
        else if (reduce->type == GDR_TYPE_FLOAT64)
            fold_double_(reduce->op, out, in, n);
        else if (reduce->type == GDR_TYPE_INT32)
            fold_int32_t_(reduce->op, out, in, n);
        else
            fold_int64_t_(reduce->op, out, in, n);
    }
}
