#!/bin/sh
# A put that UCX reports as done but that did not arrive is noticed: in this process's own window
# when it is registered, in a peer's window at the first put.
run=${GDR_SRCDIR:-.}/tests/glue/on_emulator
build=${GDR_BUILDDIR:-.}
expect() {
    out=$(LD_PRELOAD=$build/tests/glue/.libs/misput.so MISPUT=$1 sh "$run" glue_pair --rounds 2 \
        device-flags 2>&1)
    status=$?
    [ $status -eq 77 ] && exit 77
    if [ $status -eq 0 ] || ! echo "$out" | grep -q "$2"; then
        echo "put $1: status $status, expected the words: $2"
        echo "$out"
        exit 1
    fi
    echo "ok: put $1: $2"
}
expect 1 "into this process's own window and says that it is done, but other bytes come back"
expect 2 "read back from 0x.* there are not those that were put"
