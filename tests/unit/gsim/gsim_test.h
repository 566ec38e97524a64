/* Cluster descriptions for tests of the simulator. */
#ifndef GSIM_TEST_H
#define GSIM_TEST_H

#include "tools/sim/gsim_cluster.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* Everything takes no time and kernels are as fast as can be said. */
static const char gsim_test_free[] = "name = test # test\n"
                                     "gpus_per_node = 1 # test\n"
                                     "nics_per_node = 1 # test\n"
                                     "gpu_fabric = nvlink # test\n"
                                     "gpu_gbs = 1000000 # test\n"
                                     "gpu_put_ns = 0 # test\n"
                                     "gpu_put_cpu_ns = 0 # test\n"
                                     "gpu_done_ns = 0 # test\n"
                                     "gpu_word_ns = 0 # test\n"
                                     "gpu_word_cpu_ns = 0 # test\n"
                                     "nic_gbs = 1000000 # test\n"
                                     "nic_put_ns = 0 # test\n"
                                     "nic_put_cpu_ns = 0 # test\n"
                                     "nic_done_ns = 0 # test\n"
                                     "nic_word_ns = 0 # test\n"
                                     "nic_word_cpu_ns = 0 # test\n"
                                     "launch_cpu_ns = 0 # test\n"
                                     "launch_ns = 0 # test\n"
                                     "kernel_ns = 0 # test\n"
                                     "kernel_gbs = 1000000 # test\n"
                                     "memory_gbs = 1000000 # test\n"
                                     "memory_gb = 1 # test\n"
                                     "mark_cpu_ns = 0 # test\n"
                                     "mark_ns = 0 # test\n"
                                     "poll_cpu_ns = 0 # test\n";

static inline void gsim_test_cluster(gsim_cluster_t *cluster)
{
    char error[400] = "";

    if (gsim_cluster_parse(gsim_test_free, strlen(gsim_test_free), "test", cluster, error,
                           sizeof(error)) != 0)
        fail_msg("%s", error);
}

#endif
