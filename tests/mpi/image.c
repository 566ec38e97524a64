#include "image.h"

#include "harness.h"

#include <cuda_runtime_api.h>
#include <stdlib.h>
#include <string.h>

layout_t layouts[LAYOUTS] = {
    {.name = "int", .extent = 4, .ints = 1},
    {.name = "pair", .extent = 8, .ints = 2, .at = {0, 4}},
    {.name = "holes", .extent = 20, .ints = 3, .at = {0, 8, 16}},
    {.name = "below", .extent = 24, .ints = 2, .at = {-8, 4}},
};

void layouts_make(void)
{
    const int ones[2] = {1, 1};
    const MPI_Aint places[2] = {-8, 4};
    MPI_Datatype bare;

    layouts[0].type = MPI_INT;
    MPI_Type_contiguous(2, MPI_INT, &layouts[1].type);
    MPI_Type_vector(3, 1, 2, MPI_INT, &layouts[2].type);
    MPI_Type_create_hindexed(2, ones, places, MPI_INT, &bare);
    MPI_Type_create_resized(bare, -8, 24, &layouts[3].type);
    MPI_Type_free(&bare);
    for (int i = 1; i < LAYOUTS; i++)
        MPI_Type_commit(&layouts[i].type);
}

void layouts_free(void)
{
    for (int i = 1; i < LAYOUTS; i++)
        MPI_Type_free(&layouts[i].type);
}

void image_make(image_t *image)
{
    void *managed = NULL;

    image->bytes[HOST] = malloc(IMAGE_BYTES);
    image->bytes[DEVICE] = t_device_alloc(IMAGE_BYTES);
    if (cudaMallocManaged(&managed, IMAGE_BYTES, cudaMemAttachGlobal) != cudaSuccess ||
        image->bytes[HOST] == NULL)
        t_fatal("no memory for an image");
    image->bytes[MANAGED] = managed;
}

void image_free(image_t *image)
{
    free(image->bytes[HOST]);
    t_device_free(image->bytes[DEVICE]);
    cudaFree(image->bytes[MANAGED]);
}

void image_clear(image_t *image, memory_t memory)
{
    image->memory = memory;
    for (int i = 0; i < IMAGE_BYTES; i++)
        image->start[i] = image->want[i] = (char)(0x51 + i % 7);
}

void *image_buffer(image_t *image)
{
    return image->bytes[image->memory] + IMAGE_ORIGIN;
}

static size_t place(const layout_t *layout, ptrdiff_t bytes, ptrdiff_t element, int k)
{
    ptrdiff_t offset = IMAGE_ORIGIN + bytes + element * layout->extent + layout->at[k];

    if (offset < 0 || offset + 4 > IMAGE_BYTES)
        t_fatal("element %td is outside of the image", element);
    return (size_t)offset;
}

void image_gets(image_t *image, const layout_t *layout, ptrdiff_t bytes, ptrdiff_t element, int k,
                int value)
{
    memcpy(image->want + place(layout, bytes, element, k), &value, sizeof(value));
}

void image_holds(image_t *image, const layout_t *layout, ptrdiff_t bytes, ptrdiff_t element, int k,
                 int value)
{
    memcpy(image->start + place(layout, bytes, element, k), &value, sizeof(value));
    image_gets(image, layout, bytes, element, k, value);
}

void image_load(image_t *image)
{
    if (image->memory == HOST)
        memcpy(image->bytes[HOST], image->start, IMAGE_BYTES);
    else
        t_upload(image->bytes[image->memory], image->start, IMAGE_BYTES);
}

void image_check(image_t *image, const char *what)
{
    static char now[IMAGE_BYTES];

    if (image->memory == HOST)
        memcpy(now, image->bytes[HOST], IMAGE_BYTES);
    else
        t_download(now, image->bytes[image->memory], IMAGE_BYTES);
    for (size_t i = 0; i < IMAGE_BYTES; i++)
        if (now[i] != image->want[i]) {
            int is, should;

            memcpy(&is, now + i / 4 * 4, 4);
            memcpy(&should, image->want + i / 4 * 4, 4);
            t_check(false, "%s buffer, byte %d: the int there is %d (%#x), not %d (%#x)", what,
                    (int)i - IMAGE_ORIGIN, is, (unsigned)is, should, (unsigned)should);
            return;
        }
    t_check(true, "%s buffer", what);
}
