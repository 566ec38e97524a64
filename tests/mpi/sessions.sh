#!/bin/bash
# Sessions: communicators without MPI_COMM_WORLD are staged, whatever became of MPI_Init.
. "$(dirname "$0")/lib.sh"
[ "${ompi%%.*}" -ge 5 ] || skip "Open MPI $ompi has no Sessions"
for case in alone beside_world after_world before_world; do
    run "$case" 60 "$emu" mpirun -np 3 --mca coll gdr --mca coll_gdr_staging allow \
        "$programs/sessions" $case
done
says "staging is said" 60 "the communicator was made from a Session" "$emu" mpirun -np 2 \
    --mca coll gdr "$programs/sessions" alone
finish
