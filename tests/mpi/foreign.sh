#!/bin/bash
# A component that was built for another Open MPI than the one that runs: not used, in one line, and
# MPI goes on. GDR_FOREIGN_PLUGIN names one of another minor release, if there is one.
. "$(dirname "$0")/lib.sh"

# declines LABEL PATTERN COMMAND...: runs, and exactly one line speaks of gdr
declines() {
    local label=$1 pattern=$2 lines
    shift 2
    execute 40 "$@"
    lines=$(grep -c "gdr" "$work/out")
    if [ $status -eq 0 ] && grep -q "^host ok" "$work/out" && [ "$lines" = 1 ] &&
        grep -q -- "$pattern" "$work/out"; then
        pass "$label: $(grep gdr "$work/out")"
    else
        fail "$label"
    fi
}

built="built for Open MPI ${ompi//./\\.}, but this is Open MPI v${ompi%.*}\.[0-9]*: not used"
next=$GDR_BUILDDIR/tests/mpi/.libs/version.so
declines "the next patch release" "$built" mpirun -np 3 env LD_PRELOAD="$next" "$programs/host"
declines "the next patch release, a program alone" "$built" env LD_PRELOAD="$next" "$programs/host"
refuses "the next patch release, gdr asked for by name" 40 "$built" \
    mpirun -np 2 --mca coll gdr env LD_PRELOAD="$next" "$programs/host"
if [ -e "${GDR_FOREIGN_PLUGIN-}" ]; then
    # The names of libopen-pal differ: the loader refuses it, and Open MPI says so.
    rm "$work/plugins/mca_coll_gdr.so"
    ln -s "$GDR_FOREIGN_PLUGIN" "$work/plugins/"
    declines "another minor release" "unable to open mca_coll_gdr: libopen-pal" \
        mpirun -np 1 "$programs/host"
fi
finish
