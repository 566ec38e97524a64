/* The images (one per .cu file) that are embedded in the library. Private to the kernels room. */
#ifndef GDR_KERNEL_IMAGES_H
#define GDR_KERNEL_IMAGES_H

typedef enum gdr_kernel_image_id {
    GDR_KERNEL_IMAGE_FLOAT,
    GDR_KERNEL_IMAGE_ARITH,
    GDR_KERNEL_IMAGE_ORDER,
    GDR_KERNEL_IMAGE_LOGIC,
    GDR_KERNEL_IMAGE_BITS,
    GDR_KERNEL_IMAGE_PAIR,
    GDR_KERNEL_IMAGE_COUNT
} gdr_kernel_image_id_t;

#endif
