/*
 * What the emulated devices are called, the same for the driver, NVML and the launcher: count,
 * visibility, PCI addresses, UUIDs, memory size, all computed from the physical ordinal and the
 * environment, so that separate libraries (and processes) agree without talking to each other.
 *
 * - CUDA_EMU_DEVICES: physical devices of this node, 0 to EMU_DEVICE_MAX.
 * - CUDA_EMU_MEM: memory of each, in bytes or with a suffix K, M, G, T (powers of 1024).
 * - CUDA_VISIBLE_DEVICES: as in CUDA, ordinals or UUID prefixes; the order counts, the list ends
 *   at its first bad entry; NVML ignores it, as the real one does.
 *
 * Pure functions of the environment: callable from any thread as long as nobody writes it.
 */
#ifndef CUDA_EMU_DEVICE_H
#define CUDA_EMU_DEVICE_H

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define EMU_DEVICE_MAX            16
#define EMU_QUEUES_MAX            32 /* as CUDA_DEVICE_MAX_CONNECTIONS */
#define EMU_DEVICE_DEFAULT        2
#define EMU_DEVICE_MEM_DEFAULT    (UINT64_C(4) << 30)
#define EMU_DEVICE_CC_MAJOR       9
#define EMU_DEVICE_CC_MINOR       0
#define EMU_DEVICE_CUDA_VERSION   13000 /* what cuDriverGetVersion answers */
#define EMU_DEVICE_DRIVER_VERSION "580.95.05"
#define EMU_DEVICE_NAME           "Emulated GPU"

/* "64M" -> bytes. Returns 0 on success, -1 on anything that is not a positive size. */
static inline int emu_parse_size(const char *text, uint64_t *bytes)
{
    static const char suffixes[] = "KMGT";
    const char *suffix;
    char *end;
    unsigned shift = 0;
    unsigned long long value;

    if (text == NULL || text[0] < '0' || text[0] > '9')
        return -1;
    value = strtoull(text, &end, 10);
    if (*end != '\0') {
        suffix = strchr(suffixes, *end & ~0x20);
        if (suffix == NULL || end[1] != '\0')
            return -1;
        shift = 10 * (unsigned)(suffix - suffixes + 1);
    }
    if (value == 0 || value > (UINT64_MAX >> 1) >> shift)
        return -1;
    *bytes = (uint64_t)value << shift;
    return 0;
}

/* A decimal number in [low, high]. Returns 0 on success, -1 on anything else. */
static inline int emu_parse_long(const char *text, long low, long high, long *value)
{
    char *end;
    long parsed;

    if (text == NULL || text[0] < '0' || text[0] > '9')
        return -1;
    parsed = strtol(text, &end, 10);
    if (*end != '\0' || parsed < low || parsed > high)
        return -1;
    *value = parsed;
    return 0;
}

/* CUDA_EMU_VERBOSE is set, and not to 0. */
static inline int emu_verbose_wanted(void)
{
    const char *text = getenv("CUDA_EMU_VERBOSE");

    return text != NULL && text[0] != '\0' && strcmp(text, "0") != 0;
}

/* Physical devices of this node. A value that does not parse is the default. */
static inline int emu_device_count(void)
{
    long count;

    if (emu_parse_long(getenv("CUDA_EMU_DEVICES"), 0, EMU_DEVICE_MAX, &count) != 0)
        return EMU_DEVICE_DEFAULT;
    return (int)count;
}

/* Memory of each device in bytes. */
static inline uint64_t emu_device_memory(void)
{
    uint64_t bytes;

    if (emu_parse_size(getenv("CUDA_EMU_MEM"), &bytes) != 0)
        return EMU_DEVICE_MEM_DEFAULT;
    return bytes;
}

static inline int emu_device_pci_domain(int ordinal)
{
    (void)ordinal;
    return 0;
}

static inline int emu_device_pci_bus(int ordinal)
{
    return 0x10 + 8 * ordinal;
}

static inline int emu_device_pci_device(int ordinal)
{
    (void)ordinal;
    return 0;
}

/* "0000:10:00.0" as CUDA writes it; at least 13 bytes. */
static inline void emu_device_pci_string(int ordinal, char *text, size_t size)
{
    snprintf(text, size, "%04x:%02x:%02x.0", (unsigned)emu_device_pci_domain(ordinal),
             (unsigned)emu_device_pci_bus(ordinal), (unsigned)emu_device_pci_device(ordinal));
}

/* 16 bytes that differ between nodes (by host name) and between the devices of a node. */
static inline void emu_device_uuid(int ordinal, unsigned char uuid[16])
{
    char host[256] = "";
    uint64_t hash[2] = {UINT64_C(0xcbf29ce484222325), UINT64_C(0x84222325cbf29ce4)};
    size_t i;

    gethostname(host, sizeof(host) - 1);
    for (i = 0; i < 2; i++) {
        for (const char *c = host; *c != '\0'; c++)
            hash[i] = (hash[i] ^ (unsigned char)*c) * UINT64_C(0x100000001b3);
        hash[i] = (hash[i] ^ (uint64_t)(ordinal + 1)) * UINT64_C(0x9e3779b97f4a7c15);
        hash[i] ^= hash[i] >> 29;
    }
    memcpy(uuid, hash, 16);
    uuid[6] = (unsigned char)((uuid[6] & 0x0f) | 0x40);
    uuid[8] = (unsigned char)((uuid[8] & 0x3f) | 0x80);
}

/* "GPU-8f2a...-...": the form that NVML and CUDA_VISIBLE_DEVICES use; at least 41 bytes. */
static inline void emu_device_uuid_string(int ordinal, char *text, size_t size)
{
    unsigned char u[16];

    emu_device_uuid(ordinal, u);
    snprintf(text, size, "GPU-%02x%02x%02x%02x-%02x%02x-%02x%02x-%02x%02x-%02x%02x%02x%02x%02x%02x",
             u[0], u[1], u[2], u[3], u[4], u[5], u[6], u[7], u[8], u[9], u[10], u[11], u[12], u[13],
             u[14], u[15]);
}

/* Physical ordinal named by one entry of CUDA_VISIBLE_DEVICES; -1 = none. */
static inline int emu_device_named(const char *entry, size_t length, int count)
{
    char text[64], uuid[48];
    long ordinal;

    if (length == 0 || length >= sizeof(text))
        return -1;
    memcpy(text, entry, length);
    text[length] = '\0';
    if (emu_parse_long(text, 0, count - 1, &ordinal) == 0)
        return (int)ordinal;
    if (length <= 4 || strncmp(text, "GPU-", 4) != 0)
        return -1;
    for (int i = 0; i < count; i++) {
        emu_device_uuid_string(i, uuid, sizeof(uuid));
        if (strncmp(uuid, text, length) == 0)
            return i;
    }
    return -1;
}

/*
 * The devices that a CUDA process sees: physical[i] is the physical ordinal of CUDA device i.
 * Returns their number. A device named twice hides all of them, as in CUDA.
 */
static inline int emu_device_visible(int physical[EMU_DEVICE_MAX])
{
    const char *list = getenv("CUDA_VISIBLE_DEVICES");
    int count = emu_device_count(), visible = 0;

    if (list == NULL) {
        for (int i = 0; i < count; i++)
            physical[i] = i;
        return count;
    }
    while (visible < EMU_DEVICE_MAX) {
        size_t length = strcspn(list, ",");
        int device = emu_device_named(list, length, count);

        if (device < 0)
            break;
        for (int i = 0; i < visible; i++) {
            if (physical[i] == device)
                return 0;
        }
        physical[visible++] = device;
        if (list[length] == '\0')
            break;
        list += length + 1;
    }
    return visible;
}

#endif
