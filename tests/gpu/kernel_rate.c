/*
 * How much of a device's memory bandwidth the reduce-copy kernels reach, by the engine's own port:
 * against the driver's copies from device to device, with more and with fewer blocks, and how long
 * one takes on few bytes.
 *   kernel_rate [--quick]
 */
#include "device/gdr_device.h"
#include "tools/tune/tune_device.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define KIB ((uint64_t)1024)
#define MIB ((uint64_t)1024 * 1024)

enum { ROUNDS = 5, MOST_INPUTS = 8, BLOCKS = 6, INPUTS = 4, SIZES = 3 };

static struct {
    gdr_log_t log;
    bool quick;
    uint64_t operand; /* greatest */
    tune_device_t device;
    uint64_t memory;
    double copy[SIZES]; /* GB/s of the driver's copies, by size */
} rate;

static const uint64_t sizes[SIZES] = {256 * KIB, 4 * MIB, 64 * MIB};

static void emit(void *ctx, gdr_log_level_t level, const char *message)
{
    (void)ctx;
    (void)level;
    fprintf(stderr, "kernel_rate: %s\n", message);
}

static void need(gdr_status_t status)
{
    if (status == GDR_OK)
        return;
    fprintf(stderr, "kernel_rate: %s\n", gdr_status_string(status));
    exit(1);
}

static void open_device(uint32_t blocks)
{
    need(tune_device_open(&rate.device, &rate.log, 0, blocks));
    need(rate.device.ops->alloc(rate.device.dev, (MOST_INPUTS + 1) * rate.operand, &rate.memory));
}

static void close_device(void)
{
    rate.device.ops->free(rate.device.dev, rate.memory);
    tune_device_close(&rate.device);
}

static tune_load_t sum_of(uint32_t inputs, uint64_t bytes)
{
    tune_load_t load = {.reduce = {.op = GDR_OP_SUM,
                                   .type = GDR_TYPE_FLOAT32,
                                   .nin = inputs,
                                   .nout = 1,
                                   .out = {rate.memory + MOST_INPUTS * rate.operand},
                                   .bytes = bytes},
                        .streams = 1,
                        .launches = 1};

    for (uint32_t i = 0; i < inputs; i++)
        load.reduce.in[i] = rate.memory + i * rate.operand;
    return load;
}

/* One output of so many blocks. */
static tune_load_t gather_of(uint32_t inputs, uint64_t bytes)
{
    tune_load_t load = sum_of(inputs, bytes);

    load.reduce.block = bytes / inputs;
    return load;
}

static double seconds_of(const tune_load_t *load)
{
    double seconds, posting;

    need(tune_device_time(&rate.device, load, &seconds, &posting));
    return seconds;
}

static int ascending(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

/* GB/s that are read and written, 10^9 bytes: the median of some rounds that each take a while. */
static double rate_of(tune_load_t *load)
{
    double rates[ROUNDS], enough = rate.quick ? 1e-4 : 4e-3, seconds;

    seconds_of(load);
    seconds = seconds_of(load);
    load->launches = seconds * 1000 < enough ? 1000 : (int)(enough / seconds) + 1;
    for (int i = 0; i < ROUNDS; i++)
        rates[i] = tune_load_bytes(load) / seconds_of(load) / 1e9;
    load->launches = 1;
    qsort(rates, ROUNDS, sizeof(*rates), ascending);
    return rates[ROUNDS / 2];
}

static const char *size_text(uint64_t bytes, char *text, size_t size)
{
    snprintf(text, size, "%llu KiB", (unsigned long long)(bytes / KIB));
    return text;
}

static uint64_t size_at(int i)
{
    return rate.quick ? sizes[i] / 64 : sizes[i];
}

static void copies(void)
{
    char text[32];

    printf("\nThe driver's copies from device to device:\n\n| bytes | GB/s |\n|---|---|\n");
    open_device(0);
    for (int i = 0; i < SIZES; i++) {
        tune_load_t load = sum_of(1, size_at(i));

        load.driver_copies = true;
        rate.copy[i] = rate_of(&load);
        printf("| %s | %.1f |\n", size_text(load.reduce.bytes, text, sizeof(text)), rate.copy[i]);
    }
    close_device();
}

static const uint32_t blocks[BLOCKS] = {8, 16, 32, 64, 132, 264}, inputs[INPUTS] = {1, 2, 4, 8};

static void print_rates(double gbs[INPUTS][SIZES][BLOCKS])
{
    char text[32];

    printf("\nSums of float, GB/s (percent of the driver's copies), by blocks in the grid; gdr "
           "takes 32:\n\n| inputs | bytes | 8 | 16 | 32 | 64 | 132 | 264 |\n"
           "|---|---|---|---|---|---|---|---|\n");
    for (int n = 0; n < INPUTS; n++)
        for (int i = 0; i < SIZES; i++) {
            printf("| %u | %s |", inputs[n], size_text(size_at(i), text, sizeof(text)));
            for (int k = 0; k < BLOCKS; k++)
                printf(" %.1f (%.0f) |", gbs[n][i][k], 100 * gbs[n][i][k] / rate.copy[i]);
            printf("\n");
        }
    fflush(stdout);
}

static void by_blocks(void)
{
    double gbs[INPUTS][SIZES][BLOCKS];

    for (int k = 0; k < BLOCKS; k++) {
        open_device(blocks[k]);
        for (int n = 0; n < INPUTS; n++)
            for (int i = 0; i < SIZES; i++) {
                tune_load_t load = sum_of(inputs[n], size_at(i));

                gbs[n][i][k] = rate_of(&load);
            }
        close_device();
    }
    print_rates(gbs);
}

static void by_type(void)
{
    static const struct {
        gdr_op_t op;
        gdr_type_t type;
    } kinds[] = {{GDR_OP_SUM, GDR_TYPE_FLOAT64}, {GDR_OP_SUM, GDR_TYPE_INT8},
                 {GDR_OP_SUM, GDR_TYPE_INT64},   {GDR_OP_PROD, GDR_TYPE_COMPLEX64},
                 {GDR_OP_MAX, GDR_TYPE_FLOAT32}, {GDR_OP_MAXLOC, GDR_TYPE_FLOAT_INT}};
    tune_load_t gather;
    double gbs;

    printf(
        "\nOther kernels, 2 inputs, the greatest size, gdr's blocks:\n\n| kernel | GB/s (percent "
        "of the driver's copies) |\n|---|---|\n");
    open_device(0);
    for (size_t k = 0; k < sizeof(kinds) / sizeof(kinds[0]); k++) {
        tune_load_t load = sum_of(2, size_at(2));

        load.reduce.op = kinds[k].op;
        load.reduce.type = kinds[k].type;
        gbs = rate_of(&load);
        printf("| %s of %s | %.1f (%.0f) |\n", gdr_op_name(kinds[k].op),
               gdr_type_name(kinds[k].type), gbs, 100 * gbs / rate.copy[2]);
    }
    gather = gather_of(MOST_INPUTS, size_at(2));
    gbs = rate_of(&gather);
    printf("| gather of %d blocks | %.1f (%.0f) |\n", MOST_INPUTS, gbs, 100 * gbs / rate.copy[2]);
    close_device();
}

/* Also in four streams at once, as host-driven calls work. */
static void latency(void)
{
    enum { TIMES = 101 };
    double times[TIMES] = {0}, cpu[TIMES] = {0}, four[TIMES] = {0};
    int n = rate.quick ? 11 : TIMES;

    printf("\nFrom a launch until the CPU sees the word behind it, 2 inputs, median:\n\n| bytes | "
           "us | of which the launch keeps the CPU busy | in 4 streams at once, us |\n"
           "|---|---|---|---|\n");
    open_device(0);
    for (uint64_t bytes = 64; bytes <= 64 * KIB; bytes *= 32) {
        tune_load_t load = sum_of(2, bytes);

        seconds_of(&load);
        for (int i = 0; i < n; i++)
            need(tune_device_time(&rate.device, &load, &times[i], &cpu[i]));
        load.streams = TUNE_STREAMS;
        for (int i = 0; i < n; i++)
            four[i] = seconds_of(&load);
        qsort(times, (size_t)n, sizeof(*times), ascending);
        qsort(cpu, (size_t)n, sizeof(*cpu), ascending);
        qsort(four, (size_t)n, sizeof(*four), ascending);
        printf("| %llu | %.2f | %.2f | %.2f |\n", (unsigned long long)bytes, times[n / 2] * 1e6,
               cpu[n / 2] * 1e6, four[n / 2] * 1e6);
    }
    close_device();
}

static int run(void)
{
    tune_device_t whole;
    char name[128];

    if (gdr_device_load(&rate.log) != GDR_OK) {
        fprintf(stderr, "kernel_rate: there is no CUDA device here\n");
        return 1;
    }
    need(tune_device_open(&whole, &rate.log, 0, 0)); /* its context lives until the end */
    tune_device_name(0, name, sizeof(name));
    printf("Kernels on %s; bytes are of one operand, GB/s are 10^9 bytes read and written.\n",
           name);
    copies();
    by_blocks();
    by_type();
    latency();
    tune_device_close(&whole);
    return 0;
}

int main(int argc, char *argv[])
{
    rate.log = (gdr_log_t){GDR_LOG_WARN, emit, NULL};
    rate.quick = argc == 2 && strcmp(argv[1], "--quick") == 0;
    if (argc > 1 && !rate.quick) {
        fprintf(stderr, "usage: kernel_rate [--quick]\n");
        return 2;
    }
    rate.operand = size_at(SIZES - 1);
    return run();
}
