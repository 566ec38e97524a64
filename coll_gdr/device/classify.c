#include "device/driver.h"
#include "device/gdr_device.h"

#include <string.h>

/* Filled by one query; the order is that of the attributes below. */
typedef struct answer {
    unsigned int type, managed;
    int ordinal;
    CUcontext context;
    unsigned long long buffer_id;
} answer_t;

static gdr_mem_kind_t kind_of(const answer_t *answer)
{
    if (answer->managed)
        return GDR_MEM_MANAGED;
    switch (answer->type) {
    case CU_MEMORYTYPE_DEVICE:
    case CU_MEMORYTYPE_ARRAY:
        return GDR_MEM_DEVICE;
    case CU_MEMORYTYPE_HOST:
        return GDR_MEM_REGISTERED;
    default:
        return GDR_MEM_HOST;
    }
}

void gdr_device_classify(const void *pointer, gdr_mem_info_t *info)
{
    CUpointer_attribute attributes[] = {
        CU_POINTER_ATTRIBUTE_MEMORY_TYPE, CU_POINTER_ATTRIBUTE_IS_MANAGED,
        CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL, CU_POINTER_ATTRIBUTE_CONTEXT,
        CU_POINTER_ATTRIBUTE_BUFFER_ID};
    answer_t answer = {.ordinal = -1};
    void *data[] = {&answer.type, &answer.managed, &answer.ordinal, &answer.context,
                    &answer.buffer_id};
    const gdr_driver_t *cu = gdr_driver_bound();

    memset(info, 0, sizeof(*info));
    info->ordinal = -1;
    if (pointer == NULL || cu == NULL)
        return;
    /* Before the application's cuInit there is no device memory, and this returns an error. */
    if (cu->cuPointerGetAttributes(sizeof(attributes) / sizeof(attributes[0]), attributes, data,
                                   (CUdeviceptr)(uintptr_t)pointer) != CUDA_SUCCESS)
        return;
    info->kind = kind_of(&answer);
    if (info->kind == GDR_MEM_HOST)
        return;
    info->ordinal = answer.ordinal >= 0 ? answer.ordinal : -1;
    info->context = (uint64_t)(uintptr_t)answer.context;
    info->buffer_id = answer.buffer_id;
}

uint64_t gdr_device_owner(uint64_t address)
{
    gdr_mem_info_t info;

    gdr_device_classify((const void *)(uintptr_t)address, &info);
    return info.context;
}

uint64_t gdr_device_current(void)
{
    const gdr_driver_t *cu = gdr_driver_bound();
    CUcontext current = NULL;

    if (cu == NULL || cu->cuCtxGetCurrent(&current) != CUDA_SUCCESS)
        return 0;
    return (uint64_t)(uintptr_t)current;
}

bool gdr_device_enter(uint64_t context)
{
    const gdr_driver_t *cu = gdr_driver_bound();

    return context != 0 && cu != NULL &&
           cu->cuCtxPushCurrent((CUcontext)(uintptr_t)context) == CUDA_SUCCESS;
}

void gdr_device_leave(void)
{
    CUcontext popped;

    gdr_driver_bound()->cuCtxPopCurrent(&popped);
}

int gdr_device_quiet(void)
{
    CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_RELAXED;

    gdr_driver_capture_mode(&mode);
    return (int)mode;
}

void gdr_device_loud(int mode)
{
    CUstreamCaptureMode old = (CUstreamCaptureMode)mode;

    gdr_driver_capture_mode(&old);
}
