# tests: one fragment per folder
include tests/unit/kernels.mk
include tests/unit/bench.mk
include tests/unit/kinds.mk
include tests/unit/gsim/local.mk
include tests/apps/local.mk
include tests/unit/plan.mk
include tests/unit/mca.mk
include tests/sim/local.mk
include tests/glue/glue.mk
include tests/gate/local.mk
include tests/mpi/local.mk
include tests/mpi/collectives.mk
include tests/fuzz/local.mk
include tests/late/local.mk
include tests/rdma/local.mk
include tests/osu/local.mk
include tests/mutants/local.mk
