# GPUDirect RDMA on emulated devices over soft RoCE, in emulated machines that run Debian's stock
# kernel: tests/rdma. Everything but Debian packages lands in build/rdma and build/deps.

RDMA_PACKAGES=(
    'qemu-system-x86    command -v qemu-system-x86_64'
    'busybox-static     busybox cpio --help'
    'kmod               test -x /sbin/depmod'
    'iproute2           command -v rdma'
    'ibverbs-providers  test -e /etc/libibverbs.d/rxe.driver'
    'binutils           command -v objdump'
)

skip_rdma() {
    echo "SKIP: RDMA: $*"
}

# Installs what is missing; prints the names if that cannot be.
rdma_packages() {
    local entry package test missing=()

    for entry in "${RDMA_PACKAGES[@]}"; do
        read -r package test <<<"$entry"
        eval "$test" >/dev/null 2>&1 || missing+=("$package")
    done
    [ ${#missing[@]} -gt 0 ] || return 0
    if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; then
        apt-get update -q >"$BUILD/logs/rdma-update.log" 2>&1
        DEBIAN_FRONTEND=noninteractive apt-get install -q -y --no-install-recommends \
            "${missing[@]}" >"$BUILD/logs/rdma-packages.log" 2>&1 && return
    fi
    echo "${missing[*]}"
    return 1
}

# The name of the package that linux-image-amd64 stands for.
rdma_kernel_name() {
    apt-cache depends linux-image-amd64 2>/dev/null |
        awk '/Depends: linux-image/ { print $2; exit }'
}

# The kernel of this machine's Debian, in build/rdma/kernel; apt checks it, nothing is installed.
rdma_kernel() {
    local dir=$BUILD/rdma/package package hash

    package=$(rdma_kernel_name)
    if [ -z "$package" ] && [ "$(id -u)" = 0 ]; then
        apt-get update -q >"$BUILD/logs/rdma-update.log" 2>&1
        package=$(rdma_kernel_name)
    fi
    [ -n "$package" ] || return
    hash=$(hash_of "$TOP"/tests/rdma/{kernel.sh,init} -- "$package")
    if ! is_done rdma-kernel "$hash" || [ ! -e "$BUILD/rdma/kernel/initrd.gz" ]; then
        rm -rf "$dir"
        mkdir -p "$dir"
        (cd "$dir" && apt-get -q -o APT::Sandbox::User=root download "$package") &&
            "$TOP/tests/rdma/kernel.sh" "$dir"/linux-image*.deb "$BUILD/rdma/kernel" || return
        rm -rf "$dir"
        mark_done rdma-kernel "$hash"
    fi
}

# A UCX with CUDA and InfiniBand modules in build/rdma/ucx.
rdma_ucx() {
    local hash

    fetch ucxib --python-version 3.11 --platform manylinux_2_28_x86_64
    hash=$(hash_of "$TOP"/tests/rdma/ucx.sh "$TOP/quickstart.lock" --)
    if ! is_done rdma-ucx "$hash" || [ ! -e "$BUILD/rdma/ucx/libucp.so.0" ]; then
        "$TOP/tests/rdma/ucx.sh" "$BUILD/deps/ucxib" "$BUILD/rdma/ucx" || return
        mark_done rdma-ucx "$hash"
    fi
}

# Prints a line "PASS: ...", "FAIL: ..." or "SKIP: ..." per test.
rdma_check() {
    local missing status=0

    mkdir -p "$BUILD/rdma" "$BUILD/logs"
    case $BUILD in
    *,*)
        skip_rdma "qemu cannot share a path with a comma: $BUILD"
        return ;;
    esac
    [ "$(uname -m)" = x86_64 ] || { skip_rdma "only for x86_64"; return; }
    [ -e "$BUILD/cuda_emu/.libs/libcuda_emu_peermem.so" ] ||
        { skip_rdma "built without libibverbs' headers (Debian: libibverbs-dev)"; return; }
    missing=$(rdma_packages) || { skip_rdma "Debian packages are missing: $missing"; return; }
    (rdma_ucx) || { skip_rdma "nixl-cu13, for its UCX with verbs, cannot be had"; return; }
    (rdma_kernel) || { skip_rdma "Debian's package linux-image-amd64 cannot be had"; return; }
    make -s -C "$BUILD" -j"$JOBS" tests/rdma/sweep tests/mpi/matrix tests/mpi/devices || return
    "$TOP/tests/rdma/boot.sh" "$BUILD/rdma" 1 one.sh || status=1
    "$TOP/tests/rdma/boot.sh" "$BUILD/rdma" 2 two.sh || status=1
    return $status
}
