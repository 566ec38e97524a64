/*
 * NVML, as the NVML API reference describes it: the same devices that the driver has, by the same
 * names. The library is opened by hand, as UCX and others do.
 */
#include "cuda_emu/tests/emu_test.h"
#include "cuda_emu/nvml/emu_nvml.h"

#include <dlfcn.h>

static void *library;

static void *find(const char *name)
{
    void *symbol;

    if (library == NULL)
        library = dlopen(built("cuda_emu/.libs/libnvidia-ml.so.1"), RTLD_NOW | RTLD_LOCAL);
    CHECK(library != NULL);
    symbol = dlsym(library, name);
    if (symbol == NULL)
        child_fail(__FILE__, __LINE__, name, 0, 0);
    return symbol;
}

/* The function of that name, typed as emu_nvml.h declares it. */
#define NVML(name) ((__typeof__(&name))(uintptr_t)find(#name))

static void same_devices(void)
{
    nvmlDevice_t device, again;
    nvmlPciInfo_t pci;
    nvmlMemory_t memory;
    CUuuid uuid;
    CUdevice cuda;
    char text[96], bytes[64];
    unsigned count, domain, bus, slot;
    int major;

    IS(NVML(nvmlDeviceGetCount_v2)(&count), NVML_ERROR_UNINITIALIZED);
    IS(NVML(nvmlInit_v2)(), NVML_SUCCESS);
    IS(NVML(nvmlDeviceGetCount_v2)(&count), NVML_SUCCESS);
    IS(count, 3); /* CUDA_VISIBLE_DEVICES does not concern NVML */
    OK(cuInit(0));
    OK(cuDeviceGet(&cuda, 0)); /* visible device 0 is physical device 2 */
    OK(cuDeviceGetPCIBusId(text, sizeof(text), cuda));
    IS(NVML(nvmlDeviceGetHandleByPciBusId_v2)(text, &device), NVML_SUCCESS);
    IS(NVML(nvmlDeviceGetHandleByIndex_v2)(2, &again), NVML_SUCCESS);
    CHECK(device == again);
    IS(NVML(nvmlDeviceGetPciInfo_v3)(device, &pci), NVML_SUCCESS);
    CHECK(sscanf(text, "%x:%x:%x", &domain, &bus, &slot) == 3);
    CHECK(pci.domain == domain && pci.bus == bus && pci.device == slot);
    OK(cuDeviceGetUuid(&uuid, cuda));
    IS(NVML(nvmlDeviceGetUUID)(device, text, sizeof(text)), NVML_SUCCESS);
    snprintf(bytes, sizeof(bytes), "GPU-%02x%02x%02x%02x-", (unsigned char)uuid.bytes[0],
             (unsigned char)uuid.bytes[1], (unsigned char)uuid.bytes[2],
             (unsigned char)uuid.bytes[3]);
    CHECK(strncmp(text, bytes, strlen(bytes)) == 0);
    IS(NVML(nvmlDeviceGetHandleByUUID)(text, &again), NVML_SUCCESS);
    CHECK(device == again);
    IS(NVML(nvmlDeviceGetUUID)(device, text, 5), NVML_ERROR_INSUFFICIENT_SIZE);
    IS(NVML(nvmlDeviceGetMemoryInfo)(device, &memory), NVML_SUCCESS);
    CHECK(memory.total == 128 << 20);
    IS(NVML(nvmlSystemGetCudaDriverVersion)(&major), NVML_SUCCESS);
    IS(major, 13000);
    IS(NVML(nvmlDeviceGetHandleByIndex_v2)(3, &again), NVML_ERROR_INVALID_ARGUMENT);
    IS(NVML(nvmlShutdown)(), NVML_SUCCESS);
    IS(NVML(nvmlShutdown)(), NVML_ERROR_UNINITIALIZED);
}

/* UCX counts a device's links and asks where each goes before it reads peers' memory directly. */
static void links(void)
{
    nvmlFieldValue_t value = {.fieldId = NVML_FI_DEV_NVLINK_LINK_COUNT};
    nvmlDevice_t device;
    nvmlPciInfo_t pci;

    IS(NVML(nvmlInit_v2)(), NVML_SUCCESS);
    IS(NVML(nvmlDeviceGetHandleByIndex_v2)(0, &device), NVML_SUCCESS);
    IS(NVML(nvmlDeviceGetFieldValues)(device, 1, &value), NVML_SUCCESS);
    IS(value.nvmlReturn, NVML_SUCCESS);
    IS(value.valueType, NVML_VALUE_TYPE_UNSIGNED_INT);
    CHECK(value.value.ui > 0);
    for (unsigned i = 0; i < value.value.ui; i++)
        IS(NVML(nvmlDeviceGetNvLinkRemotePciInfo_v2)(device, i, &pci), NVML_SUCCESS);
    IS(NVML(nvmlDeviceGetNvLinkRemotePciInfo_v2)(device, value.value.ui, &pci),
       NVML_ERROR_INVALID_ARGUMENT);
    value.fieldId = 1;
    IS(NVML(nvmlDeviceGetFieldValues)(device, 1, &value), NVML_SUCCESS);
    IS(value.nvmlReturn, NVML_ERROR_NOT_SUPPORTED);
}

/* Whatever is not emulated exists and says so. */
static void unimplemented(void)
{
    int (*fan)(void) = (int (*)(void))(uintptr_t)find("nvmlDeviceGetFanSpeed");

    IS(NVML(nvmlInit_v2)(), NVML_SUCCESS);
    IS(fan(), NVML_ERROR_NOT_SUPPORTED);
}

static void test_devices(void **state)
{
    (void)state;
    expect_ok_silent(same_devices,
                     ENV("CUDA_EMU_DEVICES=3", "CUDA_EMU_MEM=128M", "CUDA_VISIBLE_DEVICES=2,0"));
}

static void test_links(void **state)
{
    (void)state;
    expect_ok_silent(links, NO_ENV);
}

static void test_unimplemented(void **state)
{
    (void)state;
    expect_ok_silent(unimplemented, NO_ENV);
    expect_ok_saying(unimplemented, ENV("CUDA_EMU_VERBOSE=1"), "nvmlDeviceGetFanSpeed");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_devices),
        cmocka_unit_test(test_links),
        cmocka_unit_test(test_unimplemented),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
