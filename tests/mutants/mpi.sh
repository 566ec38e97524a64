#!/bin/bash
# One command of a test of tests/mpi, in the words of its lib.sh, for a mutant's run: line.
#   tests/mutants/mpi.sh SECONDS '$emu mpirun -np 2 --mca coll gdr $programs/path gdr/'
. "$GDR_SRCDIR/tests/mpi/lib.sh"
seconds=$1
shift
eval "run one $seconds $*"
finish
