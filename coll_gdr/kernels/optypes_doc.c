/* Prints docs/optypes.md from the tables, for `make docs-optypes`; a test compares. */
#include <stdio.h>

#include "kernels/gdr_kernels.h"

static const char *const handles[GDR_TYPE_COUNT] = {
#define GDR_HANDLES(ID, text) [GDR_TYPE_##ID] = (text),
#include "base/optypes.def"
};

static void print_rules(void)
{
    puts("# Operations and types on the device\n"
         "\n"
         "Generated from `coll_gdr/base/optypes.def` and `coll_gdr/kernels/gdr_kernels.def` by\n"
         "`make docs-optypes`; do not edit. What is not listed here is staged through the host.\n"
         "\n"
         "- Operands are evaluated from left to right with the same expression everywhere; no\n"
         "  multiplication is fused with an addition. One operand alone is copied unchanged.\n"
         "- Integers wrap on overflow, signed ones too.\n"
         "- MIN and MAX of floating point: NaN wins (of two, the first), and -0 < +0, so the\n"
         "  result does not depend on which rank contributed it.\n"
         "- Complex products are the textbook formula, without C's recovery of infinities.\n"
         "- LAND, LOR, LXOR: everything but 0 is true; a result is 1 or 0.\n"
         "- MINLOC and MAXLOC: of equal values the lowest index. NaN wins over every value.\n"
         "  A pair is copied whole, with its padding.\n"
         "- Types of one representation may share a kernel (`gdr_reduce_sum_int32` also adds\n"
         "  unsigned integers). The copy is `gdr_copy`.\n");
}

static void print_types(void)
{
    puts("## Types\n"
         "\n"
         "| type | bytes | MPI handles, as they usually are |\n"
         "|---|---|---|");
    for (int type = 0; type < GDR_TYPE_COUNT; type++)
        printf("| %s | %zu | %s |\n", gdr_type_name((gdr_type_t)type),
               gdr_type_bytes((gdr_type_t)type), handles[type]);
}

static void print_pairs(void)
{
    size_t pairs = 0;

    puts("\n## Served on the device\n");
    printf("| type |");
    for (int op = 0; op < GDR_OP_COUNT; op++)
        printf(" %s |", gdr_op_name((gdr_op_t)op));
    printf("\n|---|");
    for (int op = 0; op < GDR_OP_COUNT; op++)
        printf("---|");
    for (int type = 0; type < GDR_TYPE_COUNT; type++) {
        printf("\n| %s |", gdr_type_name((gdr_type_t)type));
        for (int op = 0; op < GDR_OP_COUNT; op++) {
            bool served = gdr_kernel_find((gdr_op_t)op, (gdr_type_t)type) != NULL;

            printf(" %s |", served ? "yes" : "");
            pairs += served;
        }
    }
    printf("\n\n%zu pairs, %zu kernels with the copy and the gather.\n", pairs,
           gdr_kernels_count());
}

int main(void)
{
    print_rules();
    print_types();
    print_pairs();
    return fflush(stdout) == 0 && ferror(stdout) == 0 ? 0 : 1;
}
