/* NVML: what a device answers. */
#include "cuda_emu/emu_device.h"
#include "cuda_emu/nvml/emu_nvml.h"

#include <time.h>

/*
 * Every device has NVLinks into one NVSwitch, whatever the number of devices: UCX asks for active
 * links before it offers one-sided reads of peer memory.
 */
#define NVLINKS         18
#define NVLINK_MBPS     26562
#define NVLINK_VERSION  4
#define NVSWITCH_BUS    0xc0
#define NVIDIA_VENDOR   0x10deu
#define NVSWITCH_DEVICE 0x22a3u
#define GPU_DEVICE      0x2330u

/* Common entry: NVML_SUCCESS and the ordinal, or the error to return. */
static nvmlReturn_t enter(nvmlDevice_t device, const void *output, int *ordinal)
{
    if (!emu_nvml_ready())
        return NVML_ERROR_UNINITIALIZED;
    *ordinal = emu_nvml_ordinal(device);
    if (output == NULL || *ordinal < 0)
        return NVML_ERROR_INVALID_ARGUMENT;
    return NVML_SUCCESS;
}

nvmlReturn_t nvmlDeviceGetIndex(nvmlDevice_t device, unsigned *index)
{
    int ordinal;
    nvmlReturn_t status = enter(device, index, &ordinal);

    if (status == NVML_SUCCESS)
        *index = (unsigned)ordinal;
    return status;
}

nvmlReturn_t nvmlDeviceGetMinorNumber(nvmlDevice_t device, unsigned *minor)
{
    return nvmlDeviceGetIndex(device, minor);
}

nvmlReturn_t nvmlDeviceGetName(nvmlDevice_t device, char *name, unsigned length)
{
    int ordinal;
    nvmlReturn_t status = enter(device, name, &ordinal);

    return status == NVML_SUCCESS ? emu_nvml_copy(EMU_DEVICE_NAME, name, length) : status;
}

nvmlReturn_t nvmlDeviceGetUUID(nvmlDevice_t device, char *uuid, unsigned length)
{
    char text[48];
    int ordinal;
    nvmlReturn_t status = enter(device, uuid, &ordinal);

    if (status != NVML_SUCCESS)
        return status;
    emu_device_uuid_string(ordinal, text, sizeof(text));
    return emu_nvml_copy(text, uuid, length);
}

/* Everything that version 2 of the structure has too. */
static void fill_pci(unsigned domain, unsigned bus, unsigned slot, unsigned id, nvmlPciInfo_t *pci)
{
    pci->domain = domain;
    pci->bus = bus;
    pci->device = slot;
    pci->pciDeviceId = id << 16 | NVIDIA_VENDOR;
    pci->pciSubSystemId = 0;
    snprintf(pci->busIdLegacy, sizeof(pci->busIdLegacy), "%04x:%02x:%02x.0", domain & 0xffff,
             bus & 0xff, slot & 0x1f);
}

static void fill_bus_id(nvmlPciInfo_t *pci)
{
    snprintf(pci->busId, sizeof(pci->busId), "%08X:%02X:%02X.0", pci->domain, pci->bus,
             pci->device);
}

nvmlReturn_t nvmlDeviceGetPciInfo_v2(nvmlDevice_t device, nvmlPciInfo_t *pci)
{
    int ordinal;
    nvmlReturn_t status = enter(device, pci, &ordinal);

    if (status == NVML_SUCCESS)
        fill_pci((unsigned)emu_device_pci_domain(ordinal), (unsigned)emu_device_pci_bus(ordinal),
                 (unsigned)emu_device_pci_device(ordinal), GPU_DEVICE, pci);
    return status;
}

nvmlReturn_t nvmlDeviceGetPciInfo(nvmlDevice_t device, nvmlPciInfo_t *pci)
{
    return nvmlDeviceGetPciInfo_v2(device, pci);
}

nvmlReturn_t nvmlDeviceGetPciInfo_v3(nvmlDevice_t device, nvmlPciInfo_t *pci)
{
    nvmlReturn_t status = nvmlDeviceGetPciInfo_v2(device, pci);

    if (status == NVML_SUCCESS)
        fill_bus_id(pci);
    return status;
}

/* Usage is known to the driver of each process only: the device looks empty from here. */
nvmlReturn_t nvmlDeviceGetMemoryInfo(nvmlDevice_t device, nvmlMemory_t *memory)
{
    int ordinal;
    nvmlReturn_t status = enter(device, memory, &ordinal);

    if (status == NVML_SUCCESS) {
        memory->total = emu_device_memory();
        memory->free = memory->total;
        memory->used = 0;
    }
    return status;
}

nvmlReturn_t nvmlDeviceGetCudaComputeCapability(nvmlDevice_t device, int *major, int *minor)
{
    int ordinal;
    nvmlReturn_t status = enter(device, major == NULL ? NULL : minor, &ordinal);

    if (status == NVML_SUCCESS) {
        *major = EMU_DEVICE_CC_MAJOR;
        *minor = EMU_DEVICE_CC_MINOR;
    }
    return status;
}

nvmlReturn_t nvmlDeviceGetComputeMode(nvmlDevice_t device, int *mode)
{
    int ordinal;
    nvmlReturn_t status = enter(device, mode, &ordinal);

    if (status == NVML_SUCCESS)
        *mode = 0; /* default: any number of contexts */
    return status;
}

static nvmlReturn_t field(unsigned id, unsigned *value)
{
    switch (id) {
    case NVML_FI_DEV_NVLINK_LINK_COUNT:
    case NVML_FI_DEV_NVSWITCH_CONNECTED_LINK_COUNT:
        *value = NVLINKS;
        return NVML_SUCCESS;
    case NVML_FI_DEV_NVLINK_SPEED_MBPS_COMMON:
    case NVML_FI_DEV_NVLINK_GET_SPEED:
        *value = NVLINK_MBPS;
        return NVML_SUCCESS;
    default:
        return NVML_ERROR_NOT_SUPPORTED;
    }
}

nvmlReturn_t nvmlDeviceGetFieldValues(nvmlDevice_t device, int count, nvmlFieldValue_t *values)
{
    struct timespec now;
    int ordinal;
    nvmlReturn_t status = enter(device, values, &ordinal);

    if (status != NVML_SUCCESS)
        return status;
    if (count < 1)
        return NVML_ERROR_INVALID_ARGUMENT;
    clock_gettime(CLOCK_REALTIME, &now);
    for (int i = 0; i < count; i++) {
        values[i].timestamp = now.tv_sec * 1000000LL + now.tv_nsec / 1000;
        values[i].latencyUsec = 0;
        values[i].valueType = NVML_VALUE_TYPE_UNSIGNED_INT;
        values[i].value.ull = 0;
        values[i].nvmlReturn = field(values[i].fieldId, &values[i].value.ui);
    }
    return NVML_SUCCESS;
}

static nvmlReturn_t enter_link(nvmlDevice_t device, unsigned link, const void *output)
{
    int ordinal;
    nvmlReturn_t status = enter(device, output, &ordinal);

    return status == NVML_SUCCESS && link >= NVLINKS ? NVML_ERROR_INVALID_ARGUMENT : status;
}

nvmlReturn_t nvmlDeviceGetNvLinkState(nvmlDevice_t device, unsigned link, int *active)
{
    nvmlReturn_t status = enter_link(device, link, active);

    if (status == NVML_SUCCESS)
        *active = 1;
    return status;
}

nvmlReturn_t nvmlDeviceGetNvLinkVersion(nvmlDevice_t device, unsigned link, unsigned *version)
{
    nvmlReturn_t status = enter_link(device, link, version);

    if (status == NVML_SUCCESS)
        *version = NVLINK_VERSION;
    return status;
}

nvmlReturn_t nvmlDeviceGetNvLinkCapability(nvmlDevice_t device, unsigned link, int capability,
                                           unsigned *value)
{
    nvmlReturn_t status = enter_link(device, link, value);

    (void)capability;
    if (status == NVML_SUCCESS)
        *value = 1;
    return status;
}

nvmlReturn_t nvmlDeviceGetNvLinkRemotePciInfo_v2(nvmlDevice_t device, unsigned link,
                                                 nvmlPciInfo_t *pci)
{
    nvmlReturn_t status = enter_link(device, link, pci);

    if (status == NVML_SUCCESS) {
        fill_pci(0, NVSWITCH_BUS, 0, NVSWITCH_DEVICE, pci);
        fill_bus_id(pci);
    }
    return status;
}

nvmlReturn_t nvmlDeviceGetNvLinkRemotePciInfo(nvmlDevice_t device, unsigned link,
                                              nvmlPciInfo_t *pci)
{
    nvmlReturn_t status = enter_link(device, link, pci);

    if (status == NVML_SUCCESS)
        fill_pci(0, NVSWITCH_BUS, 0, NVSWITCH_DEVICE, pci);
    return status;
}

nvmlReturn_t nvmlDeviceGetP2PStatus(nvmlDevice_t first, nvmlDevice_t second, int index, int *status)
{
    int ordinal;
    nvmlReturn_t result = enter(first, status, &ordinal);

    (void)index;
    if (result == NVML_SUCCESS)
        result = enter(second, status, &ordinal);
    if (result == NVML_SUCCESS)
        *status = 0; /* NVML_P2P_STATUS_OK */
    return result;
}

nvmlReturn_t nvmlDeviceGetGpuFabricInfo(nvmlDevice_t device, nvmlGpuFabricInfo_t *info)
{
    int ordinal;
    nvmlReturn_t status = enter(device, info, &ordinal);

    if (status == NVML_SUCCESS) {
        memset(info->clusterUuid, 0, sizeof(info->clusterUuid));
        info->status = NVML_SUCCESS;
        info->cliqueId = 0;
        info->state = 0;
    }
    return status;
}

nvmlReturn_t nvmlDeviceGetGpuFabricInfoV(nvmlDevice_t device, nvmlGpuFabricInfoV_t *info)
{
    if (info == NULL)
        return NVML_ERROR_INVALID_ARGUMENT;
    return nvmlDeviceGetGpuFabricInfo(device, &info->info);
}
