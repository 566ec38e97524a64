# tests/mpi: real Open MPI, real UCX, emulated devices (or a card)
