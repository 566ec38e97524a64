#!/bin/sh
# The committed table of operations and types is the generated one.
set -eu
if ! "$GDR_BUILDDIR/coll_gdr/kernels/optypes_doc" | diff -u "$GDR_SRCDIR/docs/optypes.md" -; then
    echo "docs/optypes.md is not what the tables say: run make docs-optypes" >&2
    exit 1
fi
