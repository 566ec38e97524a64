/* cudaGetDeviceProperties: the one structure that differs much between major versions. */
#include "cuda_emu/cudart/rt.h"

#include <string.h>

#if RT_MAJOR >= 13
#define ONLY12(...)
#define ONLY13(...)     X(__VA_ARGS__)
#define RESERVED        56
#define PROPERTIES_SIZE 1008
#else
#define ONLY12(...) X(__VA_ARGS__)
#define ONLY13(...)
#define RESERVED        63
#define PROPERTIES_SIZE 1032
#endif

struct rt_properties {
    char name[256];
    CUuuid uuid;
    char luid[8]; /* Windows only */
    unsigned luid_node_mask;
    size_t total_memory;
#define X(type, field, elements, first) type field[elements];
#include "properties.def"
#undef X
    int reserved[RESERVED];
};
_Static_assert(sizeof(struct rt_properties) == PROPERTIES_SIZE, "the layout of the real structure");

/* An attribute that the driver does not know is 0. */
static int attribute(CUdevice device, int number)
{
    int value;

    if (rt_drv.cuDeviceGetAttribute(&value, (CUdevice_attribute)number, device) != CUDA_SUCCESS)
        return 0;
    return value;
}

static cudaError_t fill(struct rt_properties *out, int ordinal)
{
    CUdevice device;

    if (rt_drv.cuDeviceGet(&device, ordinal) != CUDA_SUCCESS)
        return cudaErrorInvalidDevice;
    memset(out, 0, sizeof(*out));
    (void)rt_drv.cuDeviceGetName(out->name, (int)sizeof(out->name), device);
    (void)rt_drv.device_uuid(&out->uuid, device);
    (void)rt_drv.cuDeviceTotalMem(&out->total_memory, device);
#define X(type, field, elements, first)                                                            \
    for (int i = 0; i < elements; i++)                                                             \
        out->field[i] = (type)attribute(device, first + i);
#include "properties.def"
#undef X
    return cudaSuccess;
}

static cudaError_t get_properties(void *out, size_t size, int ordinal)
{
    struct rt_properties properties;
    cudaError_t status = out == NULL ? cudaErrorInvalidValue : fill(&properties, ordinal);

    if (status == cudaSuccess)
        memcpy(out, &properties, size);
    return status;
}

#if RT_MAJOR >= 13
/* clang-format off */
RT_FN_DRIVER(cudaGetDeviceProperties, (void *out, int device),
             get_properties(out, sizeof(struct rt_properties), device))
/* clang-format on */
#else
/* The plain name is the structure of CUDA 11, which ends earlier; the header maps it to _v2. */
#define SIZE_11 offsetof(struct rt_properties, hostRegisterSupported)
/* clang-format off */
RT_FN_DRIVER(cudaGetDeviceProperties, (void *out, int device),
             get_properties(out, SIZE_11, device))
RT_FN_DRIVER(cudaGetDeviceProperties_v2, (void *out, int device),
             get_properties(out, sizeof(struct rt_properties), device))
/* clang-format on */
#endif
