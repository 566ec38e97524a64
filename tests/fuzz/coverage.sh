#!/bin/bash
# docs/coverage.md is what running every one of its cells gives, on 2 and on 3 ranks.
#   coverage.sh write     replaces it by what 2 ranks give
. "$(dirname "$0")/../mpi/lib.sh"
page=$GDR_SRCDIR/docs/coverage.md

table_of() {
    execute 600 "$emu" mpirun -np "$1" --mca coll gdr --mca coll_gdr_staging allow \
        --mca op ^avx "$GDR_BUILDDIR/tests/fuzz/coverage"
}

if [ "${1-}" = write ]; then
    table_of 2
    [ $status -eq 0 ] || fail "the table"
    [ $status -ne 0 ] || cp "$work/out" "$page"
    exit $status
fi
for n in 2 3; do
    table_of $n
    if [ $status -eq 0 ] && diff -u "$page" "$work/out"; then
        pass "np $n: as in docs/coverage.md"
    else
        fail "np $n: not as in docs/coverage.md (make docs-coverage)"
    fi
done
finish
