#!/bin/bash
# The gates themselves: each kind of breach, planted into a copy of the tree, must be named and must
# make the gate fail; the copy without it must pass.
set -euo pipefail

SRC=${GDR_SRCDIR:?}
OBJ=${GDR_BUILDDIR:?}
COPY=$(mktemp -d)
trap 'rm -rf "$COPY"' EXIT
FAILED=0

# A tree of the sources, and an object tree of small made-up rooms.
fresh() {
    rm -rf "$COPY/src" "$COPY/obj"
    mkdir -p "$COPY/src" "$COPY/obj"
    (cd "$SRC" && tar -cf - --exclude=build --exclude='*.o' --exclude='*.trs' coll_gdr ucx_glue \
        cuda_emu tools examples tests scripts docs m4 quickstart ./*.md) | tar -xf - -C "$COPY/src"
    object coll_gdr/base 'int gdr_base_thing(void); int gdr_base_thing(void) { return 1; }'
    object coll_gdr/engine 'int gdr_engine_thing(void); int gdr_base_thing(void);
        int gdr_engine_thing(void) { return gdr_base_thing(); }'
}

# object ROOM CODE [NAME]
object() {
    mkdir -p "$COPY/obj/$1/.libs"
    echo "$2" | ${CC:-gcc} -fPIC -x c -c -o "$COPY/obj/$1/.libs/${3:-thing}.o" -
}

shared() {
    mkdir -p "$COPY/obj/.libs"
    echo "$2" | ${CC:-gcc} -fPIC -shared -x c -o "$COPY/obj/.libs/$1" - "${@:3}"
}

expect() {
    local outcome=$1 words=$2 output status=0

    output=$("$SRC/tests/gate/${3:-arrows.sh}" "$COPY/src" "$COPY/obj" 2>&1) || status=$?
    if [ "$outcome" = passes ] && [ $status = 0 ]; then
        echo "ok: $words"
    elif [ "$outcome" = fails ] && [ $status = 1 ] && grep -qF -- "$words" <<<"$output"; then
        echo "ok: noticed: $words"
    else
        echo "NOT OK: $outcome, $words (exit $status)"
        printf '%s\n' "$output" | tail -n 20
        FAILED=1
    fi
}

plant() {
    echo "$2" >>"$COPY/src/$1"
}

fresh
expect passes "the tree as it is"
plant coll_gdr/plan/select.c '#include "engine/gdr_engine.h"'
expect fails "coll_gdr/plan must not include engine/gdr_engine.h"
fresh
plant coll_gdr/engine/gdr_engine.h '# include <ompi/communicator/communicator.h>'
expect fails "coll_gdr/engine must not include ompi/communicator/communicator.h"
fresh
plant coll_gdr/mca/module.c '#include <ucp/api/ucp.h>'
expect fails "coll_gdr/mca must not include ucp/api/ucp.h"
fresh
plant coll_gdr/base/gdr_status.c '#include "plan/gdr_plan.h"'
expect fails "coll_gdr/base must not include plan/gdr_plan.h"
fresh
plant tools/bench/bench_data.c '#include "base/gdr_math.h"'
expect fails "tools/bench must not include base/gdr_math.h"
fresh
object coll_gdr/base 'int gdr_engine_thing(void); int up(void); int up(void)
    { return gdr_engine_thing(); }' upward
expect fails "coll_gdr/base must not use gdr_engine_thing of coll_gdr/engine"
fresh
object coll_gdr/plan 'int cuInit(unsigned); int up(void); int up(void) { return cuInit(0); }'
expect fails "coll_gdr/plan must not use cuInit"
fresh
object ucx_glue 'int opal_progress(void); int up(void); int up(void) { return opal_progress(); }'
expect fails "ucx_glue must not use opal_progress"
fresh
object coll_gdr/engine '#include <stdlib.h>
    void up(void); void up(void) { abort(); }' dies
expect fails "coll_gdr/engine must not call abort"
fresh
shared mca_coll_gdr.so 'int mca_coll_gdr_component, gdr_leak;'
expect fails "mca_coll_gdr.so exports gdr_leak"
fresh
shared libother.so 'int other;' -Wl,-soname,libother.so
shared mca_coll_gdr.so 'int mca_coll_gdr_component;' -L"$COPY/obj/.libs" -Wl,--no-as-needed -lother
expect fails "mca_coll_gdr.so needs libother.so at load time"
fresh
mkdir -p "$COPY/obj/cuda" && : >"$COPY/obj/cuda/libcuda.so.1"
shared mca_coll_gdr.so 'int mca_coll_gdr_component;' "-Wl,-rpath,$COPY/obj/cuda"
expect fails "mca_coll_gdr.so has a run path to CUDA libraries"
fresh
shared gdr_ucx.so 'int gdr_ucx_open, gdr_ucx_second;'
expect fails "gdr_ucx.so must export exactly one symbol"
fresh
plant coll_gdr/base/gdr_status.c '/* TO''DO: later */'
expect fails "a marker of unfinished work" text.sh
fresh
seq -f '/* %g */' 600 >>"$COPY/src/coll_gdr/plan/ring.c"
expect fails "coll_gdr/plan/ring.c: more than 500 lines" text.sh
exit $FAILED
