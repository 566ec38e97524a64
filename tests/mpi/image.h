/*
 * Buffers of the tests of collectives: memory of any kind whose every byte is known before and
 * after a call. Data are ints at known places of an element; all else keeps a pattern.
 */
#ifndef GDR_TEST_IMAGE_H
#define GDR_TEST_IMAGE_H

#include <mpi.h>

#include <stdbool.h>
#include <stddef.h>

/* An MPI type whose elements hold `ints` ints, at these bytes behind the element's address. */
typedef struct layout {
    const char *name;
    MPI_Datatype type;
    ptrdiff_t extent;
    int ints;
    ptrdiff_t at[4];
} layout_t;

enum { LAYOUTS = 4 };
extern layout_t layouts[LAYOUTS]; /* int, contiguous, with holes, below its address */

void layouts_make(void);
void layouts_free(void);

typedef enum memory { HOST, DEVICE, MANAGED, MEMORIES } memory_t;

enum { IMAGE_BYTES = 16 << 10, IMAGE_ORIGIN = 4 << 10 };

typedef struct image {
    memory_t memory;
    char *bytes[MEMORIES]; /* one of them is used */
    char start[IMAGE_BYTES], want[IMAGE_BYTES];
} image_t;

void image_make(image_t *image);
void image_free(image_t *image);
/* Nothing but the pattern, in memory of that kind. */
void image_clear(image_t *image, memory_t memory);
/* The address that calls get: data may lie on both sides of it. */
void *image_buffer(image_t *image);
/* Number `k` of element `element` (in extents) plus `bytes` from the buffer's address: what it is
 * before the call, and stays; and what it is afterwards. */
void image_holds(image_t *image, const layout_t *layout, ptrdiff_t bytes, ptrdiff_t element, int k,
                 int value);
void image_gets(image_t *image, const layout_t *layout, ptrdiff_t bytes, ptrdiff_t element, int k,
                int value);
void image_load(image_t *image);
void image_check(image_t *image, const char *what);

#endif
