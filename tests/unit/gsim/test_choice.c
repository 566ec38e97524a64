/* The algorithm that is chosen is nearly the fastest, on all clusters that come with coll/gdr. */
#include "tests/unit/gsim/gsim_test.h"
#include "tools/sim/gsim_world.h"

enum { TYPE_BYTES = 4, PERCENT = 5, NODES_MAX = 4 };

/* Simulated time; 0 if the algorithm does not serve the call. */
static double time_of(gsim_setup_t *setup, const char *algorithm)
{
    gsim_result_t result;
    char error[400] = "";

    snprintf(setup->plan.algorithm, sizeof(setup->plan.algorithm), "%s", algorithm);
    if (gsim_run(setup, &result, error, sizeof(error)) != 0)
        fail_msg("%s", error);
    return result.algorithm[0] != '\0' ? result.ns : 0;
}

/* Whole messages to many ranks would only take the test's time. */
static bool worth_trying(const char *name, uint32_t ranks, uint64_t bytes)
{
    if (strcmp(name, "oneshot") == 0 || strcmp(name, "knomial") == 0)
        return bytes <= 2 << 20;
    return strcmp(name, "hierarchical") == 0 || ranks <= 8 || bytes <= 16 << 20;
}

static void try_size(gsim_setup_t *setup, uint64_t bytes)
{
    double chosen, best;
    const char *name = "auto";

    setup->count = bytes / TYPE_BYTES;
    chosen = best = time_of(setup, "auto");
    assert_true(chosen > 0);
    for (const gdr_algorithm_t *const *a = gdr_plan_algorithms(); *a != NULL; a++) {
        double time = 0;

        if (worth_trying((*a)->name, setup->nodes * setup->gpus, bytes))
            time = time_of(setup, (*a)->name);
        if (time > 0 && time < best) {
            best = time;
            name = (*a)->name;
        }
    }
    if (chosen > best * (100 + PERCENT) / 100)
        fail_msg("%s, %u nodes, %llu bytes: %.1f us, %s %.1f us", setup->cluster->name,
                 setup->nodes, (unsigned long long)bytes, chosen / 1000, name, best / 1000);
}

static void on_cluster(const char *name)
{
    gsim_cluster_t cluster;
    char directory[400], error[400] = "";
    gsim_setup_t setup = {.cluster = &cluster};

    snprintf(directory, sizeof(directory), "%s/tools/sim/clusters", getenv("GDR_SRCDIR"));
    if (gsim_cluster_read(name, directory, &cluster, error, sizeof(error)) != 0)
        fail_msg("%s", error);
    setup.gpus = cluster.gpus;
    gdr_plan_params_init(&setup.plan);
    gsim_cluster_machine(&cluster, &setup.plan.machine);
    setup.plan.lane_bytes = 64 << 20;
    for (setup.nodes = 1; setup.nodes <= NODES_MAX; setup.nodes *= 2)
        for (uint64_t bytes = 8; bytes <= 64 << 20; bytes *= 4)
            try_size(&setup, bytes);
}

static void h200(void **state)
{
    (void)state;
    on_cluster("h200-8x400g");
}

static void h100(void **state)
{
    (void)state;
    on_cluster("h100-8x400g");
}

static void a100(void **state)
{
    (void)state;
    on_cluster("a100-4x200g");
}

static void pcie(void **state)
{
    (void)state;
    on_cluster("pcie-1nic");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(h200),
        cmocka_unit_test(h100),
        cmocka_unit_test(a100),
        cmocka_unit_test(pcie),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
