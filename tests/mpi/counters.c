/*
 * One-sided for real: puts, bytes put, bytes that kernels read from other ranks' windows and
 * kernels of a call equal what the schedule says, and the host sees no byte of payload. Arguments:
 * "put", windows are not mapped; a number, coll_gdr_large_lane_size.
 */
#include "harness.h"

#include "plan/gdr_plan.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct totals {
    uint64_t puts, put_bytes, pull_bytes, kernels;
} totals_t;

static bool mapped = true;       /* windows of the node */
static gdr_plan_params_t params; /* with the lane as it is by now */
static uint64_t large;

static void add(const gdr_sched_t *sched, uint64_t times, totals_t *totals)
{
    for (uint32_t i = 0; i < sched->nsteps; i++) {
        const gdr_step_t *step = &sched->steps[i];

        if (step->kind == GDR_STEP_PUT && step->bytes > 0) {
            totals->puts += times;
            totals->put_bytes += times * step->bytes;
        }
        if (step->kind != GDR_STEP_REDUCE && step->kind != GDR_STEP_COPY &&
            step->kind != GDR_STEP_GATHER)
            continue;
        totals->kernels += times;
        for (uint32_t k = 0; k < step->nin; k++)
            if (sched->operands[step->operand + k].rank != sched->rank)
                totals->pull_bytes += times * gdr_step_input_bytes(step, k);
    }
}

static totals_t of_plan(uint64_t count, char *path, size_t size)
{
    gdr_plan_request_t request = {.rank = t_rank,
                                  .size = t_size,
                                  .count = count,
                                  .type_bytes = sizeof(float),
                                  .commutative = true,
                                  .params = &params};
    uint32_t *node = calloc((size_t)t_size, sizeof(*node)); /* all on one */
    gdr_topology_t *topology = NULL;
    totals_t totals = {0};
    gdr_plan_t *plan = NULL;

    if (node == NULL || gdr_topology_make(node, t_size, &topology) != GDR_OK)
        t_fatal("no memory");
    free(node);
    topology->mapped = mapped;
    request.topology = topology;
    if (gdr_plan_grows(&request, large))
        gdr_plan_grow(&params, large);
    if (gdr_plan_make(&request, &plan) != GDR_OK)
        t_fatal("no plan for %llu elements", (unsigned long long)count);
    if (plan->full != NULL)
        add(plan->full, plan->nsegments - 1, &totals);
    add(plan->last, 1, &totals);
    snprintf(path, size, "gdr/%s", plan->algorithm->name);
    gdr_plan_free(plan);
    gdr_topology_free(topology);
    return totals;
}

static totals_t now(void)
{
    totals_t totals = {t_pvar("puts"), t_pvar("put_bytes"), t_pvar("pull_bytes"),
                       t_pvar("kernels")};

    return totals;
}

static void one(uint64_t count, const float *send, float *recv)
{
    char expected_path[64], path[64];
    totals_t expected = of_plan(count, expected_path, sizeof(expected_path)), before = now(), after;
    uint64_t host_bytes = t_emu_host_bytes();

    t_case("%llu floats", (unsigned long long)count);
    MPI_Allreduce(send, recv, (int)count, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
    host_bytes = t_emu_host_bytes() - host_bytes;
    after = now();
    t_pvar_text("last_path", path, sizeof(path));
    t_check(strcmp(path, expected_path) == 0, "path %s, plan %s", path, expected_path);
    t_check(after.puts - before.puts == expected.puts, "%llu puts, the schedule has %llu",
            (unsigned long long)(after.puts - before.puts), (unsigned long long)expected.puts);
    t_check(after.put_bytes - before.put_bytes == expected.put_bytes,
            "%llu bytes put, the schedule has %llu",
            (unsigned long long)(after.put_bytes - before.put_bytes),
            (unsigned long long)expected.put_bytes);
    t_check(after.pull_bytes - before.pull_bytes == expected.pull_bytes,
            "%llu bytes read from other windows, the schedule has %llu",
            (unsigned long long)(after.pull_bytes - before.pull_bytes),
            (unsigned long long)expected.pull_bytes);
    t_check(
        after.kernels - before.kernels == expected.kernels, "%llu kernels, the schedule has %llu",
        (unsigned long long)(after.kernels - before.kernels), (unsigned long long)expected.kernels);
    t_check(host_bytes == 0, "%llu bytes of payload passed through host memory",
            (unsigned long long)host_bytes);
}

int main(int argc, char **argv)
{
    static const uint64_t counts[] = {1, 7, 1000, 65536, 262147, 1 << 20};
    size_t bytes = sizeof(float) << 20;
    float *send, *recv, *host;
    char path[64];

    t_init(&argc, &argv, MPI_THREAD_SINGLE);
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "put") == 0)
            mapped = false;
        else
            large = strtoull(argv[i], NULL, 10);
    }
    gdr_plan_params_init(&params);
    send = t_device_alloc(bytes);
    recv = t_device_alloc(bytes);
    host = calloc(1, bytes);
    if (host == NULL)
        t_fatal("no memory");
    t_upload(send, host, bytes);
    t_float_sum(MPI_COMM_WORLD, 1, (float)t_size, false); /* wire-up */
    /* The first data put to each peer is read back by the CPU. */
    MPI_Allreduce(send, recv, 1 << 16, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
    of_plan(1 << 16, path, sizeof(path));
    for (size_t i = 0; i < sizeof(counts) / sizeof(counts[0]); i++)
        one(counts[i], send, recv);
    t_check(t_pvar("staged_bytes") == 0, "bytes were staged");
    t_device_free(send);
    t_device_free(recv);
    free(host);
    return t_finish();
}
