#!/bin/bash
# mpi_assert_memory_alloc_kinds on a communicator.
. "$(dirname "$0")/lib.sh"
run "promises" 90 "$emu" mpirun -np 2 --mca coll gdr "$programs/promise"
run "promises, with threads" 90 "$emu" mpirun -np 2 --mca coll gdr "$programs/promise" -t
finish
