#include "tools/tune/tune_device.h"

#include "device/gdr_device.h"

#include <cuda.h>
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { WORDS_BYTES = 4096, WORD_STEP = 8, LOOKS = 100000 };

double tune_now(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

bool tune_device_name(int ordinal, char *name, size_t size)
{
    void *driver = dlopen("libcuda.so.1", RTLD_LAZY | RTLD_NOLOAD);
    CUresult (*get_name)(char *, int, CUdevice) = NULL;
    bool emulated = driver != NULL && dlsym(driver, "cuda_emu_counters") != NULL;

    snprintf(name, size, "%s", emulated ? "emulated GPU" : "unknown");
    if (driver == NULL || emulated)
        return emulated;
    *(void **)&get_name = dlsym(driver, "cuDeviceGetName");
    if (get_name != NULL && get_name(name, (int)size, (CUdevice)ordinal) != CUDA_SUCCESS)
        snprintf(name, size, "unknown");
    return false;
}

gdr_status_t tune_device_open(tune_device_t *device, const gdr_log_t *log, int ordinal,
                              uint32_t max_blocks)
{
    gdr_device_params_t params = {.log = log, .max_blocks = max_blocks};
    gdr_status_t status;

    *device = (tune_device_t){.log = log};
    status = gdr_device_open(&params, ordinal, &device->ops, &device->dev);
    if (status != GDR_OK)
        return status;
    device->emulated = tune_device_name(ordinal, device->name, sizeof(device->name));
    device->ops->caps(device->dev, &device->caps);
    device->words = aligned_alloc(WORDS_BYTES, WORDS_BYTES);
    if (device->words == NULL)
        return GDR_ERR_NO_MEMORY;
    memset(device->words, 0, WORDS_BYTES);
    status =
        device->ops->map_host(device->dev, device->words, WORDS_BYTES, &device->words_on_device);
    for (int i = 0; i < TUNE_STREAMS && status == GDR_OK; i++)
        status = device->ops->stream_create(device->dev, &device->streams[i]);
    return status;
}

void tune_device_close(tune_device_t *device)
{
    if (device->dev == NULL)
        return;
    for (int i = 0; i < TUNE_STREAMS; i++)
        if (device->streams[i] != NULL)
            device->ops->stream_destroy(device->streams[i]);
    if (device->words_on_device != 0)
        device->ops->unmap_host(device->dev, device->words);
    free(device->words);
    device->ops->close(device->dev);
    device->dev = NULL;
}

double tune_load_bytes(const tune_load_t *load)
{
    bool copies = load->driver_copies || load->reduce.block != 0;
    uint32_t operands = copies ? 2 : load->reduce.nin + load->reduce.nout;

    return (double)load->reduce.bytes * operands * load->streams * load->launches;
}

static gdr_status_t launch(tune_device_t *device, const tune_load_t *load, int stream)
{
    gdr_dev_reduce_t reduce = load->reduce;
    uint64_t shift = (uint64_t)stream * load->stride;

    for (uint32_t i = 0; i < reduce.nin; i++)
        reduce.in[i] += shift;
    for (uint32_t i = 0; i < reduce.nout; i++)
        reduce.out[i] += shift;
    if (load->driver_copies)
        return gdr_device_copy_peer(device->streams[stream], reduce.out[0], reduce.in[0],
                                    reduce.bytes);
    return device->ops->reduce(device->streams[stream], &reduce);
}

/* Until every stream's word says that its work is done, or a stream has failed. */
static gdr_status_t await(tune_device_t *device, int streams)
{
    gdr_status_t status = GDR_OK;

    for (int i = 0; i < streams; i++) {
        const uint64_t *word = &device->words[(size_t)i * WORD_STEP];

        for (int looks = 1; __atomic_load_n(word, __ATOMIC_ACQUIRE) < device->seen; looks++) {
            if (looks % LOOKS == 0)
                status = device->ops->stream_status(device->streams[i]);
            if (status != GDR_OK)
                return status;
        }
    }
    return GDR_OK;
}

gdr_status_t tune_device_time(tune_device_t *device, const tune_load_t *load, double *seconds,
                              double *posting)
{
    double begin = tune_now();
    gdr_status_t status = GDR_OK;

    device->seen++;
    for (int k = 0; k < load->launches; k++)
        for (int i = 0; i < load->streams && status == GDR_OK; i++)
            status = launch(device, load, i);
    *posting = tune_now() - begin;
    for (int i = 0; i < load->streams && status == GDR_OK; i++)
        status = device->ops->write_word(
            device->streams[i],
            device->words_on_device + (uint64_t)i * WORD_STEP * sizeof(uint64_t), device->seen);
    if (status == GDR_OK)
        status = await(device, load->streams);
    *seconds = tune_now() - begin;
    return status;
}
