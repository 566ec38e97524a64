# What is needed before a build: Debian packages, a CUDA toolkit, UCX with CUDA.

# Debian packages, each with a test that says whether it is there.
RUN_PACKAGES=(
    'openmpi-bin     command -v mpirun'
    'libopenmpi-dev  command -v mpicc'
    'gcc             command -v gcc'
    'g++             command -v g++'
    'make            command -v make'
    'autoconf        command -v autoreconf'
    'automake        command -v automake'
    'libtool         command -v libtoolize'
    'pkg-config      command -v pkg-config'
    'python3         command -v python3'
    'python3-pip     python3 -m pip --version'
)
CHECK_PACKAGES=(
    'libcmocka-dev   pkg-config --exists cmocka'
    'clang           command -v clang'
    'clang-tidy      command -v clang-tidy'
    'cppcheck        command -v cppcheck'
    'gdb             command -v gdb'
    'valgrind        command -v valgrind'
    'xz-utils        command -v xz'
    'debootstrap     command -v debootstrap'
)

need_packages() {
    local missing=() entries=("${RUN_PACKAGES[@]}") entry package test

    [ "$1" = run ] || entries+=("${CHECK_PACKAGES[@]}")
    for entry in "${entries[@]}"; do
        read -r package test <<<"$entry"
        eval "$test" >/dev/null 2>&1 || missing+=("$package")
    done
    [ ${#missing[@]} -gt 0 ] || return 0
    [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null ||
        die "missing, please install: ${missing[*]} (Debian: apt-get install ${missing[*]})"
    say "installing Debian packages: ${missing[*]}"
    logged apt-update apt-get update -q
    logged apt-install env DEBIAN_FRONTEND=noninteractive \
        apt-get install -q -y --no-install-recommends "${missing[@]}"
}

# OMPI_FLAGS: the headers that Open MPI's packages leave out (Debian's of 5.0), for configure; from
# the source package of the same version, which apt verifies. Lists of apt's own stay as they are.
need_ompi_headers() {
    local dir=$BUILD/deps/ompi-headers apt=$BUILD/deps/ompi-apt incdir version

    OMPI_FLAGS=()
    if [ -n "${GDR_OMPI_SRC-}" ]; then
        OMPI_FLAGS=("--with-ompi-src=$GDR_OMPI_SRC")
        return
    fi
    for incdir in $(mpicc --showme:incdirs); do
        [ -f "$incdir/opal/mca/threads/threads.h" ] || continue
        [ ! -f "$incdir/opal/mca/threads/pthreads/threads_pthreads_threads.h" ] || return 0
        version=$(dpkg-query -W -f '${source:Version}' libopenmpi-dev 2>/dev/null) ||
            die "Open MPI's headers are incomplete ($incdir/opal/mca/threads/pthreads):" \
                "name the source tree of the same version with GDR_OMPI_SRC=DIR"
        OMPI_FLAGS=("--with-ompi-src=$dir")
        is_done ompi-headers "$version" && [ -d "$dir" ] && return
        say "downloading the source of openmpi $version for headers that its package leaves out"
        rm -rf "$dir" "$apt"
        mkdir -p "$dir" "$apt/lists/partial" "$apt/sources"
        cp /etc/apt/sources.list.d/* "$apt/sources/" 2>/dev/null || true
        cp /etc/apt/sources.list "$apt/sources/main.list" 2>/dev/null || true
        sed -i 's/^deb /deb-src /; s/^Types:.*/Types: deb-src/' "$apt"/sources/*
        logged ompi-source source_package "$apt" openmpi "$version"
        tar -xf "$apt"/openmpi_*.orig.tar.* -C "$dir" --strip-components=1 --wildcards '*.h'
        rm -rf "$apt"
        mark_done ompi-headers "$version"
        return
    done
}

# source_package DIR PACKAGE VERSION: downloads into DIR, with DIR/sources and without root.
source_package() (
    options=(-o Dir::Etc::sourcelist=/dev/null -o "Dir::Etc::sourceparts=$1/sources"
        -o "Dir::State::lists=$1/lists" -o "Dir::Cache=$1" -o APT::Sandbox::User=)
    cd "$1" || exit
    apt-get "${options[@]}" update -q || true # a list of somebody else's may have no sources
    apt-get "${options[@]}" source -q --download-only "$2=$3"
)

# GPU_NAME, GPU_DRIVER (major version): empty without a card, or when told to emulate.
find_gpu() {
    local line=

    GPU_NAME=
    GPU_DRIVER=
    [ -z "${GDR_EMULATED-}" ] || return 0
    command -v nvidia-smi >/dev/null || return 0
    line=$(nvidia-smi --query-gpu=name,driver_version --format=csv,noheader 2>/dev/null |
        head -n 1) || return 0
    case $line in
    *", "[0-9]*)
        GPU_NAME=${line%, *}
        GPU_DRIVER=${line##*, }
        GPU_DRIVER=${GPU_DRIVER%%.*}
        say "card: $GPU_NAME, driver ${line##*, }" ;;
    esac
}

# Major version of the toolkit in a directory; nothing if it is none or older than 12.
toolkit_major() {
    local major

    [ -x "$1/bin/nvcc" ] && [ -f "$1/include/cuda.h" ] || return 0
    major=$("$1/bin/nvcc" --version | sed -n 's/.*release \([0-9]*\)\..*/\1/p')
    [ "${major:-0}" -lt 12 ] || echo "$major"
}

# Whether the card's driver can load what this major version of nvcc makes.
driver_runs() {
    [ -z "$GPU_DRIVER" ] || [ "$1" -le 12 ] || [ "$GPU_DRIVER" -ge 580 ]
}

# CUDA_DIR and CUDA_MAJOR
need_toolkit() {
    local candidate major nvcc
    local candidates=()

    if [ -n "${GDR_CUDA_DIR-}" ]; then
        CUDA_DIR=$(cd "$GDR_CUDA_DIR" && pwd) || die "GDR_CUDA_DIR: no directory $GDR_CUDA_DIR"
        CUDA_MAJOR=$(toolkit_major "$CUDA_DIR")
        [ -n "$CUDA_MAJOR" ] || die "GDR_CUDA_DIR=$GDR_CUDA_DIR holds no CUDA toolkit 12 or newer"
        return
    fi
    if [ -z "${GDR_IGNORE_TOOLKIT-}" ]; then
        nvcc=$(command -v nvcc || true)
        [ -z "$nvcc" ] || candidates+=("$(dirname "$(dirname "$(readlink -f "$nvcc")")")")
        candidates+=(/usr/local/cuda /usr/local/cuda-1[2-9]*)
        for candidate in "${candidates[@]}"; do
            major=$(toolkit_major "$candidate")
            if [ -n "$major" ] && driver_runs "$major"; then
                CUDA_DIR=$candidate
                CUDA_MAJOR=$major
                return
            fi
        done
    fi
    driver_runs 13 || die "driver $GPU_DRIVER needs nvcc of CUDA 12, which the Python index does" \
        "not have: install a CUDA 12 toolkit and name it with GDR_CUDA_DIR=DIR"
    fetch nvcc13
    CUDA_DIR=$BUILD/deps/nvcc13/nvidia/cu13
    CUDA_MAJOR=13
}

# UCX_DIR
need_ucx() {
    if [ -n "${GDR_UCX_DIR-}" ]; then
        UCX_DIR=$(cd "$GDR_UCX_DIR" && pwd) || die "GDR_UCX_DIR: no directory $GDR_UCX_DIR"
        return
    fi
    fetch "ucx$((CUDA_MAJOR > 12 ? 13 : 12))"
    UCX_DIR=$BUILD/deps/ucx$((CUDA_MAJOR > 12 ? 13 : 12))/libucx
}

# What quickstart.lock says of one set, as pip wants it.
pins_of() {
    awk -v set="$1" '$1 == set { print $2 "==" $3 " --hash=sha256:" $4 }' "$TOP/quickstart.lock"
}

# Downloads and unpacks one set of quickstart.lock into build/deps/SET: fetch SET [PIP-OPTION...]
fetch() {
    local set=$1 dir=$BUILD/deps/$1 pins wheel
    local requirements=$BUILD/deps/$1.txt

    shift
    pins=$(pins_of "$set")
    [ -n "$pins" ] || die "quickstart.lock has no set $set"
    is_done "$set" "$(hash_of -- "$pins")" && [ -d "$dir" ] && return
    say "downloading" $(awk -v set="$set" '$1 == set { print $2 "-" $3 }' "$TOP/quickstart.lock")
    rm -rf "$dir" "$dir.wheels"
    mkdir -p "$dir" "$dir.wheels"
    printf '%s\n' "$pins" >"$requirements"
    logged "download-$set" python3 -m pip download --disable-pip-version-check --no-deps \
        --only-binary :all: --require-hashes -r "$requirements" -d "$dir.wheels" "$@"
    for wheel in "$dir.wheels"/*.whl; do
        python3 -m zipfile -e "$wheel" "$dir"
    done
    # zipfile drops the executable bits
    find "$dir" -type d -name bin -exec chmod -R u+x {} +
    rm -rf "$dir.wheels"
    mark_done "$set" "$(hash_of -- "$pins")"
}
