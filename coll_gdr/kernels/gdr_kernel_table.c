/* Names of kernels, which types share one, and grid sizes. */
#include "kernels/gdr_kernels.h"

#include "base/gdr_math.h"
#include "kernels/gdr_kernel_images.h"

enum element_bytes {
#define GDR_TYPE(ID, name, ctype, bytes, class) BYTES_##ID = (bytes),
#include "base/optypes.def"
};

static const gdr_kernel_t copy_kernel = {"gdr_copy", GDR_KERNEL_IMAGE_FLOAT, 1};
static const gdr_kernel_t gather_kernel = {"gdr_gather", GDR_KERNEL_IMAGE_FLOAT, 1};

/* By operation and representation; most places are empty (no name). */
static const gdr_kernel_t kernels[GDR_OP_COUNT][GDR_TYPE_COUNT] = {
#define ENTRY(IMAGE, OP, op, TYPE, type)                                                           \
    [GDR_OP_##OP][GDR_TYPE_##TYPE] = {"gdr_reduce_" #op "_" #type, GDR_KERNEL_IMAGE_##IMAGE,       \
                                      BYTES_##TYPE},
#define GDR_KERNEL_FLOAT(OP, op, TYPE, type) ENTRY(FLOAT, OP, op, TYPE, type)
#define GDR_KERNEL_ARITH(OP, op, TYPE, type) ENTRY(ARITH, OP, op, TYPE, type)
#define GDR_KERNEL_ORDER(OP, op, TYPE, type) ENTRY(ORDER, OP, op, TYPE, type)
#define GDR_KERNEL_LOGIC(OP, op, TYPE, type) ENTRY(LOGIC, OP, op, TYPE, type)
#define GDR_KERNEL_BITS(OP, op, TYPE, type)  ENTRY(BITS, OP, op, TYPE, type)
#define GDR_KERNEL_PAIR(OP, op, TYPE, type)  ENTRY(PAIR, OP, op, TYPE, type)
#include "kernels/gdr_kernels.def"
#undef ENTRY
};

/* The type whose kernel serves `type`: all but MIN and MAX treat integers of one width alike. */
static gdr_type_t representation(gdr_op_t op, gdr_type_t type)
{
    bool ordered = op == GDR_OP_MIN || op == GDR_OP_MAX;

    switch (type) {
    case GDR_TYPE_UINT8:
        return ordered ? GDR_TYPE_UINT8 : GDR_TYPE_INT8;
    case GDR_TYPE_UINT16:
        return ordered ? GDR_TYPE_UINT16 : GDR_TYPE_INT16;
    case GDR_TYPE_UINT32:
        return ordered ? GDR_TYPE_UINT32 : GDR_TYPE_INT32;
    case GDR_TYPE_UINT64:
        return ordered ? GDR_TYPE_UINT64 : GDR_TYPE_INT64;
    case GDR_TYPE_BOOL8:
    case GDR_TYPE_LOGICAL8:
    case GDR_TYPE_BYTE:
        return GDR_TYPE_INT8;
    case GDR_TYPE_LOGICAL16:
        return GDR_TYPE_INT16;
    case GDR_TYPE_LOGICAL32:
        return GDR_TYPE_INT32;
    case GDR_TYPE_LOGICAL64:
        return GDR_TYPE_INT64;
    default:
        return type;
    }
}

const gdr_kernel_t *gdr_kernel_find(gdr_op_t op, gdr_type_t type)
{
    if (!gdr_optype_supported(op, type))
        return NULL;
    return &kernels[op][representation(op, type)];
}

const gdr_kernel_t *gdr_kernel_copy(void)
{
    return &copy_kernel;
}

const gdr_kernel_t *gdr_kernel_gather(void)
{
    return &gather_kernel;
}

const char *gdr_kernel_name(gdr_op_t op, gdr_type_t type)
{
    const gdr_kernel_t *kernel = gdr_kernel_find(op, type);

    return kernel != NULL ? kernel->name : NULL;
}

/* The index-th place that holds a kernel, and how many were passed on the way. */
static const gdr_kernel_t *walk(size_t index, size_t *passed)
{
    *passed = 0;
    for (unsigned op = 0; op < GDR_OP_COUNT; op++) {
        for (unsigned type = 0; type < GDR_TYPE_COUNT; type++) {
            if (kernels[op][type].name == NULL)
                continue;
            if (*passed == index)
                return &kernels[op][type];
            (*passed)++;
        }
    }
    return NULL;
}

size_t gdr_kernels_count(void)
{
    size_t reductions;

    (void)walk(SIZE_MAX, &reductions);
    return reductions + 2; /* and the copy, and the gather */
}

const gdr_kernel_t *gdr_kernels_at(size_t index)
{
    size_t passed;

    if (index < 2)
        return index == 0 ? &copy_kernel : &gather_kernel;
    return walk(index - 2, &passed);
}

gdr_kernel_grid_t gdr_kernel_grid(uint64_t count, size_t bytes, uint32_t max_blocks)
{
    /* One 16-byte unit per thread: the loads of a small message then spread over many SMs. */
    const uint64_t block_elements = (uint64_t)GDR_KERNEL_THREADS * 16 / bytes;
    uint64_t limit = max_blocks != 0 ? max_blocks : GDR_KERNEL_DEFAULT_BLOCKS;
    uint64_t blocks = gdr_min_u64(gdr_div_up(count, block_elements), limit);

    return (gdr_kernel_grid_t){(uint32_t)gdr_max_u64(blocks, 1), GDR_KERNEL_THREADS};
}
