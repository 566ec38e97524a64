# The map of rooms, as the gates read it (ARCHITECTURE.md explains it). Sourced.

# Room directories; the longest name that a path begins with is its room.
ROOMS="coll_gdr/base coll_gdr/plan coll_gdr/engine coll_gdr/device coll_gdr/kernels coll_gdr/mca
       ucx_glue cuda_emu tools/bench tools/sim tools/tune examples"

# What a room may include, as patterns of the name between the quotes or brackets. A room may
# always include its own headers and libc's.
may_include() {
    case $1 in
    coll_gdr/base) echo ;;
    coll_gdr/plan) echo 'base/*' ;;
    coll_gdr/engine) echo 'base/* plan/*' ;;
    # the twins' interface is the emulator's public one; nvcc's own headers come by themselves
    coll_gdr/kernels) echo 'base/* cuda_emu/include/cuda_emu_twin.h' ;;
    coll_gdr/device) echo 'base/* engine/gdr_dev.h kernels/gdr_kernels.h cuda.h config.h' ;;
    # gdr_plan.h holds a part of gdr_engine_config_t; gdr_ucx.h is what dlsym finds in the glue
    coll_gdr/mca) echo 'base/* engine/gdr_engine.h engine/gdr_net.h engine/gdr_ways.h
                        device/gdr_device.h plan/gdr_plan.h ucx_glue/gdr_ucx.h
                        ompi_config.h ompi/* opal/* orte/* mpi.h config.h' ;;
    ucx_glue) echo 'base/* engine/gdr_net.h ucp/* ucs/*' ;;
    cuda_emu) echo 'cuda.h nvml.h cuda_runtime_api.h driver_types.h config.h
                    infiniband/verbs.h' ;;
    # the engine on ports of its own; sizes and numbers as gdr_bench writes them
    tools/sim) echo 'base/* engine/gdr_dev.h engine/gdr_net.h engine/gdr_engine.h plan/gdr_plan.h
                     plan/gdr_machine.h plan/gdr_topology.h
                     tools/sim/* tools/bench/bench_format.h' ;;
    # the device and the network by the engine's ports, without an engine
    tools/tune) echo 'base/* engine/gdr_dev.h engine/gdr_net.h device/gdr_device.h
                      ucx_glue/gdr_ucx.h plan/gdr_machine.h mpi.h cuda.h
                      tools/bench/bench_format.h' ;;
    tools/bench) echo 'mpi.h mpi-ext.h cuda.h cuda_emu/include/*' ;;
    examples) echo 'mpi.h cuda_runtime_api.h' ;;
    esac
}

# Whose symbols a room's objects may use beside their own.
may_link() {
    case $1 in
    coll_gdr/plan) echo coll_gdr/base ;;
    coll_gdr/engine) echo coll_gdr/base coll_gdr/plan ;;
    coll_gdr/kernels) echo coll_gdr/base ;;
    coll_gdr/device) echo coll_gdr/base coll_gdr/kernels ;;
    coll_gdr/mca) echo coll_gdr/base coll_gdr/engine coll_gdr/device ;;
    ucx_glue) echo coll_gdr/base ;;
    tools/sim) echo coll_gdr/base coll_gdr/engine coll_gdr/plan tools/bench ;;
    tools/tune) echo coll_gdr/base coll_gdr/device coll_gdr/plan tools/bench ;;
    esac
}

# Single symbols across an arrow that is not there otherwise (an extended regular expression): the
# parameters that mca reads on behalf of the engine are checked where they are defined.
may_link_symbol() {
    case $1 in
    coll_gdr/mca) echo '^(gdr_plan_params_[a-z]+|gdr_plan_algorithms|gdr_machine_[a-z]+)$' ;;
    *) echo '^$' ;;
    esac
}

# Families of symbols that only these rooms may use (extended regular expressions).
symbol_family() {
    case $1 in
    coll_gdr/mca) echo '^(ucp|uct|ucs|ucm)_|^cu[A-Z]|^cuda|^nvml' ;;
    ucx_glue) echo '^(ompi|opal|orte|pmix|mca)_|^P?MPI_|^cu[A-Z]|^cuda|^nvml' ;;
    cuda_emu) echo '^(ompi|opal|orte|pmix|mca)_|^P?MPI_|^(ucp|uct|ucs|ucm)_' ;;
    tools/* | examples) echo '^(ompi_comm|opal|orte|pmix|mca)_|^(ucp|uct|ucs|ucm)_' ;;
    *) echo '^(ompi|opal|orte|pmix|mca)_|^P?MPI_|^(ucp|uct|ucs|ucm)_|^cu[A-Z]|^cuda|^nvml' ;;
    esac
}

# libc functions that end the process, run a shell or make predictable names: not in a library
# that lives in somebody else's process. (Open MPI's own inline functions bring an assert.)
never() {
    local names='abort|exit|_exit|_Exit|system|popen|mktemp|tmpnam|tempnam'

    case $1 in
    coll_gdr/mca) echo "^($names)\$" ;;
    coll_gdr/* | ucx_glue) echo "^($names|__assert_fail)\$" ;;
    *) echo '^$' ;;
    esac
}
