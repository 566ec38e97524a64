# Programs of others, tried by ./quickstart check where they can be had.

MPI4PY_DIR=$BUILD/deps/mpi4py

# Builds mpi4py against the Open MPI that is here. No reason to stop where that cannot be done.
build_mpi4py() {
    local requirements=$BUILD/deps/mpi4py.txt hash

    hash=$(hash_of -- "$(pins_of pybuild)" "$(pins_of mpi4py)" "$(python3 -V)" \
        "$(mpicc --showme:version 2>&1)")
    is_done mpi4py "$hash" && [ -d "$MPI4PY_DIR/mpi4py" ] && return
    rm -rf "$MPI4PY_DIR"
    pins_of mpi4py >"$requirements"
    # the compiler takes minutes to optimise what is a test of a few calls
    CFLAGS=-O0 PYTHONPATH=$BUILD/deps/pybuild python3 -m pip install --disable-pip-version-check \
        --no-deps --no-build-isolation --no-binary :all: --no-cache-dir --require-hashes \
        -r "$requirements" --target "$MPI4PY_DIR" || return
    mark_done mpi4py "$hash"
}

python_can_build() {
    python3 -c 'import os, sys, sysconfig
sys.exit(not os.path.exists(sysconfig.get_paths()["include"] + "/Python.h"))'
}

mpi4py_suite() {
    if ! python_can_build; then
        echo "SKIP: mpi4py: no Python headers (Debian: python3-dev)"
    elif ! (fetch pybuild && build_mpi4py); then
        echo "SKIP: mpi4py: cannot be had or built"
    else
        # shellcheck disable=SC1091
        . "$BUILD/env.sh"
        "$TOP/tests/apps/run" "$MPI4PY_DIR"
    fi
}
