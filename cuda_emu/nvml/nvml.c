/* NVML: initialisation, versions, finding devices. */
#include "cuda_emu/emu_device.h"
#include "cuda_emu/nvml/emu_nvml.h"

#include <stdatomic.h>
#include <strings.h>

struct emu_nvml_device {
    int ordinal;
};

static struct emu_nvml_device devices[EMU_DEVICE_MAX];
static atomic_int inits;

int emu_nvml_ready(void)
{
    return atomic_load(&inits) > 0;
}

int emu_nvml_ordinal(nvmlDevice_t device)
{
    for (int i = 0; i < emu_device_count(); i++) {
        if (device == &devices[i])
            return i;
    }
    return -1;
}

nvmlReturn_t emu_nvml_copy(const char *text, char *out, unsigned length)
{
    if (out == NULL)
        return NVML_ERROR_INVALID_ARGUMENT;
    if (strlen(text) >= length)
        return NVML_ERROR_INSUFFICIENT_SIZE;
    strcpy(out, text);
    return NVML_SUCCESS;
}

int emu_nvml_unsupported(const char *function)
{
    if (emu_verbose_wanted())
        fprintf(stderr, "cuda_emu: %s is not implemented\n", function);
    return emu_nvml_ready() ? NVML_ERROR_NOT_SUPPORTED : NVML_ERROR_UNINITIALIZED;
}

nvmlReturn_t nvmlInitWithFlags(unsigned flags)
{
    (void)flags;
    atomic_fetch_add(&inits, 1);
    return NVML_SUCCESS;
}

nvmlReturn_t nvmlInit_v2(void)
{
    return nvmlInitWithFlags(0);
}

nvmlReturn_t nvmlInit(void)
{
    return nvmlInitWithFlags(0);
}

nvmlReturn_t nvmlShutdown(void)
{
    int count = atomic_load(&inits);

    while (count > 0) {
        if (atomic_compare_exchange_weak(&inits, &count, count - 1))
            return NVML_SUCCESS;
    }
    return NVML_ERROR_UNINITIALIZED;
}

const char *nvmlErrorString(nvmlReturn_t result)
{
    switch (result) {
    case NVML_SUCCESS:
        return "The operation was successful";
    case NVML_ERROR_UNINITIALIZED:
        return "NVML was not first initialized with nvmlInit()";
    case NVML_ERROR_INVALID_ARGUMENT:
        return "A supplied argument is invalid";
    case NVML_ERROR_NOT_SUPPORTED:
        return "The requested operation is not available on target device";
    case NVML_ERROR_NOT_FOUND:
        return "A query to find an object was unsuccessful";
    case NVML_ERROR_INSUFFICIENT_SIZE:
        return "An input argument is not large enough";
    case NVML_ERROR_GPU_NOT_FOUND:
        return "No GPUs were found";
    }
    return "Unknown Error";
}

nvmlReturn_t nvmlSystemGetDriverVersion(char *version, unsigned length)
{
    if (!emu_nvml_ready())
        return NVML_ERROR_UNINITIALIZED;
    return emu_nvml_copy(EMU_DEVICE_DRIVER_VERSION, version, length);
}

nvmlReturn_t nvmlSystemGetNVMLVersion(char *version, unsigned length)
{
    return emu_nvml_copy("13." EMU_DEVICE_DRIVER_VERSION, version, length);
}

nvmlReturn_t nvmlSystemGetCudaDriverVersion_v2(int *version)
{
    if (version == NULL)
        return NVML_ERROR_INVALID_ARGUMENT;
    *version = EMU_DEVICE_CUDA_VERSION;
    return NVML_SUCCESS;
}

nvmlReturn_t nvmlSystemGetCudaDriverVersion(int *version)
{
    return nvmlSystemGetCudaDriverVersion_v2(version);
}

nvmlReturn_t nvmlDeviceGetCount_v2(unsigned *count)
{
    if (!emu_nvml_ready())
        return NVML_ERROR_UNINITIALIZED;
    if (count == NULL)
        return NVML_ERROR_INVALID_ARGUMENT;
    *count = (unsigned)emu_device_count();
    return NVML_SUCCESS;
}

nvmlReturn_t nvmlDeviceGetCount(unsigned *count)
{
    return nvmlDeviceGetCount_v2(count);
}

nvmlReturn_t nvmlDeviceGetHandleByIndex_v2(unsigned index, nvmlDevice_t *device)
{
    if (!emu_nvml_ready())
        return NVML_ERROR_UNINITIALIZED;
    if (device == NULL || index >= (unsigned)emu_device_count())
        return NVML_ERROR_INVALID_ARGUMENT;
    devices[index].ordinal = (int)index;
    *device = &devices[index];
    return NVML_SUCCESS;
}

nvmlReturn_t nvmlDeviceGetHandleByIndex(unsigned index, nvmlDevice_t *device)
{
    return nvmlDeviceGetHandleByIndex_v2(index, device);
}

/* The documentation takes domains of 4 and of 8 digits and any case: the numbers are compared. */
nvmlReturn_t nvmlDeviceGetHandleByPciBusId_v2(const char *bus_id, nvmlDevice_t *device)
{
    unsigned domain, bus, slot;

    if (!emu_nvml_ready())
        return NVML_ERROR_UNINITIALIZED;
    if (bus_id == NULL || device == NULL)
        return NVML_ERROR_INVALID_ARGUMENT;
    if (sscanf(bus_id, "%8x:%2x:%2x", &domain, &bus, &slot) != 3) {
        domain = 0;
        if (sscanf(bus_id, "%2x:%2x", &bus, &slot) != 2)
            return NVML_ERROR_INVALID_ARGUMENT;
    }
    for (int i = 0; i < emu_device_count(); i++) {
        if (domain == (unsigned)emu_device_pci_domain(i) &&
            bus == (unsigned)emu_device_pci_bus(i) && slot == (unsigned)emu_device_pci_device(i))
            return nvmlDeviceGetHandleByIndex_v2((unsigned)i, device);
    }
    return NVML_ERROR_NOT_FOUND;
}

nvmlReturn_t nvmlDeviceGetHandleByPciBusId(const char *bus_id, nvmlDevice_t *device)
{
    return nvmlDeviceGetHandleByPciBusId_v2(bus_id, device);
}

nvmlReturn_t nvmlDeviceGetHandleByUUID(const char *uuid, nvmlDevice_t *device)
{
    char own[48];

    if (!emu_nvml_ready())
        return NVML_ERROR_UNINITIALIZED;
    if (uuid == NULL || device == NULL)
        return NVML_ERROR_INVALID_ARGUMENT;
    for (int i = 0; i < emu_device_count(); i++) {
        emu_device_uuid_string(i, own, sizeof(own));
        if (strcasecmp(own, uuid) == 0)
            return nvmlDeviceGetHandleByIndex_v2((unsigned)i, device);
    }
    return NVML_ERROR_NOT_FOUND;
}
