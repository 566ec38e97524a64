# Everything that must hold: suites run one after another, each with a log, its time and what it
# counts; the last line is "N passed, N failed, N skipped".

PASSED=0
FAILED=0
SKIPPED=0
FAILED_LOGS=() # of suites that print a line per test

# Adds up and prints one suite's line: count NAME SECONDS PASSED FAILED SKIPPED
count() {
    PASSED=$((PASSED + $3))
    FAILED=$((FAILED + $4))
    SKIPPED=$((SKIPPED + $5))
    printf '== %-28s %5d s   %d passed, %d failed, %d skipped\n' "$@"
}

suite_log() {
    printf '%s/logs/check-%s.log' "$BUILD" "${1// /-}"
}

# A suite that counts as one: suite NAME COMMAND...
suite() {
    local name=$1 start=$SECONDS log

    log=$(suite_log "$name")
    shift
    say "$name ..."
    if "$@" >"$log" 2>&1; then
        count "$name" $((SECONDS - start)) 1 0 0
    else
        tail -n 60 "$log"
        count "$name" $((SECONDS - start)) 0 1 0
    fi
}

# Each line with the seconds since the one before.
with_seconds() {
    local line last=$SECONDS

    while IFS= read -r line; do
        printf '   %4d s  %s\n' $((SECONDS - last)) "$line"
        last=$SECONDS
    done
}

# A suite that prints a line "PASS: what", "FAIL: what" or "SKIP: what" per test.
suite_of_tests() {
    local name=$1 start=$SECONDS log status=0 passed failed skipped

    log=$(suite_log "$name")
    shift
    say "$name ..."
    : >"$log"
    "$@" >>"$log" 2>&1 & # in the background: a `| tee` would hide the status and buffer the lines
    tail -n +1 --pid=$! -f "$log" 2>/dev/null |
        grep --line-buffered -E '^(PASS|FAIL|XPASS|ERROR|SKIP):' | with_seconds || true
    wait $! || status=$?
    passed=$(grep -cE '^PASS:' "$log" || true)
    failed=$(grep -cE '^(FAIL|XPASS|ERROR):' "$log" || true)
    skipped=$(grep -cE '^SKIP:' "$log" || true)
    if [ "$status" != 0 ] && [ "$failed" = 0 ]; then
        tail -n 60 "$log"
        failed=1
    fi
    count "$name" $((SECONDS - start)) "$passed" "$failed" "$skipped"
    [ "$failed" = 0 ] || FAILED_LOGS+=("$log")
}

# What failed and why, once more where a reader looks first: at the end.
retell_failures() {
    local log

    for log in "${FAILED_LOGS[@]}"; do
        printf '\n== %s\n' "$log"
        grep -E -A 8 '^(FAIL|XPASS|ERROR)' "$log" | cut -c 1-200 | tail -n 40
    done
}

# automake's harness, one test at a time: ranks already fill the machine. make_check TREE [TEST...]
make_check() {
    local status=0 log tests=()

    [ $# -eq 1 ] || tests=("TESTS=${*:2}")
    make -C "$1" -j"$JOBS" check TESTS= &&
        make -C "$1" check "${tests[@]}" || status=$?
    [ "$status" = 0 ] || while read -r log; do
        printf '\n---- %s\n' "$log"
        tail -n 60 "$1/$log"
    done < <(cd "$1" && grep -lE '^:test-result: *(FAIL|ERROR|XPASS)' -r --include='*.trs' . |
        sed 's/\.trs$/.log/')
    return "$status"
}

# Configures a further tree beside build/ once: further_tree NAME FLAG...
further_tree() {
    local dir=$BUILD/check/$1

    shift
    mkdir -p "$dir"
    if [ ! -f "$dir/config.status" ] || [ "$TOP/configure" -nt "$dir/config.status" ]; then
        (cd "$dir" && "$TOP/configure" -q "--with-ucx=$UCX_DIR" "--with-cuda=$CUDA_DIR" \
            "${OMPI_FLAGS[@]}" "$@") || return
        # nvcc makes the same of them in every tree
        mkdir -p "$dir/coll_gdr/kernels"
        cp "$BUILD"/coll_gdr/kernels/*.fatbin "$dir/coll_gdr/kernels/"
    fi
}

# clang also writes down how it compiled each file, for clang-tidy and cppcheck. That flag means
# nothing when it links, which is no reason to stop.
clang_build() {
    local dir=$BUILD/check/clang

    mkdir -p "$dir/commands"
    further_tree clang "CC=clang -Qunused-arguments -gen-cdb-fragment-path $dir/commands" \
        CXX=clang++ &&
        make -C "$dir" -j"$JOBS" all && make -C "$dir" -j"$JOBS" check TESTS=
}

# One program of a sanitized tree, a line for it: sanitized_test TREE TEST
sanitized_test() {
    local status=0

    (cd "$1" && GDR_SRCDIR=$TOP GDR_BUILDDIR=$1 timeout 900 "./$2" >&2) || status=$?
    case $status in
    0) echo "PASS: $2" ;;
    77) echo "SKIP: $2" ;;
    *) echo "FAIL: $2"
       return 1 ;;
    esac
}

# The programs of tests/unit and tests/sim; the plugin and the emulator are not built. Each has one
# thread that works, or few: as many at once as there are jobs.
sanitized_unit_tests() {
    local dir=$BUILD/check/sanitized tests

    further_tree sanitized --enable-asan --enable-ubsan || return
    tests=$(make -s -C "$dir" print-tests | tr ' ' '\n' |
        sed -n '/\.sh$/d; /^tests\/\(unit\|sim\)\//p') || return
    # shellcheck disable=SC2086 # a list
    make -C "$dir" -j"$JOBS" built-sources && make -C "$dir" -j"$JOBS" $tests || return
    export -f sanitized_test
    export TOP
    # shellcheck disable=SC2016 # for the shell that xargs starts
    printf '%s\n' $tests |
        xargs -P "$JOBS" -n 1 bash -c 'sanitized_test "$@"' sanitized_test "$dir"
}

check_all() {
    local begin=$SECONDS

    mkdir -p "$BUILD/logs"
    (fetch cuasm) || say "no disassembler to be had: PTX is read instead"
    suite "gcc build" make -C "$BUILD" -j"$JOBS" all
    suite_of_tests "make check" make_check "$BUILD"
    check_debian13
    suite "clang build" clang_build
    suite_of_tests "unit tests with sanitizers" sanitized_unit_tests
    suite "clang-tidy" "$TOP/scripts/tidy.sh" "$BUILD/check/clang" "$JOBS"
    suite "cppcheck" "$TOP/scripts/cppcheck.sh" "$BUILD/check/clang" "$JOBS"
    suite "distcheck" make -C "$BUILD" -j"$JOBS" distcheck AM_MAKEFLAGS=TESTS=
    suite_of_tests "mpi4py" mpi4py_suite
    suite_of_tests "RDMA" rdma_check
    suite_of_tests "mutants" make -s -C "$BUILD" mutants
    retell_failures
    say "took $((SECONDS - begin)) s; logs in build/logs"
    echo "$PASSED passed, $FAILED failed, $SKIPPED skipped"
    [ "$FAILED" = 0 ]
}
