# Open MPI 5.0 beside the machine's own: a Debian 13 in build/debian13/root, made by debootstrap
# once, and the tests that run in it. Needs root. Everything is mounted in a namespace of its own,
# so that nothing of the machine ever lies below build/ for others, whatever becomes of these
# processes.

DEBIAN13=$BUILD/debian13
DEBIAN13_PACKAGES=(openmpi-bin libopenmpi-dev gcc g++ make pkg-config xz-utils libcmocka-dev)

# Beside tests/mpi, what depends on the system's compiler and loader.
DEBIAN13_TESTS=(tests/gate/arrows.sh tests/unit/kernels_test tests/glue/pair.sh
    tests/glue/device.sh)
# Many seeds of the same calls: Open MPI makes no difference to them.
DEBIAN13_WITHOUT='tests/mpi/delays\.sh'

# Debian's mirror: the machine's own, if it is a Debian.
debian13_mirror() {
    local mirror

    mirror=$(apt-get indextargets --format '$(ORIGIN) $(LABEL) $(SITE)' 2>/dev/null |
        sed -n 's/^Debian Debian //p' | head -n 1)
    echo "${mirror:-http://deb.debian.org/debian}"
}

debian13_hash() {
    hash_of -- "${DEBIAN13_PACKAGES[@]}"
}

# Why it cannot be had here; nothing if it can.
debian13_lacks() {
    if [ "$(id -u)" != 0 ]; then
        echo "it takes root"
    elif ! unshare --mount true 2>/dev/null; then
        echo "this root may not mount"
    elif is_done debian13 "$(debian13_hash)"; then
        return
    elif ! command -v debootstrap >/dev/null; then
        echo "there is no debootstrap (Debian: apt-get install debootstrap)"
    elif [ ! -e /usr/share/debootstrap/scripts/trixie ] ||
        [ ! -e /usr/share/keyrings/debian-archive-keyring.gpg ]; then
        echo "debootstrap does not know trixie, or Debian's archive keyring is missing"
    elif ! /usr/lib/apt/apt-helper download-file "$(debian13_mirror)/dists/trixie/InRelease" \
        "$BUILD/debian13.InRelease" >/dev/null 2>&1; then
        echo "no network: $(debian13_mirror) cannot be reached"
    fi
}

# in_debian13 COMMAND...: the sources are there under the same name, read-only, and so are CUDA and
# UCX; what may be written is build/debian13/tree.
in_debian13() {
    mkdir -p "$DEBIAN13/tree"
    GDR_OUTER_NAMESPACE=$(readlink /proc/self/ns/mnt) \
        unshare --mount --propagation private bash "$TOP/scripts/in_root.sh" \
        "$DEBIAN13/root" "$TOP" "$DEBIAN13/tree" "$CUDA_DIR" "$UCX_DIR" -- "$@"
}

# Makes the root beside its place; an interrupted one is not taken for a whole one.
debian13_make() {
    local hash new=$DEBIAN13/root.new

    hash=$(debian13_hash)
    is_done debian13 "$hash" && return
    if grep -q " $DEBIAN13/" /proc/self/mounts; then
        echo "something is mounted in $DEBIAN13: nothing is removed" >&2
        return 1
    fi
    rm -rf --one-file-system "$DEBIAN13/root" "$new"
    mkdir -p "$DEBIAN13"
    unshare --mount --propagation private debootstrap --variant=minbase \
        --keyring=/usr/share/keyrings/debian-archive-keyring.gpg trixie "$new" \
        "$(debian13_mirror)" || return
    cp -L /etc/resolv.conf /etc/hosts "$new/etc/" || return
    apt-config dump Acquire | grep -i '^Acquire::https\?::proxy' >"$new/etc/apt/apt.conf.d/90proxy"
    echo force-unsafe-io >"$new/etc/dpkg/dpkg.cfg.d/unsafe-io" # it can be made again
    mv "$new" "$DEBIAN13/root"
    in_debian13 apt-get update -q || return
    in_debian13 env DEBIAN_FRONTEND=noninteractive \
        apt-get install -q -y --no-install-recommends "${DEBIAN13_PACKAGES[@]}" || return
    in_debian13 apt-get clean
    mark_done debian13 "$hash"
}

# Inside: configures and builds. The kernels are those of the outer tree: nvcc makes the same ones.
debian13_build() {
    mkdir -p "$DEBIAN13/tree/coll_gdr/kernels"
    cp -u "$BUILD"/coll_gdr/kernels/*.fatbin "$DEBIAN13/tree/coll_gdr/kernels/"
    in_debian13 bash "$TOP/scripts/ompi5.sh" build "$JOBS" "$CUDA_DIR" "$UCX_DIR"
}

# debian13_tests [TEST...]: with automake's harness; none named: those of ./quickstart check.
debian13_tests() {
    local tests=("$@")

    if [ ${#tests[@]} -eq 0 ]; then
        mapfile -t tests < <(make -s -C "$BUILD" print-tests | tr ' ' '\n' |
            grep '^tests/mpi/' | grep -v "$DEBIAN13_WITHOUT")
        tests+=("${DEBIAN13_TESTS[@]}")
    fi
    in_debian13 env GDR_FOREIGN_PLUGIN="$BUILD/.libs/mca_coll_gdr.so" GDR_MATRIX_RANKS=3 \
        bash "$TOP/scripts/ompi5.sh" tests "$JOBS" "${tests[@]}"
}

# clang of this machine on that one's headers, which use _Float16: old ones know it with that flag.
debian13_clang() {
    local mpi=$DEBIAN13/root/usr/lib/x86_64-linux-gnu dir=$DEBIAN13/tree

    make -s -C "$BUILD" print-plugin-sources | tr ' ' '\n' | grep '\.c$' | (
        cd "$TOP" && xargs -r clang --sysroot="$DEBIAN13/root" -fsyntax-only -std=gnu11 \
            -mavx512fp16 -Wall -Wextra -Wshadow -Werror \
            -I"$dir" -Icoll_gdr -I. -Icoll_gdr/mca/shim \
            -isystem "$mpi/openmpi/include" -isystem "$mpi/openmpi/include/openmpi" \
            -isystem "$mpi/pmix2/include" -isystem "$dir/deps/ompi-headers" \
            -DGDR_VERSION_MAJOR=0 -DGDR_VERSION_MINOR=0 -DGDR_VERSION_RELEASE=0 \
            '-DGDR_VERSION="0"' '-DGDR_HELPDIR="/"' '-DGDR_GLUEDIR="/"'
    )
}

# The root, the build and the tests; a line why not, where it cannot be had.
check_debian13() {
    local why

    why=$(debian13_lacks)
    if [ -n "$why" ]; then
        say "Open MPI 5.0 on Debian 13 is left out: $why"
        count "Open MPI 5.0" 0 0 0 1
        return
    fi
    suite "Debian 13 root" debian13_make
    suite "Open MPI 5.0 gcc build" debian13_build
    suite "Open MPI 5.0 clang" debian13_clang
    suite_of_tests "Open MPI 5.0" debian13_tests
}
