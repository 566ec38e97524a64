#include "bench_way.h"

#include "bench_cuda.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { GUARD_BYTES = 256, GUARD_FILL = 0xa5, RUBBISH = 0xc3 };

static MPI_Op mpi_op(bench_op_t op)
{
    const MPI_Op ops[BENCH_OPS] = {MPI_SUM, MPI_PROD, MPI_MIN,  MPI_MAX, MPI_LAND,
                                   MPI_LOR, MPI_LXOR, MPI_BAND, MPI_BOR, MPI_BXOR};

    return ops[op];
}

static MPI_Datatype mpi_type(bench_type_t type)
{
    const MPI_Datatype types[BENCH_TYPES] = {MPI_INT8_T,  MPI_INT16_T,  MPI_INT32_T,  MPI_INT64_T,
                                             MPI_UINT8_T, MPI_UINT16_T, MPI_UINT32_T, MPI_UINT64_T,
                                             MPI_FLOAT,   MPI_DOUBLE};

    return types[type];
}

const char *bench_way_name(bench_way_kind_t kind)
{
    return kind == BENCH_WAY_DEVICE ? "device" : kind == BENCH_WAY_HOST ? "host" : "staged";
}

static bool on_device(const bench_way_t *way)
{
    return way->kind != BENCH_WAY_HOST;
}

static int cuda_failed(const bench_way_t *way, size_t bytes)
{
    fprintf(stderr, "gdr_bench: rank %d, %zu bytes: %s\n", way->rank, bytes, bench_cuda_error());
    return -1;
}

static int alloc_buffer(const bench_way_t *way, void **buffer)
{
    size_t bytes = way->capacity + GUARD_BYTES;

    if (on_device(way))
        return bench_cuda_alloc(bytes, buffer) == 0 ? 0 : cuda_failed(way, bytes);
    *buffer = aligned_alloc(4096, (bytes + 4095) / 4096 * 4096);
    if (*buffer == NULL)
        fprintf(stderr, "gdr_bench: rank %d: no memory for %zu bytes\n", way->rank, bytes);
    return *buffer != NULL ? 0 : -1;
}

static int alloc_host(const bench_way_t *way, void **buffer)
{
    return bench_cuda_alloc_host(way->capacity, buffer) == 0 ? 0 : cuda_failed(way, way->capacity);
}

int bench_way_open(bench_way_t *way, bench_way_kind_t kind, const bench_options_t *options,
                   int rank, int ranks)
{
    size_t period = BENCH_PERIOD * bench_type_bytes(options->type);

    *way = (bench_way_t){
        .kind = kind, .options = options, .rank = rank, .ranks = ranks, .capacity = options->max};
    way->image = malloc(way->capacity + GUARD_BYTES);
    way->input = malloc(period);
    way->expected = malloc(period);
    if (way->image == NULL || way->input == NULL || way->expected == NULL) {
        fprintf(stderr, "gdr_bench: rank %d: no memory for %zu bytes\n", rank, way->capacity);
        return -1;
    }
    bench_input(options->op, options->type, rank, ranks, way->input);
    bench_expected(options->op, options->type, ranks, way->expected);
    if (alloc_buffer(way, &way->recv) != 0 ||
        (!options->in_place && alloc_buffer(way, &way->send) != 0))
        return -1;
    if (kind != BENCH_WAY_STAGED)
        return 0;
    return alloc_host(way, &way->host_recv) != 0 ? -1 : alloc_host(way, &way->host_send);
}

void bench_way_close(bench_way_t *way)
{
    if (on_device(way)) {
        bench_cuda_free(way->send);
        bench_cuda_free(way->recv);
        bench_cuda_free_host(way->host_send);
        bench_cuda_free_host(way->host_recv);
    } else {
        free(way->send);
        free(way->recv);
    }
    free(way->image);
    free(way->input);
    free(way->expected);
}

static int write_image(bench_way_t *way, void *buffer, size_t bytes)
{
    if (on_device(way))
        return bench_cuda_to_device(buffer, way->image, bytes) == 0 ? 0 : cuda_failed(way, bytes);
    memcpy(buffer, way->image, bytes);
    return 0;
}

int bench_way_fill(bench_way_t *way, size_t count)
{
    bench_type_t type = way->options->type;
    size_t bytes = count * bench_type_bytes(type);

    bench_repeat(type, way->input, way->image, count);
    memset(way->image + bytes, GUARD_FILL, GUARD_BYTES);
    if (write_image(way, way->options->in_place ? way->recv : way->send, bytes + GUARD_BYTES) != 0)
        return -1;
    if (way->options->in_place)
        return 0;
    memset(way->image, RUBBISH, bytes);
    return write_image(way, way->recv, bytes + GUARD_BYTES);
}

static int call_staged(const bench_way_t *way, size_t count)
{
    const bench_options_t *o = way->options;
    size_t bytes = count * bench_type_bytes(o->type);
    const void *from = o->in_place ? way->recv : way->send;

    if (bench_cuda_to_host(way->host_send, from, bytes) != 0)
        return cuda_failed(way, bytes);
    MPI_Allreduce(way->host_send, way->host_recv, (int)count, mpi_type(o->type), mpi_op(o->op),
                  MPI_COMM_WORLD);
    if (bench_cuda_to_device(way->recv, way->host_recv, bytes) != 0)
        return cuda_failed(way, bytes);
    return 0;
}

int bench_way_call(bench_way_t *way, size_t count)
{
    const bench_options_t *o = way->options;

    if (way->kind == BENCH_WAY_STAGED)
        return call_staged(way, count);
    return MPI_Allreduce(o->in_place ? MPI_IN_PLACE : way->send, way->recv, (int)count,
                         mpi_type(o->type), mpi_op(o->op), MPI_COMM_WORLD) == MPI_SUCCESS
               ? 0
               : -1;
}

int bench_way_verify(bench_way_t *way, size_t count, bench_verdict_t *verdict)
{
    bench_type_t type = way->options->type;
    size_t bytes = count * bench_type_bytes(type);

    *verdict = (bench_verdict_t){.wrong = 0};
    if (!on_device(way))
        memcpy(way->image, way->recv, bytes + GUARD_BYTES);
    else if (bench_cuda_to_host(way->image, way->recv, bytes + GUARD_BYTES) != 0)
        return cuda_failed(way, bytes);
    verdict->wrong = bench_differences(type, way->expected, way->image, count, &verdict->first);
    if (verdict->wrong != 0) {
        bench_element(type, way->image, verdict->first, verdict->got, sizeof(verdict->got));
        bench_element(type, way->expected, verdict->first % BENCH_PERIOD, verdict->expected,
                      sizeof(verdict->expected));
    }
    for (size_t i = 0; i < GUARD_BYTES; i++) {
        if ((unsigned char)way->image[bytes + i] == GUARD_FILL)
            continue;
        if (verdict->wrong++ == 0) {
            verdict->first = count + i / bench_type_bytes(type);
            snprintf(verdict->got, sizeof(verdict->got), "something");
            snprintf(verdict->expected, sizeof(verdict->expected), "an untouched guard");
        }
    }
    return 0;
}
