/* The environment, read once. A value that does not parse is said and makes cuInit fail. */
#include "cuda_emu/core/emu.h"

#include <string.h>
#include <unistd.h>

static struct emu_config config;
static pthread_once_t once = PTHREAD_ONCE_INIT;

int emu_local_rank(void)
{
    static const char *const names[] = {"OMPI_COMM_WORLD_LOCAL_RANK", "MPI_LOCALRANKID",
                                        "PMI_LOCAL_RANK", "SLURM_LOCALID", "PMI_RANK"};
    long rank;

    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        if (emu_parse_long(getenv(names[i]), 0, 1L << 30, &rank) == 0)
            return (int)rank;
    }
    return 0;
}

static long number(const char *name, long low, long high, long fallback)
{
    const char *text = getenv(name);
    long value;

    if (text == NULL || text[0] == '\0')
        return fallback;
    if (emu_parse_long(text, low, high, &value) == 0)
        return value;
    emu_say("%s=%s: not a whole number from %ld to %ld", name, text, low, high);
    config.valid = false;
    return fallback;
}

static void check_shared_values(void)
{
    const char *memory = getenv("CUDA_EMU_MEM");
    uint64_t bytes;

    number("CUDA_EMU_DEVICES", 0, EMU_DEVICE_MAX, EMU_DEVICE_DEFAULT);
    if (memory != NULL && emu_parse_size(memory, &bytes) != 0) {
        emu_say("CUDA_EMU_MEM=%s: not a size (bytes, or with K, M, G, T)", memory);
        config.valid = false;
    }
}

static void set_peers(bool value)
{
    for (int i = 0; i < EMU_DEVICE_MAX; i++) {
        for (int k = 0; k < EMU_DEVICE_MAX; k++)
            config.peer[i][k] = value && i != k;
    }
}

/* "0-1": both ways, "0>1": kernels of 0 reach memory of 1 */
static bool read_pair(const char *text, size_t length)
{
    int from, to, end = 0;
    char kind;
    char pair[16];

    if (length >= sizeof(pair))
        return false;
    memcpy(pair, text, length);
    pair[length] = '\0';
    if (sscanf(pair, "%2d%c%2d%n", &from, &kind, &to, &end) != 3 || (size_t)end != length)
        return false;
    if (from < 0 || to < 0 || from >= EMU_DEVICE_MAX || to >= EMU_DEVICE_MAX || from == to ||
        (kind != '-' && kind != '>'))
        return false;
    config.peer[from][to] = true;
    if (kind == '-')
        config.peer[to][from] = true;
    return true;
}

static void read_peers(void)
{
    const char *list = getenv("CUDA_EMU_PEERS");

    if (list == NULL || strcmp(list, "all") == 0) {
        set_peers(true);
        return;
    }
    set_peers(false);
    if (strcmp(list, "none") == 0)
        return;
    while (*list != '\0') {
        size_t length = strcspn(list, ",");

        if (!read_pair(list, length)) {
            emu_say("CUDA_EMU_PEERS: not all, none, or pairs like 0-1,2>3: %s", list);
            config.valid = false;
            return;
        }
        list += length + (list[length] == ',');
    }
}

static uint64_t mix(uint64_t x)
{
    x = (x ^ (x >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    x = (x ^ (x >> 27)) * UINT64_C(0x94d049bb133111eb);
    return x ^ (x >> 31);
}

static void read_config(void)
{
    config.valid = true;
    check_shared_values();
    config.memory = emu_device_memory() & ~(EMU_PAGE - 1);
    config.visible_count = emu_device_visible(config.visible);
    config.delay_us = (unsigned)number("CUDA_EMU_DELAY", 0, 60000000, 0);
    config.seed = mix((uint64_t)number("CUDA_EMU_SEED", 0, INT32_MAX, 1) * 1000003 +
                      (uint64_t)emu_local_rank());
    config.queues = (unsigned)number("CUDA_EMU_QUEUES", 0, EMU_QUEUES_MAX, 0);
    config.sync = number("CUDA_EMU_SYNC", 0, 1, 0) != 0;
    config.verbose = number("CUDA_EMU_VERBOSE", 0, 9, 0) != 0;
    config.poison = number("CUDA_EMU_POISON", 0, 1, 0) != 0;
    config.implicit_sync = number("CUDA_EMU_IMPLICIT_SYNC", 0, 1, 0) != 0;
    config.flush_remote = number("CUDA_EMU_FLUSH_REMOTE_WRITES", 0, 1, 1) != 0;
    config.writes_ordering = (int)number("CUDA_EMU_RDMA_WRITES_ORDERING", 0, 200, 0);
    config.driver_version =
        (int)number("CUDA_EMU_DRIVER_VERSION", 11000, 99000, EMU_DEVICE_CUDA_VERSION);
    config.twins = getenv("CUDA_EMU_TWINS");
    read_peers();
}

const struct emu_config *emu_config(void)
{
    pthread_once(&once, read_config);
    return &config;
}
