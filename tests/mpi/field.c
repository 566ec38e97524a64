/*
 * Small inputs that went wrong for people elsewhere, where no other program has them:
 *   field NAME...
 */
#include "harness.h"

#include "tests/fuzz/memory.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The sum of rank + 1 over the ranks, in memory of each kind, 4 bytes from its beginning, too. */
static void memory_kinds(void)
{
    for (fz_memory_t kind = 0; kind < FZ_MEMORIES; kind++)
        for (size_t shift = 0; shift <= 4; shift += 4) {
            int value = t_rank + 1;
            fz_buffer_t buffer;

            t_case("memory_kinds, %s, %zu bytes from its beginning", fz_memory_name(kind), shift);
            fz_buffer_make(&buffer, kind, 0, sizeof(value), shift);
            fz_buffer_write(&buffer, (char *)&value);
            MPI_Allreduce(MPI_IN_PLACE, buffer.data, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
            fz_buffer_read(&buffer, (char *)&value);
            t_check(value == t_size * (t_size + 1) / 2, "sum is %d", value);
            fz_buffer_free(&buffer);
        }
}

/* {1, 2, 3} on every rank, from here to there. */
static void from_to(bool device_send, bool device_recv)
{
    static const int given[3] = {1, 2, 3};
    fz_buffer_t send, recv;
    int got[3] = {-1, -1, -1};

    fz_buffer_make(&send, device_send ? FZ_MALLOC : FZ_HEAP, 0, sizeof(given), 0);
    fz_buffer_make(&recv, device_recv ? FZ_MALLOC : FZ_HEAP, 0, sizeof(given), 0);
    fz_buffer_write(&send, (const char *)given);
    fz_buffer_write(&recv, (const char *)got);
    MPI_Allreduce(send.data, recv.data, 3, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    fz_buffer_read(&recv, (char *)got);
    t_check(got[0] == t_size && got[1] == 2 * t_size && got[2] == 3 * t_size,
            "result is {%d, %d, %d}", got[0], got[1], got[2]);
    fz_buffer_free(&send);
    fz_buffer_free(&recv);
}

static void device_and_host(void)
{
    t_case("device to host");
    from_to(true, false);
    t_case("host to device");
    from_to(false, true);
}

static void device_beside_host(void)
{
    for (int round = 0; round < 20; round++) {
        bool device = (t_rank + round / 10) % 2 == 0;

        t_case("every other rank on the device, round %d", round);
        from_to(device, device);
    }
}

/* {1.0, 0}, {0.5, 1}, {0.5, 2}, ...: the least, and the lowest rank of those that have it. */
static void least_and_where(void)
{
    struct {
        double value;
        int index;
    } pair = {t_rank == 0 ? 1.0 : 0.5, t_rank};
    void *device;

    if (t_size < 2)
        return;
    device = t_device_alloc(sizeof(pair));
    t_upload(device, &pair, sizeof(pair));
    MPI_Allreduce(MPI_IN_PLACE, device, 1, MPI_DOUBLE_INT, MPI_MINLOC, MPI_COMM_WORLD);
    t_download(&pair, device, sizeof(pair));
    t_check(pair.value == 0.5 && pair.index == 1, "result is {%g, %d}", pair.value, pair.index);
    t_device_free(device);
}

int main(int argc, char **argv)
{
    static const t_named_t table[] = {
        {"memory_kinds", memory_kinds},
        {"device_and_host", device_and_host},
        {"device_beside_host", device_beside_host},
        {"least_and_where", least_and_where},
    };

    t_init(&argc, &argv, MPI_THREAD_SINGLE);
    t_cases(argc, argv, table, sizeof(table) / sizeof(table[0]));
    return t_finish();
}
