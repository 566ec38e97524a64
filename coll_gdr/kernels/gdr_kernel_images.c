/* nvcc's fatbins, taken in by the assembler: as C arrays they would keep a compiler busy. */
#include "kernels/gdr_kernel_images.h"

#include "kernels/gdr_kernels.h"

_Static_assert(sizeof(gdr_kernel_image_t) == 24, "EMBED lays out a gdr_kernel_image_t");

/*
 * A gdr_kernel_image_t made by the assembler, which alone knows the size. The path is relative to
 * the top of the build tree, where every compiler is started. The symbol stays in the library.
 */
#define EMBED(image)                                                                               \
    extern const gdr_kernel_image_t gdr_image_##image __attribute__((visibility("hidden")));       \
    __asm__(".pushsection .rodata\n"                                                               \
            ".balign 16\n"                                                                         \
            ".Lgdr_begin_" #image ": .incbin \"coll_gdr/kernels/" #image ".fatbin\"\n"             \
            ".Lgdr_end_" #image ": .byte 0\n"                                                      \
            ".Lgdr_name_" #image ": .asciz \"" #image "\"\n"                                       \
            ".popsection\n"                                                                        \
            ".pushsection .data.rel.ro.local, \"aw\"\n"                                            \
            ".balign 8\n"                                                                          \
            ".globl gdr_image_" #image "\n"                                                        \
            ".hidden gdr_image_" #image "\n"                                                       \
            "gdr_image_" #image ":\n"                                                              \
            ".quad .Lgdr_name_" #image "\n"                                                        \
            ".quad .Lgdr_begin_" #image "\n"                                                       \
            ".quad .Lgdr_end_" #image " - .Lgdr_begin_" #image "\n"                                \
            ".popsection\n")

EMBED(float);
EMBED(arith);
EMBED(order);
EMBED(logic);
EMBED(bits);
EMBED(pair);

static const gdr_kernel_image_t *const images[GDR_KERNEL_IMAGE_COUNT] = {
    [GDR_KERNEL_IMAGE_FLOAT] = &gdr_image_float, [GDR_KERNEL_IMAGE_ARITH] = &gdr_image_arith,
    [GDR_KERNEL_IMAGE_ORDER] = &gdr_image_order, [GDR_KERNEL_IMAGE_LOGIC] = &gdr_image_logic,
    [GDR_KERNEL_IMAGE_BITS] = &gdr_image_bits,   [GDR_KERNEL_IMAGE_PAIR] = &gdr_image_pair,
};

size_t gdr_kernels_images(void)
{
    return GDR_KERNEL_IMAGE_COUNT;
}

const gdr_kernel_image_t *gdr_kernels_image(size_t index)
{
    return index < GDR_KERNEL_IMAGE_COUNT ? images[index] : NULL;
}
